"""Requests to compare the fast path with the application, and a registry with all kinds of records."""

import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

import httpx
from hypothesis import strategies as st
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import THROUGH_APPLICATION, Connection, RawResponse, connection, request
from tests.http.sample_registry import fill_registry, open_for_writing
from tests.registry_fixture import write_unchecked

from perdure.records.value import Admin, AdminRights, Binary, Text, Value
from perdure.registry import Statement, add_prefix, change_prefix, mint, withdraw
from perdure.settings_file import DEFAULT_STORE

EXACT, FOLDED, LETTERS, LONGER = "20.500.777", "20.500.778", "20.500.Ab", "20.500.779"
TARGETS = {
    "abc": "https://example.org/abc",
    "ABC": "https://example.org/ABC",
    "a-b_c.d~e": "https://example.org/?a=1&b=2#c",
    "a//b": "https://example.org/%2F",
    "a/b/c/": "ftp://example.org/",
    "../up": "https://example.org/'quoted'",
    "x!$&'()*+,;=:@": "https://example.org/a%0d%0ab",
    '[1]{2}|3^4`5"6': "mailto:a@example.org",
    "kœkken": "https://example.org/kœkken/日本",
    "api": "https://例え.example/",
    "idna": "https://bücher.example/ä?ö=ü#ß",
    "numbers": "http://127.0.0.1:8080/a",
}
# Stored before such targets were refused.
OLD_TARGETS = {
    "old-empty": "https://#",
    "old-slash": "https://\\x",
    "old-null": "http://%00/",
    "old-port": "https://a:99999/",
}
STORED = {EXACT: TARGETS, FOLDED: {"Mixed-Case": "https://example.org/m", "ÉCOLE": "https://example.org/e"}, LETTERS: {"x": "https://example.org/x"}, LONGER: {"stem": "https://example.org/stem/"}}  # fmt: skip
ODD_ONES = (
    *("short-lived", "until-then", "aliased", "placed", "no-url", "two-urls", "private-url", "private-note"),
    *("with-admin", "binary", "withdrawn", "reserved", "other-case-type"),
    *OLD_TARGETS,
)


USUAL = ("abc", "ABC", "a-b_c.d~e", "a//b", "two-urls", "with-admin")  # for readers and for Handle clients alike
# Requests that may come at once: redirects, records, missing names, and requests for the application.
MIXED: tuple[tuple[str, ...], ...] = (
    (f"/{EXACT}/abc",),
    (f"/api/handles/{EXACT}/ABC",),
    (f"/{EXACT}/nobody",),
    (f"/{EXACT}/ABC",),
    (f"/api/handles/{EXACT}/nobody",),
    (f"/api/handles/{EXACT}/binary",),
    (f"/{EXACT}/short-lived",),
    (f"/{EXACT}/abc", 'if-none-match: "1"'),
    (f"/api/handles/{EXACT}/abc", 'if-none-match: W/"1-record", "7"'),
    (f"/{EXACT}/a//b",),
    (f"/{EXACT}/abc", "accept: application/json"),
    (f"/api/handles/{EXACT}/with-admin",),
)


def url(index: int, target: str, **more: object) -> Value:
    return Value(index, "URL", Text(target), **more)  # type: ignore[arg-type]


RECORDS: dict[str, tuple[Value, ...]] = {
    "short-lived": (url(1, "https://example.org/short", ttl=60),),
    "until-then": (url(1, "https://example.org/until", ttl="2031-01-01T00:00:00Z"),),
    "aliased": (Value(1, "HS_ALIAS", Text(f"{EXACT}/abc")), url(2, "https://example.org/not-here")),
    "placed": (
        Value(1, "10320/loc", Text('<locations><location href="https://example.org/loc" weight="1"/></locations>')),
        url(2, "https://example.org/not-here"),
    ),
    "no-url": (Value(1, "EMAIL", Text("a@example.org")), Value(2, "DESC", Text('ü <b> & "c"\nd'))),
    "two-urls": (url(5, "https://example.org/five"), url(3, "https://example.org/three")),
    "private-url": (url(1, "https://example.org/private", permissions="1100"), url(2, "https://example.org/public")),
    "private-note": (url(1, "https://example.org/n"), Value(2, "NOTE", Text("for us alone"), permissions="1100")),
    "with-admin": (
        url(1, "https://example.org/a"),
        Value(100, "HS_ADMIN", Admin(AdminRights(f"{EXACT}/abc", 300, "011111110011"))),
    ),
    "binary": (url(1, "https://example.org/b"), Value(7, "CHECKSUM", Binary(bytes(range(256))))),
    "other-case-type": (Value(1, "url", Text("https://example.org/lower")),),
}


class PathComparison:
    """A server, and two connections to it: one for the fast path, one for the application."""

    def __init__(self, server: LiveServer, fast_path: Connection, application: Connection) -> None:
        self.server = server
        self._fast_path, self._application = fast_path, application
        self.fast_path_answers, self.usual = _answered_by_fast_path(self)

    def assert_alike(self, path: str, *headers: str) -> None:
        fast = self._fast_path.request(path, *headers)
        slow = self._application.request(path, *headers, THROUGH_APPLICATION)
        assert comparable(fast) == comparable(slow), path

    def assert_alike_in_one_go(self, requests: Sequence[tuple[str, ...]]) -> None:
        """Send all requests at once to the fast path, and one after the other to the application."""
        with connection(self.server) as one:
            one.send(b"".join(request(path, *headers) for path, *headers in requests))
            fast = [one.read() for _ in requests]
        slow = [self._application.request(path, *headers, THROUGH_APPLICATION) for path, *headers in requests]
        assert [answer and comparable(answer) for answer in fast] == [comparable(answer) for answer in slow]

    def ask(self, path: str) -> RawResponse:
        return self._fast_path.request(path, "accept: */*", "user-agent: curl/8")


@contextmanager
def compare_paths(folder: Path, *, store: str = DEFAULT_STORE, settings: str = "") -> Iterator[PathComparison]:
    fill_registry(folder, TARGETS, prefix=EXACT, store=store)
    asyncio.run(fill(folder))
    with (
        run_server(folder, "--no-access-log", settings=f"idle_seconds = 3600.0\n{settings}") as server,
        connection(server) as one,
        connection(server) as other,
    ):
        yield PathComparison(server, one, other)
        assert "Traceback" not in (folder / "server.log").read_text()


def _answered_by_fast_path(compared: PathComparison) -> tuple[int, int]:
    """Return how many of a few simple requests the fast path answered at the start, and how many were sent."""
    paths = [before + f"{EXACT}/{suffix}" for suffix in USUAL for before in ("/", "/api/handles/")]
    for path in paths:
        assert compared.ask(path).status in (302, 200)
    until = time.monotonic() + 10
    while (counted := fast_path_count(compared.server)) < len(paths) and time.monotonic() < until:
        time.sleep(0.05)  # the counters are published every second
    return counted, len(paths)


async def fill(folder: Path) -> None:
    async with open_for_writing(folder) as (registry, admin):
        for prefix in (FOLDED, LETTERS, LONGER):
            await add_prefix(registry, admin, prefix, minter="chosen", case_sensitive=prefix != FOLDED)
            for suffix, target in STORED[prefix].items():
                await mint(registry, admin, prefix, statement=Statement(target=target), suffixes=[suffix])
        await change_prefix(registry, admin, LONGER, pass_through=True)
        for suffix, values in RECORDS.items():
            await mint(registry, admin, EXACT, statement=Statement(values=values), suffixes=[suffix])
        for suffix, target in OLD_TARGETS.items():
            await mint(registry, admin, EXACT, statement=Statement(target="https://example.org/"), suffixes=[suffix])
            await write_unchecked(registry, admin, f"{EXACT}/{suffix}", url(1, target))
        await mint(registry, admin, EXACT, suffixes=["reserved"])
        await mint(registry, admin, EXACT, statement=Statement(target="https://example.org/w"), suffixes=["withdrawn"])
        await withdraw(registry, admin, f"{EXACT}/withdrawn", "a test", replaced_by=f"{EXACT}/abc")


# Generated requests


def escape_name(text: str, escape: Sequence[bool] = ()) -> str:
    """Return a name as a path: encoded where it must be, and in some other positions."""
    return "".join(
        "".join(f"%{byte:02X}" for byte in character.encode())
        if chosen or not character.isascii() or character in ' "<>\\^`{|}%?#'
        else character
        for character, chosen in zip_longest(text, escape, fillvalue=False)
    )


@st.composite
def odd_paths(draw: st.DrawFn) -> str:
    prefix = draw(st.sampled_from([EXACT, EXACT, EXACT, FOLDED, LETTERS, LONGER, "20.500.nowhere"]))
    known = [*STORED.get(prefix, {"abc": ""}), *(ODD_ONES if prefix == EXACT else ())]
    suffix = draw(
        st.sampled_from(known)
        | st.text(st.characters(max_codepoint=0x2FF, exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
    )
    suffix = draw(st.sampled_from([str, str, str, str.upper, str.lower, str.swapcase]))(suffix)
    suffix += draw(st.sampled_from(["", "", "", "", "", "", "/", "/more", "-"]))
    prefix = draw(st.sampled_from([str, str, str, str.upper, str.lower]))(prefix)
    name = f"{prefix}/{suffix}"
    always_plain = st.just([False] * len(name))
    escape = draw(
        always_plain | always_plain | always_plain | st.lists(st.booleans(), min_size=len(name), max_size=len(name))
    )
    usual = st.sampled_from(["/", "/api/handles/"])
    before = draw(usual | usual | st.sampled_from(["//", "/hdl:", "/api//handles/", "/API/handles/"]))
    nothing = st.just("")
    queries = st.sampled_from(["?", "?noredirect", "?auth=true", "?type=URL", "?index=1", "?info", "?x=y"])
    query = draw(nothing | nothing | nothing | queries)
    return before + escape_name(name, escape) + query


EVERY_KIND = [
    before + escape_name(f"{EXACT}/{suffix}") for before in ("/", "/api/handles/") for suffix in (*TARGETS, *ODD_ONES)
]
# Half of all requests are for the fast path, or nearly.
PATHS = odd_paths() | st.builds(
    "{}{}".format,
    st.sampled_from(["/", "/api/handles/"]),
    st.sampled_from([f"{prefix}/{suffix}" for prefix, suffixes in STORED.items() for suffix in suffixes]).map(
        escape_name
    )
    | st.sampled_from([f"{EXACT}/{suffix}" for suffix in RECORDS]),
)


ACCEPTED = st.sampled_from(
    [
        *("*/*", "text/html", "application/json", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        *("text/html;q=0", "text/html;q=0.1,application/json", "application/json,text/html", "text/html, application/json"),
        *("text/turtle", "text/html,text/turtle", "text/*", "*/*;q=0.5", "*/*, application/json", "", "nonsense", "*/*;q=0"),
        *("text/html,*/*;q=0", "text/html,text/html;q=0", "application/problem+json", "TEXT/HTML", "text/html,application/JSON;q=1"),
    ]
).map("accept: {}".format)  # fmt: skip
OTHER_HEADERS = st.sampled_from(
    [
        *("user-agent: Mozilla/5.0", "referer: https://example.org/", "accept-language: pt-BR", "accept-encoding: gzip, br"),
        *("cookie: session=1", "x-forwarded-for: 10.0.0.1", "x-forwarded-proto: https", "origin: https://example.org"),
        *('if-none-match: "1"', 'if-none-match: "1-record"', "if-none-match: *", "if-match: *", "cache-control: no-cache"),
        *("connection: keep-alive", "connection: Keep-Alive, x", "sec-fetch-mode: navigate", "dnt: 1", "range: bytes=0-3"),
        *("if-modified-since: Mon, 16 Nov 2026 10:00:00 GMT", "x-client-certificate: nonsense", "te: trailers"),
    ]
)  # fmt: skip
HEADERS = st.sampled_from([[], ["accept: */*"], ["user-agent: curl/8"]]) | st.builds(
    lambda accepted, others: [*accepted, *others], st.lists(ACCEPTED, max_size=2), st.lists(OTHER_HEADERS, max_size=2)
)


def fast_path_count(server: LiveServer) -> int:
    text = httpx.get(f"{server.url}/metrics").text
    return int(
        sum(float(count) for count in re.findall(r"^perdure_fast_path_requests_total\{.*\} (\S+)", text, re.MULTILINE))
    )


def comparable(answer: RawResponse) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return a response without headers that differ between seconds, or between responses."""
    passing = {"date", "expires", "www-authenticate"}
    headers = [(name, "…" if name in passing else value) for name, value in answer.headers]
    headers = [(name, re.sub(r"max-age=\d+", "max-age=…", value)) for name, value in headers]
    return answer.status, headers, answer.body
