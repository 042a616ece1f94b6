"""Prove a person's history: what was not said here, or was said long ago, is looked at as if it were said now."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from perdure.errors import InvalidInput, PerdureError
from perdure.names import ppid
from perdure.names.ppid_inputs import checked_hash
from perdure.records import record as records
from perdure.records.checks import Limits, check_seconds, one_line
from perdure.records.person import Redaction
from perdure.records.person_checks import checked_observation, checked_reconstruction, refuse_itself
from perdure.records.record import Record, Tombstone
from perdure.registry.persons.reconstructing import with_claims
from perdure.registry.persons.restricting import restricted_in
from perdure.registry.protocol import Reader

Problem = tuple[str, str]  # the part that is wrong, and why

_FEWEST_PARTS: Final = 2


def no_person_problems(record: Record, limits: Limits) -> Iterator[Problem]:
    """List parts that only a person's record may have, and errors in the redactions of values."""
    for part in ("observation", "reconstruction", "restriction"):
        if getattr(record, part) is not None:
            yield part, f"it has a part that only a person has: {part}"
    for act in () if record.redaction is None else record.redaction.acts:
        if act.of is not None or not act.indexes:
            yield (
                "redaction",
                "only a person can be redacted as a whole; of other identifiers, single values can",
            )
        yield from _redaction_problems(act, limits)
    stone = record.tombstone
    if stone is not None and (stone.successors or stone.merged_at is not None):
        yield "tombstone", "it is said to have been merged or split, as only a person can be"


def saying_problems(name: str, record: Record, limits: Limits) -> Iterator[Problem]:
    """What one version of a person's record says, by itself."""
    is_observation = name.startswith("POID-")
    if (redaction := record.redaction) is not None:
        for act in redaction.acts:
            yield from _redaction_problems(act, limits)
    if record.is_redacted:
        if record.observation is not None or record.reconstruction is not None or record.values:
            yield "redaction", "it was redacted, and still says something"
        return
    if (record.observation is not None) != is_observation or (record.reconstruction is not None) == is_observation:
        yield (
            "reconstruction",
            f"it is {'an observation' if is_observation else 'a reconstruction'}, and says otherwise",
        )
        return
    if record.state == "reserved":
        yield "state", "a person identifier stands for something from the beginning, and is never reserved"
    if is_observation and (record.values or record.about is not None):
        yield "values", "an observation has neither values nor a description"
    if (restriction := record.restriction) is not None:
        yield from _refused(lambda: one_line(restriction.reason, "restriction", limits.text_characters))
        yield from _refused(lambda: check_seconds(restriction.since, "restriction"))
    if record.tombstone is not None:
        yield from _tombstone_problems(name, record, record.tombstone, limits)
    yield from _refused(lambda: _check_words(name, record, limits))


def _redaction_problems(redaction: Redaction, limits: Limits) -> Iterator[Problem]:
    yield from _refused(lambda: one_line(redaction.reason, "redaction", limits.text_characters))
    yield from _refused(lambda: check_seconds(redaction.at, "redaction"))
    yield from _refused(lambda: checked_hash(redaction.sha256))
    if list(redaction.indexes) != sorted(set(redaction.indexes)):
        yield "redaction", "the indexes of the values that were redacted are not in their order, each once"
    if (observation := redaction.of) is not None:
        yield from _refused(lambda: ppid.canonical_observations([observation]))


def _refused(check: Callable[[], object]) -> Iterator[Problem]:
    try:
        check()
    except InvalidInput as problem:
        yield problem.part, problem.reason


def _check_words(name: str, record: Record, limits: Limits) -> None:
    if (seen := record.observation) is not None and checked_observation(seen, limits) != seen:
        raise InvalidInput("person", "observation", "it is not written as an observation is")
    if (made := record.reconstruction) is not None:
        refuse_itself(name, made)
        if checked_reconstruction(made, limits) != made:
            raise InvalidInput("person", "reconstruction", "it is not written as a reconstruction is")


def _tombstone_problems(name: str, record: Record, stone: Tombstone, limits: Limits) -> Iterator[Problem]:
    yield from _refused(lambda: one_line(stone.reason, "tombstone", limits.text_characters))
    if (record.state == "merged" or stone.successors) and name.startswith("POID-"):
        yield "tombstone", "an observation is neither merged nor split"
    if record.state == "merged" and not (_is_other_person(name, stone.replaced_by) and not stone.successors):
        yield "tombstone", "it was merged, and does not lead to one other person"
    if stone.merged_at is not None and (record.state != "merged" or stone.merged_at < 2):
        yield "tombstone", f"nothing was taken up in version {stone.merged_at}"
    if stone.successors:
        parts = set(stone.successors)
        if len(parts) < max(_FEWEST_PARTS, len(stone.successors)) or stone.replaced_by is not None:
            yield "tombstone", "it was split, and does not lead to several persons, each once"
        if not all(_is_other_person(name, part) for part in parts):
            yield "tombstone", "it was split into something that is no other person"


def _is_other_person(name: str, other: str | None) -> bool:
    return (
        other is not None and ppid.validate_ppid(other) and other == ppid.canonical(other) != name and other[1] == "R"
    )


def ground_problems(reader: Reader, versions: Sequence[tuple[int, Record]], first: int = 1) -> Iterator[Problem]:
    """What a reconstruction stands upon, in these versions, the last of which is the newest; from `first` on."""
    for version, record in versions:
        made = record.reconstruction
        if made is None or version < first:
            continue
        try:
            said = with_claims(reader, made, stood=made.observation_ids, shown=False)
        except PerdureError as problem:
            yield getattr(problem, "part", "claims"), f"version {version}: {problem}"
            continue
        if said.claims != made.claims:
            yield "claims", f"version {version} says of its claims what its observations do not"
    if versions and versions[-1][1].restriction is None:
        hidden = restricted_in(reader, [record for _, record in versions])
        if hidden:
            yield "restriction", f"it shows what {', '.join(hidden)} must not"


def company_problems(reader: Reader, name: str, record: Record) -> Iterator[Problem]:
    """Whom a reconstruction names must be there; and who came in its place must know that."""
    made, stone = record.reconstruction, record.tombstone
    if made is None:
        return
    named = {*made.different_from, *made.replaces}
    missing = named - set(reader.find_many(sorted(named)))
    for other in sorted(missing):
        yield "reconstruction", f"it names {other}, which is not registered here"
    if stone is None:
        return
    heirs = [(heir, 1) for heir in stone.successors]
    if record.state == "merged" and stone.replaced_by is not None:
        heirs.append((stone.replaced_by, stone.merged_at or 0))
    for heir, version in heirs:
        if reader.find(heir) is None:
            yield "tombstone", f"it leads to {heir}, which is not registered here"
        elif version and name not in _taken_up(reader, heir, version):
            yield "tombstone", f"it leads to {heir}, whose version {version} did not come in its place"


def _taken_up(reader: Reader, heir: str, version: int) -> tuple[str, ...]:
    revision = reader.revision(heir, version)
    made = None if revision is None else records.decode(revision.record).reconstruction
    return () if made is None else made.replaces
