"""Base64 as clients write it: of either alphabet, with or without padding, and with line ends.

>>> decode_base64("_wA"), decode_base64("/w\\r\\nA=\\r\\n")
(b'\\xff\\x00', b'\\xff\\x00')
"""

import re
from base64 import b64decode
from typing import Final

_SPACE: Final = re.compile(r"[ \t\r\n]+")
_URL_SAFE: Final = str.maketrans("-_", "+/")


def decode_base64(text: str) -> bytes:
    """Return the bytes of a text in base64. Raise ValueError if it is anything else."""
    digits = _SPACE.sub("", text).translate(_URL_SAFE).rstrip("=")
    return b64decode(digits + "=" * (-len(digits) % 4), validate=True)
