"""What this server announces to others: the prefixes of which it has names, and its labels with their states.

Handles and persons are announced by their prefixes alone: other servers need no list of them, and nobody can collect
the persons of a registry here.
"""

from collections.abc import Iterator
from typing import Final

from perdure.federation.local_answers import choose_holding, mints_names
from perdure.federation.statements import HeldLabel, HoldingsStatement, PrefixesStatement, State, to_instant
from perdure.names import handle, ibi, ppid
from perdure.registry.entities import HeldPrefix, Identifier
from perdure.registry.holdings import Holding
from perdure.registry.name_keys import label_prefix_key
from perdure.registry.prefixes.na_names import NA_KEY
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

PAGE: Final = 500
_LAST_CHARACTER: Final = chr(0x10FFFF)


def build_prefixes_statement(
    registry: Registry, reader: Reader, after: str = "", limit: int = PAGE
) -> PrefixesStatement:
    """Return a page of the prefixes of which this server has names, in their order."""
    held = sorted(_held_prefixes(registry, reader), key=lambda one: one.prefix)
    rest = [one for one in held if one.prefix > after]
    page = tuple(rest[:limit])
    return PrefixesStatement(
        server=registry.id,
        time=registry.current_time(),
        prefixes=page,
        checkpoint=_checkpoint(reader),
        next=page[-1].prefix if len(rest) > limit else None,
    )


def build_holdings_statement(
    registry: Registry, reader: Reader, after: str = "", limit: int = PAGE
) -> HoldingsStatement:
    """Return a page of the labels that this server has, in the order of their keys."""
    found: list[tuple[str, HeldLabel]] = []
    for beginning, is_registered in sorted(_label_beginnings(reader).items()):
        if f"{beginning}{_LAST_CHARACTER}" > after and len(found) <= limit:
            read = _registered_labels if is_registered else _foreign_labels
            found += read(reader, after, limit + 1 - len(found), beginning)
    page = found[:limit]
    return HoldingsStatement(
        server=registry.id,
        time=registry.current_time(),
        items=tuple(label for _, label in page),
        checkpoint=_checkpoint(reader),
        next=page[-1][0] if len(found) > limit else None,
    )


def _held_prefixes(registry: Registry, reader: Reader) -> list[HeldPrefix]:
    same_everywhere = {NA_KEY, handle.fold(registry.settings.type_prefix), *map(handle.fold, ppid.TYPES)}
    held = [
        HeldPrefix(key, "original" if mints_names(prefix) else "copy")
        for prefix in reader.prefixes()
        if prefix.key not in same_everywhere
        for key in prefix.lookup_keys
    ]
    known = {one.prefix for one in held}
    held += [HeldPrefix(key, "copy") for key in _foreign_prefixes(reader) if key not in known]
    kinds = [kind for kind in ppid.TYPES if reader.identifiers_after("", 1, f"{kind}-")]
    return [*held, *(HeldPrefix(handle.fold(kind)) for kind in kinds)]


def _label_beginnings(reader: Reader) -> dict[str, bool]:
    """Return how the keys of labels begin, and whether their prefix is registered here.

    The labels of one prefix follow each other in the order of keys.
    """
    registered = {f"{key}/" for prefix in reader.prefixes() if prefix.scheme == "ibi" for key in prefix.lookup_keys}
    return {f"{key}/": False for key in _foreign_prefixes(reader)} | dict.fromkeys(registered, True)


def _foreign_prefixes(reader: Reader) -> Iterator[str]:
    """Yield the prefixes of items of other servers that are held here, in their order: one look-up for each."""
    after = ""
    while found := reader.held_names_after(after, 1):
        label = found[0][0]
        prefix = label_prefix_key(ibi.parse_any(label))
        yield prefix
        after = f"{prefix}/{_LAST_CHARACTER}"


def _registered_labels(reader: Reader, after: str, limit: int, beginning: str) -> list[tuple[str, HeldLabel]]:
    return [(row.key, _describe(reader, row)) for row in reader.identifiers_after(after, limit, beginning)]


def _foreign_labels(reader: Reader, after: str, limit: int, beginning: str) -> list[tuple[str, HeldLabel]]:
    found = []
    for name, subject in reader.held_names_after(after, limit, beginning):
        holding = choose_holding(reader.holdings(subject))
        label = HeldLabel(name=name, state="unknown") if holding is None else _describe_holding(name, holding)
        found.append((name, label))
    return found


def _describe_holding(name: str, holding: Holding) -> HeldLabel:
    return HeldLabel(name=name, state=holding.role, version=holding.version, timestamp=to_instant(holding.put_at))


def _describe(reader: Reader, row: Identifier) -> HeldLabel:
    holding = choose_holding(reader.holdings(row.subject))
    if holding is not None and not holding.is_elsewhere and row.state == "active":
        return _describe_holding(row.name, holding)
    act = reader.newest_act(row.subject)
    state: State = "withdrawn" if row.state == "withdrawn" else "registered"
    return HeldLabel(
        name=row.name, state=state, version=row.version, timestamp="" if act is None else to_instant(act.at)
    )


def _checkpoint(reader: Reader) -> int:
    newest = reader.newest_change()
    return 0 if newest is None else newest.number
