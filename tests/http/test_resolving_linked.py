"""Every identifier as linked data, whatever its scheme: who answers for it, since when, and where it leads."""

import json
from collections.abc import Iterator

import httpx
import pytest
from rdflib import DCTERMS, Graph, URIRef
from rdflib.compare import isomorphic
from tests.http.furnished import PREFIX, furnish
from tests.http.live import LiveServer, serving

FORMS = {"text/turtle": "turtle", "application/rdf+xml": "xml", "application/n-triples": "nt"}


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("served") / "registry"
    furnish(folder, {"plain": "https://example.org/a?b=c&d=<e>"})
    with serving(folder) as server:
        yield server


def ask(server: LiveServer, path: str, accept: str) -> httpx.Response:
    with server.client("") as client:
        return client.get(path, headers={"accept": accept})


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated")  # rdflib, of itself
def test_the_same_graph_in_every_form(linked: LiveServer) -> None:
    place = f"/{PREFIX}/plain"
    graphs = [Graph().parse(data=ask(linked, place, accept).content, format=name) for accept, name in FORMS.items()]
    answer = ask(linked, place, "application/ld+json")
    document = json.loads(answer.content)
    context = ask(linked, document["@context"], "*/*").json()
    graphs.append(Graph().parse(data=json.dumps({**document, **context}), format="json-ld"))
    for graph in graphs[1:]:
        assert isomorphic(graphs[0], graph)
    subject = URIRef(f"{linked.url}{place}")
    for predicate in (DCTERMS.created, DCTERMS.modified, DCTERMS.creator):
        assert (subject, predicate, None) in graphs[0]
    held = httpx.get(
        f"{linked.url}{place}", headers={"accept": "application/ld+json", "if-none-match": answer.headers["etag"]}
    )
    assert held.status_code == 304


def test_who_likes_a_page_better_is_sent_on(linked: LiveServer) -> None:
    for accept in ("text/html, text/turtle;q=0.9", "*/*", "text/*", "text/turtle;q=0, */*"):
        assert ask(linked, f"/{PREFIX}/plain", accept).status_code == 302
    assert ask(linked, f"/{PREFIX}/plain?format=ttl", "text/html").headers["content-type"] == "text/turtle"


def test_an_ibi_label_is_told_under_both_its_names(linked: LiveServer) -> None:
    linked.perdure("prefix", "add", "--host", "mtc-m18.sid.inpe.br", "--ip", "150.163.34.243", "--granularity", "1")
    said = json.loads(linked.perdure("mint", "sid.inpe.br/mtc-m18", "https://example.org/thesis", "--json"))
    for name in (said["name"], said["alias"]):
        text = ask(linked, f"/{name}", "text/turtle").text
        assert said["name"] in text
        assert said["alias"] in text
