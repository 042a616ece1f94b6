"""Validation of persons: each field is checked, and named in the error."""

from typing import Any

import msgspec
import pytest

from perdure.errors import InvalidInput, OutOfRange
from perdure.records.person import (
    CLAIM_TYPES,
    ChosenClaim,
    Claim,
    Employment,
    InSource,
    Link,
    Observation,
    PersonName,
    Reconstruction,
)
from perdure.records.person_validation import check_observation, check_reconstruction, refuse_self_reference
from perdure.records.validation import Limits

LIMITS = Limits(value_bytes=200, text_characters=50, url_characters=60)
WHEN = "2025-01-09T10:30:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
POID, OTHER = "POID-5841-3d40-65d0-5c6X", "POID-93b0-4476-560e-5ac1"
PRID, NAMESAKE = "PRID-5ccc-3780-8c9c-5a90", "PRID-1b91-673b-631c-5ff5"


def build_observation(**fields: Any) -> Observation:
    return msgspec.structs.replace(Observation("https://example.org/jan", WHEN, "0" * 64), **fields)


def build_reconstruction(**fields: Any) -> Reconstruction:
    return msgspec.structs.replace(Reconstruction((POID,), CURATOR, WHEN), **fields)


def build_claimed_observation(
    type: str = "occupation", value: str | PersonName = "archivist", **fields: Any
) -> Observation:
    """Return an observation with this claim as its second, so that errors show its number."""
    return build_observation(claims=(Claim(type="name", value="Jan"), Claim(type=type, value=value, **fields)))


def observation_error(observation: Observation) -> InvalidInput:
    with pytest.raises(InvalidInput) as refusal:
        check_observation(observation, LIMITS)
    return refusal.value


def reconstruction_error(reconstruction: Reconstruction) -> InvalidInput:
    with pytest.raises(InvalidInput) as refusal:
        check_reconstruction(reconstruction, LIMITS)
    return refusal.value


# Observations


def test_a_complete_observation_is_accepted_unchanged() -> None:
    name = PersonName(given_name="Jan", patronym="Pietersz", surname_prefix="van der", base_surname="Berg")
    observation = build_observation(
        source_name="Baptismal register of Delft",
        holding_archive="NL-ZH-DEL-A-SD",
        claims=(
            Claim(type="name", value=name, language="nl", confidence=1.0, where=InSource(page="12v", quote="Jan")),
            Claim(
                type="birth_date", value="1895-03~", confidence=0.0, agent="scanner 2.1", where=InSource(xpath="//p")
            ),
            Claim(type="age", value="12", status="inferred", reasoning="he was twelve\nwhen he left"),
            Claim(type="https://schema.org/knows", value="Piet"),
        ),
    )
    assert check_observation(observation, LIMITS) == observation
    assert str(name) == "Jan Pietersz van der Berg"


@pytest.mark.parametrize("type", CLAIM_TYPES)
def test_every_type_of_claim_is_accepted(type: str) -> None:
    value = {"date": "1895", "name": "Jan", "text": "Delft"}[CLAIM_TYPES[type]]
    check_observation(build_claimed_observation(type, value), LIMITS)


def test_the_inputs_are_written_in_the_form_that_is_hashed() -> None:
    observation = build_observation(
        retrieval_timestamp="2025-01-09T11:30:00.000+01:00", holding_archive="nl-nh-ams-m-rm"
    )
    assert check_observation(observation, LIMITS) == build_observation(holding_archive="NL-NH-AMS-M-RM")


@pytest.mark.parametrize(
    ("fields", "part", "rule"),
    [
        ({"source_url": ""}, "source_url", "POID must have source"),
        ({"source_url": "archive box 7"}, "source_url", "POID must have source"),
        ({"retrieval_timestamp": "2025-01-09"}, "retrieval_timestamp", "Valid timestamps"),
        ({"retrieval_timestamp": "2025-02-30T00:00:00Z"}, "retrieval_timestamp", "Valid timestamps"),
        ({"retrieval_timestamp": "2025-01-09T10:30:00.1234567Z"}, "retrieval_timestamp", "Valid timestamps"),
        ({"retrieval_timestamp": "0001-01-01T00:30:00+01:00"}, "retrieval_timestamp", "Valid timestamps"),
        ({"content_hash": "0" * 63}, "content_hash", None),
        ({"source_name": " "}, "source_name", None),
        ({"source_name": "two\nlines"}, "source_name", None),
        ({"holding_archive": "the city archive"}, "holding_archive", None),
        ({"holding_archive": "javascript:alert(1)"}, "holding_archive", None),
        ({"claims": (Claim(type="name", value="Jan"),) * 1001}, "claims", None),
    ],
)
def test_a_wrong_part_of_an_observation_is_named(fields: dict[str, Any], part: str, rule: str | None) -> None:
    refusal = observation_error(build_observation(**fields))
    assert (refusal.part, refusal.rule) == (part, rule)


@pytest.mark.parametrize(
    ("claim", "part"),
    [
        ({"type": "shoe_size"}, "type"),
        ({"type": "schema:knows"}, "type"),
        ({"type": "https://example.org/a b"}, "type"),
        ({"type": "https://example.org/%zz"}, "type"),
        ({"type": "https://example.org/\ud800"}, "type"),
        ({"type": "https://example.org/" + "x" * 60}, "type"),
        ({"value": " "}, "value"),
        ({"value": "a\x00b"}, "value"),
        ({"value": "a\ud800"}, "value"),
        ({"value": "é" * 101}, "value"),
        ({"value": PersonName(literal_name="Jan")}, "value"),
        ({"type": "birth_date", "value": "March 1895"}, "value"),
        ({"type": "birth_date", "value": "1900-02-29"}, "value"),
        ({"type": "name", "value": PersonName()}, "value"),
        ({"type": "name", "value": PersonName(given_name=" ", base_surname="Berg")}, "value.given_name"),
        ({"type": "name", "value": PersonName(base_surname="van\nBerg")}, "value.base_surname"),
        ({"type": "name", "value": PersonName(literal_name="x" * 51)}, "value.literal_name"),
        ({"language": "Dutch!"}, "language"),
        ({"language": "nl-1"}, "language"),
        ({"confidence": 1.01}, "confidence"),
        ({"confidence": -0.1}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"where": InSource()}, "where"),
        ({"where": InSource(page=" ")}, "where.page"),
        ({"where": InSource(page="1", quote="a\x1b[0m")}, "where.quote"),
        ({"agent": "two\nlines"}, "agent"),
        ({"reasoning": ""}, "reasoning"),
        ({"status": "inferred"}, "reasoning"),
        ({"status": "guessed"}, "status"),
    ],
)
def test_a_wrong_part_of_a_claim_is_named_with_its_number(claim: dict[str, Any], part: str) -> None:
    assert observation_error(build_claimed_observation(**claim)).part == f"claims[2].{part}"


# Reconstructions


def test_a_complete_reconstruction_is_accepted() -> None:
    reconstruction = build_reconstruction(
        curator_name="Josiah Carberry",
        activity="resolving entities",
        claims=(ChosenClaim(POID, 1),),
        notes="first line\nsecond line",
        links=(Link("exact", "orcid", "0000-0002-1825-0097"), Link("close", "wikidata", "Q42")),
        employment=(Employment(institution="NL-NH-AMS-M-RM", role="archivist", start="2015", end="2019~"),),
        different_from=(NAMESAKE,),
    )
    assert check_reconstruction(reconstruction, LIMITS) == reconstruction


def test_names_and_links_are_written_in_one_form_and_once() -> None:
    reconstruction = build_reconstruction(
        observation_ids=(OTHER.lower(), POID, OTHER),
        claims=(ChosenClaim(OTHER.lower(), 1),),
        links=(
            Link("exact", "orcid", "https://orcid.org/0000-0002-1694-233x"),
            Link("exact", "orcid", "0000-0002-1694-233X"),
        ),
        employment=(Employment(institution="nl-nh-ams-m-rm"),),
        different_from=(NAMESAKE.lower(), NAMESAKE),
    )
    assert check_reconstruction(reconstruction, LIMITS) == build_reconstruction(
        observation_ids=(POID, OTHER),
        claims=(ChosenClaim(OTHER, 1),),
        links=(Link("exact", "orcid", "0000-0002-1694-233X"),),
        employment=(Employment(institution="NL-NH-AMS-M-RM"),),
        different_from=(NAMESAKE,),
    )


@pytest.mark.parametrize(
    ("fields", "part", "rule"),
    [
        ({"observation_ids": ()}, "observation_ids", "PRID must have observations"),
        ({"observation_ids": (PRID,)}, "observation_ids", "No circular references"),
        ({"observation_ids": ("POID-93b0-4476-560e-5ac2",)}, "observation_ids", None),
        ({"observation_ids": (POID,) * 1001}, "observation_ids", None),
        ({"timestamp": "yesterday"}, "timestamp", "Valid timestamps"),
        ({"curator_name": ""}, "curator_name", None),
        ({"activity": "a\nb"}, "activity", None),
        ({"algorithm_version": "x" * 51}, "algorithm_version", None),
        ({"notes": " "}, "notes", None),
        ({"notes": "x" * 201}, "notes", None),
        ({"claims": (ChosenClaim(POID, 1), ChosenClaim(OTHER, 1))}, "claims[2].observation_id", None),
        ({"claims": (ChosenClaim("nobody", 1),)}, "claims[1].observation_id", None),
        ({"claims": (ChosenClaim(POID, 0),)}, "claims[1].claim", None),
        ({"claims": (ChosenClaim(POID, 1), ChosenClaim(POID.lower(), 1))}, "claims", None),
        ({"claims": tuple(ChosenClaim(POID, number) for number in range(1, 1002))}, "claims", None),
        ({"links": (Link("exact", "facebook", "jan"),)}, "links[1].scheme", None),
        ({"links": (Link("exact", "orcid", "0000-0002-1825-0098"),)}, "links[1].value", None),
        ({"links": (Link("exact", "viaf", "0"), Link("exact", "viaf", "102333412"))}, "links[1].value", None),
        ({"links": (Link("alike", "viaf", "102333412"),)}, "links[1].relation", None),
        ({"links": tuple(Link("exact", "wikidata", f"Q{number}") for number in range(1, 202))}, "links", None),
        ({"employment": (Employment(institution="the museum"),)}, "employment[1].institution", None),
        ({"employment": (Employment(institution="NL-NH-AMS-M-RM", role=" "),)}, "employment[1].role", None),
        ({"employment": (Employment(institution="NL-NH-AMS-M-RM", start="1895-13"),)}, "employment[1].start", None),
        ({"employment": (Employment(institution="NL-NH-AMS-M-RM", end="later"),)}, "employment[1].end", None),
        ({"different_from": ("Jan",)}, "different_from", None),
        ({"different_from": (POID,)}, "different_from", None),
        ({"replaces": (POID,)}, "replaces", None),
    ],
)
def test_a_wrong_part_of_a_reconstruction_is_named(fields: dict[str, Any], part: str, rule: str | None) -> None:
    refusal = reconstruction_error(build_reconstruction(**fields))
    assert (refusal.part, refusal.rule) == (part, rule)


def test_too_many_items_and_too_long_texts_are_out_of_range() -> None:
    assert isinstance(reconstruction_error(build_reconstruction(notes="x" * 201)), OutOfRange)
    assert isinstance(observation_error(build_claimed_observation(confidence=2.0)), OutOfRange)


@pytest.mark.parametrize(
    "curator",
    ["0000-0002-1825-0097", CURATOR, "https://example.org/people/jan", "12345/jan", "hdl:12345/jan", PRID],
)
def test_a_curator_is_named_by_a_resolvable_identifier(curator: str) -> None:
    assert check_reconstruction(build_reconstruction(curator_id=curator), LIMITS).curator_id == curator


@pytest.mark.parametrize(
    "curator",
    [
        "Jan",
        "jan@example.org",
        "0000-0002-1825-0098",
        "https://orcid.org/0000-0002-1825-0098",
        "javascript:alert(1)",
        "javascript:alert/1",
        "mailto:jan@example.org",
        "https://",
        POID,
        "a|b",
        "",
    ],
)
def test_a_curator_that_cannot_be_resolved_is_refused(curator: str) -> None:
    assert reconstruction_error(build_reconstruction(curator_id=curator)).part == "curator_id"


def test_an_algorithm_is_named_by_its_name_and_version() -> None:
    reconstruction = build_reconstruction(curator_id="matcher", algorithm_version="2.1")
    assert check_reconstruction(reconstruction, LIMITS) == reconstruction


@pytest.mark.parametrize("field", ["different_from", "replaces"])
def test_a_person_cannot_be_different_from_itself(field: str) -> None:
    refuse_self_reference(PRID, build_reconstruction(**{field: (NAMESAKE,)}))
    with pytest.raises(InvalidInput) as refusal:
        refuse_self_reference(PRID, build_reconstruction(**{field: (NAMESAKE, PRID)}))
    assert (refusal.value.part, refusal.value.rule) == (field, "No circular references")


def test_a_person_cannot_be_different_from_one_that_it_replaced() -> None:
    with pytest.raises(InvalidInput) as refusal:
        refuse_self_reference(PRID, build_reconstruction(different_from=(NAMESAKE,), replaces=(NAMESAKE,)))
    assert refusal.value.part == "different_from"


@pytest.mark.parametrize("type", ["https://schema.org/birthDate", "http://schema.org/birthDate"])
def test_a_type_that_has_a_name_is_refused_as_an_iri(type: str) -> None:
    """Otherwise its values would not be checked, and verified claims under the other name would not be found."""
    refusal = observation_error(build_claimed_observation(type, "last Tuesday"))
    assert refusal.part == "claims[2].type"
    assert "birth_date" in refusal.reason


def test_an_employment_cannot_end_before_it_starts() -> None:
    refusal = reconstruction_error(
        build_reconstruction(employment=(Employment(institution="NL-NH-AMS-M-RM", start="1930", end="1920"),))
    )
    assert refusal.part == "employment[1].end"
    same = build_reconstruction(employment=(Employment(institution="NL-NH-AMS-M-RM", start="1930-05", end="1930"),))
    assert check_reconstruction(same, LIMITS) == same


def test_a_link_cannot_be_both_exact_and_close() -> None:
    links = (Link("exact", "wikidata", "Q1"), Link("close", "wikidata", "https://www.wikidata.org/wiki/Q1"))
    assert reconstruction_error(build_reconstruction(links=links)).part == "links"
