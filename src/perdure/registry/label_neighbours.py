"""The labels next to a label: what is known of the timeline that issued it."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

from perdure.errors import InvalidName
from perdure.names import handle, ibi, instant
from perdure.names.ibi import opaque
from perdure.names.ibi.distributor_steps import Trace
from perdure.registry.name_keys import locate
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_MOST_ROWS: Final = 10  # on each side, until one is a label as the algorithms write it
_MOST_OPAQUE_ROWS: Final = 100  # fractions of a second in base 27 are not in the order of their dates

_Label = ibi.RepositoryName | ibi.OpaqueName


class LabelNeighbours(NamedTuple):
    """A registered label, and the labels of the same timeline before and after it, under all its label prefixes.

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
    """Find the neighbours of an IBI label; None if it is not registered, or is not as the algorithms write it."""
    return await registry.store.read(lambda reader: _find(reader, name))


def _find(reader: Reader, name: str) -> LabelNeighbours | None:
    located = locate(reader, name)
    row = reader.find(located.key)
    if row is not None and row.subject != row.key:
        row = reader.find(row.subject)
    label = None if row is None else _parse(row.name)
    if row is None or label is None:
        return None
    prefix = locate(reader, row.name).prefix
    label_prefixes = prefix.lookup_keys if prefix.scheme == "ibi" else (handle.fold(label.prefix),)
    near = [one for key in label_prefixes for one in _labels_near(reader, key, label.date)]
    near.sort(key=lambda one: isinstance(one, ibi.OpaqueName))  # of the two labels of a date, the readable one
    previous = max((one for one in near if one.date < label.date), key=_date, default=None)
    following = min((one for one in near if one.date > label.date), key=_date, default=None)
    subsystem = prefix.subsystem
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


def _labels_near(reader: Reader, label_prefix: str, date: Fraction) -> Iterator[_Label]:
    """Yield the labels under a label prefix whose dates are next to this one, in any order."""
    is_readable = "/" in label_prefix
    if not is_readable and date < opaque.EPOCH:
        return
    suffix = ibi.repository_suffix(date) if is_readable else ibi.opaque_suffix(date)
    key, under = handle.fold(f"{label_prefix}/{suffix}"), f"{label_prefix}/"
    most = _MOST_ROWS if is_readable else _MOST_OPAQUE_ROWS
    for row in (*reader.identifiers_before(key, most, under), *reader.identifiers_after(key, most, under)):
        label = _parse(row.name)
        if label is not None:
            yield label


def _date(label: _Label) -> Fraction:
    return label.date


def _parse(name: str) -> _Label | None:
    try:
        return ibi.parse(name)
    except InvalidName:
        return None


def _as_pair(label: _Label | None) -> tuple[str, Fraction] | None:
    return None if label is None else (label.label, label.date)
