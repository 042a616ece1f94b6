"""No public URL shows hidden content of a restricted or redacted person.

Every URL is also requested before, when it shows the word. So each is known to show it, and the caches of the server are
filled when the person is hidden.
"""

import asyncio
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

import pytest
from tests.cli.conftest import Run
from tests.http.hidden_persons import CURATOR, HIDDEN, LINK, SECRET, TARGET, HiddenPerson, make
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import Connection, RawResponse, connection
from tests.http.sample_registry import make_registry, open_for_writing

from perdure.folder.registry_folder import open_registry
from perdure.records.person import ChosenClaim, Reconstruction
from perdure.registry import add_agent, add_prefix, grant, new_key, reconstruct

FORMS = {
    "html": "text/html",
    "json": "application/json",
    "jsonld": "application/ld+json",
    "ttl": "text/turtle",
    "rdf": "application/rdf+xml",
    "nt": "application/n-triples",
}
EVERY_FORM = [f"accept: {media}" for media in FORMS.values()]
SOME_FORMS = ["accept: text/html", "accept: application/json", "accept: text/turtle"]
ANY_TIME = "accept-datetime: Thu, 09 Jan 2020 10:30:00 GMT"
# URLs of a person by name, and headers to be sent in turn. Those in the second table never show content.
SHOWING = {
    "/{name}": EVERY_FORM,
    **{f"/{{name}}.{ending}": [""] for ending in FORMS},
    **{f"/{{name}}.{ending}": [""] for ending in ("bib", "ris", "csl.json")},
    "/{name}?format=ttl": [""],
    "/{name}?format=application/ld%2Bjson": [""],
    "/{name}?info": EVERY_FORM,
    "/{name}?x=1": EVERY_FORM,
    "/{name}?noredirect": SOME_FORMS,
    "/{name}?type=URL": SOME_FORMS,
    "/{name}?action=showurls": SOME_FORMS,
    "/{name}?action=metadata": SOME_FORMS,
    "/{name}?urlappend=/more": SOME_FORMS,
    "/{name}?locatt=country:nz": SOME_FORMS,
    "/{name}?ignore_aliases": SOME_FORMS,
    "/{name}/v1": EVERY_FORM,
    "/{name}/v3": EVERY_FORM,
    "/{name}/claims": EVERY_FORM,
    "/{name}/observations": EVERY_FORM,
    "/api/v1/{name}": [""],
    "/api/v1/{name}?version=1": [""],
    "/api/v1/{name}/observations": [""],
    "/api/v1/{name}/observations?version=1": [""],
    "/api/v1/{name}/history": [""],
    "/api/v1/identifiers/{name}": [""],
    "/api/v1/history/{name}": [""],
    "/api/v1/versions/{name}?version=1": [""],
    "/api/v1/versions/{name}?version=3": [""],
    "/api/v1/diff/{name}?from=1&to=3": [""],
    "/api/handles/{name}": [""],
    "/api/handles/{name}?type=URL": [""],
}
SILENT = {
    "/{name}": [ANY_TIME],
    "/{name}/history": ["accept: application/link-format", "accept: text/html", "accept: application/json"],
    "/{name}/v2": SOME_FORMS,
    "/{name}/v4": SOME_FORMS,
    "/{name}/v5": SOME_FORMS,
    "/{lower}": SOME_FORMS,
    "/api/v1/{name}/validate": [""],
    "/api/v1/{name}?version=4": [""],
    "/api/v1/{name}/observations?version=4": [""],
    "/api/v1/versions/{name}?version=4": [""],
    "/api/v1/diff/{name}?from=3&to=4": [""],
    "/api/v1/{lower}": [""],
    "/api/handles/{name}?index=1": [""],
    "/api/handles/{lower}": [""],
}
# URLs that find persons.
SEARCHES = [
    f"/api/v1/search?q={SECRET}",
    f"/api/v1/search?q={SECRET[:6]}*",
    f"/api/v1/search?q={LINK}",
    f"/api/v1/persons?name={SECRET}",
    f"/api/v1/persons?wikidata={LINK}",
    f"/api/v1/reverse?data={quote(TARGET)}",
    f"/api/v1/reverse?data={LINK}&type=WIKIDATA",
]
SEARCHES_OF_AGENTS = [f"/hrls/handles?URL={quote(TARGET)}", f"/hrls/handles?URL=*{SECRET}*"]
# URLs about all of them, with anonymous responses and those for an agent.
LISTING = {
    "/api/v1/changes?limit=1000": (200, 200),
    "/api/v1/changes?limit=1000&scheme=ppid": (200, 200),
    "/api/v1/identifiers?prefix=POID&limit=1000": (401, 403),
    "/api/v1/identifiers?prefix=PRID&limit=1000": (401, 403),
    "/api/v1/exports": (401, 403),
    "/api/v1/exports?prefix=PRID": (401, 403),
    "/": (200, 200),
    "/metrics": (200, 200),
}


class People(NamedTuple):
    """Hidden persons by state, their neighbours, and the results of URLs and searches before they were hidden."""

    server: LiveServer
    key: str  # of an agent without any right to persons
    hidden: dict[str, HiddenPerson]
    neighbours: dict[str, list[str]]
    shown: dict[str, set[str]]  # by URL: the persons that it showed
    found: dict[str, set[str]]  # by URL: the persons that it found

    def __repr__(self) -> str:
        return "people"  # otherwise every failure would print all responses


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("hidden") / "registry"

    async def create_persons() -> tuple[str, dict[str, HiddenPerson], dict[str, list[str]]]:
        await make_registry(folder, name="Tests")
        async with open_for_writing(folder) as (registry, admin):
            await add_prefix(registry, admin, "12345", minter="chosen")
            await add_agent(registry, admin, "reader", "Reader", identifier="https://example.org/people/reader")
            await grant(registry, admin, "reader", "12345", ["mint", "edit", "withdraw"])
            _, key = await new_key(registry, admin, "reader")
            hidden = {state: await make(registry, admin, number) for number, state in enumerate(HIDDEN)}
            neighbours = {}
            for state, made in hidden.items():
                reconstruction = Reconstruction((), "", "", different_from=(made.prid,))
                named = [
                    await reconstruct(registry, admin, [made.poid], CURATOR, "2025-03-01T12:00:00Z", reconstruction)
                ]
                if "restricted" not in state:  # what shows a claim keeps it from being restricted
                    reconstruction = Reconstruction((), "", "", claims=(ChosenClaim(made.poid, 1),))
                    named.append(
                        await reconstruct(registry, admin, [made.poid], CURATOR, "2025-03-02T12:00:00Z", reconstruction)
                    )
                neighbours[state] = [one.name for one in named]
            return key, hidden, neighbours

    async def hide(hidden: dict[str, HiddenPerson]) -> None:
        async with open_for_writing(folder) as (registry, admin):
            for state, made in hidden.items():
                await HIDDEN[state](registry, admin, made)

    key, hidden, neighbours = asyncio.run(create_persons())
    with run_server(folder, "--no-access-log") as server:
        with connection(server) as anonymous:
            shown = {
                path: {
                    one for made in hidden.values() for one in made[:2] if shows_secret(anonymous, path, one, headers)
                }
                for path, headers in SHOWING.items()
            }
            found = {path: names_in(anonymous.request(path), hidden) for path in SEARCHES}
            agent = f"authorization: Bearer {key}"
            found |= {path: names_in(anonymous.request(path, agent), hidden) for path in SEARCHES_OF_AGENTS}
        asyncio.run(hide(hidden))
        yield People(server, key, hidden, neighbours, shown, found)


def shows_secret(client: Connection, path: str, name: str, headers: list[str]) -> bool:
    """Return whether a response contains the word, in every one of its spellings."""
    url = path.format(name=name, lower=name.lower())
    answers = [client.request(url, *filter(None, [header])) for header in headers]
    return all(has_secret(answer) for answer in answers)


def has_secret(answer: RawResponse) -> bool:
    text = answer.body.decode("utf-8", "replace") + str(answer.headers)
    return any(word.lower() in text.lower() for word in (SECRET, LINK))


def names_in(answer: RawResponse, hidden: dict[str, HiddenPerson]) -> set[str]:
    return {one for made in hidden.values() for one in made if one.encode() in answer.body}


@pytest.mark.parametrize("path", SHOWING)
def test_every_url_shows_persons_who_are_not_hidden(people: People, path: str) -> None:
    assert people.shown[path], "then the other tests show nothing"


@pytest.mark.parametrize("path", [*SEARCHES, *SEARCHES_OF_AGENTS])
def test_every_search_finds_persons_who_are_not_hidden(people: People, path: str) -> None:
    assert people.found[path], "then the other tests show nothing"


@pytest.mark.parametrize("state", HIDDEN)
def test_nothing_is_shown_at_the_urls_of_hidden_persons(people: People, state: str) -> None:
    names = {*people.hidden[state], *people.neighbours[state], *successors(people, state)}
    agent = f"authorization: Bearer {people.key}"
    leaks = []
    with connection(people.server) as client:
        for name in sorted(names - {people.hidden[state].second}):
            for path, headers in [*SHOWING.items(), *SILENT.items()]:
                url = path.format(name=name, lower=name.lower())
                for header in headers:
                    for who in ("", agent) if path.startswith("/api") else ("",):
                        answer = client.request(url, *filter(None, [header, who]))
                        if has_secret(answer):
                            leaks.append((url, header, who, answer.status, answer.body.decode()))
    assert leaks == []


def successors(people: People, state: str) -> list[str]:
    """Return the persons that one was split into, and others with the same observations."""

    async def look() -> list[str]:
        async with open_registry(people.server.folder) as registry:
            names = people.hidden[state][1:3]
            found = await registry.store.read(lambda reader: [reader.derived_from(name) for name in names])
            return [one for prids in found for one in prids]

    return asyncio.run(look())


def test_no_hidden_person_is_found(people: People) -> None:
    agent = f"authorization: Bearer {people.key}"
    with connection(people.server) as client:
        for path in [*SEARCHES, *SEARCHES_OF_AGENTS]:
            for who in ([agent],) if path in SEARCHES_OF_AGENTS else ([], [agent]):
                answer = client.request(path, *who)
                assert answer.status == 200, (path, answer)
                assert not re.search(rb"P[OR]ID-", answer.body), (path, answer)
                assert not has_secret(answer), (path, answer)


@pytest.mark.parametrize("path", LISTING)
def test_no_list_shows_hidden_persons(people: People, path: str) -> None:
    with connection(people.server) as client:
        answers = client.request(path), client.request(path, f"authorization: Bearer {people.key}")
    assert tuple(answer.status for answer in answers) == LISTING[path]
    assert not any(has_secret(answer) for answer in answers)


@pytest.mark.parametrize("format", ["nt", "ttl", "jsonld", "ndjson"])
def test_an_export_of_all_persons_shows_nothing_of_hidden_persons(people: People, quick: Run, format: str) -> None:
    written = quick("person", "export", "--format", format, "--registry", str(people.server.folder))
    assert written.returncode == 0, written.stderr
    assert all(name in written.stdout for made in people.hidden.values() for name in made)
    assert SECRET.lower() not in written.stdout.lower()
    assert LINK not in written.stdout
