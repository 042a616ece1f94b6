"""The label periods of an IBI subsystem: when it issued labels under which label prefix, on its one timeline.

A new host or IP address ends one period and begins another. The periods of one kind never overlap.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

import msgspec

from perdure.errors import InvalidName
from perdure.names import handle, ibi, instant
from perdure.registry.entities import LabelKind, LabelPeriod, Prefix, Subsystem, sort_periods
from perdure.registry.name_keys import label_prefix_key

KINDS: Final[tuple[LabelKind, ...]] = ("name", "address")
_SAMPLE_SUFFIX: Final[dict[LabelKind, str]] = {"name": "2000/01.01.00.00", "address": "2"}


def current_labels(subsystem: Subsystem) -> dict[LabelKind, str]:
    """Return the keys of the label prefixes of a host and of an IP address. Raise an error if they make no label."""
    labels: dict[LabelKind, str] = {}
    if subsystem.host is not None:
        labels["name"] = handle.fold(ibi.repository_prefix(subsystem.host, subsystem.port))
    if subsystem.ip is not None:
        labels["address"] = handle.fold(ibi.opaque_prefix(subsystem.ip, subsystem.ip_port))
    return labels


def change_periods(periods: Sequence[LabelPeriod], labels: Mapping[LabelKind, str], at: str) -> tuple[LabelPeriod, ...]:
    """End the open periods of other labels at this time, and begin those that are missing."""
    changed = []
    for one in periods:
        is_over = one.ended is None and labels.get(one.kind) != one.label
        changed.append(msgspec.structs.replace(one, ended=at) if is_over else one)
    issuing = {one.kind for one in changed if one.ended is None}
    changed += [LabelPeriod(label, kind, at) for kind, label in labels.items() if kind not in issuing]
    return sort_periods(changed)


def is_continued_by(periods: Sequence[LabelPeriod], later: Sequence[LabelPeriod]) -> bool:
    """Return whether the second periods are the first ones with changes that came later."""
    known = {(one.label, one.started): one for one in later}
    return all(
        (other := known.get((one.label, one.started))) is not None
        and other.kind == one.kind
        and one.ended in (None, other.ended)
        for one in periods
    )


def period_problems(prefix: Prefix) -> Iterator[str]:
    """Yield what is wrong with the label periods of a prefix."""
    if prefix.subsystem is None:
        if prefix.periods:
            yield "it has label periods, but mints no labels"
        return
    labels = current_labels(prefix.subsystem)
    issuing = {one.kind: one.label for one in prefix.periods if one.ended is None}
    if issuing != labels:
        yield "the label periods that have no end are not those of its host and IP address"
    if prefix.opaque != labels.get("address"):
        yield "its opaque prefix is not that of its IP address"
    if prefix.key not in {one.label for one in prefix.periods}:
        yield "its key is none of its label prefixes"
    for kind in KINDS:
        of_kind = [one for one in prefix.periods if one.kind == kind]
        for one in of_kind:
            if not _is_label_prefix(one):
                yield f"{one.label!a} is not the label prefix of a {kind}"
            if one.ended is not None and one.ended <= one.started:
                yield f"the period of {one.label} that began at {one.started} ends before it begins"
        if any(earlier.ended is None or earlier.ended > later.started for earlier, later in pairwise(of_kind)):
            yield f"two of its label periods of the same kind ({kind}) overlap"


def is_after_periods(prefix: Prefix, key: str, date: Fraction) -> bool:
    """Return whether a label of this date can only have been minted after its label prefix was not in use any more."""
    ends = [one.ended for one in prefix.periods if key.startswith(f"{one.label}/")]
    return None not in ends and bool(ends) and date > max(instant.from_iso(end, "instant") for end in ends if end)


def _is_label_prefix(period: LabelPeriod) -> bool:
    try:
        label = ibi.parse(f"{period.label}/{_SAMPLE_SUFFIX[period.kind]}")
    except InvalidName:
        return False
    return isinstance(label, ibi.RepositoryName) == (period.kind == "name") and label_prefix_key(label) == period.label
