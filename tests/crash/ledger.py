"""The ledger of acknowledged operations, and the check that a registry still has them."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Final

import msgspec
from tests.crash.crash_registry import KEYS, MARKS, TIMELINES, Open

from perdure.records import record as records
from perdure.records.record import Record
from perdure.registry import mint, observe
from perdure.registry.entities import Identifier, Revision
from perdure.registry.integrity import verify
from perdure.registry.store_interface import Reader

_PAGE: Final = 1000
OBSERVED: Final = ("2025-01-09T10:30:00Z", "0" * 64)  # time and hash; the URL is different each time


class AcknowledgedAct(msgspec.Struct, frozen=True, omit_defaults=True):
    """An operation that returned. `content` is a unique text, which the record has at this version."""

    act: str
    name: str
    version: int
    content: str
    alias: str | None = None
    timeline: str | None = None
    date: str | None = None


_line: Final = msgspec.json.Encoder().encode
_read: Final = msgspec.json.Decoder(AcknowledgedAct).decode

# What must be true of the record at the acknowledged version.
_CONTENT: Final[dict[str, Callable[[Record, str], bool]]] = {
    "mint": lambda record, content: record.state == "active" and [value.text for value in record.values] == [content],
    "import": lambda record, content: record.state == "active" and [value.text for value in record.values] == [content],
    "set": lambda record, content: record.values[0].text == content,
    "add": lambda record, content: content in [value.text for value in record.values],
    "withdraw": lambda record, content: record.tombstone is not None and record.tombstone.reason == content,
    "reinstate": lambda record, content: record.state == "active" and record.tombstone is None,
    "observe": lambda record, content: record.observation is not None and record.observation.source_url == content,
}


def write_line(acknowledged: AcknowledgedAct) -> bytes:
    return _line(acknowledged) + b"\n"


def read_lines(reported: bytes) -> list[AcknowledgedAct]:
    """Return every complete line; the kill may have truncated the last one."""
    return [_read(line) for line in reported.split(b"\n")[:-1] if line.startswith(b"{")]


class Ledger:
    """All acknowledged operations, of all processes that ever worked on a registry."""

    def __init__(self) -> None:
        self._entries: list[AcknowledgedAct] = []
        self._versions: dict[str, int] = {}  # as the last audit found them
        self._latest: dict[str, Fraction] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def enter(self, batches: Iterable[list[AcknowledgedAct]]) -> None:
        """Add what several processes reported since the last time; their dates must be later than all before."""
        before = dict(self._latest)
        for batch in batches:
            for one in batch:
                self._entries.append(one)
                if one.timeline is None:
                    continue
                date = Fraction(one.date or 0)
                assert date > before.get(one.timeline, 0), f"{one.name} is dated before what was acknowledged earlier"
                self._latest[one.timeline] = max(date, self._latest.get(one.timeline, Fraction(0)))

    def check_marks(self, folder: Path) -> None:
        """Check that the marks outside the database cover every date that was returned to a caller."""
        if self._latest:
            marks = json.loads((folder / MARKS).read_bytes())
            for timeline, latest in self._latest.items():
                assert Fraction(marks[KEYS[timeline]]) >= latest, f"the mark of {timeline} lags behind what was issued"

    async def audit(self, at: Open, in_flight: int) -> None:
        """Check that everything exists once; at most `in_flight` operations were done without an acknowledgement."""
        registry = at.registry
        assert await verify(registry) == []
        stored = await registry.store.read(_read_all)
        self._check_contents(stored)
        self._check_nothing_doubled(stored, in_flight)
        await self._check_persons(at)
        await self._check_dates(at)

    def _check_contents(self, stored: dict[str, tuple[Identifier, list[Revision]]]) -> None:
        for one in self._entries:
            assert one.name in stored, f"{one} is lost"
            row, history = stored[one.name]
            assert [revision.version for revision in history] == list(range(1, row.version + 1))
            assert one.version <= row.version, f"{one} is lost: only version {row.version} is there"
            record = records.decode(history[one.version - 1].record)
            assert _CONTENT[one.act](record, one.content), f"{one} says something else: {record}"
            if one.alias is not None:
                alias, _ = stored[one.alias]
                assert (alias.record, alias.version, alias.subject) == (row.record, row.version, row.key)

    def _check_nothing_doubled(self, stored: dict[str, tuple[Identifier, list[Revision]]], in_flight: int) -> None:
        minted = Counter(one.name for one in self._entries if one.act in ("mint", "observe"))
        assert [name for name, times in minted.items() if times > 1] == [], "a name was given away twice"
        acts = Counter((one.name, one.version) for one in self._entries if one.act != "import")
        assert [act for act, times in acts.items() if times > 1] == [], "two operations made the same version"
        dates = Counter((one.timeline, one.date) for one in self._entries if one.timeline is not None)
        assert [date for date, times in dates.items() if times > 1] == [], "a date was given away twice"

        names_by_target: defaultdict[str, set[str]] = defaultdict(set)
        for name, (row, history) in stored.items():
            if row.subject == row.key and (target := _first_target(history)) is not None:
                names_by_target[target].add(name)
        for target, names in names_by_target.items():
            made = int(target.rpartition("?of=")[2])
            assert len(names) == made, f"the mint of {target} made {len(names)} names, not {made}"

        _check_imports(name for name in stored if "/file-" in name)

        # One more operation than was acknowledged may be done for each that was under way, and no more.
        versions = {name: row.version for name, (row, _) in stored.items() if row.subject == row.key}
        acknowledged: defaultdict[str, int] = defaultdict(int, self._versions)
        for one in self._entries:
            acknowledged[one.name] = max(acknowledged[one.name], one.version)
        unheard_of = {
            target for target, names in names_by_target.items() if not any(name in acknowledged for name in names)
        }
        unheard_of = {target for target in unheard_of if "/file-" not in target}
        unheard_of |= {name for name in versions if name.startswith("POID") and name not in acknowledged}
        more = sum(versions[name] - version for name, version in acknowledged.items() if version)
        assert len(unheard_of) + more <= in_flight
        self._versions = versions

    async def _check_persons(self, at: Open) -> None:
        """Check that the same inputs still yield the same identifier."""
        observed = [one for one in self._entries if one.act == "observe"]
        for one in observed[-5:]:
            again = await observe(*at, one.content, *OBSERVED)
            assert (again.name, again.created) == (one.name, False)

    async def _check_dates(self, at: Open) -> None:
        """Check that the registry continues later than everything that was acknowledged."""
        for timeline in TIMELINES:
            (fresh,) = await mint(*at, timeline)
            assert date_of(timeline, fresh.name, fresh.date) > self._latest.get(timeline, 0)


def date_of(timeline: str, name: str, date: Fraction | None) -> Fraction:
    """Return the date of a name, or its number if the timeline only counts."""
    return Fraction(name.removeprefix(f"{timeline}/")) if date is None else date


def _check_imports(names: Iterable[str]) -> None:
    """Check that a file was imported from its beginning, without gaps."""
    lines: defaultdict[str, set[int]] = defaultdict(set)
    for name in names:
        file, _, line = name.rpartition("-")
        lines[file].add(int(line))
    for file, found in lines.items():
        assert found == set(range(1, len(found) + 1)), f"lines of {file} are missing"


def _first_target(history: list[Revision]) -> str | None:
    record = records.decode(history[0].record)
    text = record.values[0].text if record.values else None
    return text if text is not None and text.startswith("https://example.org/") else None


def _read_all(reader: Reader) -> dict[str, tuple[Identifier, list[Revision]]]:
    stored: dict[str, tuple[Identifier, list[Revision]]] = {}
    key = ""
    while page := reader.identifiers_after(key, _PAGE):
        stored |= {row.name: (row, reader.revisions(row.subject)) for row in page}
        key = page[-1].key
    return stored
