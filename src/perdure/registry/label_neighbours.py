"""The labels next to a label: what is known of the timeline that issued it."""

from fractions import Fraction
from typing import Final, NamedTuple

from perdure.errors import InvalidName
from perdure.names import ibi, instant
from perdure.names.ibi.distributor_steps import Trace
from perdure.registry.name_keys import locate
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_MOST_ROWS: Final = 10  # on each side, until one is a label as the algorithms write it


class LabelNeighbours(NamedTuple):
    """A registered label, and the labels of the same host and port before and after it.

    `trace` shows how Algorithm 4 arrives at its date from the date before and the time of its first revision, or a
    moment later. It is None if that gives another date: the granularity has changed, or the label was imported.
    """

    label: str
    date: Fraction
    previous: tuple[str, Fraction] | None
    following: tuple[str, Fraction] | None
    granularity: Fraction | None
    trace: Trace | None


async def find_neighbours(registry: Registry, name: str) -> LabelNeighbours | None:
    """Find the neighbours of an IBI label; None if it is not registered, or has no repository name."""
    return await registry.store.read(lambda reader: _find(reader, name))


def _find(reader: Reader, name: str) -> LabelNeighbours | None:
    located = locate(reader, name)
    row = reader.find(located.key)
    if row is not None and row.subject != row.key:
        row = reader.find(row.subject)
    label = None if row is None else _parse(row.name)
    if row is None or label is None:
        return None
    under = f"{label.prefix}/"
    before = (_parse(one.name) for one in reader.identifiers_before(row.key, _MOST_ROWS, under))
    after = (_parse(one.name) for one in reader.identifiers_after(row.key, _MOST_ROWS, under))
    previous = next((one for one in before if one is not None and one.date < label.date), None)
    following = next((one for one in after if one is not None and one.date > label.date), None)
    subsystem = located.prefix.subsystem
    granularity = None if subsystem is None else subsystem.granularity
    first = reader.revision(row.key, 1)
    trace = None
    if granularity is not None and first is not None and first.action == "mint":
        # The distributor reads the clock shortly after the time of the revision, perhaps one step later.
        requests = (instant.from_iso(first.at, "ibi", "date"), label.date)
        last = None if previous is None else previous.date
        traces = (ibi.trace_next_date(request, last, granularity) for request in requests)
        trace = next((one for one in traces if one.date == label.date), None)
    return LabelNeighbours(row.name, label.date, _as_pair(previous), _as_pair(following), granularity, trace)


def _parse(name: str) -> ibi.RepositoryName | None:
    try:
        return ibi.parse_repository(name)
    except InvalidName:
        return None


def _as_pair(label: ibi.RepositoryName | None) -> tuple[str, Fraction] | None:
    return None if label is None else (label.label, label.date)
