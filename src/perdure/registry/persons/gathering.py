"""Gather: what several reconstructions say, said of one person."""

from typing import Any, Final

from perdure.records.person import Reconstruction

GATHERED: Final = ("observation_ids", "claims", "links", "employment", "different_from", "replaces")


def gathered(*said: Reconstruction) -> dict[str, tuple[Any, ...]]:
    """Each thing once, in their order. Who is the same person for one of them is not only much like them."""
    found = {field: dict.fromkeys(one for each in said for one in getattr(each, field)) for field in GATHERED}
    same = {(link.scheme, link.value) for link in found["links"] if link.relation == "exact"}
    links = (link for link in found["links"] if link.relation == "exact" or (link.scheme, link.value) not in same)
    return {
        **{field: tuple(many) for field, many in found.items()},
        "observation_ids": tuple(sorted(found["observation_ids"])),
        "links": tuple(links),
    }
