"""The repair of addresses that have exactly one sure repair. All others stay as they are.

>>> from perdure.records.validation import Limits
>>> mend_address(" http://example.org/annual report.pdf", Limits())
'http://example.org/annual%20report.pdf'
>>> mend_address("www.example.org/x", Limits())
'http://www.example.org/x'
>>> mend_address("example.org/x", Limits()) is None  # it could also be a path
True
"""

import re
from typing import Final

from perdure.errors import InvalidInput
from perdure.records.validation import Limits, check_target

_INVISIBLE: Final = "\ufeff\u200b"  # characters around an address that str.strip() leaves
_WWW: Final = re.compile(r"www\.[^\s/?#:@.][^\s/?#:@]*\.[^\s/?#:@]+(?::[0-9]+)?(?:[/?#].*)?", re.IGNORECASE | re.DOTALL)
_PARTS: Final = re.compile(r"((?:https?|ftp)://[^\s/?#]+)([/?#].*)", re.IGNORECASE | re.DOTALL)
_SECOND_ADDRESS: Final = re.compile(r"\s(?:[A-Za-z][A-Za-z0-9+.-]*://|www\.)", re.IGNORECASE)


def mend_address(text: str, limits: Limits) -> str | None:
    """Return a valid address for one that is not, or None if there is no repair, or more than one.

    Blanks around it are removed. The scheme `http` is added to a host that begins with `www.`. Blanks after the host
    are percent-encoded, unless a second address follows.
    """
    mended = text.strip().strip(_INVISIBLE).strip()
    if _SECOND_ADDRESS.search(mended) is not None:
        return None
    if _WWW.fullmatch(mended) is not None:
        mended = f"http://{mended}"
    parts = _PARTS.fullmatch(mended)
    if parts is not None:
        mended = parts[1] + parts[2].replace(" ", "%20")
    try:
        return check_target(mended, limits)
    except InvalidInput:
        return None
