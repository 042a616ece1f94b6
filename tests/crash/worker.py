"""A registry at work, to be killed: it mints, edits and imports without end, and reports what was acknowledged.

    python -m tests.crash.worker FOLDER SHARE OF [undaunted]

Of several processes on one registry, each edits its own share of the names. Each line on standard output is one
operation that returned, written at once and completely. An undaunted process continues when the database is unavailable
for a while, and reports for each failed operation whether nothing was written or the outcome is unknown.
"""

import asyncio
import os
import random
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Final
from uuid import uuid4
from zlib import crc32

from tests.crash.crash_registry import BULK, DATED, NUMBERED, PAIRED, RANDOM, TIMELINES, Open, open_registry
from tests.crash.ledger import OBSERVED, AcknowledgedAct, date_of, write_line
from tests.registry_fixture import set_target

from perdure.errors import OutcomeUnknown, StoreUnavailable
from perdure.formats.import_entries import ImportPut
from perdure.records.value import Text, Value
from perdure.registry import Statement, add_values, mint, observe, reinstate, show, withdraw
from perdure.registry.editing import ANY_INDEX
from perdure.registry.importing import Tally, import_entries

AT_ONCE: Final = 200  # names in one bulk operation
LINES: Final = 1200  # of a file that is imported; more than one transaction takes
OPENING: Final = b"opening\n"
READY: Final = b"ready\n"
UNKNOWN: Final = b"outcome unknown\n"
REFUSED: Final = b"refused\n"
IN_FLIGHT: Final = 13  # operations at a time
_ACKNOWLEDGEMENTS: Final = 1  # the descriptor of the pipe
_MOST_EDITED: Final = 200


def report(acknowledged: AcknowledgedAct) -> None:
    os.write(_ACKNOWLEDGEMENTS, write_line(acknowledged))


def new_target(of: int = 1) -> str:
    """Return a target that no other operation uses, and that contains the number of names it is for."""
    return f"https://example.org/{uuid4().hex}?of={of}"


class Share:
    """The names that this process may edit, each by one editor at a time."""

    def __init__(self, share: int, of: int) -> None:
        self.number, self._of = share, of
        self._free: list[str] = []

    def put(self, name: str) -> None:
        if crc32(name.encode()) % self._of == self.number and len(self._free) < _MOST_EDITED:
            self._free.append(name)

    async def take(self) -> str:
        while not self._free:
            await asyncio.sleep(0.001)
        return self._free.pop(random.randrange(len(self._free)))


async def mint_singly(at: Open, prefix: str, share: Share) -> None:
    target = new_target()
    (one,) = await mint(*at, prefix, statement=Statement(target=target))
    date = str(date_of(prefix, one.name, one.date)) if prefix in TIMELINES else None
    report(AcknowledgedAct("mint", one.name, 1, target, one.alias, prefix if date else None, date))
    share.put(one.name)


async def mint_in_bulk(at: Open) -> None:
    """Mint many names in one transaction: all of them or none."""
    target = new_target(AT_ONCE)
    for one in await mint(*at, BULK, AT_ONCE, statement=Statement(target=target)):
        report(AcknowledgedAct("mint", one.name, 1, target))
    await asyncio.sleep(random.uniform(0, 0.1))


class Files:
    """Imports one file after the other; an interrupted import continues where it stopped."""

    def __init__(self, share: int) -> None:
        self._share = share
        self._done = 0

    async def import_one(self, at: Open) -> None:
        checkpoint = f"file-{self._share}-{self._done}"
        entries = [
            ImportPut(
                line=line, name=f"{BULK}/{checkpoint}-{line}", target=f"https://example.org/{checkpoint}/{line}?of=1"
            )
            for line in range(1, LINES + 1)
        ]
        reported = 0

        def acknowledge(tally: Tally) -> None:
            nonlocal reported
            for entry in entries[reported : tally.entries]:
                report(AcknowledgedAct("import", entry.name, 1, entry.target or ""))
            reported = tally.entries

        tally = await import_entries(*at, entries, checkpoint=checkpoint, watch=acknowledge)
        assert (tally.created, tally.refused, tally.unchanged) == (LINES, 0, 0), tally
        self._done += 1
        await asyncio.sleep(random.uniform(0, 0.3))


async def observe_person(at: Open) -> None:
    source = f"https://example.org/staff/{uuid4().hex}"
    person = await observe(*at, source, *OBSERVED)
    assert person.created
    report(AcknowledgedAct("observe", person.name, 1, source))


async def edit(at: Open, share: Share) -> None:
    """Change, withdraw and reinstate a name, which the previous process may have left withdrawn."""
    name = await share.take()
    target, reason, note = new_target(), f"reason {uuid4().hex}", f"note {uuid4().hex}"
    try:
        if (await show(at.registry, name)).state == "withdrawn":
            report(AcknowledgedAct("reinstate", name, await reinstate(*at, name), ""))
        report(AcknowledgedAct("set", name, await set_target(*at, name, target), target))
        added = [Value(ANY_INDEX, "NOTE", Text(note))]
        report(AcknowledgedAct("add", name, await add_values(*at, name, added), note))
        report(AcknowledgedAct("withdraw", name, await withdraw(*at, name, reason), reason))
        report(AcknowledgedAct("reinstate", name, await reinstate(*at, name), ""))
    finally:
        share.put(name)


async def without_end(step: Callable[[], Awaitable[None]], undaunted: bool) -> None:
    while True:
        try:
            await step()
        except StoreUnavailable as problem:
            if not undaunted:
                raise
            os.write(_ACKNOWLEDGEMENTS, UNKNOWN if isinstance(problem, OutcomeUnknown) else REFUSED)
            await asyncio.sleep(random.uniform(0, 0.1))


def activities(at: Open, share: Share, undaunted: bool) -> list[Coroutine[None, None, None]]:
    """Return concurrent activities, so that many operations share a commit; each has one operation in progress."""
    files = Files(share.number)
    steps: list[Callable[[], Awaitable[None]]] = [
        *(
            lambda prefix=prefix: mint_singly(at, prefix, share)
            for prefix in (RANDOM, RANDOM, DATED, DATED, NUMBERED, PAIRED, PAIRED)
        ),
        lambda: mint_in_bulk(at),
        lambda: files.import_one(at),
        lambda: observe_person(at),
        *[lambda: edit(at, share)] * 3,
    ]
    return [without_end(step, undaunted) for step in steps]


async def work(folder: Path, share: Share, undaunted: bool) -> None:
    os.write(_ACKNOWLEDGEMENTS, OPENING)
    async with open_registry(folder) as at:
        for prefix in (RANDOM, DATED, PAIRED):
            for row in await at.registry.store.read(
                lambda reader, key=f"{prefix}/": reader.identifiers_after("", 50, key)
            ):
                if row.state != "reserved":  # minted by an audit, to see that it can be done
                    share.put(row.name)
        os.write(_ACKNOWLEDGEMENTS, READY)
        going_on = activities(at, share, undaunted)
        assert len(going_on) == IN_FLIGHT
        await asyncio.gather(*going_on)


if __name__ == "__main__":
    folder, number, of = sys.argv[1:4]
    asyncio.run(work(Path(folder), Share(int(number), int(of)), "undaunted" in sys.argv[4:]))
