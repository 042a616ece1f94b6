"""The names of the records of prefixes: `0.NA/PREFIX`, as in the Handle System."""

from typing import Final

from perdure.errors import Immutable, PerdureError
from perdure.names import handle
from perdure.registry.entities import Prefix
from perdure.registry.name_keys import PrefixSource, handle_key

NA_PREFIX: Final = "0.NA"
NA_KEY: Final = handle.fold(NA_PREFIX)  # its key
_LONGEST_LABEL: Final = 64  # of a label in front of a handle


def na_name(prefix: Prefix) -> str:
    """Return the name of the record of this prefix."""
    return f"{NA_PREFIX}/{prefix.name}"


def na_key(prefixes: PrefixSource, prefix: Prefix) -> str:
    """Return the key of the record of this prefix, whether it exists or not."""
    na_prefix = prefixes.prefix(NA_KEY)
    return f"{NA_KEY}/{prefix.key}" if na_prefix is None else handle_key(na_prefix, prefix.name)


def prefix_of_record(prefixes: PrefixSource, text: str) -> Prefix | None:
    """Find the Handle prefix of this registry whose record a text names, in whatever form it is written."""
    if f"{NA_KEY}/" not in handle.fold(text[:_LONGEST_LABEL]):
        return None  # nearly all
    try:
        parsed = handle.parse(text)
    except PerdureError:
        return None
    return prefix_of_key(prefixes, handle.fold(str(parsed)))


def prefix_of_key(prefixes: PrefixSource, key: str | None) -> Prefix | None:
    """Find the Handle prefix of this registry whose record has this key. `0.NA` itself is not one of them."""
    head, _, suffix = (key or "").partition("/")
    prefix_key = handle.fold(suffix)
    if head != NA_KEY or prefix_key in ("", NA_KEY):
        return None
    prefix = prefixes.prefix(prefix_key)
    return prefix if prefix is not None and prefix.scheme == "handle" else None


def refuse_withdrawal(prefixes: PrefixSource, key: str, name: str) -> None:
    """Refuse to withdraw the record of a prefix: as long as the prefix exists, it has one."""
    if prefix_of_key(prefixes, key) is not None:
        raise Immutable(name, "a prefix always has its record")
