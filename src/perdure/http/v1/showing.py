"""From what the registry gives to what clients are told."""

from decimal import Decimal
from fractions import Fraction

from perdure.http.v1.told import (
    Found,
    FoundIdentifiers,
    ImportTally,
    Listed,
    NewName,
    NewNames,
    ShownAgent,
    ShownDifference,
    ShownGrant,
    ShownIdentifier,
    ShownPrefix,
    ShownRevision,
    ShownValue,
)
from perdure.names import instant
from perdure.records.value import Value
from perdure.registry import Minted, Tally
from perdure.registry.entities import Act, Agent, Grant, Identifier, Prefix
from perdure.registry.entities import Found as Hit
from perdure.registry.looking import Difference, View


def new_names(minted: list[Minted]) -> NewNames:
    return NewNames(
        identifiers=tuple(
            NewName(name=one.name, alias=one.alias, date=None if one.date is None else instant.to_iso(one.date))
            for one in minted
        )
    )


def shown_value(value: Value) -> ShownValue:
    return ShownValue(
        index=value.index,
        type=value.type,
        data=value.data,
        ttl=value.ttl,
        timestamp=value.timestamp,
        permissions=value.permissions,
        references=value.references,
    )


def shown_identifier(view: View) -> ShownIdentifier:
    return ShownIdentifier(
        name=view.name,
        names=view.names,
        scheme=view.scheme,
        state=view.state,
        version=view.version,
        authority=view.authority,
        target=view.target,
        locations=view.locations,
        values=tuple(shown_value(value) for value in view.values),
        about=view.about,
        tombstone=view.tombstone,
        observation=view.observation,
        reconstruction=view.reconstruction,
        restriction=view.restriction,
        redaction=view.redaction,
        uuid_raw=view.uuid_raw,
    )


def listed(row: Identifier) -> Listed:
    return Listed(name=row.name, scheme=row.scheme, state=row.state, version=row.version, target=row.target)


def shown_revisions(acts: list[Act]) -> tuple[ShownRevision, ...]:
    return tuple(
        ShownRevision(version=act.version, at=act.at, agent=act.agent, action=act.action, note=act.note) for act in acts
    )


def shown_difference(one: Difference) -> ShownDifference:
    return ShownDifference(part=one.part, before=one.before, after=one.after)


def found(hits: list[Hit]) -> FoundIdentifiers:
    return FoundIdentifiers(found=tuple(Found(name=one.name, state=one.state, target=one.target) for one in hits))


def shown_prefix(prefix: Prefix) -> ShownPrefix:
    place = prefix.subsystem
    return ShownPrefix(
        prefix=prefix.name,
        scheme=prefix.scheme,
        minter=prefix.minter,
        case_sensitive=prefix.case_sensitive,
        pass_through=prefix.pass_through,
        created=prefix.created,
        policy=prefix.policy,
        parent=prefix.parent,
        pattern=prefix.pattern,
        opaque=prefix.opaque,
        host=None if place is None else place.host,
        port=None if place is None else place.port,
        ip=None if place is None else place.ip,
        ip_port=None if place is None else place.ip_port,
        granularity=None if place is None else _decimal(place.granularity),
    )


def shown_agent(agent: Agent, grants: list[Grant]) -> ShownAgent:
    told = tuple(
        ShownGrant(scope=grant.scope, action=grant.action, own=grant.own, until=grant.until) for grant in grants
    )
    return ShownAgent(id=agent.id, name=agent.name, identifier=agent.identifier, kind=agent.kind, grants=told)


def import_tally(tally: Tally, dry_run: bool, untold: int) -> ImportTally:
    return ImportTally(
        created=tally.created,
        changed=tally.changed,
        unchanged=tally.unchanged,
        refused=tally.refused,
        notices=tally.notices,
        entries=tally.entries,
        dry_run=dry_run,
        untold=untold,
    )


def _decimal(step: Fraction) -> str:
    """A granularity as people write it; it always has finitely many places."""
    return f"{Decimal(step.numerator) / step.denominator:f}"
