"""Any request for a person in any state gets a response of a known kind, and never an internal error.

These URLs are not part of the OpenAPI document, so no other test tries hundreds of requests to them.
"""

import asyncio
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.http.hidden_persons import HIDDEN, HIM, LINK, SECRET, make
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import RawResponse, connection, request
from tests.http.sample_registry import make_registry, open_for_writing

from perdure.registry import merge, split, withdraw

SHOWN = ("active", "withdrawn", "merged", "split")
ENDINGS = {
    ".html": "text/html",
    ".json": "application/json",
    ".jsonld": "application/ld+json",
    ".ttl": "text/turtle",
    ".rdf": "application/rdf+xml",
    ".nt": "application/n-triples",
}
FORMS = tuple(ENDINGS.values())
DECLARED = {*FORMS, "application/link-format", "application/problem+json", "text/xml"}
STATUSES = {200, 301, 302, 304, 308, 400, 404, 405, 406, 410, 422}


class PersonRequest(NamedTuple):
    """A request for a person in some state, without the name of the person."""

    state: str
    kind: str
    part: str = ""
    ending: str = ""
    query: str = ""
    headers: tuple[str, ...] = ()
    method: str = "GET"
    spelling: str = "right"

    def path(self, name: str) -> str:
        spelt = {"right": name, "lower": name.lower(), "escaped": f"%{ord(name[0]):02x}{name[1:]}"}[self.spelling]
        return f"/{spelt}{self.part}{self.ending}{'?' if self.query else ''}{self.query}"


class People(NamedTuple):
    server: LiveServer
    names: dict[tuple[str, str], str]  # by state and kind

    def ask(self, sent: PersonRequest) -> RawResponse:
        with connection(self.server) as one:
            path = sent.path(self.names[sent.state, sent.kind])
            one.send(request(path, *sent.headers, method=sent.method))
            answer = one.read(sent.method)
        assert answer is not None, "the server has hung up"
        return answer


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("requests") / "registry"

    async def create_persons() -> dict[tuple[str, str], str]:
        await make_registry(folder, name="Tests")
        async with open_for_writing(folder) as (registry, admin):
            made = {state: await make(registry, admin, number) for number, state in enumerate([*SHOWN, *HIDDEN])}
            for name in made["withdrawn"]:
                await withdraw(registry, admin, name, "a mistake")
            await merge(registry, admin, made["merged"].prid, made["merged"].other, HIM, "the same")
            one = made["split"]
            await split(registry, admin, one.prid, [[one.poid], [one.second]], HIM, "two persons")
            for state, hide in HIDDEN.items():
                await hide(registry, admin, made[state])
            return {(state, kind): getattr(one, kind) for state, one in made.items() for kind in ("prid", "poid")}

    names = asyncio.run(create_persons())
    with run_server(folder, "--no-access-log") as server:
        yield People(server, names)
        assert "Traceback" not in (folder / "server.log").read_text()


# What is sent: each part of a request is odd now and then, so that most requests are odd in one part or in two


def mostly(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 4).flatmap(lambda number: odd if number == 4 else usual)


ODD_TEXT = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40)
MEDIA = st.sampled_from([
    *FORMS, "application/link-format", "application/problem+json", "image/png", "text/*", "application/*", "*/*", "*",
    "TEXT/TURTLE", "text/turtle;version=1.1", 'application/ld+json;profile="http://a,b;q=0"', "application/xhtml+xml", "/",
])  # fmt: skip
QUALITY = st.sampled_from(
    ["", ";q=0", ";q=1", ";q=0.5", ";q=.2", "; q = 0.001", ";q=-1", ";q=2", ";q=1e400", ";q=", ";q"]
)
ACCEPT = mostly(
    st.sampled_from([*FORMS, "*/*"]),
    st.one_of(MEDIA, st.lists(st.builds("{}{}".format, MEDIA, QUALITY), max_size=4).map(", ".join), ODD_TEXT),
)
DAYS = st.sampled_from(["Thu", "Mon", "Day", ""])
MONTHS = st.sampled_from(["Jan", "Feb", "Dec", "13", "Foo"])
NUMBERS = st.one_of(st.integers(-1, 99), st.integers(0, 10**40))
YEARS = st.sampled_from([1990, 2025, 2040, 0, 1, 68, 9999, 10_000, 10**9, 2**31, 2**63, 10**40])
ZONES = st.sampled_from(["GMT", "UTC", "EST", "+0000", "-0000", "+2359", "-2359", "+9999", "-99999999999", "Z", ""])
DATES = st.one_of(
    st.datetimes().map(lambda one: one.strftime("%a, %d %b %Y %H:%M:%S GMT")),
    st.builds("{}, {} {} {} {}:{}:{} {}".format, DAYS, NUMBERS, MONTHS, YEARS, NUMBERS, NUMBERS, NUMBERS, ZONES),
    st.builds("{}, 09 Jan {} 10:30:00 {}".format, DAYS, YEARS, ZONES),
    ODD_TEXT,
)
NO_HEADER: st.SearchStrategy[list[str]] = st.just([])
HEADERS = st.tuples(
    st.one_of(NO_HEADER, st.builds("accept: {}".format, ACCEPT).map(lambda line: [line])),
    mostly(NO_HEADER, st.builds("accept-datetime: {}".format, DATES).map(lambda line: [line])),
    mostly(NO_HEADER, st.sampled_from([["if-none-match: *"], ['if-none-match: "1"'], ["if-none-match: W/x, ,"]])),
    mostly(NO_HEADER, st.sampled_from([["content-length: 0"], ["accept: */*;q=0.1"], ["accept-datetime:"]])),
).map(lambda lines: tuple(chain.from_iterable(lines)))
PARTS = mostly(
    st.sampled_from(["", "", "/claims", "/observations", "/history", "/v1", "/v3"]),
    st.sampled_from([
        "/v4", "/v5", "/v9", "/v0", "/V1", "/HISTORY", "/v999999999", "/v9999999999999", "/", "//", "/claims/", "/nothing",
        "/v1/claims", "/v-1", "/%76%31", "/%ff",
    ]),
)  # fmt: skip
FORMATS = mostly(
    st.sampled_from([*(ending[1:] for ending in ENDINGS), "link", "application/ld%2Bjson", *FORMS]),
    st.one_of(
        st.sampled_from(["TTL", "gif", "", "%ff", "%00"]),
        ODD_TEXT.map(lambda text: "".join(f"%{byte:02x}" for byte in text.encode())),
    ),
)
QUERIES = mostly(
    st.just(""),
    st.one_of(
        st.builds("format={}".format, FORMATS),
        st.builds("format={}&format={}".format, FORMATS, FORMATS),
        st.sampled_from([
            "after=", "after=POID-93b0-4476-560e-5ac1", "after=%ff", "after=zzz&format=ttl", "info", "x=1", "noredirect",
            "type=URL", "type=URL.", "index=1", "index=-1", "action=showurls", "action=metadata", "locatt=a:b", "locatt=a",
            "urlappend=/q", "urlappend=%0d%0a", "ignore_aliases", "info&format=ttl", "auth&cert&format=json", "&&;",
        ]),
    ),
)  # fmt: skip
REQUESTS = st.builds(
    PersonRequest,
    st.sampled_from([*SHOWN, *HIDDEN]),
    st.sampled_from(["prid", "poid"]),
    PARTS,
    mostly(st.just(""), st.sampled_from([*ENDINGS, ".TTL", ".exe", ".", ".ttl.ttl", ".link"])),
    QUERIES,
    HEADERS,
    mostly(st.just("GET"), st.sampled_from(["HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"])),
    mostly(st.just("right"), st.sampled_from(["lower", "escaped"])),
)


@example(PersonRequest("restricted", "prid", "/observations"))
@example(PersonRequest("redacted", "prid", "/observations", ".html"))
@given(REQUESTS)
@settings(max_examples=800)
def test_every_request_is_answered_in_a_known_format(people: People, sent: PersonRequest) -> None:
    answer = people.ask(sent)
    assert answer.status in STATUSES
    if answer.status == 405:
        assert sent.method not in ("GET", "HEAD")
        assert answer.header("allow") == "GET, HEAD"
    kind = (answer.header("content-type") or "").partition(";")[0]
    assert kind in (DECLARED if answer.status != 304 else {""})
    if answer.status == 200 and sent.ending in ENDINGS:
        assert kind == ENDINGS[sent.ending]
    if sent.state in HIDDEN:
        shown = answer.body.decode() + str(answer.headers)
        assert SECRET.lower() not in shown.lower()
        assert LINK not in shown


@example("active", f"Thu, 09 Jan {10**40} 10:30:00 GMT")
@given(st.sampled_from([*SHOWN, *HIDDEN]), DATES)
@settings(max_examples=500)
def test_any_accept_datetime_leads_to_a_version_or_is_refused(people: People, state: str, date: str) -> None:
    answer = people.ask(PersonRequest(state, "prid", headers=(f"accept-datetime: {date}",)))
    assert answer.status in (302, 400)
    if answer.status == 302:
        name, _, part = (answer.header("location") or "").removeprefix("/").partition("/")
        assert name == people.names[state, "prid"]
        assert people.ask(PersonRequest(state, "prid", f"/{part}")).status == 200


def every_plain_request() -> Iterator[PersonRequest]:
    """Yield the usual requests of people and programs."""
    parts = {"prid": ("", "/observations", "/v1", "/v3", "/history"), "poid": ("", "/claims", "/v1", "/history")}
    for state, kind in chain.from_iterable(
        zip([state] * 2, ("prid", "poid"), strict=True) for state in (*SHOWN, *HIDDEN)
    ):
        for part in parts[kind]:
            for ending in ("", *ENDINGS):
                if part != "/history" or ending in ("", ".html", ".json"):
                    yield PersonRequest(state, kind, part, ending)


def test_every_part_is_available_in_every_format_and_state(people: People) -> None:
    with connection(people.server) as one:
        for sent in every_plain_request():
            answer = one.request(sent.path(people.names[sent.state, sent.kind]))
            gone = sent.part in ("", "/claims") and any(word in sent.state for word in ("withdrawn", "merged", "split"))
            assert answer.status in ((200,) if not gone else (200, 301, 410)), (sent, answer)
            if answer.status != 301:
                usual = "application/link-format" if sent.part == "/history" else "application/ld+json"
                kind = (answer.header("content-type") or "").partition(";")[0]
                assert kind == ENDINGS.get(sent.ending, usual), (sent, answer)
