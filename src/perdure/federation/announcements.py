"""What this server announces to others: the prefixes of which it has names, and its labels with their states.

Handles and persons are announced by their prefixes alone: other servers need no list of them, and nobody can collect
the persons of a registry here.
"""

from typing import Final

from perdure.federation.local_answers import mints_names
from perdure.federation.statements import HeldLabel, HoldingsStatement, PrefixesStatement, State, to_instant
from perdure.names import handle, ppid
from perdure.registry.entities import HeldPrefix, Identifier
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
    rows: list[Identifier] = []
    for beginning in sorted(_label_beginnings(reader)):
        if f"{beginning}{_LAST_CHARACTER}" > after and len(rows) <= limit:
            rows += reader.identifiers_after(after, limit + 1 - len(rows), beginning)
    page = rows[:limit]
    return HoldingsStatement(
        server=registry.id,
        time=registry.current_time(),
        items=tuple(_describe(reader, row) for row in page),
        checkpoint=_checkpoint(reader),
        next=page[-1].key if len(rows) > limit else None,
    )


def _held_prefixes(registry: Registry, reader: Reader) -> list[HeldPrefix]:
    same_everywhere = {NA_KEY, handle.fold(registry.settings.type_prefix), *map(handle.fold, ppid.TYPES)}
    held = [
        HeldPrefix(key, "original" if mints_names(prefix) else "copy")
        for prefix in reader.prefixes()
        if prefix.key not in same_everywhere
        for key in prefix.lookup_keys
    ]
    kinds = [kind for kind in ppid.TYPES if reader.identifiers_after("", 1, f"{kind}-")]
    return [*held, *(HeldPrefix(handle.fold(kind)) for kind in kinds)]


def _label_beginnings(reader: Reader) -> set[str]:
    """Return how the keys of labels begin. The labels of one prefix follow each other in the order of keys."""
    return {f"{key}/" for prefix in reader.prefixes() if prefix.scheme == "ibi" for key in prefix.lookup_keys}


def _describe(reader: Reader, row: Identifier) -> HeldLabel:
    holding = next(iter(reader.holdings(row.subject)), None)
    if holding is not None and row.state == "active":
        return HeldLabel(
            name=row.name, state=holding.role, version=holding.version, timestamp=to_instant(holding.put_at)
        )
    act = reader.newest_act(row.subject)
    state: State = "withdrawn" if row.state == "withdrawn" else "registered"
    return HeldLabel(
        name=row.name, state=state, version=row.version, timestamp="" if act is None else to_instant(act.at)
    )


def _checkpoint(reader: Reader) -> int:
    newest = reader.newest_change()
    return 0 if newest is None else newest.number
