"""Statistics of resolutions: how often each name was resolved, by day and by kind of client.

No client is identified: neither its address nor its user agent is stored. Counts are added some time after the
resolutions that they count, so the newest are missing for a while.
"""

from collections.abc import Sequence
from datetime import date
from typing import Final, Literal, get_args

from perdure.errors import InvalidInput, NotAuthorised, quote_text
from perdure.records.frozen_struct import FrozenStruct
from perdure.registry.entities import Agent, Prefix, ResolutionCount
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.name_keys import key_beginnings, locate, require_prefix
from perdure.registry.permissions.permissions import granted_actions
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

ClientKind = Literal["browser", "robot", "program", "handle"]
CLIENT_KINDS: Final[tuple[ClientKind, ...]] = get_args(ClientKind)
CSV_COLUMNS: Final = ("period", *CLIENT_KINDS, "total")
FIRST_DAY: Final = "0000-01-01"
LAST_DAY: Final = "9999-12-31"


class Period(FrozenStruct, frozen=True):
    """The resolutions in one period: a day (`2026-11-18`) or a month (`2026-11`)."""

    period: str
    browser: int = 0
    robot: int = 0
    program: int = 0
    handle: int = 0

    @property
    def total(self) -> int:
        """All resolutions, without those by robots."""
        return self.browser + self.program + self.handle


class NameTotal(FrozenStruct, frozen=True):
    """The resolutions of one name in the whole time, without those by robots."""

    name: str
    total: int


class PrefixStatistics(FrozenStruct, frozen=True):
    """The resolutions under a prefix by period, and its most resolved names."""

    prefix: str
    periods: tuple[Period, ...]
    names: tuple[NameTotal, ...]


class NameStatistics(FrozenStruct, frozen=True):
    """The resolutions of one name. Those of all names of one identifier are added up."""

    name: str
    periods: tuple[Period, ...]


async def add_resolutions(registry: Registry, counts: Sequence[ResolutionCount]) -> None:
    """Add counts to those that are stored."""
    await registry.store.write(lambda tx: tx.add_resolutions(counts))


async def name_statistics(
    registry: Registry, by: Agent, name: str, *, since: str = FIRST_DAY, until: str = LAST_DAY, monthly: bool = False
) -> NameStatistics:
    """Return how often a name was resolved. The agent must have a permission under its prefix."""
    check_period(since, until)

    def work(reader: Reader) -> NameStatistics:
        identifier, record, prefix = require_identifier(reader, name)
        _require_any_permission(reader, registry, by, prefix)
        labels = {identifier.key, identifier.subject, *(locate(reader, name).key for name in record.other_names)}
        counts = [one for label in sorted(labels) for one in reader.resolutions(label, since, until)]
        return NameStatistics(identifier.name, _sum_periods(counts, monthly))

    return await registry.store.scan(work)


async def prefix_statistics(
    registry: Registry,
    by: Agent,
    prefix: str,
    *,
    since: str = FIRST_DAY,
    until: str = LAST_DAY,
    monthly: bool = False,
    limit: int = 100,
) -> PrefixStatistics:
    """Return how often the names under a prefix were resolved, and which most often."""
    check_period(since, until)

    def work(reader: Reader) -> PrefixStatistics:
        known = require_prefix(reader, prefix)
        _require_any_permission(reader, registry, by, known)
        beginnings = key_beginnings(known, prefix)
        counts = [one for under in beginnings for one in reader.resolutions_by_day(under, since, until)]
        top = [one for under in beginnings for one in reader.most_resolved(under, since, until, limit)]
        top.sort(key=lambda one: -one[1])
        names = tuple(NameTotal(name, total) for name, total in top[:limit])
        shown = known.name if len(beginnings) > 1 else prefix.rstrip("/")
        return PrefixStatistics(shown, _sum_periods(counts, monthly), names)

    return await registry.store.scan(work)


def write_csv(periods: Sequence[Period]) -> str:
    """Return the counts as a CSV table with a header line."""
    lines = [",".join(CSV_COLUMNS)]
    lines += [",".join(str(getattr(period, column)) for column in CSV_COLUMNS) for period in periods]
    return "".join(f"{line}\r\n" for line in lines)


def check_period(since: str, until: str) -> None:
    """Refuse days that are not written as YYYY-MM-DD, and a period that ends before it begins."""
    for part, text in (("since", since), ("until", until)):
        if text in (FIRST_DAY, LAST_DAY):
            continue
        try:
            is_day = date.fromisoformat(text).isoformat() == text
        except ValueError:
            is_day = False
        if not is_day:
            raise InvalidInput("statistics", part, f"{part} must be a day such as 2026-11-18, not {quote_text(text)}")
    if until < since:
        raise InvalidInput("statistics", "until", f"the period ends ({until}) before it begins ({since})")


def _require_any_permission(reader: Reader, registry: Registry, by: Agent, prefix: Prefix) -> None:
    if not granted_actions(reader, by, prefix.key, registry.current_time()):
        raise NotAuthorised(by.id, "read statistics", prefix.key)


def _sum_periods(counts: Sequence[ResolutionCount], monthly: bool) -> tuple[Period, ...]:
    """Return the counts by day or by month, the oldest first."""
    sums: dict[str, dict[str, int]] = {}
    for one in counts:
        kinds = sums.setdefault(one.day[:7] if monthly else one.day, {})
        kinds[one.client] = kinds.get(one.client, 0) + one.count
    return tuple(
        Period(period, *(kinds.get(kind, 0) for kind in CLIENT_KINDS)) for period, kinds in sorted(sums.items())
    )
