"""Persons at their own URLs: in every format, at every version, and at every time (PPID, section 6)."""

import asyncio
import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime, parsedate_to_datetime
from typing import NamedTuple

import httpx
import pyshacl
import pytest
from rdflib import DCTERMS, OWL, PROV, RDFS, SKOS, XSD, Graph, Literal, URIRef
from rdflib.compare import isomorphic
from tests.http.live_server import LiveServer, run_server
from tests.http.sample_registry import make_registry, open_for_writing

from perdure.rdf import SHAPES
from perdure.records.person import (
    ChosenClaim,
    Claim,
    Employment,
    InSource,
    Link,
    Observation,
    PersonName,
    Reconstruction,
)
from perdure.records.record import About
from perdure.registry import (
    Curation,
    Statement,
    add_agent,
    grant,
    lift_restriction,
    merge,
    observe,
    reconstruct,
    restrict,
    revise_reconstruction,
    split,
    update,
    withdraw,
)
from perdure.registry.persons import Person, observe_many, redact

OUR_SHAPES = Graph().parse(data=SHAPES, format="turtle")
WHEN = "2025-01-09T10:30:00Z"
LATER = "2025-02-15T14:00:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
FORMS = {
    "text/html": "html",
    "application/json": "json",
    "application/ld+json": "jsonld",
    "text/turtle": "ttl",
    "application/rdf+xml": "rdf",
    "application/n-triples": "nt",
}
RDF = {
    "application/ld+json": "json-ld",
    "text/turtle": "turtle",
    "application/rdf+xml": "xml",
    "application/n-triples": "nt",
}


class People(NamedTuple):
    server: LiveServer
    client: httpx.Client
    poid: str
    other: str
    prid: str
    merged: str
    split: str
    hidden: str
    withheld: str  # a reconstruction that is restricted
    redacted: str
    withdrawn: str


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("served") / "registry"
    claims = (
        Claim(
            type="name",
            value=PersonName(given_name="Jan", patronym="Pieters", surname_prefix="van der", base_surname="Werk"),
            language="nl",
        ),
        Claim(type="birth_date", value="1895-03~", confidence=0.8, where=InSource(page="12", quote="<b>geboren</b>")),
        Claim(type="occupation", value="archivaris", status="inferred", reasoning="he signs as one", language="nl"),
    )

    async def work() -> tuple[str, ...]:
        await make_registry(folder, name="Tests", person_iris="https://ppid.org/")
        async with open_for_writing(folder) as (registry, admin):

            async def observe_number(number: int, sourced_claims: tuple[Claim, ...] = claims) -> str:
                url = f"https://example.org/register/{number}?a=1&b={{x}}"
                person = await observe(
                    registry, admin, url, WHEN, "0" * 64, source_name="Register", claims=sourced_claims
                )
                return person.name

            one, two, three, four, five = [await observe_number(number) for number in range(5)]
            reconstruction = Reconstruction(
                (),
                "",
                "",
                curator_name="Josiah Carberry",
                claims=(ChosenClaim(one, 1), ChosenClaim(one, 2)),
                links=(Link("exact", "orcid", "0000-0002-1694-233X"), Link("close", "wikidata", "Q42")),
                employment=(
                    Employment(institution="NL-NH-AMS-M-RM", role="Senior Archivist", start="2015"),
                    Employment(institution="NL-NH-AMS-A-SA", start="2018", end="2020"),
                ),
                notes="a note",
            )
            prid = (await reconstruct(registry, admin, [one], CURATOR, WHEN, reconstruction)).name
            await revise_reconstruction(registry, admin, prid, [one, two], CURATOR, LATER, reconstruction)
            gone = (await reconstruct(registry, admin, [three], CURATOR, WHEN)).name
            await merge(registry, admin, gone, prid, Curation(CURATOR, LATER, "Josiah Carberry"), "the same man")
            broken = (await reconstruct(registry, admin, [four, five], CURATOR, WHEN)).name
            await split(registry, admin, broken, [[four], [five]], Curation(CURATOR, LATER), "two men")
            hidden = await observe_number(9)
            await restrict(registry, admin, hidden, "a living person")
            withheld = (await reconstruct(registry, admin, [two], CURATOR, WHEN)).name
            await restrict(registry, admin, withheld, "a living person")
            redacted = (await reconstruct(registry, admin, [three], CURATOR, LATER)).name
            await redact(registry, admin, redacted, "a court order")
            withdrawn = await observe_number(10)
            await withdraw(registry, admin, withdrawn, "read wrongly", replaced_by=one)
            return one, two, prid, gone, broken, hidden, withheld, redacted, withdrawn

    names = asyncio.run(work())
    with run_server(folder) as server, httpx.Client(timeout=30) as client:
        yield People(server, client, *names)


def get(people: People, path: str, accept: str | None = None, **headers: str) -> httpx.Response:
    fields = dict(headers)
    if accept is not None:
        fields["accept"] = accept
    request = httpx.Request("GET", f"{people.server.url}{path}", headers=fields)
    if accept is None:
        request.headers.pop("accept", None)
    return people.client.send(request)


def graph_of(people: People, answer: httpx.Response) -> Graph:
    body, form = answer.content, RDF[answer.headers["content-type"].partition(";")[0]]
    if form == "json-ld":
        document = json.loads(body)
        context = people.client.get(document["@context"]).json()
        body = json.dumps({**document, **context}).encode()
    return Graph().parse(data=body, format=form)


@pytest.mark.parametrize("accept", FORMS)
def test_every_format_is_chosen_by_accept_by_extension_or_by_parameter(people: People, accept: str) -> None:
    by_header = get(people, f"/{people.prid}", accept)
    assert by_header.status_code == 200
    assert by_header.headers["content-type"].partition(";")[0] == accept
    assert {"accept", "accept-datetime"} <= {one.strip() for one in by_header.headers["vary"].split(",")}
    for path in (f"/{people.prid}.{FORMS[accept]}", f"/{people.prid}?format={FORMS[accept]}"):
        by_address = get(people, path, "image/png")
        assert by_address.content == by_header.content
        assert by_address.headers["content-type"] == by_header.headers["content-type"]
    held = get(people, f"/{people.prid}", accept, **{"if-none-match": by_header.headers["etag"]})
    assert (held.status_code, held.content) == (304, b"")


def test_a_client_without_an_accept_header_gets_json_ld(people: People) -> None:
    answer = get(people, f"/{people.poid}")
    assert answer.headers["content-type"] == "application/ld+json"
    assert json.loads(answer.content)["@context"].startswith(people.server.url)


def test_a_format_that_is_not_available_is_answered_with_those_that_are(people: People) -> None:
    answer = get(people, f"/{people.poid}", "image/png, application/problem+json")
    assert answer.status_code == 406
    assert set(answer.json()["available"]) == set(FORMS)
    assert get(people, f"/{people.poid}?format=gif", "application/json").status_code == 400
    assert get(people, f"/{people.poid}?format=application/ld+json", "image/png").status_code == 200


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated")  # rdflib, of itself
@pytest.mark.parametrize(
    "path",
    [
        "/{poid}",
        "/{prid}",
        "/{prid}/v1",
        "/{prid}/observations",
        "/{poid}/claims",
        "/{hidden}",
        "/{withheld}/observations",
    ],
)
def test_every_format_has_the_same_graph(people: People, path: str) -> None:
    url = path.format(**people._asdict())
    graphs = [graph_of(people, get(people, url, accept)) for accept in RDF]
    assert len(graphs[0]) > 3
    for graph in graphs[1:]:
        assert isomorphic(graphs[0], graph)


def test_a_page_escapes_the_text_of_sources(people: People) -> None:
    page = get(people, f"/{people.poid}", "text/html").text
    assert "Jan Pieters van der Werk" in page
    assert "&lt;b&gt;geboren&lt;/b&gt;" in page
    assert "<b>geboren" not in page
    page = get(people, f"/{people.prid}", "text/html").text
    for text in ("Senior Archivist", "0000-0002-1694-233X", "probably the same", "Josiah Carberry", "Replaces"):
        assert text in page


@pytest.mark.parametrize("write", [str.lower, str.upper, str.title])
@pytest.mark.parametrize("rest", ["", "/v1", "/history", ".ttl", "/v1?format=ttl"])
def test_another_spelling_leads_to_the_right_one(people: People, write: str, rest: str) -> None:
    spelling = write(people.prid)  # type: ignore[operator]
    answer = get(people, f"/{spelling}{rest}", "text/turtle, application/link-format")
    if spelling == people.prid:
        assert answer.status_code == 200
    else:
        assert (answer.status_code, answer.headers["location"]) == (308, f"/{people.prid}{rest}")


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("/ppid:{name}", "/{name}"),
        ("/{compact}", "/{name}"),
        ("/{name}%20", "/{name}"),
        ("/%3C{name}%3E.", "/{name}"),
        ("/https://ppid.org/{name}/v1", "/{name}/v1"),
        ("/ppid:{name}/History.JSON?x=1", "/{name}/history.json?x=1"),
        ("/{compact}.ttl", "/{name}.ttl"),
        ("/{name}/V1", "/{name}/v1"),
        ("/{name}/Observations", "/{name}/observations"),
        ("/{name}.TTL?format=ttl", "/{name}.ttl?format=ttl"),
        ("/{lower}?info", "/{name}?info"),
        ("/{compact}?noredirect", "/{name}?noredirect"),
    ],
)
@pytest.mark.parametrize("accept", ["text/html", "text/turtle"])
def test_a_person_is_at_one_address_only(people: People, path: str, right: str, accept: str) -> None:
    spelt = {"name": people.prid, "compact": people.prid.replace("-", ""), "lower": people.prid.lower()}
    answer = get(people, path.format(**spelt), accept)
    assert (answer.status_code, answer.headers["location"]) == (308, right.format(**spelt))


@pytest.mark.parametrize("accept", FORMS)
@pytest.mark.parametrize("path", ["/{prid}", "/{prid}/v1", "/{poid}.ttl", "/{poid}/claims", "/{split}"])
def test_unknown_parameters_of_a_query_are_ignored(people: People, path: str, accept: str) -> None:
    url = path.format(**people._asdict())
    plain, tracked = get(people, url, accept), get(people, f"{url}?utm_source=x&fbclid", accept)
    assert without_date(tracked) == without_date(plain)


def test_the_resolver_handles_its_own_parameters(people: People) -> None:
    for query in ("info", "noredirect", "type=URL", "index=1", "action=showvalues", "auth=true"):
        page = get(people, f"/{people.prid}?{query}", "text/html")
        assert page.status_code == 200
        assert "Values" in page.text, query
    assert "Values" not in get(people, f"/{people.prid}/v1?info", "text/html").text, "it knows names, and no versions"


def test_a_handle_may_contain_the_identifier_of_a_person(people: People) -> None:
    for path in (f"/20.500.999/{people.prid}", f"/20.500.999/https://ppid.org/{people.prid}"):
        assert get(people, path, "text/html").status_code == 404


def test_versions_are_linked_to_each_other(people: People) -> None:
    first = get(people, f"/{people.prid}/v1", "text/turtle")
    graph = Graph().parse(data=first.text, format="turtle")
    text = first.text
    assert "specializationOf" in text
    assert f"{people.prid}/v1" in text
    assert not list(graph.triples((None, OWL.sameAs, URIRef(f"https://ppid.org/{people.prid}"))))
    assert "wasRevisionOf" in get(people, f"/{people.prid}/v2", "text/turtle").text
    assert get(people, f"/{people.prid}/v9", "text/turtle").status_code == 404
    assert get(people, f"/{people.prid}/v0", "application/json").status_code in (400, 404)
    assert "Show the current version" in get(people, f"/{people.prid}/v1", "text/html").text


def test_accept_datetime_leads_to_the_version_of_that_time(people: People) -> None:
    versions = get(people, f"/{people.prid}/history", "application/json").json()["versions"]
    assert [one["version"] for one in versions] == [1, 2, 3]
    made = datetime.fromisoformat(versions[0]["at"])
    for at, version in ((made - timedelta(days=400), 1), (datetime.now(timezone.utc) + timedelta(days=1), 3)):
        instant = format_datetime(at, usegmt=True)
        gate = get(people, f"/{people.prid}", "text/turtle", **{"accept-datetime": instant})
        assert (gate.status_code, gate.headers["location"]) == (302, f"/{people.prid}/v{version}")
        assert "accept-datetime" in gate.headers["vary"]
        assert 'rel="original timegate"' in gate.headers["link"]
    memento = get(people, f"/{people.prid}/v1", "text/turtle")
    assert parsedate_to_datetime(memento.headers["memento-datetime"]) == made.replace(microsecond=0)
    assert 'rel="timemap"' in memento.headers["link"]


@pytest.mark.parametrize(
    "instant",
    [
        "yesterday",
        "Wed, 18 Nov 99999999999 00:00:00 GMT",
        "Wed, 18 Nov 10000 00:00:00 GMT",
        "Wed, 18 Nov 2025 99999999999999999999:00:00 GMT",
        "Wed, 18 Nov 2025 00:00:00 +99999999999999999999",
        "Fri, 31 Dec 9999 23:59:59 -2300",
    ],
)
def test_an_accept_datetime_that_is_not_a_date_is_refused(people: People, instant: str) -> None:
    answer = get(people, f"/{people.prid}", "application/json", **{"accept-datetime": instant})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request")


def test_the_time_map_names_every_version(people: People) -> None:
    answer = get(people, f"/{people.prid}/history")
    assert answer.headers["content-type"] == "application/link-format"
    found = re.findall(r'<([^>]+)>; rel="([^"]+)"', answer.text)
    assert [relation for _, relation in found] == [
        "original timegate",
        "self",
        "first memento",
        "memento",
        "last memento",
    ]
    assert found[2][0] == f"{people.server.url}/{people.prid}/v1"


def test_the_history_has_agents_actions_and_notes(people: People) -> None:
    versions = get(people, f"/{people.prid}/history", "application/json").json()["versions"]
    assert [(one["action"], one["agent"], one["curator_id"], one["curator_name"]) for one in versions] == [
        (action, "admin", CURATOR, "Josiah Carberry") for action in ("mint", "revise", "merge")
    ]
    assert versions[2]["note"] == f"merged {people.merged}: the same man"
    page = get(people, f"/{people.prid}/history", "text/html").text
    for text in ("Tests (", "Josiah Carberry", CURATOR, f"merged {people.merged}: the same man"):
        assert text in page
    seen = get(people, f"/{people.poid}/history", "application/json").json()["versions"]
    assert "curator_id" not in seen[0], "an observation has no curator"


@pytest.mark.parametrize("hidden", ["withheld", "redacted", "buried"])
def test_the_history_of_a_hidden_person_shows_only_the_actions(people: People, hidden: str) -> None:
    async def work() -> str:
        async with open_for_writing(people.server.folder) as (registry, admin):
            name = (await reconstruct(registry, admin, [people.other], CURATOR, "2025-04-01T09:00:00Z")).name
            await withdraw(registry, admin, name, "he is Piet Geheim")
            await restrict(registry, admin, name, "a living person")
            return name

    name = asyncio.run(work()) if hidden == "buried" else getattr(people, hidden)
    for accept in ("text/html", "application/json", "application/link-format", *RDF):
        answer = get(people, f"/{name}/history", accept)
        assert answer.status_code == 200
        for secret in (CURATOR, "Geheim", "living", "court", "Tests"):
            assert secret not in answer.text, secret
    versions = get(people, f"/{name}/history", "application/json").json()["versions"]
    assert all(one["agent"] == "admin" and "note" not in one for one in versions)


def test_a_history_in_an_unknown_format_is_answered_with_the_available_formats(people: People) -> None:
    answer = get(people, f"/{people.prid}/history", "image/png")
    assert answer.status_code == 406
    assert "application/link-format, text/html, application/json" in answer.text
    offered = re.findall(r'<([^>]+)>; rel="alternate"; type="([^"]+)"', answer.headers["link"])
    assert len(offered) == 7
    for address, media in offered:
        assert f'href="{address}"' in answer.text
        assert get(people, address, "image/png").headers["content-type"].partition(";")[0] == media


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated")  # rdflib, of itself
@pytest.mark.parametrize("name", ["prid", "poid", "withheld", "redacted", "split"])
def test_the_history_is_equal_in_all_formats_of_rdf_and_conforms(people: People, name: str) -> None:
    url = f"/{getattr(people, name)}/history"
    graphs = [graph_of(people, get(people, url, media)) for media in RDF]
    assert all(isomorphic(graphs[0], other) for other in graphs[1:])
    conforming, _, report = pyshacl.validate(graphs[0], shacl_graph=OUR_SHAPES)
    assert conforming, report


def test_the_history_in_rdf_has_every_change_and_its_version(people: People) -> None:
    person = URIRef(f"https://ppid.org/{people.prid}")
    graph = Graph().parse(data=get(people, f"/{people.prid}/history", "text/turtle").content)
    for number, action in enumerate(("mint", "revise", "merge"), 1):
        version, change = URIRef(f"{person}/v{number}"), URIRef(f"{person}/v{number}#change")
        assert (URIRef(f"{person}/history"), DCTERMS.hasPart, change) in graph
        assert (change, PROV.generated, version) in graph
        assert str(graph.value(change, RDFS.label)) == action
        assert graph.value(change, PROV.startedAtTime) is not None
        [agent] = graph.objects(change, PROV.wasAssociatedWith)
        assert "Tests" in {
            str(text)
            for text in (
                *graph.objects(agent, URIRef("https://schema.org/name")),
                *graph.objects(agent, URIRef("https://schema.org/alternateName")),
            )
        }
        assert (version, PROV.specializationOf, person) in graph
        assert graph.value(version, PROV.wasRevisionOf) == (URIRef(f"{person}/v{number - 1}") if number > 1 else None)
    curated = graph.value(URIRef(f"{person}/v3"), PROV.wasGeneratedBy)
    assert (curated, PROV.wasAssociatedWith, URIRef(CURATOR)) in graph
    assert str(graph.value(URIRef(f"{person}/v3#change"), SKOS.note)) == f"merged {people.merged}: the same man"


def test_the_history_and_the_documents_of_the_versions_conform_together(people: People) -> None:
    together = Graph()
    for path in ("", "/v1", "/v2", "/history", "/observations"):
        together.parse(data=get(people, f"/{people.prid}{path}", "text/turtle").content)
    conforming, _, report = pyshacl.validate(together, shacl_graph=OUR_SHAPES)
    assert conforming, report


def test_the_observations_in_rdf_name_their_reconstruction(people: People) -> None:
    graph = Graph().parse(data=get(people, f"/{people.prid}/observations", "text/turtle").content)
    person, vocabulary = URIRef(f"https://ppid.org/{people.prid}"), "https://ppid.org/vocab#"
    named = set(graph.objects(person, URIRef(f"{vocabulary}hasObservation")))
    assert {URIRef(f"https://ppid.org/{one}") for one in (people.poid, people.other)} <= named
    assert all(graph.value(one, URIRef(f"{vocabulary}contentHash")) is not None for one in named)


def test_a_page_has_signposts_for_programs(people: People) -> None:
    links = get(people, f"/{people.poid}", "text/html").headers["link"]
    assert f'<https://ppid.org/{people.poid}>; rel="cite-as"' in links
    assert 'rel="describedby"; type="text/turtle"' in links
    assert 'rel="author"' in links


def test_a_merged_person_redirects_to_the_survivor(people: People) -> None:
    for accept in ("text/html", "text/turtle", "application/ld+json"):
        answer = get(people, f"/{people.merged}", accept)
        assert (answer.status_code, answer.headers["location"]) == (301, f"/{people.prid}")
    assert get(people, f"/{people.merged}/v1", "text/turtle").status_code == 200


def test_every_response_that_depends_on_accept_datetime_names_it_in_vary(people: People) -> None:
    async def work() -> str:
        async with open_for_writing(people.server.folder) as (registry, admin):
            name = (await reconstruct(registry, admin, [people.poid], CURATOR, "2025-03-01T09:00:00Z")).name
            await update(registry, admin, name, Statement(target="https://example.org/her-own-page"))
            return name

    leading = asyncio.run(work())
    for path, status in ((people.merged, 301), (leading, 302), (people.split, 410), (people.prid, 200)):
        answer = get(people, f"/{path}", "text/html")
        assert answer.status_code == status
        assert "accept-datetime" in answer.headers["vary"], path
        gate = get(people, f"/{path}", "text/html", **{"accept-datetime": "Thu, 09 Jan 2020 10:30:00 GMT"})
        assert (gate.status_code, gate.headers["location"]) == (302, f"/{path}/v1")


def test_a_page_of_another_origin_may_use_accept_datetime(people: People) -> None:
    asking = {"origin": "https://example.org", "access-control-request-method": "GET"}
    for path in (f"/{people.prid}", f"/api/v1/{people.prid}"):
        before = people.client.options(f"{people.server.url}{path}", headers=asking)
        assert before.status_code == 204
        assert "accept-datetime" in before.headers["access-control-allow-headers"].split(", ")
    memento = get(people, f"/{people.prid}/v1", "text/turtle")
    assert {"memento-datetime", "link", "location"} <= set(memento.headers["access-control-expose-headers"].split(", "))


def test_a_person_who_was_split_names_the_parts(people: People) -> None:
    page = get(people, f"/{people.split}", "text/html")
    assert page.status_code == 410
    assert page.text.count("PRID-") > 2
    graph = get(people, f"/{people.split}", "text/turtle")
    assert graph.status_code == 410
    assert graph.text.count("isReplacedBy") >= 1
    held = get(people, f"/{people.split}", "text/turtle", **{"if-none-match": graph.headers["etag"]})
    assert held.status_code == 410, "no condition makes an error anything else (RFC 9110, section 13.2.1)"


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated")  # rdflib, of itself
@pytest.mark.parametrize("path", ["/{split}", "/{withdrawn}", "/{withdrawn}/claims"])
def test_a_tombstone_has_agent_time_reason_and_replacement(people: People, path: str) -> None:
    url = path.format(**people._asdict())
    name = url.split("/")[1]
    acts = get(people, f"/api/v1/{name}/history").json()["revisions"]
    at = f"{acts[-1]['at'][:19]}Z"
    why, instead = ("two men", None) if name == people.split else ("read wrongly", people.poid)
    page = get(people, url, "text/html")
    assert page.status_code == 410
    for text in (why, "Tests", "local-", at, instead or "PRID-"):
        assert text in page.text
    graphs = [graph_of(people, get(people, url, accept)) for accept in RDF]
    assert all(isomorphic(graphs[0], other) for other in graphs[1:])
    subject, graph = URIRef(f"https://ppid.org/{name}"), graphs[0]
    act = graph.value(subject, PROV.wasInvalidatedBy)
    when = Literal(at, datatype=XSD.dateTime)
    assert graph.value(subject, PROV.invalidatedAtTime) == graph.value(act, PROV.startedAtTime) == when
    agent = graph.value(act, PROV.wasAssociatedWith)
    assert str(graph.value(agent, URIRef("https://schema.org/alternateName"))) == "Tests"
    assert graph.value(subject, URIRef("https://ppid.org/vocab#tombstoneReason")) == Literal(why)
    assert len(set(graph.objects(subject, DCTERMS.isReplacedBy))) == (1 if instead else 2)


@pytest.mark.parametrize(
    ("gone", "why"), [("withdrawn", "read wrongly"), ("merged", "the same man"), ("split", "two men")]
)
def test_the_api_and_dumps_say_who_withdrew_a_person_when_and_why(people: People, gone: str, why: str) -> None:
    name = getattr(people, gone)
    found = get(people, f"/api/v1/{name}").json()
    acts = get(people, f"/api/v1/{name}/history").json()["revisions"]
    assert found["withdrawal"]["by"] == "Tests"
    assert found["withdrawal"]["by_identifier"].startswith("hdl:local-")
    assert found["withdrawal"]["at"] == f"{acts[-1]['at'][:19]}Z"
    assert found["tombstone"]["reason"] == why
    assert "withdrawal" not in get(people, f"/api/v1/{name}?version=1").json()
    lines = [json.loads(line) for line in people.server.perdure("person", "export", "--format", "ndjson").splitlines()]
    [line] = [line for line in lines if line["name"] == name]
    assert (line["withdrawal"], line["tombstone"]["reason"]) == (found["withdrawal"], why)
    dump = Graph().parse(data=people.server.perdure("person", "export", "--format", "nt"), format="nt")
    subject = URIRef(f"https://ppid.org/{name}")
    activity = dump.value(subject, PROV.wasInvalidatedBy)
    assert str(dump.value(activity, PROV.startedAtTime)).startswith(found["withdrawal"]["at"][:19])
    agent = dump.value(activity, PROV.wasAssociatedWith)
    assert str(dump.value(agent, URIRef("https://schema.org/alternateName"))) == "Tests"


def test_a_program_that_accepts_problems_gets_the_reason_for_a_missing_person(people: People) -> None:
    problem = "application/problem+json"
    for name, status in ((people.withdrawn, 410), (people.split, 410), ("POID-93b0-4476-560e-5ac1", 404)):
        answer = get(people, f"/{name}", problem)
        assert (answer.status_code, answer.headers["content-type"]) == (status, problem)
        assert answer.json()["status"] == status
    problem_document = get(people, f"/{people.withdrawn}", problem).json()
    assert "read wrongly" in str(problem_document)
    assert "Tests" in str(problem_document)
    assert get(people, f"/{people.poid}", problem).status_code == 406


@pytest.mark.parametrize("query", ["", "?info"])
@pytest.mark.parametrize("accept", FORMS)
def test_the_tombstone_of_a_hidden_person_has_no_reason(people: People, accept: str, query: str) -> None:
    async def work() -> list[str]:
        async with open_for_writing(people.server.folder) as (registry, admin):
            names = []
            for way in (restrict, redact):
                url = f"https://example.org/buried/{accept}{query}/{way.__name__}"
                name = (await observe(registry, admin, url, WHEN, "0" * 64)).name
                await withdraw(registry, admin, name, "he is Piet Geheim")
                await way(registry, admin, name, "a court's order")  # type: ignore[operator]
                names.append(name)
            return names

    for name in asyncio.run(work()):
        answer = get(people, f"/{name}{query}", accept)
        assert answer.status_code == 410
        assert "Geheim" not in answer.text
        assert "Tests" in answer.text, "who did it is no secret"


def test_a_hidden_person_who_withdrew_their_own_record_is_not_named(people: People) -> None:
    async def work() -> str:
        async with open_for_writing(people.server.folder) as (registry, admin):
            name = (await observe(registry, admin, "https://example.org/self", WHEN, "0" * 64)).name
            agent = await add_agent(registry, admin, "self", "Piet Geheim", identifier=name)
            await grant(registry, admin, agent.id, "POID", ["edit", "withdraw"])
            await withdraw(registry, agent, name, "that is me")
            await restrict(registry, admin, name, "a living person")
            return name

    name = asyncio.run(work())
    for accept in FORMS:
        for path in (f"/{name}", f"/{name}?info"):
            answer = get(people, path, accept)
            assert answer.status_code == 410
            assert "Geheim" not in answer.text


@pytest.mark.parametrize("accept", FORMS)
def test_restricted_content_is_not_shown(people: People, accept: str) -> None:
    for path in (f"/{people.hidden}", f"/{people.hidden}/claims", f"/{people.hidden}/v1"):
        answer = get(people, path, accept)
        assert answer.status_code == 200
        assert "a living person" in answer.text
        for secret in ("Werk", "1895", "register", "archivaris"):
            assert secret not in answer.text


@pytest.mark.parametrize("accept", FORMS)
@pytest.mark.parametrize("hidden", ["withheld", "redacted"])
def test_a_hidden_person_lists_no_observations(people: People, hidden: str, accept: str) -> None:
    answer = get(people, f"/{getattr(people, hidden)}/observations", accept)
    assert answer.status_code == 200
    assert ("a living person" if hidden == "withheld" else "a court order") in answer.text
    assert "POID" not in answer.text
    held = {"if-none-match": answer.headers["etag"]}
    assert get(people, f"/{getattr(people, hidden)}/observations", accept, **held).status_code == 304


@pytest.mark.parametrize("accept", FORMS)
def test_the_claims_have_a_document_of_their_own(people: People, accept: str) -> None:
    url = f"/{people.poid}/claims"
    claims, whole = get(people, url, accept), get(people, f"/{people.poid}", accept)
    assert (claims.status_code, claims.headers["content-type"]) == (200, whole.headers["content-type"])
    assert claims.content == get(people, f"{url}.{FORMS[accept]}").content
    assert claims.headers["vary"] == "accept"
    assert claims.headers["etag"] != whole.headers["etag"]
    assert f'{people.server.url}{url}>; rel="describedby"' in claims.headers["link"]
    assert get(people, url, accept, **{"if-none-match": claims.headers["etag"]}).status_code == 304
    for text in ("1895-03~", "archivaris", "he signs as one", "geboren", "0.8", people.poid, "example.org/register"):
        assert text in claims.text
    assert "Authority metadata" not in claims.text


def test_every_claim_names_its_observation_and_source(people: People) -> None:
    graph = Graph().parse(data=get(people, f"/{people.poid}/claims", "text/turtle").text, format="turtle")
    observation = URIRef(f"https://ppid.org/{people.poid}")
    whole = URIRef(f"{observation}/claims")
    found = set(graph.objects(whole, DCTERMS.hasPart))
    assert found == {URIRef(f"{observation}#claim-{number}") for number in (1, 2, 3)}
    for claim in found:
        assert graph.value(claim, URIRef("https://ppid.org/vocab#claimOf")) == observation
        assert graph.value(claim, PROV.hadPrimarySource) == URIRef(f"{observation}#source")
    assert not list(graph.objects(observation, URIRef("https://schema.org/birthDate")))


def test_a_redacted_observation_has_no_claims(people: People) -> None:
    async def observe_secret() -> str:
        async with open_for_writing(people.server.folder) as (registry, admin):
            claims = (Claim(type="name", value="Piet Geheim"),)
            return (await observe(registry, admin, "https://example.org/redacted", WHEN, "0" * 64, claims=claims)).name

    async def take_out(name: str) -> None:
        async with open_for_writing(people.server.folder) as (registry, admin):
            await redact(registry, admin, name, "a court's order")

    name = asyncio.run(observe_secret())
    assert all("Geheim" in get(people, f"/{name}/claims", accept).text for accept in FORMS)
    asyncio.run(take_out(name))
    for accept in FORMS:
        answer = get(people, f"/{name}/claims", accept)
        assert "court" in answer.text
        assert "Geheim" not in answer.text


def test_an_unknown_person_is_not_found_and_other_methods_are_refused(people: People) -> None:
    assert get(people, "/POID-0000-0000-0000-0001", "application/json").status_code == 404
    assert get(people, "/POID-0000-0000-0000-0002", "application/json").status_code in (400, 404)  # the check digit
    assert get(people, f"/{people.poid}/observations", "application/json").status_code == 404
    assert get(people, f"/{people.prid}.exe", "application/json").status_code == 404
    url = f"{people.server.url}/{people.prid}"
    assert people.client.post(url).status_code == 405
    assert people.client.head(f"{url}.ttl").headers["content-type"].startswith("text/turtle")


def test_the_vocabulary_is_at_its_own_address(people: People) -> None:
    for path in ("/vocab", "/type"):
        graph = Graph().parse(data=get(people, path, "text/turtle").text, format="turtle")
        assert (URIRef("https://ppid.org/vocab#hasObservation"), None, None) in graph
        assert (URIRef("https://ppid.org/type#PersonObservation"), None, None) in graph
        page = get(people, path, "text/html")
        assert page.headers["content-type"].startswith("text/html")
        assert 'id="hasObservation"' in page.text
    assert get(people, "/vocab", "image/png").status_code == 406
    assert get(people, "/vocab.exe").status_code == 404
    assert get(people, "/vocab.", "application/json").status_code == 400
    assert len(Graph().parse(data=get(people, "/shapes.ttl").text, format="turtle")) > 10
    assert "@context" in get(people, "/context.jsonld").json()


@pytest.mark.parametrize("accept", FORMS)
@pytest.mark.parametrize("path", ["/vocab", "/type"])
def test_the_vocabulary_is_available_in_every_format_of_persons(people: People, path: str, accept: str) -> None:
    by_header = get(people, path, accept)
    assert (by_header.status_code, by_header.headers["content-type"].partition(";")[0]) == (200, accept)
    assert by_header.headers["vary"] == "accept"
    for url in (f"{path}.{FORMS[accept]}", f"{path}?format={FORMS[accept]}"):
        assert without_date(get(people, url, "image/png")) == without_date(by_header)
    if accept == "application/json":
        assert by_header.content == get(people, path, "application/ld+json").content


@pytest.mark.parametrize("path", ["/vocab", "/vocab.html", "/type.jsonld", "/context.jsonld", "/shapes.ttl"])
def test_an_unchanged_vocabulary_is_not_sent_again(people: People, path: str) -> None:
    first = get(people, path)
    assert first.status_code == 200
    held = get(people, path, **{"if-none-match": first.headers["etag"]})
    assert (held.status_code, held.content, held.headers["etag"]) == (304, b"", first.headers["etag"])
    assert get(people, path, **{"if-none-match": '"another"'}).status_code == 200


def test_a_cached_document_is_served_only_while_it_is_current(people: People) -> None:
    """The fast path caches documents; a new version of any record that one depends on renders it again."""

    async def create_person() -> tuple[str, str]:
        async with open_for_writing(people.server.folder) as (registry, admin):
            seen = await observe(
                registry, admin, "https://example.org/kept", WHEN, "0" * 64, source_name="Kept Register"
            )
            made = await reconstruct(registry, admin, [seen.name], CURATOR, WHEN)
            return seen.name, made.name

    async def revise(prid: str, poid: str) -> None:
        async with open_for_writing(people.server.folder) as (registry, admin):
            await revise_reconstruction(registry, admin, prid, [poid], CURATOR, LATER)

    async def hide(poid: str) -> None:
        async with open_for_writing(people.server.folder) as (registry, admin):
            await restrict(registry, admin, poid, "a living person")

    poid, prid = asyncio.run(create_person())
    for accept in ("text/turtle", "text/html", "application/ld+json"):
        first, second = (get(people, f"/{prid}", accept) for _ in range(2))
        assert without_date(first) == without_date(second)
    before = count_cached_answers(people)
    assert without_date(get(people, f"/{prid}", "text/turtle")) == without_date(get(people, f"/{prid}", "text/turtle"))
    assert count_cached_answers(people) == before + 2
    assert LATER not in get(people, f"/{prid}", "text/turtle").text
    asyncio.run(revise(prid, poid))
    assert LATER in get(people, f"/{prid}", "text/turtle").text
    assert "Kept Register" in get(people, f"/{prid}", "text/turtle").text
    asyncio.run(hide(poid))
    assert "Kept Register" not in get(people, f"/{prid}", "text/turtle").text


def without_date(answer: httpx.Response) -> tuple[list[tuple[str, str]], bytes]:
    return [(name, value) for name, value in answer.headers.multi_items() if name != "date"], answer.content


def count_cached_answers(people: People) -> float:
    text = people.client.get(f"{people.server.url}/metrics").text
    found = re.search(r'^perdure_fast_path_requests_total\{answer="person"\} (\S+)', text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_redirects_preserve_the_suffix(people: People) -> None:
    moved = get(people, f"/{people.merged}.ttl?format=ttl")
    assert (moved.status_code, moved.headers["location"]) == (301, f"/{people.prid}.ttl?format=ttl")
    assert moved.headers["cache-control"] == "no-cache"  # it can be undone
    assert get(people, f"/{people.merged}?x=1", "text/html").headers["cache-control"] == "no-cache"
    assert get(people, f"/{people.split}.html").status_code == 410
    gate = get(people, f"/{people.prid}.ttl", **{"accept-datetime": "Thu, 09 Jan 2020 10:30:00 GMT"})
    assert gate.headers["location"] == f"/{people.prid}/v1.ttl"


def test_a_page_requested_by_its_extension_is_shown_even_if_the_person_has_a_target(people: People) -> None:
    async def work() -> str:
        async with open_for_writing(people.server.folder) as (registry, admin):
            name = (await reconstruct(registry, admin, [people.poid], CURATOR, "2025-05-05T12:00:00Z")).name
            await update(registry, admin, name, Statement(target="https://example.org/elsewhere"))
            return name

    name = asyncio.run(work())
    led = get(people, f"/{name}", "text/html")
    assert (led.status_code, led.headers["location"]) == (302, "https://example.org/elsewhere")
    page = get(people, f"/{name}.html")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert name in page.text


def test_empty_and_unusual_requests_are_answered(people: People) -> None:
    assert get(people, f"/{people.poid}", "").headers["content-type"] == "application/ld+json"
    strange = get(people, f"/%50{people.poid[1:]}", "text/turtle")
    assert (strange.status_code, strange.headers["location"]) == (308, f"/{people.poid}")
    java = "text/html;q=.1, image/gif, *; q=.2, text/turtle; q=.2"
    assert get(people, f"/{people.poid}", java).headers["content-type"].startswith("text/turtle")


def test_many_observations_are_listed_in_several_pages(people: People) -> None:
    async def work() -> tuple[list[str], str]:
        async with open_for_writing(people.server.folder) as (registry, admin):
            seen = [Observation(f"https://example.org/many/{number}", WHEN, "0" * 64) for number in range(201)]
            names = [one.name for one in await observe_many(registry, admin, seen) if isinstance(one, Person)]
            return sorted(names), (await reconstruct(registry, admin, names, CURATOR, WHEN)).name

    names, prid = asyncio.run(work())
    listed: list[str] = []
    url: str | None = f"/{prid}/observations"
    while url is not None:
        answer = get(people, url, "application/ld+json")
        reconstruction, *observations = answer.json()["@graph"]
        assert reconstruction["prid"] == prid, "every page names the reconstruction"
        listed += [one["poid"] for one in observations]
        following = re.search(r'<[^>]*(/PRID[^>]*)>; rel="next"', answer.headers["link"])
        assert ("Next page" in get(people, url, "text/html").text) == (following is not None)
        url = following[1] if following else None
    assert listed == names


def test_a_restricted_person_redirects_nowhere_in_any_api(people: People) -> None:
    async def work() -> str:
        async with open_for_writing(people.server.folder) as (registry, admin):
            name = (await reconstruct(registry, admin, [people.other], CURATOR, LATER)).name
            statement = Statement(target="https://example.org/hidden-target", about=About(what="hidden words"))
            await update(registry, admin, name, statement)
            await restrict(registry, admin, name, "a living person")
            return name

    name = asyncio.run(work())
    ways = (
        f"/{name}",
        f"/{name}?x=1",
        f"/{name}?urlappend=/q",
        f"/{name}?locatt=a:b",
        f"/{name}?info",
        f"/api/handles/{name}",
    )
    for way in ways:
        for accept in ("text/html", "application/json", "text/turtle"):
            answer = get(people, way, accept)
            assert answer.status_code in (200, 404), way
            assert "hidden" not in answer.text + str(answer.headers), way


def test_the_etag_depends_on_the_hidden_observations(people: People) -> None:
    async def create_person() -> tuple[str, list[str]]:
        async with open_for_writing(people.server.folder) as (registry, admin):
            names = [
                (await observe(registry, admin, f"https://example.org/tag/{n}", WHEN, "0" * 64)).name for n in range(2)
            ]
            return (await reconstruct(registry, admin, names, CURATOR, WHEN)).name, names

    async def hide(name: str, *, lifts: str | None = None) -> None:
        async with open_for_writing(people.server.folder) as (registry, admin):
            if lifts is not None:
                await lift_restriction(registry, admin, lifts, "it was wrong")
            await restrict(registry, admin, name, "a living person")

    prid, (one, other) = asyncio.run(create_person())
    asyncio.run(hide(one))
    tag = get(people, f"/{prid}", "text/turtle").headers["etag"]
    asyncio.run(hide(other, lifts=one))
    again = get(people, f"/{prid}", "text/turtle", **{"if-none-match": tag})
    assert again.status_code == 200
    assert "example.org/tag" in again.text
