"""Identifiers of every scheme in BibTeX, RIS and CSL-JSON, at their own URLs."""

from collections.abc import Iterator
from typing import NamedTuple

import httpx
import pytest
from tests.http.live_server import run_server
from tests.http.resolvable_names import Names, resolvable_registry

from perdure.formats import bibtex
from perdure.formats.ris import read_ris
from perdure.formats.urlib_record import UrlibRecord

FORMATS = {
    "bib": ("application/x-bibtex", "application/x-bibtex; charset=utf-8"),
    "ris": ("application/x-research-info-systems", "application/x-research-info-systems; charset=utf-8"),
    "csl.json": ("application/vnd.citationstyles.csl+json", "application/vnd.citationstyles.csl+json"),
}
RIS = {"accept": FORMATS["ris"][0]}
BIBTEX = {"accept": FORMATS["bib"][0]}


class CitableNames(NamedTuple):
    """A client of a server that has identifiers in every state, and the names that were minted."""

    client: httpx.Client
    names: Names


@pytest.fixture(scope="module")
def citable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CitableNames]:
    folder = tmp_path_factory.mktemp("cited") / "registry"
    with resolvable_registry(folder, "sqlite") as names, run_server(folder) as server, server.client("") as one:
        yield CitableNames(one, names)


@pytest.mark.parametrize("field", ["pilin", "label", "opaque", "observation", "person", "told"])
def test_an_identifier_of_every_scheme_is_cited_by_header_by_ending_and_by_format(
    citable: CitableNames, field: str
) -> None:
    name = getattr(citable.names, field, "12345/told")
    for suffix, (media, content_type) in FORMATS.items():
        by_header = citable.client.get(f"/{name}", headers={"accept": media})
        assert by_header.status_code == 200, by_header.text
        assert by_header.headers["content-type"] == content_type
        assert "accept" in by_header.headers["vary"]
        for url in (f"/{name}.{suffix}", f"/{name}?format={suffix}", f"/{name}?format={media.replace('+', '%2B')}"):
            assert citable.client.get(url).content == by_header.content
        assert (
            str(citable.client.base_url.join(f"/{name if field != 'opaque' else citable.names.label}"))
            in by_header.text
        )


def test_the_description_is_in_every_format(citable: CitableNames) -> None:
    (record,) = bibtex.read_records(enumerate(citable.client.get("/12345/told.bib").text.splitlines(keepends=True)))
    assert isinstance(record, UrlibRecord)
    assert record.fields["title"] == ["Notes & sketches"]
    assert record.fields["author"] == ["Ada <Lovelace>"]
    assert record.fields["year"] == ["1843"]
    assert ("TI", "Notes & sketches") in read_ris(citable.client.get("/12345/told.ris").content)
    item = citable.client.get("/12345/told.csl.json").json()
    assert item["author"] == [{"literal": "Ada <Lovelace>"}]
    assert item["issued"] == {"date-parts": [[1843]]}


def test_both_labels_of_an_item_are_cited(citable: CitableNames) -> None:
    for name in (citable.names.label, citable.names.opaque):
        text = citable.client.get(f"/{name}.bib").text
        assert f"repository = {{{citable.names.label}}}" in text
        assert f"ibi = {{{citable.names.opaque}}}" in text


def test_a_client_that_accepts_anything_is_redirected(citable: CitableNames) -> None:
    for accept in ("*/*", "text/html, application/x-bibtex;q=0.9", "application/x-bibtex;q=0, */*"):
        assert citable.client.get("/12345/told", headers={"accept": accept}).status_code == 302
    both = {"accept": "text/turtle;q=0.5, application/x-bibtex"}
    assert citable.client.get("/12345/told", headers=both).headers["content-type"].startswith("application/x-bibtex")
    plain = {"accept": "application/json, application/x-bibtex;q=0.5"}
    assert citable.client.get("/12345/told", headers=plain).headers["content-type"] == "application/json"


def test_other_representations_have_endings_too(citable: CitableNames) -> None:
    assert citable.client.get("/12345/told.json").json()["name"] == "12345/told"
    assert citable.client.get("/12345/told?format=json").json()["name"] == "12345/told"
    for ending, media in (("ttl", "text/turtle"), ("jsonld", "application/ld+json")):
        assert citable.client.get(f"/{citable.names.label}.{ending}").headers["content-type"] == media
    assert citable.client.get("/12345/missing.json").status_code == 404
    assert citable.client.get("/12345/told.gif").status_code == 404


def test_a_longer_name_is_not_a_format_where_names_may_be_longer(citable: CitableNames) -> None:
    assert citable.client.get("/12348/base.bib").headers["location"] == "https://example.org/base.bib"
    assert citable.client.get("/12348/base", headers=RIS).status_code == 200


def test_the_citation_of_a_withdrawn_identifier_says_so(citable: CitableNames) -> None:
    gone = citable.client.get("/12345/gone", headers=RIS)
    assert gone.status_code == 410
    note = dict(read_ris(gone.content))["N1"]
    assert "withdrawn: it was a <mistake>; replaced by hdl:12345/plain" in note
    assert citable.client.get("/12345/gone.json").status_code == 410
    assert citable.client.get("/12345/gone.json").json()["reason"] == "it was a <mistake>"
    on = citable.client.get("/12345/united.ris")
    assert (on.status_code, on.headers["location"]) == (301, "/12345/plain.ris")


def test_nothing_is_cited_of_a_reserved_name_and_no_private_value(citable: CitableNames) -> None:
    assert citable.client.get("/12345/kept", headers=RIS).status_code == 404
    assert citable.client.get("/12345/kept.bib").status_code == 404
    assert "example.org" not in citable.client.get("/12345/hidden", headers=BIBTEX).text


def test_another_spelling_leads_to_the_same_format(citable: CitableNames) -> None:
    slip = citable.names.pilin.lower()
    on = citable.client.get(f"/{slip}.bib")
    assert (on.status_code, on.headers["location"]) == (301, f"/{citable.names.pilin}.bib")
    person = citable.client.get(f"/{citable.names.person.lower()}.ris")
    assert (person.status_code, person.headers["location"]) == (308, f"/{citable.names.person}.ris")


def test_a_citation_is_not_sent_again(citable: CitableNames) -> None:
    first = citable.client.get("/12345/told.ris")
    again = citable.client.get("/12345/told.ris", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304


def test_a_record_with_its_own_location_for_a_format_leads_there(citable: CitableNames) -> None:
    assert citable.client.get("/12345/roles", headers=RIS).headers["location"] == "https://example.org/forms"
    assert citable.client.get("/12345/roles.ris").status_code == 200
