"""Import of observations over HTTP: each line has a result, and an invalid line does not stop the others."""

import asyncio
import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.person_client import API, WHEN, create_observation, named_source, problem, source

from perdure.folder.registry_folder import open_registry
from perdure.formats.import_entries import RejectedLine
from perdure.formats.observations_json import RULES, ObservationRow
from perdure.http.api.bulk_observations import parse_observations
from perdure.http.api.bulk_request import split_lines
from perdure.registry import add_agent, authenticate, new_key

LINES = {"Content-Type": "application/x-ndjson"}
TABLE = {"Content-Type": "text/csv; charset=utf-8"}
BOUNDS = "bulk_bytes = 500_000\nbulk_line_bytes = 1_000\nrequest_seconds = 2.0"

Line = dict[str, Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with run_server(tmp_path_factory.mktemp("bounded") / "registry", settings=BOUNDS) as one:
        yield one


@pytest.fixture(scope="module")
def client(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def line(**fields: object) -> bytes:
    return json.dumps(source(**fields)).encode() + b"\n"


def send(client: httpx.Client, body: object, headers: dict[str, str] = LINES, **parameters: object) -> httpx.Response:
    return client.post(f"{API}/observations", content=body, headers=headers, params=parameters)  # type: ignore[arg-type]


def parse_report(answer: httpx.Response) -> tuple[list[Line], Line]:
    """Return the results of the lines and the totals."""
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson"), answer.text
    *lines, tally = [json.loads(one) for one in answer.text.splitlines()]
    return lines, tally


def test_each_line_is_answered_with_its_poid_or_its_problem(client: httpx.Client) -> None:
    wrong_date = line(claims=[{"type": "birth_date", "value": "yesterday"}])
    body = line() + b"{bad\n\n" + wrong_date + line(claim=[]) + json.dumps(named_source("Jan de Vries")).encode()
    (first, bad, wrong, unknown, last), tally = parse_report(send(client, body))
    assert [one["line"] for one in (first, bad, wrong, unknown, last)] == [1, 2, 4, 5, 6]
    assert set(first) == {"line", "ppid", "uuid_raw", "created"}
    assert first["created"] is True
    assert [one["error"]["code"] for one in (bad, wrong, unknown)] == ["invalid-input"] * 3
    assert (wrong["error"]["part"], wrong["error"]["status"]) == ("claims[1].value", 422)
    assert "unknown field claim:" in unknown["error"]["detail"]
    assert tally == {"created": 2, "unchanged": 0, "refused": 3, "lines": 5, "dry_run": False, "untold": 0}
    shown = client.get(f"{API}/{last['ppid']}").json()
    assert (shown["uuid_raw"], shown["observation"]["claims"][0]["value"]) == (last["uuid_raw"], "Jan de Vries")


def test_a_line_gives_the_same_result_as_a_single_request(client: httpx.Client) -> None:
    seen = source()
    alone = create_observation(client, seen)
    body = json.dumps(seen).encode()
    [again], tally = parse_report(send(client, body))
    assert (again["ppid"], again["created"], tally["unchanged"]) == (alone, False, 1)
    [other], _ = parse_report(send(client, json.dumps(seen | {"claims": [{"type": "age", "value": "9"}]}).encode()))
    assert (other["error"]["code"], other["error"]["status"]) == ("immutable", 409)


def test_more_lines_than_one_batch_are_answered_in_their_order(client: httpx.Client) -> None:
    many = [line() for _ in range(1_200)]
    lines, tally = parse_report(send(client, iter(many)))
    assert [one["line"] for one in lines] == list(range(1, 1_201))
    assert (tally["created"], len({one["ppid"] for one in lines})) == (1_200, 1_200)
    again, tally = parse_report(send(client, b"".join(many)))
    assert again == [one | {"created": False} for one in lines]
    assert tally["unchanged"] == 1_200


def test_a_dry_run_writes_nothing(client: httpx.Client) -> None:
    [one], tally = parse_report(send(client, line(), dry_run="true"))
    assert (one["created"], tally["created"], tally["dry_run"]) == (True, 1, True)
    assert client.get(f"{API}/{one['ppid']}").status_code == 404
    assert problem(send(client, line(), dryrun="true")) == (422, "invalid-input")


def test_a_table_is_read_by_its_mapping(client: httpx.Client) -> None:
    body = '\ufeffLink;Naam;Geboren\nhttps://e.org/1;Jan;1895-03~\nhttps://e.org/2;"Aal\ntje";spring\n;Kee;\n'
    columns = {"map": ["source_url=Link", "name=Naam", "birth_date=Geboren"], "set": f"retrieval_timestamp={WHEN}"}
    (jan, aaltje, kee), tally = parse_report(send(client, body.encode(), TABLE, **columns))
    assert [one["line"] for one in (jan, aaltje, kee)] == [2, 4, 5]
    assert (tally["created"], tally["refused"]) == (1, 2)
    assert "the source_url is missing" in kee["error"]["detail"]
    claims = client.get(f"{API}/{jan['ppid']}").json()["observation"]["claims"]
    assert claims == [{"type": "name", "value": "Jan"}, {"type": "birth_date", "value": "1895-03~"}]


def test_an_unclosed_quotation_mark_loses_no_other_row(client: httpx.Client) -> None:
    rows = "".join(f"https://e.org/open/{number},{WHEN},Jan\n" for number in range(300))
    body = f'source_url,retrieval_timestamp,name\nhttps://e.org/open,{WHEN},"Piet\n{rows}'
    lines, tally = parse_report(send(client, body.encode(), TABLE))
    assert (tally["created"], tally["refused"]) == (300, 1)
    assert [one["line"] for one in lines if "error" in one] == [2]


def test_the_error_of_a_bad_timestamp_names_the_field_that_was_sent(client: httpx.Client) -> None:
    lines, _ = parse_report(send(client, line(retrieval_timestamp="yesterday") + line(retrieval_timestamp=2025)))
    rows, _ = parse_report(
        send(client, b"source_url,retrieval_timestamp,name\nhttps://e.org/3,2025-01-09,Jan\n", TABLE)
    )
    assert [one["error"]["part"] for one in (*lines, *rows)] == ["retrieval_timestamp"] * 3


def test_an_error_names_the_missing_field_and_its_rule(client: httpx.Client) -> None:
    whole = json.loads(line())
    missing = [{key: value for key, value in whole.items() if key != field} for field in whole]
    nested = {**whole, "claims": [{"type": "name"}]}
    lines, _ = parse_report(send(client, b"".join(json.dumps(one).encode() + b"\n" for one in (*missing, nested))))
    assert [(one["error"]["part"], one["error"].get("rule")) for one in lines] == [
        *((field, RULES.get(field)) for field in whole),
        ("claims[1].value", None),
    ]
    table = f"source_url,retrieval_timestamp,name\n,{WHEN},Jan\nhttps://e.org/4,,Jan\nhttps://e.org/5,today,Jan\n"
    rows, _ = parse_report(send(client, table.encode(), TABLE))
    assert [(one["error"]["part"], one["error"]["rule"]) for one in rows] == [
        ("source_url", "POID must have source"),
        ("retrieval_timestamp", "Valid timestamps"),
        ("retrieval_timestamp", "Valid timestamps"),
    ]


@pytest.mark.parametrize(
    "parameters", [{"map": "source_url=Lenk"}, {"map": "source_url=Link"}, {"set": f"retrieval_timestamp={WHEN}"}]
)
def test_no_option_of_the_command_is_suggested(client: httpx.Client, parameters: dict[str, str]) -> None:
    answer = send(client, b"Link,Naam\n", TABLE, **parameters)
    assert problem(answer) == (422, "invalid-input")
    assert "--" not in answer.text
    assert "map=" in answer.text or "commas" in answer.text


@pytest.mark.parametrize(
    ("body", "headers", "parameters", "part"),
    [
        (b"Link,Naam\n", TABLE, {"map": "source_url=Link"}, "columns"),
        (b"Link,Naam\n", TABLE, {"map": "shoe=Naam"}, "map"),
        (b"Link,Naam\n", TABLE, {"map": "Naam"}, "map"),
        (b"Link,Naam\n", TABLE, {"set": "=nl"}, "set"),
        (b"source_url,retrieval_timestamp,name\n" + b"x" * 1_001, TABLE, {}, "line"),
        (b"", TABLE, {}, "file"),
        (b"{}", LINES, {"map": "name=Naam"}, "map"),
    ],
)
def test_the_error_of_an_unreadable_body_names_the_part(
    client: httpx.Client, body: bytes, headers: dict[str, str], parameters: dict[str, str], part: str
) -> None:
    answer = send(client, body, headers, **parameters)
    assert problem(answer) == (422, "invalid-input")
    assert answer.json()["part"] == part


def test_a_line_that_is_too_long_is_refused_and_the_rest_goes_on(client: httpx.Client) -> None:
    lines, tally = parse_report(send(client, line() + b"x" * 100_000 + b"\n" + line()))
    assert "longer than 1000 bytes" in lines[1]["error"]["detail"]
    assert (tally["created"], tally["refused"]) == (2, 1)


def test_a_body_that_is_too_long_or_of_another_kind_is_refused(client: httpx.Client) -> None:
    assert problem(send(client, b"\n" * 500_001)) == (413, "body-too-large")
    assert problem(send(client, iter([b"\n" * 300_000] * 2))) == (413, "body-too-large")
    assert problem(send(client, line(), {"Content-Type": "application/json"})) == (415, "unsupported-body")


def test_permission_is_checked_before_the_body_is_read(server: LiveServer) -> None:
    async def key_of_maria() -> str:
        async with open_registry(server.folder) as registry:
            admin = await authenticate(registry, server.key)
            await add_agent(registry, admin, "maria", "Maria")
            return (await new_key(registry, admin, "maria"))[1]

    key = asyncio.run(key_of_maria())
    head = (
        f"POST {API}/observations HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
        f"Transfer-Encoding: chunked\r\nAuthorization: Bearer {key}\r\n\r\n"
    ).encode()
    with socket.create_connection(server.address, timeout=20) as connection:
        connection.sendall(head)
        assert connection.recv(4096).startswith(b"HTTP/1.1 403")
    with server.client("") as anonymous:
        assert problem(send(anonymous, line())) == (401, "credentials-needed")


def test_a_client_that_stops_sending_times_out(server: LiveServer, client: httpx.Client) -> None:
    head = (
        f"POST {API}/observations HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000\r\n"
        f"Authorization: Bearer {server.key}\r\n\r\n"
    ).encode()
    with socket.create_connection(server.address, timeout=20) as connection:
        connection.sendall(head + line())
        assert connection.recv(4096).startswith(b"HTTP/1.1 408")
    assert parse_report(send(client, line()))[1]["created"] == 1


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_lines_do_not_depend_on_how_the_body_is_split(size: int) -> None:
    body = line() + b"\n" + b"x" * 2_000 + b"\r\n" + b"{bad\n" + line().rstrip()
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    entries = list(parse_observations(split_lines(parts, 1_000, 10_000), 1_000))
    assert [(type(one), one.line) for one in entries] == [
        (ObservationRow, 1),
        (RejectedLine, 3),
        (RejectedLine, 4),
        (ObservationRow, 5),
    ]


def test_a_key_that_is_given_twice_is_refused_in_one_observation_and_in_many(client: httpx.Client) -> None:
    twice = json.dumps(named_source("Jan")).replace('"value"', '"value": "Piet", "value"').encode()
    answer = client.post(f"{API}/poid", content=twice, headers={"Content-Type": "application/json"})
    assert problem(answer) == (422, "invalid-input")
    assert answer.json()["part"] == "claims[1].value"
    (first, refused, last), tally = parse_report(send(client, line() + twice + b"\n" + line()))
    assert "ppid" in first
    assert "ppid" in last
    assert refused["line"] == 2
    assert "the key 'value' is given twice" in str(refused)
    assert tally["refused"] == 1
