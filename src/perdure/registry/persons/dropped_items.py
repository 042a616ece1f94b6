"""What an act dropped: the items of a reconstruction that are not in what came after it.

A revision replaces whole parts, a split copies only claims, and a merge keeps the notes of one person. So each says
what it left out. The old versions still have everything.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from perdure.errors import NoSuchName
from perdure.records.frozen_struct import FrozenStruct
from perdure.records.person import ChosenClaim, Employment, Link, Reconstruction
from perdure.registry.entities import Agent
from perdure.registry.persons.person_query import show_person
from perdure.registry.registry import Registry

_LISTS: Final = ("observation_ids", "claims", "links", "employment", "different_from")
_TEXTS: Final = ("notes", "activity")
_LONGEST: Final = 200  # characters of an item


class DroppedItem(FrozenStruct, frozen=True):
    """An item that an act dropped: the part that it was in, and the item as the command writes it."""

    part: str
    item: str


def find_dropped(before: Sequence[Reconstruction], after: Sequence[Reconstruction]) -> list[DroppedItem]:
    """List the items of the reconstructions before an act that none of those after it has."""
    return list(dict.fromkeys(_dropped_items(before, after)))


def _dropped_items(before: Sequence[Reconstruction], after: Sequence[Reconstruction]) -> Iterator[DroppedItem]:
    for part in _LISTS:
        remaining = {_key(item) for one in after for item in getattr(one, part)}
        for one in before:
            yield from (
                DroppedItem(part, format_item(item)) for item in getattr(one, part) if _key(item) not in remaining
            )
    for part in _TEXTS:
        if not any(getattr(one, part) for one in after):
            texts = (getattr(one, part) for one in before)
            yield from (DroppedItem(part, _shorten(text)) for text in texts if text is not None)


def _key(item: object) -> object:
    """Return what identifies an item. The content of a claim does not: it can be redacted."""
    return (item.observation_id, item.claim) if isinstance(item, ChosenClaim) else item


def format_item(item: ChosenClaim | Link | Employment | str) -> str:
    """Write an item of a reconstruction as the options of the command do."""
    match item:
        case ChosenClaim(observation_id, number, claim):
            content = "" if claim is None else f" ({claim.type}: {_shorten(str(claim.value))})"
            return f"{observation_id}:{number}{content}"
        case Link(relation, scheme, value):
            return f"{relation}:{scheme}:{value}"
        case Employment():
            dates = (f"{field}={text}" for field in ("role", "start", "end") if (text := getattr(item, field)))
            return ";".join((item.institution, *dates))
        case _:
            return item


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


async def list_dropped(
    registry: Registry, name: str, version: int, *, by: Agent | None = None, into: Sequence[tuple[str, int]] = ()
) -> list[DroppedItem]:
    """List what the act that made a version dropped, as far as the agent may see it.

    `into` are the versions that replaced the person by a merge or a split; without it, the version itself did.
    """
    before = await _reconstruction_at(registry, name, version - 1, by) if version > 1 else None
    after = [await _reconstruction_at(registry, one, number, by) for one, number in into or ((name, version),)]
    known = [one for one in after if one is not None]
    return [] if before is None or len(known) < len(after) else find_dropped([before], known)


async def _reconstruction_at(registry: Registry, name: str, version: int, by: Agent | None) -> Reconstruction | None:
    try:
        return (await show_person(registry, name, version=version, by=by)).view.reconstruction
    except NoSuchName:
        return None
