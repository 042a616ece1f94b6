"""Persons over HTTP: observed, reconstructed, shown, validated and found, on a running server."""

import asyncio
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from uuid import UUID

import httpx
import pytest
from tests.http.live_server import LiveServer
from tests.http.person_client import (
    ANY,
    API,
    CURATOR,
    WHEN,
    conclusion,
    create_observation,
    create_reconstruction,
    named_source,
    problem,
    source,
)

JAN = {"source_url": "https://example.org/staff/jan", "retrieval_timestamp": WHEN, "content_hash": "0" * 64}
POID, PRID = "POID-93b0-4476-560e-5ac1", "PRID-5ccc-3780-8c9c-5a90"
CLAIMS = [
    {"type": "name", "value": {"given_name": "Jan", "surname_prefix": "van der", "base_surname": "Berg"}},
    {"type": "birth_date", "value": "1895-03~", "confidence": 0.8, "where": {"page": "12"}},
]


@pytest.fixture(scope="module")
def client(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def anonymous(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client("") as client:
        yield client


@pytest.fixture(scope="module")
def jan(client: httpx.Client) -> tuple[httpx.Response, httpx.Response]:
    """Observe and reconstruct the example of the specification."""
    seen = client.post(f"{API}/poid", json={**JAN, "source_name": "Staff page", "claims": CLAIMS})
    return seen, client.post(f"{API}/prid", json=conclusion(POID, claims=[{"observation_id": POID, "claim": 1}]))


def test_the_specifications_vectors(jan: tuple[httpx.Response, httpx.Response], server: LiveServer) -> None:
    for answer, name in zip(jan, (POID, PRID), strict=True):
        assert answer.status_code == 201, answer.text
        document = answer.json()
        assert (document["ppid"], document["uri"]) == (name, f"{server.url}/{name}")
        assert UUID(document["uuid_raw"]).hex[:15] == name.replace("-", "")[4:19]
        assert set(document) == {"ppid", "uuid_raw", "uri"}
        assert (answer.headers["location"], answer.headers["etag"]) == (f"{API}/{name}", '"1"')


@pytest.mark.usefixtures("jan")
def test_an_observation_is_shown_as_it_was_sent(anonymous: httpx.Client) -> None:
    answer = anonymous.get(f"{API}/{POID}")
    document = answer.json()
    assert (document["type"], document["state"], document["version"], document["newest"]) == ("POID", "active", 1, 1)
    assert document["observation"] == {**JAN, "source_name": "Staff page", "claims": CLAIMS}
    assert answer.headers["etag"] == '"1"'
    assert anonymous.get(f"{API}/{POID}", headers={"If-None-Match": '"1"'}).status_code == 304


@pytest.mark.usefixtures("jan")
def test_a_reconstruction_is_shown_with_the_content_of_its_claims(anonymous: httpx.Client) -> None:
    document = anonymous.get(f"{API}/{PRID}").json()
    assert document["reconstruction"] == {
        "observation_ids": [POID],
        "curator_id": CURATOR,
        "timestamp": WHEN,
        "claims": [{"observation_id": POID, "claim": 1, "said": CLAIMS[0]}],
    }
    [seen] = anonymous.get(f"{API}/{PRID}/observations").json()["observations"]
    assert (seen["ppid"], seen["observation"]["source_name"]) == (POID, "Staff page")


@pytest.mark.usefixtures("jan")
@pytest.mark.parametrize("path", [
    "poid-93B0-4476-560E-5AC1", "POID%2D93b0-4476-560e-5ac1", "prid-5ccc-3780-8c9c-5a90/history?limit=5",
    "PRID-5CCC-3780-8c9c-5a90/observations",
])  # fmt: skip
def test_another_spelling_leads_to_the_right_one(anonymous: httpx.Client, path: str) -> None:
    answer = anonymous.get(f"{API}/{path}")
    assert answer.status_code == 308
    _, _, query = path.partition("?")
    right = anonymous.get(answer.headers["location"])
    assert (right.status_code, right.url.query.decode()) == (200, query)
    assert right.json()["ppid"] in (POID, PRID)


def test_the_same_inputs_lead_to_the_existing_person(client: httpx.Client) -> None:
    seen = named_source("Aaltje")
    first = client.post(f"{API}/poid", json=seen)
    inputs = {key: seen[key] for key in ("source_url", "content_hash")}
    for again in (seen, {**inputs, "retrieval_timestamp": "2025-01-09T11:30:00.0+01:00"}):
        answer = client.post(f"{API}/poid", json=again)
        assert (answer.status_code, answer.json()) == (200, first.json())
        assert answer.headers["location"] == first.headers["location"]
    body = conclusion(first.json()["ppid"], notes="as the deed says")
    assert [client.post(f"{API}/prid", json=body).status_code for _ in range(2)] == [201, 200]


def test_an_observation_with_the_same_inputs_and_other_content_is_refused(client: httpx.Client) -> None:
    seen = named_source("Aaltje")
    name = create_observation(client, seen)
    other = {**seen, "claims": [{"type": "name", "value": "Baltje"}]}
    assert problem(client.post(f"{API}/poid", json=other)) == (409, "immutable")
    assert problem(client.put(f"{API}/{name}", json=conclusion(name), headers=ANY))[0] == 422
    body = conclusion(name)
    assert client.post(f"{API}/prid", json={**body, "notes": "one"}).status_code == 201
    assert problem(client.post(f"{API}/prid", json={**body, "notes": "two"})) == (409, "immutable")


def test_fifty_clients_with_one_observation_create_one_identifier(server: LiveServer, client: httpx.Client) -> None:
    seen = named_source("Vijftig")

    async def all_clients() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=50, max_keepalive_connections=50)
        headers = {"Authorization": f"Bearer {server.key}"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, limits=limits, timeout=30) as many:
            await asyncio.gather(*(many.get("/healthz") for _ in range(50)))
            return await asyncio.gather(*(many.post(f"{API}/poid", json=seen) for _ in range(50)))

    before = client.get(f"{API}/identifiers", params={"prefix": "POID", "limit": 1000}).json()["identifiers"]
    answers = asyncio.run(all_clients())
    after = client.get(f"{API}/identifiers", params={"prefix": "POID", "limit": 1000}).json()["identifiers"]
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 49}
    assert len({answer.content for answer in answers}) == 1
    assert len(after) == len(before) + 1


@pytest.mark.parametrize(("change", "part", "rule"), [
    ({"source_url": None}, "source_url", "POID must have source"),
    ({"source_url": "no address"}, "source_url", "POID must have source"),
    ({"retrieval_timestamp": "2025-01-09"}, "retrieval_timestamp", "Valid timestamps"),
    ({"retrieval_timestamp": 2025}, "retrieval_timestamp", "Valid timestamps"),
    ({"content_hash": "0"}, "content_hash", None),
    ({"retrieved": WHEN}, "retrieved", None),
    ({"holding_archive": "somewhere"}, "holding_archive", None),
    ({"claims": [{"type": "name", "value": 1}]}, "claims[1].value", None),
    ({"claims": [{"type": "birth_date", "value": "tomorrow"}]}, "claims[1].value", None),
    ({"claims": [{"type": "name", "value": "Jan", "status": "inferred"}]}, "claims[1].reasoning", None),
    ({"claims": [{"type": "name", "value": "Jan", "confidence": 2}]}, "claims[1].confidence", None),
    ({"claims": [{"type": "name", "value": {"forename": "Jan"}}]}, "claims[1].value.forename", None),
    ({"claims": [{"type": "name"}]}, "claims[1].value", None),
    ({"no name at all": 1}, "body", None),
])  # fmt: skip
def test_the_error_of_a_bad_observation_names_the_field_and_the_rule(
    client: httpx.Client, change: dict[str, Any], part: str, rule: str | None
) -> None:
    answer = client.post(f"{API}/poid", json=source(**change))
    assert answer.status_code == 422, answer.text
    assert (answer.json()["part"], answer.json().get("rule")) == (part, rule)


@pytest.mark.parametrize(("field", "rule"), [
    ("source_url", "POID must have source"), ("retrieval_timestamp", "Valid timestamps"), ("content_hash", None),
])  # fmt: skip
def test_an_input_that_is_missing_breaks_its_rule(client: httpx.Client, field: str, rule: str | None) -> None:
    seen = source()
    del seen[field]
    answer = client.post(f"{API}/poid", json=seen)
    assert problem(answer) == (422, "invalid-input")
    assert (answer.json()["part"], answer.json().get("rule")) == (field, rule)


@pytest.mark.parametrize(("field", "rule"), [
    ("observation_ids", "PRID must have observations"), ("timestamp", "Valid timestamps"), ("curator_id", None),
])  # fmt: skip
def test_the_error_of_an_incomplete_reconstruction_names_the_missing_field(
    client: httpx.Client, field: str, rule: str | None
) -> None:
    body = conclusion(POID)
    del body[field]
    answer = client.post(f"{API}/prid", json=body)
    assert problem(answer) == (422, "invalid-input")
    assert (answer.json()["part"], answer.json().get("rule")) == (field, rule)


@pytest.mark.parametrize(("change", "part", "rule"), [
    ({"observation_ids": []}, "observation_ids", "PRID must have observations"),
    ({"observation_ids": ["POID-5841-3d40-65d0-5c6X"]}, "observation_ids", "PRID must have observations"),
    ({"observation_ids": [PRID]}, "observation_ids", "No circular references"),
    ({"timestamp": "yesterday"}, "timestamp", "Valid timestamps"),
    ({"curator_id": "a|b"}, "curator_id", None),
    ({"curator_id": "nobody"}, "curator_id", None),
    ({"claims": [{"observation_id": POID, "claim": 3}]}, "claims[1].claim", None),
    ({"links": [{"relation": "exact", "scheme": "orcid", "value": "0000-0002-1825-0098"}]}, "links[1].value", None),
    ({"links": [{"relation": "same", "scheme": "orcid", "value": "0000-0002-1825-0097"}]}, "links[1].relation", None),
    ({"employment": [{"institution": "Rijksmuseum"}]}, "employment[1].institution", None),
    ({"different_from": ["PRID-1b91-673b-631c-5ff5"]}, "different_from", None),
])  # fmt: skip
@pytest.mark.usefixtures("jan")
def test_the_error_of_a_bad_reconstruction_names_the_field_and_the_rule(
    client: httpx.Client, change: dict[str, Any], part: str, rule: str | None
) -> None:
    answer = client.post(f"{API}/prid", json={**conclusion(POID, timestamp="2025-03-01T12:00:00Z"), **change})
    assert answer.status_code == 422, answer.text
    assert (answer.json()["part"], answer.json().get("rule")) == (part, rule)


@pytest.mark.usefixtures("jan")
@pytest.mark.parametrize(("text", "document"), [
    (POID, {"valid": True, "message": "Valid", "exists": True, "canonical": POID}),
    (POID.lower(), {"valid": True, "message": "Valid", "exists": True, "canonical": POID}),
    ("POID-5841-3d40-65d0-5c6x", {"valid": True, "message": "Valid", "exists": False, "suggestions": []}),
    ("POID-9eb0-4476-560e-5ac1", {"valid": True, "message": "Valid", "exists": False, "suggestions": [POID]}),
    ("POID-7a3b-c4d5-e6f7-890X", {"valid": False, "message": "Invalid checksum", "exists": False}),
    ("POID-93b0-4476-560e-5ac2", {"valid": False, "message": "Invalid checksum", "suggestions": [POID]}),
    ("POID-93b0", {"valid": False, "message": "Invalid syntax", "exists": False}),
    (POID.replace("-", ""), {"valid": False, "message": "Invalid syntax", "canonical": POID, "suggestions": [POID]}),
    (f"ppid:{POID}", {"valid": False, "message": "Invalid syntax", "canonical": POID, "suggestions": [POID]}),
    ("POID58413d4065d05c6X", {"valid": False, "canonical": "POID-5841-3d40-65d0-5c6X", "suggestions": []}),
    ("POID93b04476560e5ac2", {"valid": False, "canonical": None, "suggestions": [POID]}),
    ("nonsense", {"valid": False, "message": "Invalid syntax", "canonical": None}),
    ("12345%2Fabc", {"ppid": "12345/abc", "valid": False, "message": "Invalid syntax"}),
    ("%ff", {"ppid": "%ff", "valid": False, "message": "Invalid syntax"}),
    ("%F0%9F%99%82", {"ppid": "🙂", "valid": False, "message": "Invalid syntax"}),
])  # fmt: skip
def test_any_text_can_be_validated(anonymous: httpx.Client, text: str, document: dict[str, Any]) -> None:
    answer = anonymous.get(f"{API}/{text}/validate")
    assert answer.status_code == 200, answer.text
    assert document.items() <= answer.json().items()


@pytest.mark.usefixtures("jan")
@pytest.mark.parametrize(("path", "expected"), [
    ("POID-5841-3d40-65d0-5c6X", (404, "no-such-name")),
    ("POID-7a3b-c4d5-e6f7-890X", (400, "invalid-name")),
    ("POID-93b0", (400, "invalid-name")),
    (f"{POID}/observations", (422, "invalid-input")),
    (f"{POID}?version=2", (422, "invalid-input")),
    (f"{POID}?vers=1", (422, "invalid-input")),
    (f"{POID}/nothing", (404, "nothing-here")),
    (f"{POID}/", (404, "nothing-here")),
    ("PAID-93b0-4476-560e-5ac1", (404, "nothing-here")),
    ("{ppid}", (404, "nothing-here")),
])  # fmt: skip
def test_unknown_and_invalid_persons_have_different_errors(
    anonymous: httpx.Client, path: str, expected: tuple[int, str]
) -> None:
    assert problem(anonymous.get(f"{API}/{path}")) == expected


def test_the_correct_spelling_of_a_mistyped_identifier_is_suggested(anonymous: httpx.Client, jan: object) -> None:
    assert anonymous.get(f"{API}/POID-9eb0-4476-560e-5ac1").json()["suggestions"] == [POID]


def test_the_roots_of_other_resources_are_not_parsed_as_persons(anonymous: httpx.Client) -> None:
    assert problem(anonymous.get(f"{API}/identifiers/validate")) == (400, "invalid-name")
    assert anonymous.get(f"{API}/prefixes").status_code == 200
    assert problem(anonymous.get(f"{API}/poid")) == (405, "method-not-allowed")


def test_persons_are_found_by_words_of_their_names(client: httpx.Client, anonymous: httpx.Client) -> None:
    seen = create_observation(client, named_source("Rixt van Oosterzee", "Ríxt Cornelisdochter"))
    elsewhere = create_observation(client, source(source_name="Register of Oosterzee", claims=CLAIMS))
    chosen = create_reconstruction(client, seen, claims=[{"observation_id": seen, "claim": 1}])
    for words in ("oosterzee", "Rixt van Oosterzee", "ooster*", "rixt OOSTERZÉE"):
        found = anonymous.get(f"{API}/persons", params={"name": words}).json()["found"]
        assert [one["ppid"] for one in found] == [chosen, seen]
        assert elsewhere not in str(found)
    assert found[0]["names"] == ["Rixt van Oosterzee"]
    assert [one["ppid"] for one in anonymous.get(f"{API}/persons?name=rixt&limit=1").json()["found"]] == [chosen]
    assert anonymous.get(f"{API}/persons?name=oosterzee cornelisdochter").json()["found"] == []


def test_persons_are_found_page_by_page(client: httpx.Client, anonymous: httpx.Client) -> None:
    seen = [create_observation(client, named_source(f"Jouke Wibes {number}")) for number in range(3)]
    chosen = create_reconstruction(client, seen[0], claims=[{"observation_id": seen[0], "claim": 1}])
    whole = anonymous.get(f"{API}/persons?name=jouke+wib*").json()
    assert ([one["ppid"] for one in whole["found"]], whole["next"]) == ([chosen, *reversed(seen)], None)
    pages, following = [], f"{API}/persons?name=jouke+wib*&limit=1"
    while following:
        page = anonymous.get(following)
        following = page.links["next"]["url"] if "next" in page.links else ""
        assert (page.json()["next"] is None) == (following == "")
        pages.append([one["ppid"] for one in page.json()["found"]])
    assert pages == [[chosen], [seen[2]], [seen[1]], [seen[0]]]


@pytest.mark.parametrize(("scheme", "value", "other_form"), [
    ("orcid", "0000-0002-1694-233X", "https://orcid.org/0000-0002-1694-233x"),
    ("isni", "0000000121032683", "0000 0001 2103 2683"),
    ("viaf", "64205559", "https://viaf.org/viaf/64205559/"),
    ("wikidata", "Q42", "http://www.wikidata.org/entity/Q42"),
])  # fmt: skip
def test_persons_are_found_by_their_identifiers_in_other_systems(
    client: httpx.Client, anonymous: httpx.Client, scheme: str, value: str, other_form: str
) -> None:
    name = create_reconstruction(client, links=[{"relation": "exact", "scheme": scheme, "value": other_form}])
    link = anonymous.get(f"{API}/{name}").json()["reconstruction"]["links"]
    assert link == [{"relation": "exact", "scheme": scheme, "value": value}]
    for text in (value, other_form):
        found = anonymous.get(f"{API}/persons", params={scheme: text}).json()["found"]
        assert [one["ppid"] for one in found] == [name]


@pytest.mark.parametrize(("query", "part"), [
    ("", "name"), ("name=jan&orcid=0000-0002-1825-0097", "name"), ("orcid=0000-0002-1825-0098", "orcid"),
    ("wikidata=42", "wikidata"), ("name=%3F", "words"), ("name=jan&limit=0", "limit"), ("names=jan", "names"),
    ("name=jan&after=PRID:1/a", "after"), ("name=jan&after=%00", "after"), ("wikidata=Q42&after=PRID:1/a", "after"),
])  # fmt: skip
def test_an_invalid_search_names_the_parameter(anonymous: httpx.Client, query: str, part: str) -> None:
    answer = anonymous.get(f"{API}/persons?{query}")
    assert (problem(answer), answer.json()["part"]) == ((422, "invalid-input"), part)


def test_a_client_can_send_content_instead_of_its_hash(server: LiveServer) -> None:
    fields = {"source_url": "https://example.org/content", "retrieval_timestamp": "2025-01-09T10:30:00Z"}
    with server.client() as client:
        body = client.post(f"{API}/poid", json={**fields, "content": b64encode(b"Jan de Vries").decode()})
        assert body.status_code == 201
        known = client.post(f"{API}/poid", json={**fields, "content_hash": sha256(b"Jan de Vries").hexdigest()})
        assert (known.status_code, known.json()["ppid"]) == (200, body.json()["ppid"])
        for wrong in ({}, {"content": "%%%"}, {"content": "YQ==", "content_hash": "0" * 64}):
            refused = client.post(f"{API}/poid", json={**fields, **wrong})
            assert (refused.status_code, refused.json()["part"] in ("content", "content_hash")) == (422, True)
