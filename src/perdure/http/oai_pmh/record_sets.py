"""Sets of records (section 2.6): one for each scheme, each prefix and each collection.

>>> set_of_prefix("ibi", "sid.inpe.br/mtc-m18")
'ibi:sid.inpe.br!2Fmtc-m18'
>>> parse_set("ibi:sid.inpe.br!2Fmtc-m18")
HarvestSelection(scheme='ibi', prefix='sid.inpe.br/mtc-m18', collection=None)
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, get_args

from perdure.http.oai_pmh.protocol_errors import ProtocolError
from perdure.http.oai_pmh.xml_text import element, enclose
from perdure.registry.entities import Prefix, Scheme
from perdure.registry.harvest import HarvestedIdentifier, HarvestSelection
from perdure.registry.holdings import Collection

_SCHEMES: Final = {
    "handle": "All handles",
    "ibi": "All Internet Based Identifiers (IBI)",
    "ppid": "All persons (PPID)",
}
_COLLECTION: Final = "collection"
_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9_.~*'()-]")
_ESCAPED: Final = re.compile(r"(?:[A-Za-z0-9_.~*'()-]|![0-9A-F]{2})+")
_CODE: Final = re.compile(rb"!([0-9A-F]{2})")
_LONGEST: Final = 4096


def parse_set(text: str) -> HarvestSelection:
    """Return what a set selects. Raise ProtocolError if there can be no such set."""
    parts = text.split(":")
    if len(text) > _LONGEST or len(parts) > 2:
        raise _unknown_set()
    name = _unescape(parts[1]) if len(parts) == 2 else None
    if parts[0] == _COLLECTION:
        return HarvestSelection(collection=name or "")
    for scheme in get_args(Scheme):
        if parts[0] == scheme:
            return HarvestSelection(scheme, name)
    raise _unknown_set()


def list_sets(prefixes: Sequence[Prefix], collections: Sequence[Collection]) -> Iterator[str]:
    """Yield all sets as elements."""
    for scheme, title in _SCHEMES.items():
        yield _write_set(scheme, title)
        for prefix in prefixes:
            if prefix.scheme == scheme:
                key = prefix.name if scheme == "ppid" else prefix.key
                yield _write_set(set_of_prefix(scheme, key), f"Identifiers with the prefix {prefix.name}")
    if collections:
        yield _write_set(_COLLECTION, "All items that are stored here")
    for collection in collections:
        title = (
            f"Items on {collection.url}" if collection.is_elsewhere else f"Items of the collection {collection.name}"
        )
        yield _write_set(f"{_COLLECTION}:{_escape(collection.name)}", title)


def sets_of(found: HarvestedIdentifier) -> Iterator[str]:
    """Yield the sets of a record: the narrow ones, which imply the wide ones."""
    yield set_of_prefix(found.view.scheme, found.prefix)
    for holding in found.holdings:
        yield f"{_COLLECTION}:{_escape(holding.collection)}"


def set_of_prefix(scheme: str, key: str) -> str:
    """Return the set of a prefix."""
    return f"{scheme}:{_escape(key)}"


def _write_set(spec: str, title: str) -> str:
    return enclose("set", element("setSpec", spec) + element("setName", title))


def _escape(text: str) -> str:
    return _UNSAFE.sub(lambda match: b"!%02X" % match[0][0], text.encode()).decode("ascii")


def _unescape(text: str) -> str:
    if _ESCAPED.fullmatch(text) is None:
        raise _unknown_set()
    try:
        return _CODE.sub(lambda match: bytes([int(match[1], 16)]), text.encode()).decode()
    except UnicodeDecodeError:
        raise _unknown_set() from None


def _unknown_set() -> ProtocolError:
    return ProtocolError("badArgument", "the argument set is not a set of this repository: see ListSets")
