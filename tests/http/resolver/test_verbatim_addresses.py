"""Addresses that were imported verbatim: every reader sees them, and no reader is sent there."""

import json
from collections.abc import Iterator

import httpx
import pytest
from tests.http.live_server import LiveServer

BAD = ["http://example.org/a b", "www.example.org/x", "javascript:alert(1)", "gopher://example.org/<b>"]
LOCATIONS = "<locations><location href='https://#'/><location href='https://example.org/second'/></locations>"
RDF = ("text/turtle", "application/ld+json", "application/rdf+xml", "application/n-triples")


@pytest.fixture(scope="module")
def client(server: LiveServer) -> Iterator[httpx.Client]:
    server.perdure("prefix", "add", "777", "--minter", "chosen", "--pass-through")
    lines: list[object] = [{"name": f"777/{at}", "target": text} for at, text in enumerate(BAD)]
    value = {"index": 1, "type": "10320/loc", "data": {"format": "string", "value": LOCATIONS}}
    lines.append({"name": "777/locations", "values": [value]})
    body = "\n".join(json.dumps(line) for line in lines)
    with server.client() as client:
        answer = client.post("/api/v1/imports", content=body, headers={"content-type": "application/x-ndjson"})
        tally = json.loads(answer.text.splitlines()[-1])
        assert (tally["created"], tally["verbatim"]) == (len(lines), len(lines))
        yield client


@pytest.mark.parametrize(("at", "text"), list(enumerate(BAD)))
def test_the_page_shows_the_address_as_text(client: httpx.Client, at: int, text: str) -> None:
    page = client.get(f"/777/{at}", headers={"accept": "text/html"})
    assert page.status_code == 200
    assert "leads nowhere now" in page.text
    assert text.replace("<b>", "&lt;b&gt;") in page.text
    assert "item" not in page.headers["link"]
    links = [part.partition('"')[0] for part in page.text.split('href="')[1:]]
    assert not [link for link in links if link.startswith(text[:10])]
    assert client.get(f"/777/{at}/longer").status_code == 404


@pytest.mark.parametrize(("at", "text"), list(enumerate(BAD)))
def test_handle_clients_and_other_apis_read_it_unchanged(client: httpx.Client, at: int, text: str) -> None:
    (value,) = [one for one in client.get(f"/api/handles/777/{at}").json()["values"] if one["type"] == "URL"]
    assert value["data"] == {"format": "string", "value": text}
    assert "verbatim" not in value
    document = client.get(f"/api/v1/identifiers/777/{at}").json()
    assert "target" not in document
    assert document["values"][0]["verbatim"] is True
    for media in RDF:
        described = client.get(f"/777/{at}", headers={"accept": media})
        assert described.status_code == 200
        assert text[:8] not in described.text


def test_the_valid_locations_of_a_list_still_work(client: httpx.Client) -> None:
    answer = client.get("/777/locations")
    assert (answer.status_code, answer.headers["location"]) == (302, "https://example.org/second")
    stored = client.get("/api/handles/777/locations").json()["values"][0]
    assert stored["data"]["value"] == LOCATIONS


def test_a_handle_client_writes_the_record_back_and_mends_it(client: httpx.Client) -> None:
    record = client.get("/api/handles/777/0").json()["values"]
    added = {"index": 7, "type": "DESC", "data": {"format": "string", "value": "x"}}
    written = client.put("/api/handles/777/0", json={"values": [*record, added]})
    assert written.json()["responseCode"] == 1, written.text
    assert client.get("/777/0").status_code == 200
    patched = client.patch(
        "/api/v1/identifiers/777/0", json={"target": "https://example.org/"}, headers={"if-match": "*"}
    )
    assert patched.status_code == 200, patched.text
    answer = client.get("/777/0")
    assert (answer.status_code, answer.headers["location"]) == (302, "https://example.org/")
