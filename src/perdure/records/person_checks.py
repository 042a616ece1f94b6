"""What may be said of a person: every field is checked, by name, before anything is written."""

from collections.abc import Sequence
from typing import Final, get_args

import msgspec

from perdure.errors import InvalidInput, InvalidName, OutOfRange, shown
from perdure.names import external, handle, ppid
from perdure.names.ppid_inputs import SOURCE_RULE, checked_curator, checked_hash, checked_timestamp, checked_url
from perdure.records.checks import Limits, check_target, one_line, plain_text
from perdure.records.edtf import check_edtf, runs_backwards
from perdure.records.person import (
    CLAIM_TYPES,
    SAID_PLAINLY,
    ChosenClaim,
    Claim,
    Employment,
    InSource,
    Link,
    Observation,
    PersonName,
    Reconstruction,
    Relation,
    Status,
)
from perdure.records.rdf_forms import is_language_tag, is_web_iri
from perdure.records.web_address import outgoing_address

MOST_CLAIMS: Final = 1_000
MOST_OBSERVATIONS: Final = 1_000
_MOST_OTHERS: Final = 200  # links, employments, namesakes
_STATUSES: Final = get_args(Status)
_RELATIONS: Final = get_args(Relation)
_LINKED: Final = ("orcid", "isni", "viaf", "wikidata")
# What a browser would run, or what only one machine knows.
_NO_SOURCES: Final = frozenset({"javascript", "data", "vbscript", "file"})
_CIRCULAR: Final = "No circular references"


def checked_observation(said: Observation, limits: Limits) -> Observation:
    """An observation whose every part is right, and whose inputs are in the form that is hashed."""
    _check_number(said.claims, MOST_CLAIMS, "claims")
    if said.source_name is not None:
        one_line(said.source_name, "source_name", limits.text_characters)
    return msgspec.structs.replace(
        said,
        source_url=_source(said.source_url),
        retrieval_timestamp=checked_timestamp(said.retrieval_timestamp, "retrieval_timestamp"),
        content_hash=checked_hash(said.content_hash),
        holding_archive=None if said.holding_archive is None else _archive(said.holding_archive, limits),
        claims=tuple(_claim(claim, f"claims[{number}]", limits) for number, claim in enumerate(said.claims, 1)),
    )


def _source(url: str) -> str:
    """Of any scheme that leads to something: a catalogue may write urn: as well as https:."""
    checked = checked_url(url)
    scheme = checked.partition(":")[0].lower()
    if scheme in _NO_SOURCES:
        raise InvalidInput("ppid", "source_url", f"{scheme}: is no address of a source", SOURCE_RULE)
    try:
        outgoing_address(checked)
    except ValueError as problem:
        reason = f"the source {shown(checked)} is no address: {problem}"
        raise InvalidInput("ppid", "source_url", reason, SOURCE_RULE) from None
    return checked


def checked_reconstruction(said: Reconstruction, limits: Limits) -> Reconstruction:
    """A reconstruction whose every part is right by itself; whether what it names is there, the registry knows."""
    for field, most in (("observation_ids", MOST_OBSERVATIONS), ("claims", MOST_CLAIMS)):
        _check_number(getattr(said, field), most, field)
    for field in ("links", "employment", "different_from", "replaces"):
        _check_number(getattr(said, field), _MOST_OTHERS, field)
    for field in ("curator_name", "algorithm_version", "activity"):
        if (text := getattr(said, field)) is not None:
            one_line(text, field, limits.text_characters)
    if len(said.curator_id) > limits.text_characters:
        raise OutOfRange("person", "curator_id", f"it is longer than {limits.text_characters} characters")
    if said.notes is not None:
        _text(said.notes, "notes", limits.value_bytes)
    observations = tuple(ppid.canonical_observations(said.observation_ids))
    return msgspec.structs.replace(
        said,
        observation_ids=observations,
        curator_id=_curator(said),
        timestamp=checked_timestamp(said.timestamp),
        claims=_chosen(said.claims, frozenset(observations)) if said.claims else (),
        links=_links(said.links) if said.links else (),
        employment=tuple(
            _employment(one, f"employment[{number}]", limits) for number, one in enumerate(said.employment, 1)
        ),
        different_from=_persons(said.different_from, "different_from"),
        replaces=_persons(said.replaces, "replaces"),
    )


def _check_number(many: Sequence[object], most: int, part: str) -> None:
    if len(many) > most:
        raise OutOfRange("person", part, f"there can be at most {most}, not {len(many)}")


def _claim(claim: Claim, where: str, limits: Limits) -> Claim:
    kind = CLAIM_TYPES.get(claim.type)
    if kind is None and (plain := SAID_PLAINLY.get(claim.type.replace("http://", "https://", 1))) is not None:
        raise InvalidInput("person", f"{where}.type", f"{shown(claim.type)} is said as {plain}: write that")
    if kind is None and not (len(claim.type) <= limits.url_characters and is_web_iri(claim.type)):
        known = ", ".join(CLAIM_TYPES)
        reason = f"{shown(claim.type)} is no type of claim: take one of {known}, or the IRI of another"
        raise InvalidInput("person", f"{where}.type", reason)
    value = claim.value
    if isinstance(value, PersonName):
        if kind != "name":
            raise InvalidInput("person", f"{where}.value", f"only a name has parts, not a {claim.type}")
        _check_name(value, f"{where}.value", limits)
    elif kind == "date":
        check_edtf(value, f"{where}.value")
    else:
        _text(value, f"{where}.value", limits.value_bytes)
    if claim.language is not None and not is_language_tag(claim.language):
        reason = f"{shown(claim.language)} is no language tag, as in nl or en-GB"
        raise InvalidInput("person", f"{where}.language", reason)
    if claim.confidence is not None and not 0 <= claim.confidence <= 1:
        raise OutOfRange("person", f"{where}.confidence", f"confidence is between 0 and 1, not {claim.confidence}")
    if claim.where is not None:
        _check_place(claim.where, f"{where}.where", limits)
    if claim.agent is not None:
        one_line(claim.agent, f"{where}.agent", limits.text_characters)
    if claim.reasoning is not None:
        _text(claim.reasoning, f"{where}.reasoning", limits.value_bytes)
    if claim.status not in _STATUSES:
        raise InvalidInput("person", f"{where}.status", f"{shown(claim.status)} is neither verified nor inferred")
    if claim.status == "inferred" and claim.reasoning is None:
        raise InvalidInput("person", f"{where}.reasoning", "what is inferred must say by what reasoning")
    return claim


def _check_name(name: PersonName, where: str, limits: Limits) -> None:
    for field in PersonName.__struct_fields__:
        text = getattr(name, field)
        if text is not None:
            _filled(text, f"{where}.{field}")
            one_line(text, f"{where}.{field}", limits.text_characters)
    if not str(name):
        raise InvalidInput("person", where, "a name needs a part that can be said: literal_name, or some of the others")


def _check_place(place: InSource, where: str, limits: Limits) -> None:
    given = [(field, text) for field in InSource.__struct_fields__ if (text := getattr(place, field)) is not None]
    if not given:
        raise InvalidInput("person", where, "say where by xpath, quote or page")
    for field, text in given:
        _text(text, f"{where}.{field}", limits.value_bytes)


def _text(text: str, part: str, most: int) -> None:
    _filled(text, part)
    if len(text.encode("utf-8", "surrogatepass")) > most:
        raise OutOfRange("person", part, f"it is longer than {most} bytes")
    plain_text(text, part)


def _filled(text: str, part: str) -> None:
    if not text.strip():
        raise InvalidInput("person", part, "it is empty: leave it out instead")


def _archive(text: str, limits: Limits) -> str:
    """A GHCID, or the web address of who holds the source."""
    if is_web_iri(text):
        return check_target(text, limits, "holding_archive")
    try:
        return external.parse("ghcid", text).value
    except InvalidName as problem:
        reason = f"{shown(text)} is neither a GHCID, as in NL-NH-AMS-M-RM, nor a web address ({problem.reason})"
        raise InvalidInput("person", "holding_archive", reason) from None


def _curator(said: Reconstruction) -> str:
    """As it stands, because it is hashed. A person's must lead to them; that of an algorithm needs its version."""
    curator = checked_curator(said.curator_id)
    if said.algorithm_version is not None or _leads_somewhere(curator):
        return curator
    try:
        external.parse("orcid", curator)
    except InvalidName as problem:
        reason = (
            f"{shown(curator)} leads to nobody: write an ORCID, a web address, a handle or a PRID; "
            f"for an algorithm, say its version (algorithm_version). As an ORCID: {problem.reason}"
        )
        raise InvalidInput("person", "curator_id", reason) from None
    return curator


def _leads_somewhere(curator: str) -> bool:
    """Without being an ORCID, which has a check digit to look at."""
    if external.introduced(curator) == "orcid":
        return False
    if is_web_iri(curator):
        return True
    if ppid.validate_ppid(curator):
        return ppid.canonical(curator).startswith("PRID")
    try:
        return ":" not in handle.parse(curator).prefix
    except InvalidName:
        return False


def _chosen(claims: Sequence[ChosenClaim], observations: frozenset[str]) -> tuple[ChosenClaim, ...]:
    """With the names of their observations spelt right."""
    chosen = []
    for number, one in enumerate(claims, 1):
        where = f"claims[{number}]"
        name = ppid.canonical(one.observation_id) if ppid.validate_ppid(one.observation_id) else one.observation_id
        if name not in observations:
            reason = f"{shown(name)} is not one of the observations of this reconstruction"
            raise InvalidInput("person", f"{where}.observation_id", reason)
        if one.claim < 1:
            raise OutOfRange("person", f"{where}.claim", "claims are counted from 1")
        chosen.append(one if name == one.observation_id else msgspec.structs.replace(one, observation_id=name))
    if len({(one.observation_id, one.claim) for one in chosen}) < len(chosen):
        raise InvalidInput("person", "claims", "a claim is chosen twice")
    return tuple(chosen)


def _links(links: Sequence[Link]) -> tuple[Link, ...]:
    right = tuple(dict.fromkeys(_link(link, f"links[{number}]") for number, link in enumerate(links, 1)))
    if len({(link.scheme, link.value) for link in right}) < len(right):
        raise InvalidInput("person", "links", "somebody is the same person, or one much like them: not both")
    return right


def _link(link: Link, where: str) -> Link:
    if link.relation not in _RELATIONS:
        raise InvalidInput("person", f"{where}.relation", f"{shown(link.relation)} is neither exact nor close")
    if link.scheme not in _LINKED:
        reason = f"{shown(link.scheme)} is not one of {', '.join(_LINKED)}"
        raise InvalidInput("person", f"{where}.scheme", reason)
    try:
        return msgspec.structs.replace(link, value=external.parse(link.scheme, link.value).value)
    except InvalidName as problem:
        raise InvalidInput("person", f"{where}.value", f"{shown(link.value)}: {problem.reason}") from None


def _employment(one: Employment, where: str, limits: Limits) -> Employment:
    if one.role is not None:
        _filled(one.role, f"{where}.role")
        one_line(one.role, f"{where}.role", limits.text_characters)
    for field in ("start", "end"):
        if (date := getattr(one, field)) is not None:
            check_edtf(date, f"{where}.{field}")
    if one.start is not None and one.end is not None and runs_backwards(one.start, one.end):
        raise InvalidInput("person", f"{where}.end", f"{shown(one.end)} is before the start, {shown(one.start)}")
    try:
        return msgspec.structs.replace(one, institution=external.parse("ghcid", one.institution).value)
    except InvalidName as problem:
        reason = f"{shown(one.institution)}: {problem.reason}"
        raise InvalidInput("person", f"{where}.institution", reason) from None


def _persons(names: Sequence[str], part: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for name in names:
        try:
            right = ppid.canonical(name)
        except InvalidName as problem:
            raise InvalidInput("person", part, f"{shown(name)} is no PRID: {problem.reason}") from None
        if not right.startswith("PRID"):
            raise InvalidInput("person", part, f"{right} is an observation, and no person: name a PRID")
        found[right] = None
    return tuple(sorted(found))


def refuse_itself(name: str, said: Reconstruction) -> None:
    """A person is neither somebody else than themselves, nor the one in whose place they came."""
    for field in ("different_from", "replaces"):
        if name in getattr(said, field):
            raise InvalidInput("person", field, f"{name} cannot be named here: that is itself", _CIRCULAR)
    for other in said.different_from:
        if other in said.replaces:
            reason = f"{other} cannot be somebody else: {name} came in its place, by a merge or a split"
            raise InvalidInput("person", "different_from", reason)
