"""Targets without a valid host, and hosts in other scripts: over every API, and in every format."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyoxigraph as ox
import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import THROUGH_APPLICATION, connection
from tests.http.sample_registry import open_for_writing
from tests.registry_fixture import write_unchecked

from perdure.folder.registry_folder import make_registry
from perdure.records.value import Text, Value
from perdure.registry import Statement, add_prefix, mint

BAD = ["https://#", "https://\\x", "http://%00/", "https://a:65536/", 'https://"><script>alert(1)</script>/']
IDNA = {
    "https://bücher.example/ä?ö#ü": "https://xn--bcher-kva.example/%C3%A4?%C3%B6#%C3%BC",
    "https://例え.jp/'><script>\\": "https://xn--r8jz45g.jp/'%3E%3Cscript%3E%5C",
}
SEEN = {"retrieval_timestamp": "2025-01-09T10:30:00Z", "content_hash": "a" * 64}
RDF = {
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/rdf+xml": ox.RdfFormat.RDF_XML,
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
}


def _url(target: str, index: int = 1) -> Value:
    return Value(index, "URL", Text(target))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("targets") / "registry"
    asyncio.run(_fill(folder))
    with run_server(folder) as one:
        yield one


async def _fill(folder: Path) -> None:
    await make_registry(folder, name="Tests")
    async with open_for_writing(folder) as (registry, admin):
        await add_prefix(registry, admin, "12345", minter="chosen", pass_through=True)
        for number, target in enumerate(IDNA):
            await mint(registry, admin, "12345", suffixes=[f"idna{number}"], statement=Statement(target))
        await mint(registry, admin, "12345", suffixes=["bare"], statement=Statement("https://bücher.example"))
        for number, target in enumerate(BAD):
            await mint(registry, admin, "12345", suffixes=[f"old{number}"], statement=Statement("https://example.org/"))
            await write_unchecked(registry, admin, f"12345/old{number}", _url(target))
            await mint(
                registry, admin, "12345", suffixes=[f"both{number}"], statement=Statement("https://example.org/")
            )
            await write_unchecked(
                registry, admin, f"12345/both{number}", _url(target), _url("https://example.org/2", 2)
            )
            locations = Text(f"<locations><location href='{_escape(target)}'/></locations>")
            await mint(registry, admin, "12345", suffixes=[f"loc{number}"], statement=Statement("https://example.org/"))
            await write_unchecked(
                registry,
                admin,
                f"12345/loc{number}",
                Value(1, "10320/loc", locations),
                _url("https://example.org/3", 2),
            )
            alias = Statement(values=(Value(1, "HS_ALIAS", Text(target)),))
            await mint(registry, admin, "12345", suffixes=[f"alias{number}"], statement=alias)


def _escape(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


@pytest.fixture(scope="module")
def reader(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client("") as one:
        yield one


@pytest.fixture(scope="module")
def writer(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client() as one:
        yield one


@pytest.mark.parametrize("target", BAD)
def test_only_an_import_accepts_a_target_without_a_host_and_it_leads_nowhere(writer: httpx.Client, target: str) -> None:
    value = {"index": 1, "type": "URL", "data": {"format": "string", "value": target}}
    own = [
        writer.post("/api/v1/identifiers", json={"prefix": "12345", "suffix": "new", "target": target}),
        writer.post("/api/v1/identifiers", json={"prefix": "12345", "suffix": "new", "values": [value]}),
        writer.patch("/api/v1/identifiers/12345/idna0", json={"target": target}, headers={"if-match": "*"}),
        writer.post("/api/v1/values/12345/idna0", json={"values": [value | {"index": 9}]}, headers={"if-match": "*"}),
        writer.post("/api/v1/poid", json={"source_url": target, **SEEN}),
    ]
    assert [one.status_code for one in own] == [422] * len(own), [one.text for one in own]
    lines = {"content-type": "application/x-ndjson"}
    for path, line in (
        ("imports", {"name": f"12345/imported{BAD.index(target)}", "target": target}),
        ("observations", {"source_url": target, **SEEN}),
    ):
        response = writer.post(f"/api/v1/{path}", content=json.dumps(line) + "\n", headers=lines)
        assert "absolute" in response.text or "is not a valid address" in response.text, response.text
    imported = writer.get(f"/12345/imported{BAD.index(target)}")
    assert (imported.status_code, "<script" in imported.text) == (200, False)
    handle = [
        writer.put("/api/handles/12345/new", json={"values": [value]}),
        writer.put("/api/handles/12345/idna0", params={"index": "1"}, json=value),
    ]
    assert [one.status_code for one in handle] == [400, 400], [one.text for one in handle]
    assert writer.get("/api/handles/12345/new").status_code == 404


@pytest.mark.parametrize(("number", "target"), list(enumerate(IDNA)))
def test_a_host_in_another_script_is_sent_as_idna(reader: httpx.Client, number: int, target: str) -> None:
    sent, path = IDNA[target], f"/12345/idna{number}"
    answer = reader.get(path)
    assert (answer.status_code, answer.headers["location"]) == (302, sent)
    assert sent in answer.text.replace("&#39;", "'")
    page = reader.get(path, params={"info": ""})
    assert f'<{sent}>; rel="item"' in page.headers["link"]
    assert f'href="{sent.replace(chr(39), "&#39;")}"' in page.text
    assert "<script" not in page.text
    assert reader.get(f"/api/v1/identifiers{path}").json()["target"] == target
    assert reader.get(f"/api/handles{path}").json()["values"][0]["data"]["value"] == target
    for media, form in RDF.items():
        assert ox.NamedNode(sent) in _objects(reader.get(path, headers={"accept": media}), form)


def test_passed_through_text_cannot_change_the_host(reader: httpx.Client) -> None:
    assert reader.get("/12345/bare/ü").headers["location"] == "https://xn--bcher-kva.example/%C3%BC"
    assert reader.get("/12345/bare?urlappend=/ü%2Fx").headers["location"] == "https://xn--bcher-kva.example/%C3%BC/x"
    for rest in (".evil.org", "@evil.org", ":80", "%5C@evil.org"):
        assert reader.get(f"/12345/bare{rest}").status_code == 404
        assert reader.get("/12345/bare", params={"urlappend": rest}).status_code == 400


@pytest.mark.parametrize(("number", "target"), list(enumerate(BAD)))
def test_an_invalid_target_from_before_is_shown_as_text_and_redirects_nowhere(
    reader: httpx.Client, number: int, target: str
) -> None:
    path = f"/12345/old{number}"
    page = reader.get(path)
    assert page.status_code == 200
    assert "location" not in page.headers
    assert 'rel="item"' not in page.headers["link"]
    assert "has no target URL" in page.text
    shown = target.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;")
    assert shown in page.text
    assert not [href for href in re.findall(r'href="([^"]*)"', page.text) if shown in href]
    assert "<script" not in page.text
    assert reader.get(f"/api/v1/identifiers{path}").json()["target"] == target
    assert reader.get(f"/api/handles{path}").json()["values"][0]["data"]["value"] == target
    for media, form in RDF.items():
        found = _objects(reader.get(path, headers={"accept": media}), form)
        assert found
        assert not [one for one in found if isinstance(one, ox.NamedNode) and one.value.startswith(target[:9])]
    assert b'"url"' not in reader.get(path, headers={"accept": "application/ld+json"}).content
    assert reader.get(f"{path}/longer").status_code == 404


@pytest.mark.parametrize("number", range(len(BAD)))
def test_another_valid_target_of_the_record_is_used(reader: httpx.Client, number: int) -> None:
    assert reader.get(f"/12345/both{number}").headers["location"] == "https://example.org/2"
    assert reader.get(f"/12345/loc{number}").headers["location"] == "https://example.org/3"


@pytest.mark.parametrize("number", range(len(BAD)))
def test_an_alias_that_is_not_a_name_redirects_to_no_other_host(reader: httpx.Client, number: int) -> None:
    answer = reader.get(f"/12345/alias{number}")
    assert answer.headers.get("location", "/").startswith("/")
    assert not answer.headers.get("location", "/").startswith("//")
    page = reader.get(f"/12345/alias{number}", params={"info": ""})
    assert "<script" not in page.text


def test_blanks_in_a_url_of_a_handle_client_are_stored_and_encoded_in_redirects(
    reader: httpx.Client, writer: httpx.Client, server: LiveServer
) -> None:
    target, sent = "  https://example.org/a b?q=c  d ", "https://example.org/a%20b?q=c%20%20d"
    texts = {"URL": target, "DESC": "https://example.org/ is the site", "URL.X": "https://example.org/x y"}
    values = [{"index": index, "type": kind, "data": text} for index, (kind, text) in enumerate(texts.items(), 1)]
    assert writer.put("/api/handles/12345/blank", json=values).status_code == 201
    assert reader.get("/api/handles/12345/blank").json()["values"][0]["data"]["value"] == target
    with connection(server) as raw:
        for headers in ((), (THROUGH_APPLICATION,)):
            answer = raw.request("/12345/blank", *headers)
            assert (answer.status, answer.header("location")) == (302, sent)
            assert sent.encode() in answer.body
    assert reader.get("/12345/blank?index=1").headers["location"] == sent
    assert reader.get("/12345/blank?type=URL.X").headers["location"] == "https://example.org/x%20y"
    assert reader.get("/12345/blank/more").headers["location"] == f"{sent}/more"
    page = reader.get("/12345/blank?info")
    assert f'<{sent}>; rel="item"' in page.headers["link"]
    assert f'href="{sent}"' in page.text
    assert 'href="https://example.org/%20is' not in page.text
    for media, form in RDF.items():
        assert ox.NamedNode(sent) in _objects(reader.get("/12345/blank", headers={"accept": media}), form)
    # The rest of the record can be changed by every interface.
    more = {"values": [{"index": 30, "type": "DESC", "data": {"format": "string", "value": "x"}}]}
    assert writer.post("/api/v1/values/12345/blank", json=more, headers={"if-match": "*"}).status_code == 200
    read = reader.get("/api/handles/12345/blank").json()["values"]
    assert writer.put("/api/handles/12345/blank", json=[*read, values[1] | {"index": 50}]).status_code == 200
    assert reader.get("/api/v1/identifiers/12345/blank").json()["target"] == target


def test_blanks_in_a_location_are_encoded_in_redirects(reader: httpx.Client, writer: httpx.Client) -> None:
    listed = "<locations><location href='https://example.org/a b'/></locations>"
    value = {"index": 1, "type": "10320/loc", "data": listed}
    assert writer.put("/api/handles/12345/blank-location", json=[value]).status_code == 201
    assert reader.get("/12345/blank-location").headers["location"] == "https://example.org/a%20b"


@pytest.mark.parametrize(
    "target", ["https://exa mple.org/", "https:// /a", "mailto: ", " javascript:alert(1)", " ", "a b"]
)
def test_a_blank_does_not_make_a_url_of_other_text(writer: httpx.Client, target: str) -> None:
    value = {"index": 1, "type": "URL", "data": target}
    refused = writer.put("/api/handles/12345/no-url", json=[value])
    assert (refused.status_code, refused.json()["responseCode"]) == (400, 202)


def test_a_new_target_of_the_own_api_has_no_blanks(writer: httpx.Client) -> None:
    for target in ("https://example.org/a b", "https://example.org/a ", " https://example.org/a"):
        refused = writer.post("/api/v1/identifiers", json={"prefix": "12345", "target": target})
        assert refused.status_code == 422
        assert refused.json()["part"] == "target"


def _objects(answer: httpx.Response, form: ox.RdfFormat) -> list[object]:
    assert answer.status_code == 200, answer.text
    return [quad.object for quad in ox.parse(answer.content, form)]
