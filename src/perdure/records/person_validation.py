"""Validation of descriptions of a person, field by field, before anything is written."""

from collections.abc import Collection, Sequence
from typing import Final, get_args

import msgspec

from perdure.errors import InvalidInput, InvalidName, OutOfRange, quote_text
from perdure.names import external, handle, ppid
from perdure.names.ppid_inputs import SOURCE_RULE, check_curator, check_hash, check_timestamp, check_url
from perdure.records.edtf import check_edtf, runs_backwards
from perdure.records.person import (
    CLAIM_TYPE_OF_IRI,
    CLAIM_TYPES,
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
from perdure.records.rdf_syntax import is_language_tag, is_web_iri
from perdure.records.validation import Limits, check_one_line, check_plain_text, check_target
from perdure.records.web_address import encode_web_address

MOST_CLAIMS: Final = 1_000
MOST_OBSERVATIONS: Final = 1_000
_MOST_OTHERS: Final = 200  # links, employments, namesakes
_STATUSES: Final = get_args(Status)
_RELATIONS: Final = get_args(Relation)
_LINKED: Final = ("orcid", "isni", "viaf", "wikidata")
# Schemes that a browser would execute, or that have a meaning on one machine only.
_NO_SOURCES: Final = frozenset({"javascript", "data", "vbscript", "file"})
# Names and mailboxes: they have no content that could be retrieved.
UNUSUAL_SOURCES: Final = frozenset({"urn", "mailto"})
_CIRCULAR: Final = "No circular references"


def check_observation(observation: Observation, limits: Limits) -> Observation:
    """Check every field of an observation. Return it with its inputs in the form that is hashed."""
    _check_number(observation.claims, MOST_CLAIMS, "claims")
    if observation.source_name is not None:
        check_one_line(observation.source_name, "source_name", limits.text_characters)
    archive, claims = observation.holding_archive, observation.claims
    return msgspec.structs.replace(
        observation,
        source_url=_check_source_url(observation.source_url),
        retrieval_timestamp=check_timestamp(observation.retrieval_timestamp, "retrieval_timestamp"),
        content_hash=check_hash(observation.content_hash),
        holding_archive=None if archive is None else _check_archive(archive, limits),
        claims=tuple(_check_claim(claim, f"claims[{number}]", limits) for number, claim in enumerate(claims, 1)),
    )


def _check_source_url(url: str) -> str:
    """Return the address of a source. `refuse_unusual_source` checks that of a new observation further."""
    checked = check_url(url)
    scheme = checked.partition(":")[0].lower()
    if scheme in _NO_SOURCES:
        raise InvalidInput("ppid", "source_url", f"{scheme}: is not supported as the address of a source", SOURCE_RULE)
    try:
        encode_web_address(checked)
    except ValueError as problem:
        reason = f"the source {quote_text(checked)} is not a valid address: {problem}"
        raise InvalidInput("ppid", "source_url", reason, SOURCE_RULE) from None
    return checked


def refuse_unusual_source(observation: Observation, accepted: Collection[str]) -> None:
    """Refuse a source without a web address, unless the settings accept its scheme.

    Observations that were registered before, here or elsewhere, stay valid.
    """
    scheme = observation.source_url.partition(":")[0].lower()
    if scheme in UNUSUAL_SOURCES and scheme not in accepted:
        reason = (
            f"{scheme}: has no content that can be retrieved: give the web address of the source; "
            f'to accept such sources, set unusual_sources = ["{scheme}"] under [persons] in the settings'
        )
        raise InvalidInput("ppid", "source_url", reason, SOURCE_RULE)


def check_reconstruction(reconstruction: Reconstruction, limits: Limits) -> Reconstruction:
    """Check every field of a reconstruction by itself. The registry checks that the names in it exist."""
    for field, most in (("observation_ids", MOST_OBSERVATIONS), ("claims", MOST_CLAIMS)):
        _check_number(getattr(reconstruction, field), most, field)
    for field in ("links", "employment", "different_from", "replaces"):
        _check_number(getattr(reconstruction, field), _MOST_OTHERS, field)
    for field in ("curator_name", "algorithm_version", "activity"):
        if (text := getattr(reconstruction, field)) is not None:
            check_one_line(text, field, limits.text_characters)
    if len(reconstruction.curator_id) > limits.text_characters:
        raise OutOfRange("person", "curator_id", f"it is longer than {limits.text_characters} characters")
    if reconstruction.notes is not None:
        _check_text(reconstruction.notes, "notes", limits.value_bytes)
    observations = tuple(ppid.canonical_observations(reconstruction.observation_ids))
    return msgspec.structs.replace(
        reconstruction,
        observation_ids=observations,
        curator_id=_check_curator(reconstruction),
        timestamp=check_timestamp(reconstruction.timestamp),
        claims=_check_chosen_claims(reconstruction.claims, frozenset(observations)) if reconstruction.claims else (),
        links=_check_links(reconstruction.links) if reconstruction.links else (),
        employment=tuple(
            _check_employment(each, f"employment[{number}]", limits)
            for number, each in enumerate(reconstruction.employment, 1)
        ),
        different_from=_check_persons(reconstruction.different_from, "different_from"),
        replaces=_check_persons(reconstruction.replaces, "replaces"),
    )


def _check_number(many: Sequence[object], most: int, part: str) -> None:
    if len(many) > most:
        raise OutOfRange("person", part, f"there can be at most {most}, not {len(many)}")


def _check_claim(claim: Claim, where: str, limits: Limits) -> Claim:
    kind = CLAIM_TYPES.get(claim.type)
    if kind is None and (plain := CLAIM_TYPE_OF_IRI.get(claim.type.replace("http://", "https://", 1))) is not None:
        raise InvalidInput("person", f"{where}.type", f"use {plain} instead of {quote_text(claim.type)}")
    if kind is None and not (len(claim.type) <= limits.url_characters and is_web_iri(claim.type)):
        known = ", ".join(CLAIM_TYPES)
        reason = f"{quote_text(claim.type)} is not a type of claim: use one of {known}, or the IRI of another"
        raise InvalidInput("person", f"{where}.type", reason)
    value = claim.value
    if isinstance(value, PersonName):
        if kind != "name":
            raise InvalidInput("person", f"{where}.value", f"only a name has parts, not a {claim.type}")
        _check_name(value, f"{where}.value", limits)
    elif kind == "date":
        check_edtf(value, f"{where}.value")
    else:
        _check_text(value, f"{where}.value", limits.value_bytes)
    if claim.language is not None and not is_language_tag(claim.language):
        reason = f"{quote_text(claim.language)} is not a language tag, as in nl or en-GB"
        raise InvalidInput("person", f"{where}.language", reason)
    if claim.confidence is not None and not 0 <= claim.confidence <= 1:
        raise OutOfRange("person", f"{where}.confidence", f"confidence must be between 0 and 1, not {claim.confidence}")
    if claim.where is not None:
        _check_in_source(claim.where, f"{where}.where", limits)
    if claim.agent is not None:
        check_one_line(claim.agent, f"{where}.agent", limits.text_characters)
    if claim.reasoning is not None:
        _check_text(claim.reasoning, f"{where}.reasoning", limits.value_bytes)
    if claim.status not in _STATUSES:
        raise InvalidInput("person", f"{where}.status", f"{quote_text(claim.status)} is neither verified nor inferred")
    if claim.status == "inferred" and claim.reasoning is None:
        raise InvalidInput("person", f"{where}.reasoning", "reasoning is required for an inferred claim")
    return claim


def _check_name(name: PersonName, where: str, limits: Limits) -> None:
    for field in PersonName.__struct_fields__:
        text = getattr(name, field)
        if text is not None:
            _require_text(text, f"{where}.{field}")
            check_one_line(text, f"{where}.{field}", limits.text_characters)
    if not str(name):
        raise InvalidInput("person", where, "a name needs literal_name, or some of the other parts")


def _check_in_source(location: InSource, where: str, limits: Limits) -> None:
    given = [(field, text) for field in InSource.__struct_fields__ if (text := getattr(location, field)) is not None]
    if not given:
        raise InvalidInput("person", where, "a location in the source needs xpath, quote or page")
    for field, text in given:
        _check_text(text, f"{where}.{field}", limits.value_bytes)


def _check_text(text: str, part: str, most: int) -> None:
    _require_text(text, part)
    if len(text.encode("utf-8", "surrogatepass")) > most:
        raise OutOfRange("person", part, f"it is longer than {most} bytes")
    check_plain_text(text, part)


def _require_text(text: str, part: str) -> None:
    if not text.strip():
        raise InvalidInput("person", part, "it is empty: leave it out instead")


def _check_archive(text: str, limits: Limits) -> str:
    """Return a GHCID, or the web address of the institution that holds the source."""
    if is_web_iri(text):
        return check_target(text, limits, "holding_archive")
    try:
        return external.parse("ghcid", text).value
    except InvalidName as problem:
        reason = f"{quote_text(text)} is neither a GHCID, as in NL-NH-AMS-M-RM, nor a web address ({problem.reason})"
        raise InvalidInput("person", "holding_archive", reason) from None


def _check_curator(reconstruction: Reconstruction) -> str:
    """Return the curator's identifier unchanged, because it is hashed.

    The identifier of a person must be resolvable. That of an algorithm needs a version.
    """
    curator = check_curator(reconstruction.curator_id)
    if reconstruction.algorithm_version is not None or _is_resolvable(curator):
        return curator
    try:
        external.parse("orcid", curator)
    except InvalidName as problem:
        reason = (
            f"{quote_text(curator)} cannot be resolved: use an ORCID, a web address, a handle or a PRID; "
            f"for an algorithm, give its version (algorithm_version). As an ORCID: {problem.reason}"
        )
        raise InvalidInput("person", "curator_id", reason) from None
    return curator


def _is_resolvable(curator: str) -> bool:
    """Return whether the identifier can be resolved and is not an ORCID, whose check digit is checked elsewhere."""
    if external.find_scheme(curator) == "orcid":
        return False
    if is_web_iri(curator):
        return True
    if ppid.validate_ppid(curator):
        return ppid.canonical(curator).startswith("PRID")
    try:
        return ":" not in handle.parse(curator).prefix
    except InvalidName:
        return False


def _check_chosen_claims(claims: Sequence[ChosenClaim], observations: frozenset[str]) -> tuple[ChosenClaim, ...]:
    """Return the chosen claims, with the names of their observations in canonical form."""
    chosen = []
    for number, claim in enumerate(claims, 1):
        where = f"claims[{number}]"
        given = claim.observation_id
        name = ppid.canonical(given) if ppid.validate_ppid(given) else given
        if name not in observations:
            reason = f"{quote_text(name)} is not one of the observations of this reconstruction"
            raise InvalidInput("person", f"{where}.observation_id", reason)
        if claim.claim < 1:
            raise OutOfRange("person", f"{where}.claim", "claims are counted from 1")
        chosen.append(claim if name == given else msgspec.structs.replace(claim, observation_id=name))
    if len({(claim.observation_id, claim.claim) for claim in chosen}) < len(chosen):
        raise InvalidInput("person", "claims", "a claim is chosen twice")
    return tuple(chosen)


def _check_links(links: Sequence[Link]) -> tuple[Link, ...]:
    right = tuple(dict.fromkeys(_check_link(link, f"links[{number}]") for number, link in enumerate(links, 1)))
    if len({(link.scheme, link.value) for link in right}) < len(right):
        raise InvalidInput("person", "links", "a link to one identifier cannot be both exact and close")
    return right


def _check_link(link: Link, where: str) -> Link:
    if link.relation not in _RELATIONS:
        raise InvalidInput("person", f"{where}.relation", f"{quote_text(link.relation)} is neither exact nor close")
    if link.scheme not in _LINKED:
        reason = f"{quote_text(link.scheme)} is not one of {', '.join(_LINKED)}"
        raise InvalidInput("person", f"{where}.scheme", reason)
    try:
        return msgspec.structs.replace(link, value=external.parse(link.scheme, link.value).value)
    except InvalidName as problem:
        raise InvalidInput("person", f"{where}.value", f"{quote_text(link.value)}: {problem.reason}") from None


def _check_employment(employment: Employment, where: str, limits: Limits) -> Employment:
    role, start, end = employment.role, employment.start, employment.end
    if role is not None:
        _require_text(role, f"{where}.role")
        check_one_line(role, f"{where}.role", limits.text_characters)
    for field, date in (("start", start), ("end", end)):
        if date is not None:
            check_edtf(date, f"{where}.{field}")
    if start is not None and end is not None and runs_backwards(start, end):
        raise InvalidInput("person", f"{where}.end", f"{quote_text(end)} is before the start, {quote_text(start)}")
    try:
        institution = external.canonical("ghcid", employment.institution)
        return msgspec.structs.replace(employment, institution=institution)
    except InvalidName as problem:
        reason = f"{quote_text(employment.institution)}: {problem.reason}"
        raise InvalidInput("person", f"{where}.institution", reason) from None


def _check_persons(names: Sequence[str], part: str) -> tuple[str, ...]:
    persons: set[str] = set()
    for name in names:
        try:
            person = ppid.canonical(name)
        except InvalidName as problem:
            raise InvalidInput("person", part, f"{quote_text(name)} is not a PRID: {problem.reason}") from None
        if not person.startswith("PRID"):
            raise InvalidInput("person", part, f"{person} is an observation, not a person: use a PRID")
        persons.add(person)
    return tuple(sorted(persons))


def refuse_self_reference(name: str, reconstruction: Reconstruction) -> None:
    """Raise InvalidInput if a person is different from, or replaces, itself, or is different from one it replaces."""
    for field in ("different_from", "replaces"):
        if name in getattr(reconstruction, field):
            raise InvalidInput("person", field, f"{name} cannot refer to itself", _CIRCULAR)
    for other in reconstruction.different_from:
        if other in reconstruction.replaces:
            reason = f"{other} cannot be a different person: {name} replaced it by a merge or a split"
            raise InvalidInput("person", "different_from", reason)
