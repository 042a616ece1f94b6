"""Prefixes of IBI labels that come from elsewhere: those of a host, of an IP address, or in base 53.

A subsystem that mints has a host and an IP address. The address of an abandoned host may be unknown, and so may the
host of an address. Such a prefix has labels, and no subsystem.
"""

from typing import Final

from perdure.errors import InvalidName
from perdure.names import ibi
from perdure.registry.entities import Prefix
from perdure.registry.name_keys import label_prefix_key

_SAMPLE_SUFFIXES: Final = ("2000/01.01.00.00", "2")


def label_prefix(label: str, at: str) -> Prefix:
    """Build the prefix that a label needs. Raise InvalidName if the text is not a label."""
    parsed = ibi.parse_any(ibi.split_document_type(label)[0])
    return Prefix(
        key=label_prefix_key(parsed),
        name=parsed.prefix,
        scheme="ibi",
        minter="ibi",
        case_sensitive=isinstance(parsed, ibi.LegacyName),
        created=at,
    )


def label_prefix_named(name: str, at: str) -> Prefix:
    """Build the prefix with this name. Raise InvalidName if no label can have it."""
    for suffix in _SAMPLE_SUFFIXES:
        try:
            return label_prefix(f"{name}/{suffix}", at)
        except InvalidName:
            continue
    raise InvalidName("ibi", "prefix", None, f"{name!a} is not the prefix of an IBI label")
