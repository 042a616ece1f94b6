"""What this server answers about a name that it has: no more than any reader learns from its resolver."""

from collections.abc import Sequence
from typing import Any, Final

from perdure.errors import InvalidName, PerdureError
from perdure.federation.statements import Answer, to_instant
from perdure.names import handle
from perdure.records import record as records
from perdure.records.locations import read_locations
from perdure.records.record import Record
from perdure.records.validation import Limits
from perdure.records.value import Value
from perdure.registry.entities import Identifier, Prefix
from perdure.registry.held_labels import find_held_item, held_label_key
from perdure.registry.holdings import Collection, Holding
from perdure.registry.identifier_lookup import find_located
from perdure.registry.name_keys import locate
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_MOST_ALIASES: Final = 64
_WEB: Final = ("https://", "http://")


def find_local_answer(
    registry: Registry, reader: Reader, name: str, origin: str, language: str | None = None
) -> Answer:
    """Return the answer about a name; `origin` is the base URL of this server."""
    at, checkpoint = registry.current_time(), _checkpoint(reader)
    try:
        located = locate(reader, name)
        found = find_located(reader, located)
    except PerdureError:
        found = None
    if found is None:
        held = _describe_foreign_item(reader, name, origin)
        fields = {"state": "unknown"} if held is None else held
        return Answer(server=registry.id, time=at, name=name, archive=origin, checkpoint=checkpoint, **fields)
    record = records.decode(found.record)
    holding = choose_holding(reader.holdings(found.subject))
    page = f"{origin}/{handle.escape(found.name)}"
    is_own = mints_names(located.prefix)
    answer = Answer(
        server=registry.id,
        time=at,
        name=name,
        state="registered",
        archive=origin,
        url=page,
        aliases=_other_names(found, record, name),
        timestamp=_changed_at(reader, found, record),
        version=found.version,
        checkpoint=checkpoint,
        owner=is_own,
    )
    fields = _describe_state(reader, found, record, holding, origin, language, registry.settings.limits)
    return Answer(**{**{field: getattr(answer, field) for field in answer.__struct_fields__}, **fields})


def _describe_state(
    reader: Reader,
    found: Identifier,
    record: Record,
    holding: Holding | None,
    origin: str,
    language: str | None,
    limits: Limits,
) -> dict[str, object]:
    """Return the fields that depend on the state of the name."""
    stone = record.tombstone
    if record.state == "withdrawn" and stone is not None:
        return {"state": "withdrawn", "replaced_by": None if record.restriction else stone.replaced_by}
    if record.state != "active" or found.scheme == "ppid" or record.restriction is not None:
        return {}
    url, spoken = _choose_url(record.values, language, limits)
    url = url or found.target
    fields: dict[str, object] = {} if url is None or not url.startswith(_WEB) else {"url": url, "language": spoken}
    if holding is not None:
        collection = reader.collection(holding.collection)
        address = {} if collection is None else {"url": item_url(collection, holding, origin)}
        held = {"state": holding.role, "version": holding.version, "timestamp": to_instant(holding.put_at)}
        return {**fields, **(address if spoken is None else {}), **held}
    return fields


def choose_holding(holdings: Sequence[Holding]) -> Holding | None:
    """Return the first holding whose last check found no problem. The original comes first."""
    return next((one for one in holdings if one.outcome in (None, "valid")), None)


def _describe_foreign_item(reader: Reader, name: str, origin: str) -> dict[str, Any] | None:
    """Return the fields of the answer about an item of another server; None if it is not held here, or damaged."""
    try:
        holdings = find_held_item(reader, name)
    except InvalidName:
        return None
    holding = choose_holding(holdings)
    collection = None if holding is None else reader.collection(holding.collection)
    if holding is None or collection is None:
        return None
    known = held_label_key(name)
    return {
        "state": holding.role,
        "url": item_url(collection, holding, origin),
        "aliases": tuple(one for one in holding.names if one != known)[:_MOST_ALIASES],
        "timestamp": to_instant(holding.put_at),
        "version": holding.version,
    }


def mints_names(prefix: Prefix) -> bool:
    """Return whether this server mints the names under a prefix. Imported labels are those of other servers."""
    return prefix.scheme != "ibi" or prefix.subsystem is not None


def item_url(collection: Collection, holding: Holding, origin: str) -> str:
    """Return the public address of an item, or of its main file."""
    base = collection.url or f"{origin}/items/{handle.escape(collection.name)}"
    item = f"{base}/{handle.escape(holding.label)}/"
    return item if holding.main_file is None else item + handle.escape(holding.main_file)


def _choose_url(values: Sequence[Value], language: str | None, limits: Limits) -> tuple[str | None, str | None]:
    """Return the first location in this language, if there is one, and the language."""
    if language is None:
        return None, None
    for value in values:
        locations = read_locations(value, limits) if value.is_public else None
        for location in () if locations is None else locations.all:
            if location.language == language.lower():
                return location.href, language
    return None, None


def _other_names(found: Identifier, record: Record, name: str) -> tuple[str, ...]:
    """Return all names of the identifier but the one in the question."""
    known = handle.fold(name)
    first = () if found.subject == found.key else (found.subject,)
    names = dict.fromkeys((found.name, *first, *record.other_names))
    return tuple(one for one in names if handle.fold(one) != known)[:_MOST_ALIASES]


def _changed_at(reader: Reader, found: Identifier, record: Record) -> str:
    act = reader.newest_act(found.subject)
    return to_instant(record.created or "" if act is None else act.at)


def _checkpoint(reader: Reader) -> int:
    newest = reader.newest_change()
    return 0 if newest is None else newest.number
