"""More names for a harvest: two pages of them, an odd title, and persons who are hidden."""

import asyncio
from pathlib import Path

from tests.http.hidden_persons import make
from tests.http.sample_registry import open_for_writing

from perdure.records.record import About
from perdure.registry import Statement, mint, redact, restrict

MORE = 120
ODD = ']]> <b>\U0001f4d6</b> é & "quotes"'


def fill_harvest(folder: Path) -> list[str]:
    """Add the names to a registry, and return those of the hidden persons."""
    return asyncio.run(_fill(folder))


async def _fill(folder: Path) -> list[str]:
    async with open_for_writing(folder) as (registry, admin):
        await mint(
            registry,
            admin,
            "12348",
            MORE,
            statement=Statement("https://example.org/more"),
            suffixes=[f"n{n}" for n in range(MORE)],
        )
        about = About(what=ODD)
        await mint(
            registry, admin, "12348", statement=Statement("https://example.org/odd", about=about), suffixes=["odd"]
        )
        first, second = await make(registry, admin, 1), await make(registry, admin, 2)
        hidden = [
            first.prid,
            first.other,
            first.poid,
            first.second,
            second.prid,
            second.other,
            second.poid,
            second.second,
        ]
        for name in hidden[:4]:
            await restrict(registry, admin, name, "a request")
        for name in hidden[4:]:
            await redact(registry, admin, name, "a request")
        return hidden
