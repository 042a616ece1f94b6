"""The names of the records of prefixes: `0.NA/PREFIX`, as the Handle System has them."""

from typing import Final

from perdure.errors import Immutable, PerdureError
from perdure.names import handle
from perdure.registry.entities import Prefix
from perdure.registry.naming import PrefixSource, handle_key

PREFIX_OF_RECORDS: Final = "0.NA"
RECORDS: Final = handle.fold(PREFIX_OF_RECORDS)  # the key of that prefix
_LONGEST_LABEL: Final = 64  # of what may stand in front of a handle


def record_name(prefix: Prefix) -> str:
    """What the record of this prefix is called."""
    return f"{PREFIX_OF_RECORDS}/{prefix.name}"


def record_key(prefixes: PrefixSource, prefix: Prefix) -> str:
    """What the record of this prefix is looked up by, whether it is there or not."""
    kept = prefixes.prefix(RECORDS)
    return f"{RECORDS}/{prefix.key}" if kept is None else handle_key(kept, prefix.name)


def prefix_of_record(prefixes: PrefixSource, text: str) -> Prefix | None:
    """The Handle prefix kept here whose record somebody means, in whatever form that is written."""
    if f"{RECORDS}/" not in handle.fold(text[:_LONGEST_LABEL]):
        return None  # nearly all
    try:
        parsed = handle.parse(text)
    except PerdureError:
        return None
    return prefix_of_key(prefixes, handle.fold(str(parsed)))


def prefix_of_key(prefixes: PrefixSource, key: str | None) -> Prefix | None:
    """The Handle prefix kept here whose record has this key. `0.NA` itself is not one of them."""
    head, _, suffix = (key or "").partition("/")
    named = handle.fold(suffix)
    if head != RECORDS or named in ("", RECORDS):
        return None
    prefix = prefixes.prefix(named)
    return prefix if prefix is not None and prefix.scheme == "handle" else None


def refuse_giving_up(prefixes: PrefixSource, key: str, name: str) -> None:
    """Refuse to withdraw the record of a prefix: as long as the prefix is kept, it has one."""
    if prefix_of_key(prefixes, key) is not None:
        raise Immutable(name, "a prefix that is kept has its record")
