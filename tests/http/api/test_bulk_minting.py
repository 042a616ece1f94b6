"""Minting of a name for each line over HTTP: in order, and never twice with an Idempotency-Key."""

import asyncio
import csv
import json
import socket
import time
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.person_client import API, problem
from tests.registry_fixture import Office, SqliteLocations, open_office

from perdure.errors import InvalidInput
from perdure.folder.registry_folder import open_registry
from perdure.http.api import bulk_minting
from perdure.http.api.bulk_minting import RequestMint
from perdure.http.api.bulk_response import SpooledLines
from perdure.registry import MintRow, RowAnswers, add_agent, authenticate, new_key

LINES = {"Content-Type": "application/x-ndjson"}
TABLE = {"Content-Type": "text/csv; charset=utf-8"}
BOUNDS = "bulk_bytes = 500_000\nbulk_line_bytes = 1_000\nrequest_seconds = 2.0"
PREFIXES = {"20.1": "uuid", "20.2": "chosen", "20.3": "pilin", "20.4": "sequential"}

Line = dict[str, Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with run_server(tmp_path_factory.mktemp("bounded") / "registry", settings=BOUNDS) as one, one.client() as client:
        for prefix, minter in PREFIXES.items():
            assert client.post(f"{API}/prefixes", json={"prefix": prefix, "minter": minter}).status_code == 201
        yield one


@pytest.fixture(scope="module")
def client(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def url(number: int) -> str:
    return f"https://example.org/{number}"


def body(count: int, start: int = 0) -> bytes:
    return b"".join(json.dumps({"target": url(number)}).encode() + b"\n" for number in range(start, start + count))


def send(
    client: httpx.Client, content: object, headers: dict[str, str] = LINES, prefix: str = "20.1", **parameters: object
) -> httpx.Response:
    given: dict[str, Any] = {"prefix": prefix, **parameters}
    return client.post(f"{API}/identifiers/bulk", content=content, headers=headers, params=given)  # type: ignore[arg-type]


def parse_report(answer: httpx.Response) -> tuple[list[Line], Line]:
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson"), answer.text
    *lines, tally = [json.loads(one) for one in answer.text.splitlines()]
    return lines, tally


def targets(client: httpx.Client, lines: list[Line]) -> list[str]:
    return [client.get(f"{API}/identifiers/{one['name']}").json()["target"] for one in lines]


def count(client: httpx.Client, prefix: str = "20.1") -> int:
    exported = client.get(f"{API}/exports", params={"prefix": prefix}).text
    return sum("revisions" in json.loads(line) for line in exported.splitlines())


def test_each_line_is_answered_with_its_name_or_its_problem(client: httpx.Client) -> None:
    wrong = [b"{bad", b"", b'{"target": "nowhere"}', b'{"count": 2}', b'{"suffix": "a"}', b'{"about": {"what": "Two"}}']
    lines, tally = parse_report(send(client, body(2) + b"\n".join(wrong)))
    assert [one["line"] for one in lines] == [1, 2, 3, 5, 6, 7, 8]
    assert set(lines[0]) == {"line", "name", "created"}
    assert [one["error"]["code"] for one in lines[2:6]] == ["invalid-input"] * 4
    assert [one["error"].get("part") for one in lines[2:6]] == ["line", "target", "count", "suffix"]
    assert tally == {"minted": 3, "unchanged": 0, "refused": 4, "lines": 7, "dry_run": False, "untold": 0}
    assert targets(client, lines[:2]) == [url(0), url(1)]
    assert client.get(f"{API}/identifiers/{lines[6]['name']}").json()["state"] == "reserved"


def test_more_lines_than_one_chunk_are_answered_in_their_order(client: httpx.Client) -> None:
    lines, tally = parse_report(send(client, iter([body(3_000)])))
    assert [one["line"] for one in lines] == list(range(1, 3_001))
    assert (tally["minted"], len({one["name"] for one in lines})) == (3_000, 3_000)
    some = lines[::600]
    assert targets(client, some) == [url(one["line"] - 1) for one in some]


def test_a_table_gets_the_same_names_again(client: httpx.Client) -> None:
    table = "7f" * 32
    first, tally = parse_report(send(client, body(3), table=table))
    again, replayed = parse_report(send(client, body(3), table=table))
    assert [one["name"] for one in again] == [one["name"] for one in first]
    assert (tally["minted"], replayed["minted"], replayed["unchanged"]) == (3, 0, 3)
    assert problem(send(client, body(3, 7), table=table)) == (422, "invalid-input")
    assert problem(send(client, body(1), LINES | {"Idempotency-Key": "k"}, table=table)) == (422, "invalid-input")
    assert problem(send(client, body(1), table="a table")) == (422, "invalid-input")


def test_a_line_that_has_a_name_keeps_it(client: httpx.Client) -> None:
    [minted], _ = parse_report(send(client, body(1)))
    lines = [{"name": minted["name"], "target": url(1)}, {"name": "20.1/none"}, {"name": "20.2/x"}, {"target": url(2)}]
    content = b"\n".join(json.dumps(line).encode() for line in lines)
    known, missing, foreign, new = parse_report(send(client, content))[0]
    assert (known["name"], known["created"]) == (minted["name"], False)
    assert [one["error"]["part"] for one in (missing, foreign)] == ["name", "name"]
    assert new["created"]
    assert targets(client, [minted]) == [url(0)], "the other fields of such a line change nothing"


@pytest.mark.parametrize("prefix", ["20.1", "20.3", "20.4"])
def test_a_repeated_request_with_a_key_mints_nothing_twice(client: httpx.Client, prefix: str) -> None:
    before = count(client, prefix)
    headers = LINES | {"Idempotency-Key": f"repeated under {prefix}"}
    content = body(3) + b'{"target": "nowhere"}\n'
    first, tally = parse_report(send(client, content, headers, prefix))
    again, replayed = parse_report(send(client, content, headers, prefix))
    assert [one.get("name") for one in again] == [one.get("name") for one in first]
    assert again[3] == first[3]
    assert (tally["minted"], tally["refused"]) == (3, 1)
    assert (replayed["minted"], replayed["unchanged"], replayed["refused"]) == (0, 3, 1)
    assert problem(send(client, body(3, 7), headers, prefix)) == (422, "invalid-input")
    assert count(client, prefix) == before + 3


def test_a_dry_run_writes_nothing(client: httpx.Client) -> None:
    before = count(client)
    [one, wrong], tally = parse_report(send(client, body(1) + b"{}[]", dry_run="true"))
    assert one == {"line": 1, "created": True}
    assert "error" in wrong
    assert (tally["minted"], tally["refused"], tally["dry_run"]) == (1, 1, True)
    assert count(client) == before
    assert problem(send(client, body(1), dryrun="true")) == (422, "invalid-input")


def test_a_table_is_read_by_its_headings_or_by_a_mapping(client: httpx.Client) -> None:
    table = (
        '\ufeffLink;Titel;suffix\r\nhttps://e.org/1;"Eins; zwei";a\r\n\r\nnowhere;Drei;"b"\r\nhttps://e.org/4;;c\r\n'
    )
    columns = {"map": ["target=Link", "what=titel", "suffix=suffix"]}
    (one, wrong, last), tally = parse_report(send(client, table.encode(), TABLE, "20.2", **columns))
    assert (one["name"], last["name"], tally["refused"]) == ("20.2/a", "20.2/c", 1)
    assert [one["line"], wrong["line"], last["line"]] == [2, 4, 5]
    shown = client.get(f"{API}/identifiers/{one['name']}").json()
    assert (shown["target"], shown["about"]["what"]) == ("https://e.org/1", "Eins; zwei")


def test_the_answer_can_be_a_table(client: httpx.Client) -> None:
    table = "url,suffix\nhttps://e.org/1,t1\nhttps://e.org/2,t1\nnowhere,t3\n"
    answer = send(client, table.encode(), TABLE | {"Accept": "text/csv"}, "20.2")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/csv")
    first, taken, wrong = csv.DictReader(answer.text.splitlines())
    assert first == {"line": "2", "name": "20.2/t1", "alias": "", "date": "", "code": "", "detail": ""}
    assert (taken["name"], taken["code"]) == ("", "name-taken")
    assert (wrong["code"], "nowhere" in wrong["detail"]) == ("invalid-input", True)


def test_a_row_that_has_a_name_keeps_it(client: httpx.Client) -> None:
    [made], _ = parse_report(send(client, body(1)))
    table = f"name,url\n{made['name']},https://e.org/1\n,https://e.org/2\n"
    (kept, new), tally = parse_report(send(client, table.encode(), TABLE))
    assert (kept["name"], kept["created"], new["created"]) == (made["name"], False, True)
    assert (tally["minted"], tally["unchanged"]) == (1, 1)


def test_a_body_of_another_kind_is_refused_with_both_kinds(client: httpx.Client) -> None:
    answer = send(client, b"[]", {"Content-Type": "application/json"})
    assert answer.json()["needed"] == "application/x-ndjson or text/csv"


@pytest.mark.parametrize(
    ("headers", "parameters", "expected"),
    [
        ({"Content-Type": "application/json"}, {}, (415, "unsupported-body")),
        (LINES, {"prefix": "99.99"}, (404, "no-such-prefix")),
        (LINES, {"prefix": "POID"}, (422, "invalid-input")),
        (LINES, {"map": "target=Link"}, (422, "invalid-input")),
        (TABLE, {}, (422, "invalid-input")),
        (LINES | {"Idempotency-Key": "x" * 256}, {}, (422, "invalid-input")),
        (LINES | {"Idempotency-Key": ""}, {}, (422, "invalid-input")),
    ],
)
def test_a_request_that_cannot_be_understood_is_refused(
    client: httpx.Client, headers: dict[str, str], parameters: dict[str, str], expected: tuple[int, str]
) -> None:
    assert problem(send(client, body(1), headers, **parameters)) == expected


def test_without_permission_the_body_is_not_read(server: LiveServer) -> None:
    with server.client("") as anonymous:
        assert problem(send(anonymous, body(1))) == (401, "credentials-needed")

    async def key_of_maria() -> str:
        async with open_registry(server.folder) as registry:
            admin = await authenticate(registry, server.key)
            await add_agent(registry, admin, "maria", "Maria")
            return (await new_key(registry, admin, "maria"))[1]

    key = asyncio.run(key_of_maria())
    head = (
        f"POST {API}/identifiers/bulk?prefix=20.1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
        f"Transfer-Encoding: chunked\r\nAuthorization: Bearer {key}\r\n\r\n"
    )
    with socket.create_connection(server.address, timeout=20) as connection:
        connection.sendall(head.encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 403")


def test_lines_and_bodies_are_bounded(client: httpx.Client) -> None:
    lines, tally = parse_report(send(client, b'{"target": "https://e.org/' + b"x" * 1_000 + b'"}\n' + body(1)))
    assert ("longer than 1000 bytes" in lines[0]["error"]["detail"], tally["minted"]) == (True, 1)
    assert problem(send(client, body(20_000)))[0] == 413


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    locations = SqliteLocations(tmp_path)
    with asyncio.Runner() as runner:
        office = open_office(runner, locations.open())
        office.prefix("20.1", "uuid")
        yield office
    locations.close()


def mint_here(office: Office, rows: Iterable[MintRow], key: str | None = None) -> tuple[list[Line], Line]:
    """Mint as for a request, without a server."""

    async def work() -> bytes:
        report = SpooledLines(100_000)
        answers = None if key is None else RowAnswers(office.admin, key, b"")
        numbered = iter(enumerate(rows, 1))
        minting = RequestMint(office.registry, office.admin, "20.1", numbered, answers, False, report, Fraction(10))
        try:
            await minting.run()
        except BaseException:
            report.close()
            raise
        return b"".join([part async for part in report.chunks()])

    *lines, tally = [json.loads(line) for line in office.run(work()).splitlines()]
    return lines, tally


def test_rows_beyond_the_limit_are_refused(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_minting, "_MOST_ROWS", 5)
    lines, tally = mint_here(office, [MintRow()] * 7)
    assert (tally["minted"], tally["refused"]) == (5, 2)
    assert [one["error"]["part"] for one in lines[5:]] == ["rows", "rows"]


def test_a_request_that_takes_too_long_ends_with_the_names_that_were_minted(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [MintRow(source=b"%d" % number) for number in range(5_000)]
    monkeypatch.setattr(bulk_minting, "_LONGEST", 0)
    first, tally = mint_here(office, rows, "slow")
    assert (tally["minted"], tally["refused"]) == (2_000, 3_000)
    assert first[-1]["error"]["code"] == "took-too-long"
    monkeypatch.setattr(bulk_minting, "_LONGEST", 60)
    lines, tally = mint_here(office, rows, "slow")
    assert tally["minted"] + tally["unchanged"] == 5_000
    assert [one["name"] for one in lines[:2_000]] == [one["name"] for one in first[:2_000]]


def test_names_reach_the_client_when_a_later_chunk_fails(office: Office) -> None:
    def rows() -> Iterator[MintRow]:
        yield from [MintRow()] * 4_000
        office.registry.store.close()
        yield MintRow()

    lines, tally = mint_here(office, rows())
    assert (tally["minted"], tally["refused"]) == (2_000, 2_001)
    assert lines[-1]["error"]["code"] == "store-unavailable"


def test_a_body_that_fails_is_an_error_of_the_request(office: Office) -> None:
    def rows() -> Iterator[MintRow]:
        yield from [MintRow()] * 4_000
        raise InvalidInput("import", "line", "the body is too odd")

    with pytest.raises(InvalidInput, match="too odd"):
        mint_here(office, rows())


def test_a_request_that_breaks_off_can_be_continued(server: LiveServer, client: httpx.Client) -> None:
    """The client is gone after the first chunk was minted; the same request gets the names of that chunk."""
    before = count(client, "20.4")
    content = body(4_100)
    with socket.create_connection(server.address, timeout=20) as connection:
        head = (
            f"POST {API}/identifiers/bulk?prefix=20.4 HTTP/1.1\r\nHost: x\r\nIdempotency-Key: broken\r\n"
            f"Authorization: Bearer {server.key}\r\nContent-Type: application/x-ndjson\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        connection.sendall(head.encode() + content[: len(content) * 3 // 4])
        deadline = time.monotonic() + 20
        while count(client, "20.4") == before and time.monotonic() < deadline:
            time.sleep(0.05)
    minted = count(client, "20.4") - before
    assert 0 < minted < 4_100
    lines, tally = parse_report(send(client, content, LINES | {"Idempotency-Key": "broken"}, "20.4"))
    assert tally["unchanged"] >= minted
    assert tally["minted"] + tally["unchanged"] == 4_100
    assert count(client, "20.4") == before + 4_100
    assert len({one["name"] for one in lines}) == 4_100
