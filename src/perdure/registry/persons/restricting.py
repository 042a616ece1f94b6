"""Restrictions: the record of a living person still resolves, and its content is hidden."""

from collections.abc import Iterable, Sequence

import msgspec

from perdure.errors import InvalidInput, WrongState
from perdure.records import record as records
from perdure.records.authority_metadata import to_seconds
from perdure.records.person import Restriction
from perdure.records.record import Record
from perdure.records.validation import check_one_line
from perdure.registry.entities import Agent, Identifier
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.name_keys import require_prefix
from perdure.registry.permissions.permissions import is_granted, require_permission
from perdure.registry.persons.identity import append_version
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction


async def restrict(
    registry: Registry,
    by: Agent,
    name: str,
    reason: str,
    *,
    with_observations: bool = False,
    expected_version: int | None = None,
) -> int:
    """Hide the content from all but agents who may edit it. The restriction, its date and its reason stay visible.

    An observation whose claims a reconstruction shows can be restricted only after that reconstruction. The
    observations of a restricted reconstruction still show the person, and so do the reconstructions that were merged
    into it. `with_observations` restricts all of them too, or nothing.
    """
    check_one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        now = registry.current_time()
        identifier, record, prefix = require_identifier(tx, name, expected_version)
        require_permission(tx, by, "withdraw", prefix.key, now, record)
        _check_person(identifier.name, record)
        if with_observations and record.reconstruction is None:
            raise InvalidInput("person", "with_observations", f"{identifier.name} is an observation itself")
        if record.restriction is not None and record.restriction.reason == reason:
            if with_observations:
                _restrict_sources(registry, tx, by, identifier.name, record, reason)
            return identifier.version
        if record.observation is not None and (showing := find_exposing_reconstructions(tx, identifier.key)):
            raise WrongState(identifier.name, f"shown by {', '.join(showing)}", "not shown: restrict these first")
        if record.state == "merged" and (
            showing := [one for one, replacement in find_replacements(tx, record) if not replacement.restriction]
        ):
            raise WrongState(
                identifier.name, f"merged into {', '.join(showing)}", "restricted last: restrict that one first"
            )
        restricted = msgspec.structs.replace(record, restriction=Restriction(reason, to_seconds(now)))
        version = append_version(registry, tx, by, identifier, restricted, "restrict", reason)
        if with_observations:
            _restrict_sources(registry, tx, by, identifier.name, record, reason)
        return version

    return await registry.store.write(work)


def _restrict_sources(registry: Registry, tx: Transaction, by: Agent, name: str, record: Record, reason: str) -> None:
    """Restrict what else shows the person of a reconstruction that was restricted before in this transaction."""
    reconstruction = record.reconstruction
    if reconstruction is None:
        return

    def restrict_one(identifier: Identifier, shown: Record, scope: str) -> None:
        now = registry.current_time()
        require_permission(tx, by, "withdraw", scope, now, shown)
        restricted = msgspec.structs.replace(shown, restriction=Restriction(reason, to_seconds(now)))
        append_version(registry, tx, by, identifier, restricted, "restrict", reason)

    replaced = public_persons(tx, _with_replaced(tx, reconstruction.replaces))
    while ready := [one for one in replaced if _is_replaced_by_restricted(tx, one, name)]:
        for prid in ready:  # the others were merged into these, or were split and another part is public
            identifier, merged, prefix = require_identifier(tx, prid)
            restrict_one(identifier, merged, prefix.key)
            replaced.remove(prid)
    for poid in public_persons(tx, reconstruction.observation_ids):
        identifier, observed, prefix = require_identifier(tx, poid)
        if showing := [one for one in find_exposing_reconstructions(tx, identifier.key) if one != name]:
            raise WrongState(identifier.name, f"shown by {', '.join(showing)}", "not shown: restrict these first")
        restrict_one(identifier, observed, prefix.key)


def _is_replaced_by_restricted(reader: Reader, name: str, restricted: str) -> bool:
    """Return whether all that replaced a person is restricted. `restricted` is known to be."""
    record = require_identifier(reader, name)[1]
    return all(one.restriction or other == restricted for other, one in find_replacements(reader, record))


def _with_replaced(reader: Reader, names: Sequence[str]) -> list[str]:
    """Return these persons, those that they replaced, and so on."""
    found: list[str] = []
    following = list(names)
    while new := [name for name in following if name not in found]:
        found += dict.fromkeys(new)
        decoded = [records.decode(row.record).reconstruction for row in reader.find_many(new).values()]
        following = [name for one in decoded if one is not None for name in one.replaces]
    return found


def public_persons(reader: Reader, names: Sequence[str]) -> list[str]:
    """Return those of these persons whose content is public, also if they are withdrawn or merged."""
    rows = reader.find_many(names)
    found = [(name, records.decode(rows[name].record)) for name in names if name in rows]
    return [name for name, record in found if record.restriction is None and not record.is_redacted]


async def list_public_persons(registry: Registry, names: Sequence[str]) -> list[str]:
    """Return those of these persons, and of the persons that they replaced, that still show one who was restricted."""
    return sorted(await registry.store.read(lambda reader: public_persons(reader, _with_replaced(reader, names))))


async def lift_restriction(
    registry: Registry, by: Agent, name: str, reason: str, *, expected_version: int | None = None
) -> int:
    """Show the content again. The restriction and its reason stay in the history.

    A reconstruction with claims of a restricted observation can be shown only after that observation.
    """
    check_one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        now = registry.current_time()
        identifier, record, prefix = require_identifier(tx, name, expected_version)
        require_permission(tx, by, "withdraw", prefix.key, now, record)
        _check_person(identifier.name, record)
        if record.restriction is None:
            raise WrongState(identifier.name, "public", "restricted")
        if hidden := find_restricted_sources(tx, _decode_history(tx, identifier.key)):
            raise WrongState(
                identifier.name, f"made from {', '.join(hidden)}", "made from public sources: lift these first"
            )
        lifted = msgspec.structs.replace(record, restriction=None)
        return append_version(registry, tx, by, identifier, lifted, "lift restriction", reason)

    return await registry.store.write(work)


def can_view(reader: Reader, by: Agent, now: str, identifier: Identifier | None) -> bool:
    """Return whether an agent may see the content of a person."""
    record = None if identifier is None else records.decode(identifier.record)
    if identifier is None or record is None or record.restriction is None:
        return True
    return is_granted(reader, by, "edit", require_prefix(reader, identifier.name[:4]).key, now, record)


def find_replacements(reader: Reader, record: Record) -> list[tuple[str, Record]]:
    """Find the persons with the content of this one: the one it was merged into, or the parts it was split into."""
    tombstone = record.tombstone
    if tombstone is None or record.reconstruction is None:
        return []
    names = tombstone.successors or (
        (tombstone.replaced_by,) if record.state == "merged" and tombstone.replaced_by else ()
    )
    return [(name, records.decode(row.record)) for name, row in reader.find_many(names).items()]


def find_exposing_reconstructions(reader: Reader, poid: str) -> list[str]:
    """Find the public reconstructions that show claims of an observation, now or in an old version."""
    names = reader.derived_from(poid)
    rows = reader.find_many(names)
    return [
        name
        for name in names
        if records.decode(rows[name].record).restriction is None
        and poid in _observations_with_chosen_claims(_decode_history(reader, name))
    ]


def find_restricted_sources(reader: Reader, versions: Iterable[Record]) -> list[str]:
    """Find the restricted observations and persons that these versions of a reconstruction took content from."""
    history = list(versions)
    named = _observations_with_chosen_claims(history)
    named.update(one for record in history if record.reconstruction for one in record.reconstruction.replaces)
    rows = reader.find_many(sorted(named))
    return [name for name, row in rows.items() if records.decode(row.record).restriction is not None]


def _observations_with_chosen_claims(versions: Iterable[Record]) -> set[str]:
    return {
        chosen.observation_id
        for record in versions
        if record.reconstruction is not None
        for chosen in record.reconstruction.claims
    }


def _decode_history(reader: Reader, name: str) -> list[Record]:
    return [records.decode(revision.record) for revision in reader.revisions(name)]


def _check_person(name: str, record: Record) -> None:
    if record.is_redacted:
        raise WrongState(name, "redacted", "not redacted")
    if record.observation is None and record.reconstruction is None:
        raise InvalidInput("person", "name", f"{name} is not a person: only persons can be restricted")
