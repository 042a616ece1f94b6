"""Checks of creators and owners: identifiers of parties, which must resolve."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from perdure.errors import InvalidInput, InvalidName, NoSuchPrefix, quote_text
from perdure.names import handle, ppid
from perdure.records.validation import Limits, check_target
from perdure.registry.identifier_lookup import find_located
from perdure.registry.name_keys import locate
from perdure.registry.store_interface import Reader

_HANDLE: Final = re.compile(r"(?:hdl|doi):", re.IGNORECASE)
_WEB: Final = re.compile(r"https://", re.IGNORECASE)
MOST_OWNERS: Final = 100


def check_resolvable_party(reader: Reader, text: str, part: str, limits: Limits) -> str:
    """Return the identifier in stored form. It must resolve here, or be an `hdl:` or `https:` identifier elsewhere."""
    if _WEB.match(text) and not handle.is_proxy_address(text):
        return check_target(text, limits, part)
    try:
        located = locate(reader, text)
    except NoSuchPrefix:
        if _HANDLE.match(text) or handle.is_proxy_address(text):
            return f"hdl:{handle.parse(text, joiners=True)}"
        raise _party_error(
            part, text, "its prefix is unknown here; for an identifier elsewhere, write hdl: or https:// in front"
        ) from None
    except (InvalidName, InvalidInput):
        raise _party_error(part, text, "it is not an identifier") from None
    identifier = find_located(reader, located)
    if identifier is None:
        raise _party_error(part, text, "it is not found in this registry")
    if identifier.state != "active":
        raise _party_error(part, text, f"it is {identifier.state}")
    return f"hdl:{identifier.name}" if identifier.scheme == "handle" else identifier.name


@lru_cache(maxsize=1024)
def check_party(text: str, part: str, limits: Limits) -> None:
    """Check the form of a stored identifier from any registry: it must be one that can resolve."""
    if _WEB.match(text):
        check_target(text, limits, part)
    elif not ppid.validate_ppid(text) and "://" not in text:
        handle.parse(text, joiners=True)
    elif "://" in text:
        raise _party_error(part, text, "it is neither hdl: nor https:")


def distinct_owners(reader: Reader, owners: Sequence[str], creator: str, limits: Limits) -> tuple[str, ...]:
    """Return the owners, each once, without the creator: an owner is recorded only where different."""
    if len(owners) > MOST_OWNERS:
        raise InvalidInput("record", "owners", f"an identifier has at most {MOST_OWNERS} owners")
    known = dict.fromkeys(check_resolvable_party(reader, owner, "owners", limits) for owner in owners)
    return tuple(owner for owner in known if owner != creator)


def _party_error(part: str, text: str, reason: str) -> InvalidInput:
    return InvalidInput("record", part, f"{part} {quote_text(text)} does not resolve: {reason}")
