"""Identifiers of every scheme as linked data: who is responsible, since when, and the targets."""

import json
from collections.abc import Iterator

import httpx
import pytest
from rdflib import DCTERMS, PROV, XSD, Graph, Literal, URIRef
from rdflib.compare import isomorphic
from tests.http.live_server import LiveServer, run_server
from tests.http.resolvable_names import resolvable_registry
from tests.http.sample_registry import PREFIX, fill_registry

FORMS = {"text/turtle": "turtle", "application/rdf+xml": "xml", "application/n-triples": "nt"}


@pytest.fixture(scope="module")
def linked_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("served") / "registry"
    fill_registry(folder, {"plain": "https://example.org/a?b=c&d=<e>"})
    with run_server(folder) as server:
        yield server


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a server that has identifiers in every state."""
    folder = tmp_path_factory.mktemp("linked") / "registry"
    with resolvable_registry(folder, "sqlite"), run_server(folder) as server, server.client("") as one:
        yield one


def ask(server: LiveServer, path: str, accept: str) -> httpx.Response:
    with server.client("") as client:
        return client.get(path, headers={"accept": accept})


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated")  # rdflib, of itself
def test_every_format_has_the_same_graph(linked_server: LiveServer) -> None:
    path = f"/{PREFIX}/plain"
    graphs = [
        Graph().parse(data=ask(linked_server, path, accept).content, format=name) for accept, name in FORMS.items()
    ]
    answer = ask(linked_server, path, "application/ld+json")
    document = json.loads(answer.content)
    context = ask(linked_server, document["@context"], "*/*").json()
    graphs.append(Graph().parse(data=json.dumps({**document, **context}), format="json-ld"))
    for graph in graphs[1:]:
        assert isomorphic(graphs[0], graph)
    subject = URIRef(f"{linked_server.url}{path}")
    for predicate in (DCTERMS.created, DCTERMS.modified, DCTERMS.creator):
        assert (subject, predicate, None) in graphs[0]
    held = httpx.get(
        f"{linked_server.url}{path}", headers={"accept": "application/ld+json", "if-none-match": answer.headers["etag"]}
    )
    assert held.status_code == 304


def test_a_client_that_prefers_html_is_redirected(linked_server: LiveServer) -> None:
    for accept in ("text/html, text/turtle;q=0.9", "*/*", "text/*", "text/turtle;q=0, */*"):
        assert ask(linked_server, f"/{PREFIX}/plain", accept).status_code == 302
    assert ask(linked_server, f"/{PREFIX}/plain?format=ttl", "text/html").headers["content-type"] == "text/turtle"


def test_an_ibi_label_is_described_under_both_its_names(linked_server: LiveServer) -> None:
    linked_server.perdure(
        "prefix", "add", "--host", "mtc-m18.sid.inpe.br", "--ip", "150.163.34.243", "--granularity", "1"
    )
    minted = json.loads(linked_server.perdure("mint", "sid.inpe.br/mtc-m18", "https://example.org/thesis", "--json"))
    for name in (minted["name"], minted["alias"]):
        text = ask(linked_server, f"/{name}", "text/turtle").text
        assert minted["name"] in text
        assert minted["alias"] in text


def graph_of(answer: httpx.Response) -> Graph:
    kind = answer.headers["content-type"]
    if kind == "application/ld+json":
        document = answer.json()
        context = httpx.get(document["@context"]).json()
        return Graph().parse(data=json.dumps({**document, **context}), format="json-ld")
    return Graph().parse(data=answer.content, format=FORMS[kind])


def every_form(client: httpx.Client, path: str, status: int) -> Graph:
    """Return the graph at a path, after a check that it is the same in every format, by header and by URL."""
    graphs = []
    for accept, name in (("application/ld+json", "jsonld"), ("text/turtle", "ttl"), ("application/rdf+xml", "xml")):
        by_header = client.get(path, headers={"accept": accept})
        by_address = client.get(path, params={"format": name}, headers={"accept": "text/html"})
        assert (by_header.status_code, by_address.status_code) == (status, status)
        assert by_header.content == by_address.content
        assert "accept" in by_header.headers["vary"]
        graphs.append(graph_of(by_header))
    assert all(isomorphic(graphs[0], other) for other in graphs[1:])
    return graphs[0]


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated")  # rdflib, of itself
def test_a_tombstone_has_agent_time_reason_and_replacement(client: httpx.Client) -> None:
    graph = every_form(client, "/12345/gone", 410)
    subject = URIRef(str(client.base_url.join("/12345/gone")))
    page = client.get("/12345/gone", headers={"accept": "application/json"}).json()
    vocabulary = "https://ppid.org/vocab#"
    assert graph.value(subject, URIRef(vocabulary + "state")) == Literal("withdrawn")
    assert graph.value(subject, URIRef(vocabulary + "tombstoneReason")) == Literal("it was a <mistake>")
    at = Literal(page["withdrawn_at"], datatype=XSD.dateTime)
    assert graph.value(subject, PROV.invalidatedAtTime) == at
    assert graph.value(graph.value(subject, PROV.wasInvalidatedBy), PROV.startedAtTime) == at
    assert graph.value(subject, DCTERMS.isReplacedBy) == URIRef("https://hdl.handle.net/12345/plain")
    called = graph.objects(None, URIRef("https://schema.org/alternateName"))
    assert "The Library of Tests" in {str(one) for one in called}
    assert not list(graph.objects(subject, URIRef("https://schema.org/url"))), "it leads nowhere any more"


def test_a_tombstone_is_sent_again_for_every_etag(client: httpx.Client) -> None:
    held = client.get("/12345/gone-alone?format=ttl", headers={"if-none-match": "*"})
    assert held.status_code == 410
    assert "isReplacedBy" not in held.text


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated")  # rdflib, of itself
def test_the_document_of_a_reserved_name_has_no_more_than_its_page(client: httpx.Client) -> None:
    graph = every_form(client, "/12345/kept", 404)
    properties = {(str(predicate).rpartition("/")[2], str(value)) for _, predicate, value in graph}
    assert properties == {("identifier", "12345/kept"), ("vocab#state", "reserved")}
    assert client.get("/12345/kept?format=ttl").headers["cache-control"] == "no-store"


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated")  # rdflib, of itself
def test_the_record_of_a_prefix_is_available_as_linked_data(client: httpx.Client) -> None:
    assert (None, DCTERMS.identifier, Literal("0.NA/12345")) in every_form(client, "/0.NA/12345", 200)


def test_a_merged_identifier_redirects_and_describes_itself_on_request(client: httpx.Client) -> None:
    for query in ("", "?format=ttl"):
        on = client.get(f"/12345/united{query}", headers={"accept": "text/turtle"})
        assert (on.status_code, on.headers["location"]) == (301, f"/12345/plain{query}")
    own = client.get("/12345/united?info&format=ttl")
    assert own.status_code == 200
    assert "merged" in own.text
    assert "the same thing" in own.text


@pytest.mark.parametrize("name", ["locations", "roles", "doctype", "broken", "hidden"])
def test_a_format_in_the_url_is_served_regardless_of_locations(client: httpx.Client, name: str) -> None:
    answer = client.get(f"/12345/{name}?format=ttl")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/turtle")
    assert f"12345/{name}" in answer.text


def test_a_format_in_the_header_redirects_to_a_location_with_that_role_or_is_served(client: httpx.Client) -> None:
    turtle = {"accept": "text/turtle"}
    assert client.get("/12345/roles", headers=turtle).headers["location"] == "https://example.org/forms"
    for name in ("locations", "doctype", "broken", "hidden"):
        assert client.get(f"/12345/{name}", headers=turtle).headers["content-type"] == "text/turtle"
    named = client.get("/12345/locations?action=metadata", headers=turtle)
    assert named.headers["location"] == "https://example.org/data"
    assert client.get("/12345/roles?type=URL", headers=turtle).status_code == 200, "the list is not looked at"
    assert client.get("/12345/locations?action=showurls", headers=turtle).headers["content-type"].startswith("text/xml")


def test_a_client_that_prefers_json_gets_the_record(client: httpx.Client) -> None:
    for accept, kind in (
        ("application/json, text/turtle;q=0.5", "application/json"),
        ("application/json;q=0.5, text/turtle", "text/turtle"),
        ("application/ld+json, application/json", "application/ld+json"),
    ):
        assert client.get("/12345/told", headers={"accept": accept}).headers["content-type"] == kind


def test_a_format_has_several_names(client: httpx.Client) -> None:
    for named in ("jsonld", "json-ld", "application/ld+json", "application/ld%2Bjson"):
        answer = client.get(f"/12345/plain?format={named}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/ld+json")
    assert client.get("/12345/plain?format=gif", headers={"accept": "text/turtle"}).status_code == 302
