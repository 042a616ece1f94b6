"""The documents of persons."""

import pyoxigraph as ox
import pytest
from msgspec import json
from tests.rdf.sample_persons import AT, DOCUMENTS, OTHER_POID, OTHER_PRID, POID, PRID, person, write_document

from perdure.errors import InvalidInput
from perdure.records.person import ChosenClaim, Claim, Employment, Observation, PersonName, Reconstruction
from perdure.registry.persons import PersonView

BASE = "https://ppid.org/"
KNOWN = {
    "ppidv": "https://ppid.org/vocab#",
    "ppidt": "https://ppid.org/type#",
    "picom": "https://personsincontext.org/model#",
    "prov": "http://www.w3.org/ns/prov#",
    "sdo": "https://schema.org/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "dcterms": "http://purl.org/dc/terms/",
    "pnv": "https://w3id.org/pnv#",
}
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def objects_of(one: PersonView, subject: str, predicate: str, *, as_version: bool = False) -> set[str]:
    """Return the values of a property as text."""
    prefix, _, local = predicate.partition(":")
    iri = TYPE if predicate == "a" else KNOWN[prefix] + local
    triples = ox.parse(write_document(one, as_version=as_version), format=ox.RdfFormat.N_TRIPLES)
    return {one.object.value for one in triples if one.subject.value == BASE + subject and one.predicate.value == iri}


def person_with_claims(*claims: Claim) -> PersonView:
    return person(Observation("https://example.org/a", AT, "0" * 64, claims=claims))


def test_a_reconstruction_is_typed_in_both_vocabularies_and_names_its_observations() -> None:
    one = DOCUMENTS["reconstruction"]
    assert objects_of(one, PRID, "a") == {
        KNOWN["ppidt"] + "PersonReconstruction",
        KNOWN["picom"] + "PersonReconstruction",
    }
    assert objects_of(one, PRID, "ppidv:prid") == {PRID}
    assert objects_of(one, PRID, "ppidv:hasObservation") == {BASE + POID, BASE + OTHER_POID}
    assert objects_of(one, PRID, "prov:wasDerivedFrom") == {BASE + POID, BASE + OTHER_POID}
    assert objects_of(one, POID, "a") == {KNOWN["ppidt"] + "PersonObservation", KNOWN["picom"] + "PersonObservation"}


def test_exact_links_are_same_as_and_close_links_are_close_match() -> None:
    one = DOCUMENTS["reconstruction"]
    assert objects_of(one, PRID, "owl:sameAs") == {
        "https://orcid.org/0000-0002-1694-233X",
        "https://isni.org/isni/0000000121032683",
        "http://viaf.org/viaf/102333412",
        "http://www.wikidata.org/entity/Q12345",
    }
    assert objects_of(one, PRID, "skos:closeMatch") == {"http://www.wikidata.org/entity/Q42"}
    assert objects_of(one, PRID, "ppidv:wikidata") == {"Q12345"}
    assert objects_of(one, PRID, "owl:differentFrom") == {BASE + OTHER_PRID}


def test_a_version_has_no_same_as_links() -> None:
    for version in (DOCUMENTS["version"], DOCUMENTS["reconstruction"]):
        lines = write_document(version, as_version=True)
        assert b"owl#sameAs" not in lines
    one, subject = DOCUMENTS["version"], f"{PRID}/v2"
    assert objects_of(one, subject, "sdo:sameAs") == objects_of(DOCUMENTS["reconstruction"], PRID, "owl:sameAs")
    assert objects_of(one, subject, "ppidv:orcid") == {"0000-0002-1694-233X"}
    assert objects_of(one, subject, "skos:closeMatch") == {"http://www.wikidata.org/entity/Q42"}


def test_a_single_employment_is_also_a_property_of_the_person() -> None:
    one = DOCUMENTS["reconstruction"]
    assert objects_of(one, PRID, "ppidv:employedAt") == {"https://w3id.org/heritage/custodian/NL-NH-AMS-M-RM"}
    assert objects_of(one, PRID, "ppidv:employmentRole") == {"Senior Archivist"}
    assert objects_of(one, PRID, "ppidv:employmentEndEdtf") == {"2019-03~"}
    assert objects_of(one, PRID, "ppidv:employmentEnd") == set()
    assert b'vocab#employmentStart> "2015"^^<http://www.w3.org/2001/XMLSchema#gYear>' in write_document(one)


def test_several_employments_are_not_mixed_up() -> None:
    jobs = (
        Employment(institution="NL-NH-AMS-M-RM", role="Archivist", start="2015"),
        Employment(institution="NL-ZH-LEI-A-ELO", role="Director"),
    )
    one = person(Reconstruction((POID,), "hdl:20.500.1/ann", AT, employment=jobs))
    for predicate in ("ppidv:employmentRole", "ppidv:employmentStart", "ppidv:employmentStartEdtf"):
        assert objects_of(one, PRID, predicate) == set()
    assert objects_of(one, PRID, "ppidv:employment") == {f"{BASE}{PRID}#employment-1", f"{BASE}{PRID}#employment-2"}
    assert objects_of(one, f"{PRID}#employment-1", "ppidv:employmentRole") == {"Archivist"}
    assert objects_of(one, f"{PRID}#employment-2", "ppidv:employmentRole") == {"Director"}


def test_every_employer_is_a_property_of_the_person_once() -> None:
    jobs = [Employment(institution=one) for one in ("NL-NH-AMS-M-RM", "NL-ZH-LEI-A-ELO", "NL-NH-AMS-M-RM")]
    one = person(Reconstruction((POID,), "hdl:20.500.1/ann", AT, employment=tuple(jobs)))
    custodian = "https://w3id.org/heritage/custodian/"
    assert objects_of(one, PRID, "ppidv:employedAt") == {f"{custodian}NL-NH-AMS-M-RM", f"{custodian}NL-ZH-LEI-A-ELO"}
    assert len(json.decode(write_document(one, "json-ld"))["employedAt"]) == 2


def test_the_document_of_a_prid_names_its_versions_and_is_not_a_version() -> None:
    one = DOCUMENTS["reconstruction"]
    assert objects_of(one, PRID, "dcterms:hasVersion") == {f"{BASE}{PRID}/v1", f"{BASE}{PRID}/v2"}
    assert objects_of(one, PRID, "ppidv:currentVersion") == {f"{BASE}{PRID}/v2"}
    assert objects_of(one, f"{PRID}/v2", "prov:specializationOf") == {BASE + PRID}
    assert objects_of(one, f"{PRID}/v2", "prov:wasRevisionOf") == {f"{BASE}{PRID}/v1"}
    assert objects_of(one, PRID, "prov:wasRevisionOf") == set()


def test_an_older_version_is_about_itself_and_does_not_know_of_later_ones() -> None:
    one = DOCUMENTS["version"]
    assert objects_of(one, f"{PRID}/v2", "ppidv:prid") == {PRID}
    assert objects_of(one, f"{PRID}/v2", "prov:specializationOf") == {BASE + PRID}
    assert objects_of(one, f"{PRID}/v2", "prov:wasRevisionOf") == {f"{BASE}{PRID}/v1"}
    assert objects_of(one, PRID, "dcterms:hasVersion") == {f"{BASE}{PRID}/v2"}
    assert objects_of(one, PRID, "ppidv:prid") == set()
    assert b"/v3" not in write_document(one)


def test_a_version_has_the_same_content_while_it_is_the_newest_and_after() -> None:
    newest, older = DOCUMENTS["reconstruction"], DOCUMENTS["version"]
    assert write_document(newest, as_version=True) == write_document(older)


def test_the_first_version_revises_nothing() -> None:
    assert objects_of(DOCUMENTS["observation"], POID, "prov:wasRevisionOf", as_version=True) == set()


def test_an_inferred_claim_is_used_only_without_a_verified_one() -> None:
    inferred = Claim(type="birth_date", value="1890", status="inferred", reasoning="by the age")
    verified = Claim(type="birth_date", value="1891")
    assert objects_of(person_with_claims(inferred), POID, "sdo:birthDate") == {"1890"}
    assert objects_of(person_with_claims(inferred, verified), POID, "sdo:birthDate") == {"1891"}
    assert objects_of(person_with_claims(inferred, verified), f"{POID}#claim-1", "ppidv:claimValue") == {"1890"}


def test_an_inferred_name_that_is_not_used_still_has_its_parts() -> None:
    inferred = Claim(type="name", value=PersonName(given_name="Jan"), status="inferred", reasoning="by the father's")
    one = person_with_claims(inferred, Claim(type="name", value="Johannes"))
    assert objects_of(one, POID, "pnv:hasName") == {f"{BASE}{POID}#name-2"}
    assert objects_of(one, f"{POID}#name-1", "pnv:givenName") == {"Jan"}


@pytest.mark.parametrize(
    ("values", "gender"),
    [(["V"], {"Female"}), (["Male", "m"], {"Male"}), (["man", "vrouw"], set()), (["unknown"], set())],
)
def test_only_genders_of_schema_org_are_written(values: list[str], gender: set[str]) -> None:
    one = person_with_claims(*(Claim(type="gender", value=value) for value in values))
    assert objects_of(one, POID, "sdo:gender") == {KNOWN["sdo"] + name for name in gender}


@pytest.mark.parametrize(
    ("date", "datatype"),
    [("1895-03-12", "date"), ("1895-03", "gYearMonth"), ("1895", "gYear"), ("1895?", None), ("0000", None)],
)
def test_a_date_has_the_datatype_of_its_precision(date: str, datatype: str | None) -> None:
    ending = f"^^<http://www.w3.org/2001/XMLSchema#{datatype}>" if datatype else " ."
    assert (
        f'birthDate> "{date}"{ending}'
        in write_document(person_with_claims(Claim(type="birth_date", value=date))).decode()
    )


def test_a_claim_is_the_same_node_in_observations_and_reconstructions() -> None:
    claim = Claim(type="occupation", value="baker", language="en-GB", confidence=1e-7)
    chosen = person(Reconstruction((POID,), "hdl:20.500.1/ann", AT, claims=(ChosenClaim(POID, 1, claim),)))

    def node(one: PersonView) -> set[str]:
        return {
            line for line in write_document(one).decode().splitlines() if line.startswith(f"<{BASE}{POID}#claim-1>")
        }

    assert node(chosen) == node(person_with_claims(claim))
    assert any('"0.0000001"^^' in line for line in node(chosen))
    assert any('"baker"@en-gb' in line for line in node(chosen))


def test_a_removed_claim_is_not_written() -> None:
    one = person(Reconstruction((POID,), "hdl:20.500.1/ann", AT, claims=(ChosenClaim(POID, 1),)))
    assert objects_of(one, PRID, "ppidv:claim") == set()


def test_names_have_their_parts_and_a_language_even_if_it_is_unknown() -> None:
    lines = write_document(DOCUMENTS["observation"]).decode()
    assert f'<{BASE}{POID}#name-1> <https://w3id.org/pnv#surnamePrefix> "van der"@nl' in lines
    assert f'<{BASE}{POID}#name-2> <https://w3id.org/pnv#literalName> "Jan de Oude"@und' in lines
    assert f'<{BASE}{POID}> <https://schema.org/name> "Jan Pieters van der Werk"@nl' in lines


def test_a_url_that_is_not_an_iri_is_encoded() -> None:
    assert objects_of(DOCUMENTS["observation"], f"{POID}#source", "sdo:url") == {
        "https://example.org/staff?name=%22jan%22"
    }


def test_a_restricted_person_shows_only_authority_and_reason() -> None:
    document = json.decode(write_document(DOCUMENTS["restricted"], "json-ld"))
    assert document == {
        "@context": "https://ppid.org/context.jsonld",
        "id": BASE + PRID,
        "type": ["PersonReconstruction"],
        "prid": PRID,
        "identifier": PRID,
        "restrictionReason": "a living person",
        "restrictedSince": AT,
        "state": "active",
        "created": AT,
        "modified": "2025-02-15T14:00:00Z",
        "creator": "https://hdl.handle.net/20.500.1/me",
        "rightsHolder": "https://example.org/owner",
    }


def test_reconstructions_show_only_the_name_of_a_restricted_observation() -> None:
    one = DOCUMENTS["reconstruction"]
    assert objects_of(one, OTHER_POID, "ppidv:poid") == {OTHER_POID}
    assert objects_of(one, f"{OTHER_POID}#source", "sdo:url") == set()


def test_a_tombstone_names_the_replacement() -> None:
    assert objects_of(DOCUMENTS["merged"], PRID, "dcterms:isReplacedBy") == {BASE + OTHER_PRID}
    assert objects_of(DOCUMENTS["split"], PRID, "dcterms:isReplacedBy") == {BASE + OTHER_PRID, BASE + PRID}
    assert objects_of(DOCUMENTS["merged"], PRID, "ppidv:tombstoneReason") == {"one person"}


def test_a_redacted_person_shows_the_reason_and_the_hash() -> None:
    one = DOCUMENTS["redacted"]
    assert objects_of(one, POID, "ppidv:redactionReason") == {"a court's order"}
    assert objects_of(one, POID, "ppidv:redactedHash") == {"1" * 64}
    assert objects_of(one, POID, "prov:hadPrimarySource") == set()


def test_an_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="'docx' is not a format of RDF: use one of json-ld, turtle"):
        write_document(DOCUMENTS["observation"], "docx")


def test_a_withdrawn_person_has_a_tombstone_and_its_version_has_the_content() -> None:
    gone = DOCUMENTS["split"]
    assert objects_of(gone, PRID, "ppidv:tombstoneReason") == {"two persons"}
    assert objects_of(gone, PRID, "dcterms:isReplacedBy") == {BASE + OTHER_PRID, BASE + PRID}
    assert objects_of(gone, PRID, "a") == {KNOWN["ppidt"] + "PersonReconstruction"}
    assert objects_of(gone, PRID, "owl:sameAs") == set()
    for predicate in ("ppidv:claim", "ppidv:hasObservation", "prov:wasGeneratedBy", "sdo:sameAs"):
        assert objects_of(gone, PRID, predicate) == set()
        assert objects_of(gone, f"{PRID}/v{gone.view.version}", predicate, as_version=True)
