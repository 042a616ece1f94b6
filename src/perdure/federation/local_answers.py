"""What this server answers about a name that it has: no more than any reader learns from its resolver."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from perdure.errors import InvalidName, PerdureError
from perdure.federation.answer_choice import LIVING
from perdure.federation.statements import Answer, encode_public_address, to_instant
from perdure.names import handle, ibi, upn
from perdure.names.upn import UpnLink
from perdure.records import record as records
from perdure.records.locations import read_locations
from perdure.records.record import Record
from perdure.records.validation import Limits
from perdure.records.value import Value
from perdure.registry.entities import Identifier, Prefix
from perdure.registry.held_labels import find_held_item, held_label_key
from perdure.registry.holdings import Collection, Holding
from perdure.registry.identifier_lookup import find_located
from perdure.registry.longest_name import find_longest
from perdure.registry.name_keys import locate
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_MOST_ALIASES: Final = 64


def find_local_answer(
    registry: Registry, reader: Reader, name: str, origin: str, language: str | None = None
) -> Answer:
    """Return the answer about a name; `origin` is the base URL of this server."""
    link = _read_link(name)
    if link is not None and link.path:
        answer = None
    else:
        answer = _answer_exactly(registry, reader, name if link is None else link.label, origin, language)
    if answer is None:
        answer = _answer_longer_name(registry, reader, name if link is None else link.name, origin)
    unknown = {"state": "unknown", "archive": origin}
    return Answer(
        server=registry.id,
        time=registry.current_time(),
        name=name,
        checkpoint=_checkpoint(reader),
        **(unknown if answer is None else answer),
    )


def _read_link(name: str) -> UpnLink | None:
    """Return the link of the form `upn:` that a name is; None for another name."""
    if not upn.is_link(name):
        return None
    with suppress(InvalidName):
        return upn.parse(name)
    return None


def _answer_exactly(
    registry: Registry, reader: Reader, name: str, origin: str, language: str | None
) -> dict[str, Any] | None:
    """Return the fields of the answer about exactly this name; None if it is not here."""
    try:
        located = locate(reader, name)
        found = find_located(reader, located)
    except PerdureError:
        found = None
    if found is None:
        return _describe_foreign_item(reader, name, origin)
    record = records.decode(found.record)
    holding = choose_holding(reader.holdings(found.subject))
    general = {
        "state": "registered",
        "archive": origin,
        "url": f"{origin}/{handle.escape(found.name)}",
        "aliases": _other_names(found, record, name),
        "timestamp": _changed_at(reader, found, record),
        "version": found.version,
        "owner": mints_names(located.prefix),
    }
    return general | _describe_state(reader, found, record, holding, origin, language, registry.settings.limits)


def _answer_longer_name(registry: Registry, reader: Reader, name: str, origin: str) -> dict[str, Any] | None:
    """Return the fields of the answer about a file of an item, or about what a prefix passes through; None without it.

    The resolver of this server leads on from the longer name.
    """
    base, needs_item = _find_shorter_name(reader, name)
    found = None if base is None else _answer_exactly(registry, reader, base, origin, None)
    if found is None or found["state"] not in (("original", "copy") if needs_item else LIVING):
        return None
    return found | {"url": f"{origin}/{handle.escape(name)}", "aliases": (), "language": None}


def _find_shorter_name(reader: Reader, name: str) -> tuple[str | None, bool]:
    """Return the registered name that a name continues; or else its label, of which an item must be held."""
    try:
        located = locate(reader, name)
    except PerdureError:
        located = None
    if located is not None and located.prefix.pass_through:
        found, _ = find_longest(reader, located)
        if found is not None:
            return found.name, False
    split = ibi.split_label_path(name)
    return (split[0], True) if split is not None and split[1] else (None, True)


def _describe_state(
    reader: Reader,
    found: Identifier,
    record: Record,
    holding: Holding | None,
    origin: str,
    language: str | None,
    limits: Limits,
) -> dict[str, Any]:
    """Return the fields that depend on the state of the name."""
    stone = record.tombstone
    if record.state == "withdrawn" and stone is not None:
        return {"state": "withdrawn", "replaced_by": None if record.restriction else stone.replaced_by}
    if record.state != "active" or found.scheme == "ppid" or record.restriction is not None:
        return {}
    url, spoken = _choose_url(record.values, language, limits)
    fields: dict[str, Any] = {}
    with suppress(ValueError):  # otherwise, the page about the name is the address
        if target := url or found.target:
            fields = {"url": encode_public_address(target), "language": spoken}
    if holding is not None:
        collection = reader.collection(holding.collection)
        address = {} if collection is None else {"url": item_url(collection, holding, origin)}
        if collection is not None and collection.is_elsewhere:
            fields["archive"] = collection.url or origin
        if holding.role == "copy" and url is None:
            fields["original"] = fields.get("url")
        held = {"state": holding.role, "version": holding.version, "timestamp": to_instant(holding.put_at)}
        return {**fields, **(address if spoken is None else {}), **held}
    return fields


def choose_holding(holdings: Sequence[Holding]) -> Holding | None:
    """Return the first holding whose last check found no problem: the original, or else a copy.

    An original on another server counts only if there is nothing here: that server answers about it.
    """
    ordered = sorted(holdings, key=lambda one: one.is_elsewhere)
    return next((one for one in ordered if one.outcome in (None, "valid")), None)


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
        "archive": origin,
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
    if collection.is_elsewhere:
        return f"{collection.url}/{handle.escape(holding.label)}"
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
