"""Checks of a person's history: imported or old content is checked with the rules for new content."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from perdure.errors import InvalidInput, PerdureError
from perdure.names import ppid
from perdure.names.ppid_inputs import check_hash
from perdure.records import record as records
from perdure.records.person import Redaction
from perdure.records.person_validation import check_observation, check_reconstruction, refuse_self_reference
from perdure.records.record import Record, Tombstone
from perdure.records.validation import Limits, check_one_line, check_seconds
from perdure.registry.persons.reconstructing import with_claims
from perdure.registry.persons.restricting import find_restricted_sources
from perdure.registry.store_interface import Reader

Problem = tuple[str, str]  # the part that is wrong, and why

_FEWEST_PARTS: Final = 2


def non_person_problems(record: Record, limits: Limits) -> Iterator[Problem]:
    """List parts that only a person's record may have, and errors in the redactions of values."""
    for part in ("observation", "reconstruction", "restriction"):
        if getattr(record, part) is not None:
            yield part, f"it has a part that only a person can have: {part}"
    for act in () if record.redaction is None else record.redaction.acts:
        if act.of is not None or not act.indexes:
            yield (
                "redaction",
                "only a person can be redacted as a whole; in other identifiers, only values can",
            )
        yield from _redaction_problems(act, limits)
    tombstone = record.tombstone
    if tombstone is not None and (tombstone.successors or tombstone.merged_at is not None):
        yield "tombstone", "it is marked as merged or split, which only a person can be"


def content_problems(name: str, record: Record, limits: Limits) -> Iterator[Problem]:
    """List the problems of one version of a person's record, taken by itself."""
    is_observation = name.startswith("POID-")
    if (redaction := record.redaction) is not None:
        for act in redaction.acts:
            yield from _redaction_problems(act, limits)
    if record.is_redacted:
        if record.observation is not None or record.reconstruction is not None or record.values:
            yield "redaction", "it was redacted, but still has content"
        return
    if (record.observation is not None) != is_observation or (record.reconstruction is not None) == is_observation:
        yield (
            "reconstruction",
            f"it is {'an observation' if is_observation else 'a reconstruction'}, but has other content",
        )
        return
    if record.state == "reserved":
        yield "state", "a person identifier is never reserved"
    if is_observation and (record.values or record.about is not None):
        yield "values", "an observation cannot have values or a description"
    if (restriction := record.restriction) is not None:
        yield from _problems_of_check(lambda: check_one_line(restriction.reason, "restriction", limits.text_characters))
        yield from _problems_of_check(lambda: check_seconds(restriction.since, "restriction"))
    if record.tombstone is not None:
        yield from _tombstone_problems(name, record, record.tombstone, limits)
    yield from _problems_of_check(lambda: _check_content(name, record, limits))


def _redaction_problems(redaction: Redaction, limits: Limits) -> Iterator[Problem]:
    yield from _problems_of_check(lambda: check_one_line(redaction.reason, "redaction", limits.text_characters))
    yield from _problems_of_check(lambda: check_seconds(redaction.at, "redaction"))
    yield from _problems_of_check(lambda: check_hash(redaction.sha256))
    if list(redaction.indexes) != sorted(set(redaction.indexes)):
        yield "redaction", "the indexes of the redacted values are not sorted and unique"
    if (observation := redaction.of) is not None:
        yield from _problems_of_check(lambda: ppid.canonical_observations([observation]))


def _problems_of_check(check: Callable[[], object]) -> Iterator[Problem]:
    try:
        check()
    except InvalidInput as problem:
        yield problem.part, problem.reason


def _check_content(name: str, record: Record, limits: Limits) -> None:
    if (observation := record.observation) is not None and check_observation(observation, limits) != observation:
        raise InvalidInput("person", "observation", "it is not in the canonical form of an observation")
    if (reconstruction := record.reconstruction) is not None:
        refuse_self_reference(name, reconstruction)
        if check_reconstruction(reconstruction, limits) != reconstruction:
            raise InvalidInput("person", "reconstruction", "it is not in the canonical form of a reconstruction")


def _tombstone_problems(name: str, record: Record, tombstone: Tombstone, limits: Limits) -> Iterator[Problem]:
    yield from _problems_of_check(lambda: check_one_line(tombstone.reason, "tombstone", limits.text_characters))
    if (record.state == "merged" or tombstone.successors) and name.startswith("POID-"):
        yield "tombstone", "an observation cannot be merged or split"
    if record.state == "merged" and not (_is_other_person(name, tombstone.replaced_by) and not tombstone.successors):
        yield "tombstone", "it was merged, but does not lead to one other person"
    if tombstone.merged_at is not None and (record.state != "merged" or tombstone.merged_at < 2):
        yield "tombstone", f"there was no merge in version {tombstone.merged_at}"
    if tombstone.successors:
        parts = set(tombstone.successors)
        if len(parts) < max(_FEWEST_PARTS, len(tombstone.successors)) or tombstone.replaced_by is not None:
            yield "tombstone", "it was split, but does not lead to several distinct persons"
        if not all(_is_other_person(name, part) for part in parts):
            yield "tombstone", "it was split into something that is not another person"


def _is_other_person(name: str, other: str | None) -> bool:
    return (
        other is not None and ppid.validate_ppid(other) and other == ppid.canonical(other) != name and other[1] == "R"
    )


def evidence_problems(reader: Reader, versions: Sequence[tuple[int, Record]], first: int = 1) -> Iterator[Problem]:
    """List problems with the observations of these versions, in ascending order, from version `first` on."""
    for version, record in versions:
        reconstruction = record.reconstruction
        if reconstruction is None or version < first:
            continue
        try:
            expected = with_claims(reader, reconstruction, accepted=reconstruction.observation_ids, is_public=False)
        except PerdureError as problem:
            yield getattr(problem, "part", "claims"), f"version {version}: {problem}"
            continue
        if expected.claims != reconstruction.claims:
            yield "claims", f"version {version} has claims that differ from those of its observations"
    if versions and versions[-1][1].restriction is None:
        hidden = find_restricted_sources(reader, [record for _, record in versions])
        if hidden:
            yield "restriction", f"it shows content of {', '.join(hidden)}, which is restricted"


def reference_problems(reader: Reader, name: str, record: Record) -> Iterator[Problem]:
    """List other persons that a reconstruction names and that do not exist, or do not name it in return."""
    reconstruction, tombstone = record.reconstruction, record.tombstone
    if reconstruction is None:
        return
    named = {*reconstruction.different_from, *reconstruction.replaces}
    missing = named - set(reader.find_many(sorted(named)))
    for other in sorted(missing):
        yield "reconstruction", f"it names {other}, which is not registered here"
    if tombstone is None:
        return
    replacements = [(replacement, 1) for replacement in tombstone.successors]
    if record.state == "merged" and tombstone.replaced_by is not None:
        replacements.append((tombstone.replaced_by, tombstone.merged_at or 0))
    for replacement, version in replacements:
        if reader.find(replacement) is None:
            yield "tombstone", f"it leads to {replacement}, which is not registered here"
        elif version and name not in _replaced_persons(reader, replacement, version):
            yield "tombstone", f"it leads to {replacement}, whose version {version} does not replace it"


def _replaced_persons(reader: Reader, replacement: str, version: int) -> tuple[str, ...]:
    revision = reader.revision(replacement, version)
    reconstruction = None if revision is None else records.decode(revision.record).reconstruction
    return () if reconstruction is None else reconstruction.replaces
