"""Persons in every state. The hidden ones contain one secret word in every field that a person can have."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from perdure.records.person import ChosenClaim, Claim, Employment, InSource, Link, PersonName, Reconstruction
from perdure.records.record import About
from perdure.registry import (
    Agent,
    Curation,
    Registry,
    Statement,
    merge,
    observe,
    reconstruct,
    redact,
    restrict,
    revise_reconstruction,
    split,
    update,
    withdraw,
)

SECRET = "Wendelmoet"
LINK = "Q987654321"
TARGET = f"https://example.org/{SECRET}/home"
WHEN, LATER = "2025-01-09T10:30:00Z", "2025-02-15T14:00:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
HIM = Curation(CURATOR, LATER, f"{SECRET} the curator")


class HiddenPerson(NamedTuple):
    """A person, its two observations, and another person that can be merged into it."""

    prid: str
    poid: str
    second: str
    other: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self)


Hide = Callable[[Registry, Agent, HiddenPerson], Awaitable[None]]


async def make(registry: Registry, admin: Agent, number: int) -> HiddenPerson:
    """Create a person with the secret in every field: claims, sources, notes, links, targets, descriptions and acts."""
    claims = (
        Claim(type="name", value=PersonName(given_name=SECRET, base_surname="Jansdochter"), language="nl"),
        Claim(type="residence", value=SECRET, where=InSource(quote=f"te {SECRET}", page=SECRET)),
        Claim(type="occupation", value=SECRET, status="inferred", reasoning=f"so signs {SECRET}"),
    )

    async def observe_part(part: str) -> str:
        url = f"https://example.org/{SECRET}/{number}/{part}"
        return (await observe(registry, admin, url, WHEN, "0" * 64, source_name=SECRET, claims=claims)).name

    poid, second = sorted([await observe_part("a"), await observe_part("b")])
    reconstruction = Reconstruction(
        (),
        "",
        "",
        curator_name=SECRET,
        activity=f"reading {SECRET}",
        claims=tuple(ChosenClaim(one, claim) for one in (poid, second) for claim in (1, 2, 3)),
        notes=f"about {SECRET}",
        links=(Link("exact", "wikidata", LINK),),
        employment=(Employment(institution="NL-NH-AMS-M-RM", role=f"{SECRET} of the house", start="2015"),),
    )
    prid = (await reconstruct(registry, admin, [poid, second], CURATOR, WHEN, reconstruction)).name
    await update(registry, admin, prid, Statement(target=TARGET, about=About(who=SECRET, what=f"of {SECRET}")))
    await revise_reconstruction(
        registry, admin, prid, [poid, second], CURATOR, LATER, reconstruction, note=f"{SECRET} again"
    )
    other = (await reconstruct(registry, admin, [poid, second], CURATOR, LATER, reconstruction)).name
    return HiddenPerson(prid, poid, second, other)


async def _restrict_all(registry: Registry, admin: Agent, made: HiddenPerson) -> None:
    for name in (made.prid, made.other, made.poid, made.second):
        await restrict(registry, admin, name, "a living person")


async def _redact_all(registry: Registry, admin: Agent, *names: str) -> None:
    for name in names:
        await redact(registry, admin, name, "a court order")


async def hide_restricted(registry: Registry, admin: Agent, made: HiddenPerson) -> None:
    await _restrict_all(registry, admin, made)


async def hide_restricted_and_withdrawn(registry: Registry, admin: Agent, made: HiddenPerson) -> None:
    await _restrict_all(registry, admin, made)
    for name in made.names:
        await withdraw(registry, admin, name, f"{SECRET} has asked for it")


async def hide_withdrawn_and_restricted(registry: Registry, admin: Agent, made: HiddenPerson) -> None:
    for name in made.names:
        await withdraw(registry, admin, name, f"{SECRET} has asked for it")
    await _restrict_all(registry, admin, made)


async def hide_restricted_and_merged(registry: Registry, admin: Agent, made: HiddenPerson) -> None:
    await _restrict_all(registry, admin, made)
    await merge(registry, admin, made.prid, made.other, HIM, f"both are {SECRET}")


async def hide_merged_and_restricted(registry: Registry, admin: Agent, made: HiddenPerson) -> None:
    await merge(registry, admin, made.prid, made.other, HIM, f"both are {SECRET}")
    for name in (made.other, made.prid, made.poid, made.second):
        await restrict(registry, admin, name, "a living person")


async def hide_restricted_and_split(registry: Registry, admin: Agent, made: HiddenPerson) -> None:
    await _restrict_all(registry, admin, made)
    await split(registry, admin, made.prid, [[made.poid], [made.second]], HIM, f"one of two is {SECRET}")


async def hide_redacted(registry: Registry, admin: Agent, made: HiddenPerson) -> None:
    await _redact_all(registry, admin, *made.names)


async def hide_withdrawn_and_redacted(registry: Registry, admin: Agent, made: HiddenPerson) -> None:
    for name in made.names:
        await withdraw(registry, admin, name, f"{SECRET} has asked for it")
    await _redact_all(registry, admin, *made.names)


async def hide_merged_and_redacted(registry: Registry, admin: Agent, made: HiddenPerson) -> None:
    await merge(registry, admin, made.prid, made.other, HIM, f"both are {SECRET}")
    await _redact_all(registry, admin, made.other, made.prid, made.poid, made.second)


async def hide_split_and_redacted(registry: Registry, admin: Agent, made: HiddenPerson) -> None:
    parts = await split(registry, admin, made.prid, [[made.poid], [made.second]], HIM, f"one of two is {SECRET}")
    await _redact_all(registry, admin, *(one.name for one in parts), *made.names)


async def hide_restricted_and_redacted(registry: Registry, admin: Agent, made: HiddenPerson) -> None:
    await _restrict_all(registry, admin, made)
    await _redact_all(registry, admin, *made.names)


HIDDEN: dict[str, Hide] = {
    one.__name__.removeprefix("hide_").replace("_", " "): one
    for one in (
        hide_restricted,
        hide_restricted_and_withdrawn,
        hide_withdrawn_and_restricted,
        hide_restricted_and_merged,
        hide_merged_and_restricted,
        hide_restricted_and_split,
        hide_redacted,
        hide_withdrawn_and_redacted,
        hide_merged_and_redacted,
        hide_split_and_redacted,
        hide_restricted_and_redacted,
    )
}
