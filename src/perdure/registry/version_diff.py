"""The difference between two versions of an identifier, part by part."""

from typing import Any, NamedTuple

import msgspec

from perdure.registry.entities import Agent
from perdure.registry.identifier_view import View, view_identifier
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader


class Difference(NamedTuple):
    """One part that differs between two versions."""

    part: str
    before: Any
    after: Any


async def diff(
    registry: Registry, text: str, old_version: int, new_version: int, *, by: Agent | None = None
) -> list[Difference]:
    """Return what changed from one version to another, part by part."""

    def work(reader: Reader) -> list[Difference]:
        old, new = (
            _diff_parts(view_identifier(registry, reader, text, version, by)) for version in (old_version, new_version)
        )
        return [
            Difference(part, old.get(part), new.get(part))
            for part in dict.fromkeys([*old, *new])
            if old.get(part) != new.get(part)
        ]

    return await registry.store.read(work)


def _diff_parts(view: View) -> dict[str, Any]:
    """Split a view into the parts that a difference names."""
    parts: dict[str, Any] = {
        "state": view.state,
        "creator": view.authority.creator,
        "owners": list(view.authority.owners),
    }
    parts |= {"created": view.authority.created}
    for value in view.values:
        parts[f"value {value.index}"] = msgspec.to_builtins(value)
    for name in ("about", "tombstone", "observation", "reconstruction"):
        content = getattr(view, name)
        if content is not None:
            parts |= {f"{name}.{field}": text for field, text in msgspec.to_builtins(content).items()}
    return parts
