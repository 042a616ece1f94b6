"""Creators and owners: identifiers of parties, which must lead somewhere."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from perdure.errors import InvalidInput, InvalidName, NoSuchPrefix, shown
from perdure.names import handle, ppid
from perdure.records.checks import Limits, check_target
from perdure.registry.existing import find_located
from perdure.registry.naming import locate
from perdure.registry.protocol import Reader

_HANDLE: Final = re.compile(r"(?:hdl|doi):", re.IGNORECASE)
_WEB: Final = re.compile(r"https://", re.IGNORECASE)
MOST_OWNERS: Final = 100


def actionable(reader: Reader, text: str, part: str, limits: Limits) -> str:
    """The identifier as it is kept: it must resolve here, or be an `hdl:` or `https:` identifier elsewhere."""
    if _WEB.match(text) and not handle.is_proxy_address(text):
        return check_target(text, limits, part)
    try:
        located = locate(reader, text)
    except NoSuchPrefix:
        if _HANDLE.match(text) or handle.is_proxy_address(text):
            return f"hdl:{handle.parse(text)}"
        raise _refused(
            part, text, "its prefix is unknown here; write hdl: or https:// in front if it lives elsewhere"
        ) from None
    except (InvalidName, InvalidInput):
        raise _refused(part, text, "it is no identifier") from None
    found = find_located(reader, located)
    if found is None:
        raise _refused(part, text, "nothing is registered under it here")
    if found.state != "active":
        raise _refused(part, text, f"it is {found.state}")
    return f"hdl:{found.name}" if found.scheme == "handle" else found.name


@lru_cache(maxsize=1024)
def check_party(text: str, part: str, limits: Limits) -> None:
    """An identifier as it is kept, of whatever registry: of a form that can lead somewhere."""
    if _WEB.match(text):
        check_target(text, limits, part)
    elif not ppid.validate_ppid(text) and "://" not in text:
        handle.parse(text)
    elif "://" in text:
        raise _refused(part, text, "it is neither hdl: nor https:")


def distinct_owners(reader: Reader, owners: Sequence[str], creator: str, limits: Limits) -> tuple[str, ...]:
    """The owners, each once, without the creator: an owner is recorded only where different."""
    if len(owners) > MOST_OWNERS:
        raise InvalidInput("record", "owners", f"an identifier has at most {MOST_OWNERS} owners")
    known = dict.fromkeys(actionable(reader, owner, "owners", limits) for owner in owners)
    return tuple(owner for owner in known if owner != creator)


def _refused(part: str, text: str, why: str) -> InvalidInput:
    return InvalidInput("record", part, f"{part} {shown(text)} leads nowhere: {why}")
