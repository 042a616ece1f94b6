"""The IRI of a person is the same on the page, in the citation, in RDF, and in dumps."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rdflib import Graph, URIRef
from tests.http.live_server import LiveServer, run_server
from tests.http.person_client import create_observation

from perdure.folder.registry_folder import make_registry
from perdure.records.namespaces import is_local
from perdure.settings_file import read_settings

PUBLIC = "https://id.example.org"
RDF = {"ttl": "turtle", "nt": "nt", "rdf": "xml"}
PPIDV = "https://ppid.org/vocab#"


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("public") / "registry"
    asyncio.run(make_registry(folder, name="Tests", public_url=PUBLIC))
    with run_server(folder) as server:
        yield server


def citation(link: str) -> str | None:
    return next((one.split(">")[0][1:] for one in link.split(", ") if 'rel="cite-as"' in one), None)


def test_all_documents_agree_on_one_iri(public: LiveServer) -> None:
    with public.client(public.key) as client:
        name = create_observation(client)
        assert client.get(f"/api/v1/{name}").json()["uri"] == f"{PUBLIC}/{name}"
        iri = f"{PUBLIC}/{name}"
        page = client.get(f"/{name}.html")
        assert f'<a href="{iri}">{iri}</a>' in page.text
        assert citation(page.headers["link"]) == iri
        assert client.get(f"/{name}.jsonld").json()["id"] == iri
        for suffix, syntax in RDF.items():
            graph = Graph().parse(data=client.get(f"/{name}.{suffix}").content, format=syntax)
            assert list(graph.subjects(URIRef(f"{PPIDV}poid"))) == [URIRef(iri)]
        by_resolver = client.get(f"/{name}?noredirect", headers={"Accept": "text/turtle"})
        assert (URIRef(iri), None, None) in Graph().parse(data=by_resolver.content)
        assert citation(by_resolver.headers["link"]) == iri
    dump = Graph().parse(data=public.perdure("person", "export", "--format", "nt"), format="nt")
    assert (URIRef(iri), URIRef(f"{PPIDV}poid"), None) in dump


def test_a_local_iri_is_not_offered_for_citation(tmp_path: Path) -> None:
    with run_server(tmp_path / "registry") as server, server.client(server.key) as client:
        name = create_observation(client)
        page = client.get(f"/{name}.html")
        iri = client.get(f"/{name}.jsonld").json()["id"]
        assert is_local(iri)
        assert iri in page.text
        assert citation(page.headers["link"]) is None
        export = server.perdure("person", "export", "--format", "ndjson")
        assert json.loads(export)["name"] == name
    assert read_settings(tmp_path / "registry").http.public_url == ""
