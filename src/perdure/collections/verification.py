"""The check of a collection: every byte of its items, what the registry records of them, and what is there besides.

The outcome is recorded with each holding. A read that failed is told from a byte that changed: the first may succeed at
the next check. Memory does not grow with the number of items.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from perdure.collections import item_records
from perdure.collections.held_items import find_foreign_item, find_item, require_collection
from perdure.collections.item_content import summarize_content
from perdure.collections.item_report import MISPLACED, ItemReport
from perdure.collections.stoppable_work import run_stoppable
from perdure.collections.storage_root import StorageRoot
from perdure.collections.work_progress import Report
from perdure.errors import InvalidInput, ItemDamaged, NoSuchItem, NoSuchName, NoSuchVersion
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Event
from perdure.registry.holdings import Holding, Outcome
from perdure.registry.idempotency import shift_time
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

_BATCH: Final = 200  # items, between two transactions
_BATCH_SECONDS: Final = 2.0
_MOST_SHOWN: Final = 20  # problems of one item
_LONGEST_DETAIL: Final = 1000  # characters, of an event


class CheckedItem(NamedTuple):
    """An item, or a directory, with what is wrong. `outcome` is what was recorded; None if nothing was."""

    label: str
    outcome: Outcome | None
    problems: tuple[str, ...]
    files: int
    size: int


class _Verdict(NamedTuple):
    """What a check has found of an item: its outcome for the registry, and all problems in words."""

    report: ItemReport
    holding: Holding | None
    outcome: Outcome | None
    problems: tuple[str, ...]


async def verify_collection(
    registry: Registry, by: Agent, name: str, *, rate: float | None = None, report: Report | None = None
) -> AsyncIterator[CheckedItem]:
    """Check a whole collection, and yield each item; then those that are recorded, and not there."""
    started = registry.current_time()
    root = await _open(registry, by, name)
    tally = _Tally()
    steps: list[Iterator[ItemReport]] = []
    reports: deque[Report] = deque(maxlen=1)  # of the batch that is being checked

    def take(report: Report) -> list[ItemReport]:
        if not steps:
            steps.append(root.verify(rate=rate, report=lambda step: reports[-1](step)))
        reports.append(report)
        until = time.monotonic() + _BATCH_SECONDS
        batch: list[ItemReport] = []
        for one in islice(steps[0], _BATCH):
            batch.append(one)
            if time.monotonic() > until:
                break
        return batch

    while batch := await run_stoppable(take, report):
        holdings = await registry.store.read(lambda reader, batch=batch: _find_holdings(reader, name, batch))  # type: ignore[misc]
        verdicts = await asyncio.to_thread(_judge_all, root, batch, holdings)
        async for checked in _record_all(registry, by, verdicts):
            tally.add(checked)
            yield checked
    async for missing in _find_missing(registry, by, name, root, started):
        tally.add(missing)
        yield missing
    await _log(registry, by, name, tally)


async def verify_rolling(
    registry: Registry,
    by: Agent,
    name: str,
    period: timedelta,
    *,
    rate: float | None = None,
    report: Report | None = None,
) -> AsyncIterator[CheckedItem]:
    """Check the items that were not checked within a period, those first that were not for the longest time."""
    if period <= timedelta():
        raise InvalidInput("collection", "rolling", "the period must be longer than nothing, as in 30d or 12h")
    root = await _open(registry, by, name)
    before, tally = shift_time(registry.current_time(), -period), _Tally()
    reports: deque[Report] = deque(maxlen=1)  # of the batch that is being checked
    check_item = root.build_check(rate=rate, report=lambda step: reports[-1](step))
    while due := await registry.store.read(lambda reader: reader.unverified_holdings(name, before, _BATCH)):

        def check(report: Report, due: Sequence[Holding] = due) -> list[_Verdict]:
            reports.append(report)
            until, verdicts = time.monotonic() + _BATCH_SECONDS, []
            for one in due:
                verdicts.append(_check_holding(root, one, check_item))
                if time.monotonic() > until:
                    break
            return verdicts

        async for checked in _record_all(registry, by, await run_stoppable(check, report)):
            tally.add(checked)
            yield checked
    if tally.items:
        await _log(registry, by, name, tally)


class _Tally:
    """The items of one run."""

    def __init__(self) -> None:
        self.items = self.problems = self.size = 0

    def add(self, checked: CheckedItem) -> None:
        self.items += bool(checked.label)
        self.problems += bool(checked.problems)
        self.size += checked.size


async def _open(registry: Registry, by: Agent, name: str) -> StorageRoot:
    def look_up(reader: Reader) -> Path:
        require_permission(reader, by, "admin", WHOLE_REGISTRY, registry.current_time())
        return Path(require_collection(reader, name).path)

    return await asyncio.to_thread(StorageRoot.open, await registry.store.read(look_up))


def _find_holdings(reader: Reader, collection: str, batch: Sequence[ItemReport]) -> list[Holding | None]:
    return [_find_holding(reader, collection, one.label) if one.label else None for one in batch]


def _find_holding(reader: Reader, collection: str, label: str) -> Holding | None:
    try:
        item = find_item(reader, label)
    except NoSuchName:
        item = find_foreign_item(reader, label)
    return item.holding_in(collection)


def _judge_all(root: StorageRoot, batch: Sequence[ItemReport], holdings: Sequence[Holding | None]) -> list[_Verdict]:
    return [_judge(root, report, holding) for report, holding in zip(batch, holdings, strict=True)]


def _check_holding(root: StorageRoot, holding: Holding, check: Callable[[str], ItemReport]) -> _Verdict:
    try:
        found = check(holding.label)
    except NoSuchItem:
        return _missing_item(holding)
    return _judge(root, found, holding)


def _judge(root: StorageRoot, report: ItemReport, holding: Holding | None) -> _Verdict:
    """Compare what a check has found with what the registry records."""
    problems = [": ".join(filter(None, one)) for one in report.problems[:_MOST_SHOWN]]
    if report.problem_count > len(problems):
        problems.append(f"and {report.problem_count - len(problems)} more problems")
    if not report.label:
        return _Verdict(report, None, None, tuple(problems))  # each names its path
    if holding is None:
        if not any(one.kind == MISPLACED and not one.path for one in report.problems):  # else it is to be moved back
            problems.append("unrecorded: the registry does not know that the item is here; put it again, or remove it")
        return _Verdict(report, None, None, tuple(problems))
    outcome: Outcome = "valid"
    if not report.is_sound:
        outcome = "unreadable" if report.is_unreadable else "damaged"
    if outcome == "valid":
        difference = _compare_with_record(root, holding)
        if difference is not None:
            outcome = "damaged"
            problems.append(difference)
        elif (newest := root.read_item(holding.label).newest.number) > holding.version:
            problems.append(f"unrecorded: version {newest} was stored and not published; put it again")
    return _Verdict(report, holding, outcome, tuple(problems))


def _compare_with_record(root: StorageRoot, holding: Holding) -> str | None:
    """Return how the recorded version differs from what is on disk, also if its inventory was replaced as a whole."""
    try:
        version = root.read_item(holding.label).version(holding.version)
    except (NoSuchVersion, NoSuchItem):
        return f"missing: version {holding.version} was recorded, and is not there"
    except ItemDamaged as problem:
        return f"changed: {problem}"
    content = summarize_content(version.number, version.files.values())
    if content.digest != holding.digest:
        return f"changed: the files of version {holding.version} are not those that were recorded"
    return None


def _missing_item(holding: Holding) -> _Verdict:
    report = ItemReport(holding.label, "", 0, 0, (), 0)
    return _Verdict(report, holding, "missing", ("missing: the whole item is not there",))


async def _record_all(registry: Registry, by: Agent, verdicts: Sequence[_Verdict]) -> AsyncIterator[CheckedItem]:
    """Record the outcomes in one transaction, and yield the items."""

    def work(tx: Transaction) -> None:
        for one in verdicts:
            if one.holding is not None and one.outcome is not None:
                problem = "; ".join(one.problems)[:_LONGEST_DETAIL] or None
                item_records.record_check(tx, registry, by, one.holding, one.outcome, problem)

    await registry.store.write(work)
    for one in verdicts:
        yield CheckedItem(one.report.label, one.outcome, one.problems, one.report.files, one.report.bytes)


async def _find_missing(
    registry: Registry, by: Agent, name: str, root: StorageRoot, started: str
) -> AsyncIterator[CheckedItem]:
    """Yield what the collection should hold, and does not."""
    key = ""
    while holdings := await registry.store.scan(
        lambda reader, key=key: reader.holdings_after(name, key, _BATCH)  # type: ignore[misc]
    ):
        key = holdings[-1].subject
        due = [one for one in holdings if (one.verified_at or "") < started and one.put_at < started]
        absent = await asyncio.to_thread(lambda due=due: [one for one in due if not root.has_item(one.label)])  # type: ignore[misc]
        if absent:
            async for checked in _record_all(registry, by, [_missing_item(one) for one in absent]):
                yield checked


async def _log(registry: Registry, by: Agent, name: str, tally: _Tally) -> None:
    detail = f"items: {tally.items}, bytes: {tally.size}, with problems: {tally.problems}"
    event = Event(registry.current_time(), by.id, "collection verify", name, detail)

    def work(tx: Transaction) -> None:
        require_permission(tx, by, "admin", WHOLE_REGISTRY, event.at)
        tx.put_event(event)

    await registry.store.write(work)
