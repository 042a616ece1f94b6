"""The framing of messages: each input on a connection gets exactly these responses, or the connection is closed.

Each row is compared with RFC 9112. A server that read one message as two, or two as one, would send the response of one
client to another behind a proxy that counts differently.
"""

import re
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.http.live_server import LiveServer
from tests.http.numbered_names import TARGETS
from tests.http.raw_client import THROUGH_APPLICATION, RawResponse, connection, request, send_separately
from tests.http.sample_registry import PREFIX

SUFFIXES = {target: suffix for suffix, target in TARGETS.items()}
CLOSED = "closed"
SENTINEL = "n19"
HIDDEN = request(f"/{PREFIX}/n7")
LENGTH = f"content-length: {len(HIDDEN)}"
CHUNKED = "transfer-encoding: chunked"
CHUNK = b"%x\r\n%b\r\n" % (len(HIDDEN), HIDDEN)
END = b"0\r\n\r\n"


def get(*headers: str, suffix: str = "n1", version: str = "1.1", line_end: str = "\r\n") -> bytes:
    """Return a head with these lines unchanged."""
    lines = [f"GET /{PREFIX}/{suffix} HTTP/{version}", "host: id.example.org", *headers, "", ""]
    return line_end.join(lines).encode("latin-1")


def send_and_read(server: LiveServer, *pieces: bytes) -> list[str]:
    """Return the responses to these pieces and to a sentinel request: suffixes of targets, statuses, or CLOSED."""
    with connection(server) as client:
        send_separately(client, *pieces, get(suffix=SENTINEL), seconds=0.002)
        responses = []
        while (answer := client.read()) is not None:
            responses.append(_short(answer))
            if responses[-1] == SENTINEL:
                return responses
        return [*responses, CLOSED]


def _short(answer: RawResponse) -> str:
    location = answer.header("location")
    return str(answer.status) if location is None else SUFFIXES[location]


# Input and expected responses. The sentinel is sent after each input.
GOOD = ["n1", SENTINEL]
BAD = ["400", CLOSED]
UNKNOWN = ["501", CLOSED]
LAST = ["n1", CLOSED]
CASES: dict[str, tuple[bytes, list[str]]] = {
    # the length of a body
    "a length": (get(LENGTH) + HIDDEN, GOOD),
    "a length with zeros": (get(f"content-length: 000{len(HIDDEN)}") + HIDDEN, GOOD),
    "a length with blanks behind it": (get(f"{LENGTH} \t ") + HIDDEN, GOOD),
    "a length of nothing": (get("content-length: 0"), GOOD),
    "no length": (get() + get(suffix="n2"), ["n1", "n2", SENTINEL]),
    "an empty length": (get("content-length:") + HIDDEN, BAD),
    "a blank length": (get("content-length: ") + HIDDEN, BAD),
    "the same length twice": (get(LENGTH, LENGTH) + HIDDEN, BAD),
    "two lengths": (get(LENGTH, "content-length: 0") + HIDDEN, BAD),
    "a list of lengths": (get(f"{LENGTH}, {len(HIDDEN)}") + HIDDEN, BAD),
    "a length with a plus": (get(f"content-length: +{len(HIDDEN)}") + HIDDEN, BAD),
    "a length with a minus": (get("content-length: -0") + HIDDEN, BAD),
    "a length with a blank inside": (get("content-length: 1 0") + HIDDEN, BAD),
    "a length with an underscore": (get("content-length: 1_0") + HIDDEN, BAD),
    "a length in hexadecimal": (get("content-length: 0x10") + HIDDEN, BAD),
    "a length with a point": (get("content-length: 1.0") + HIDDEN, BAD),
    "a length in other digits": (get("content-length: \xb2") + HIDDEN, BAD),
    "a length that wraps around": (get(f"content-length: {2**64 + len(HIDDEN)}") + HIDDEN, BAD),
    "a blank before the colon": (get(LENGTH.replace(":", " :")) + HIDDEN, BAD),
    "a tab before the colon": (get(LENGTH.replace(":", "\t:")) + HIDDEN, BAD),
    "a null in the name": (get(LENGTH.replace(":", "\0:")) + HIDDEN, BAD),
    "a vertical tab in the name": (get(LENGTH.replace(":", "\x0b:")) + HIDDEN, BAD),
    "a null in the value": (get(f"{LENGTH}\0") + HIDDEN, BAD),
    "a blank before the name": (get(f" {LENGTH}") + HIDDEN, BAD),
    "another name": (get(LENGTH.replace("-", "_")) + get(suffix="n2"), ["n1", "n2", SENTINEL]),
    # chunks
    "chunks": (get(CHUNKED) + CHUNK * 2 + END, GOOD),
    "chunks in capitals": (get(CHUNKED.upper()) + CHUNK.upper().replace(HIDDEN.upper(), HIDDEN) + END, GOOD),
    "chunks with extensions": (get(CHUNKED) + CHUNK.replace(b"\r\n", b';a=b;c="d;e"\r\n', 1) + END, GOOD),
    "chunks with zeros": (get(CHUNKED) + b"000" + CHUNK + b"000" + END, GOOD),
    "chunks with trailers": (get(CHUNKED) + CHUNK + b"0\r\na: b\r\nhost: evil.example\r\n\r\n", GOOD),
    "chunks and a length": (get(CHUNKED, LENGTH) + HIDDEN, BAD),
    "a length and chunks": (get(LENGTH, CHUNKED) + END + HIDDEN, BAD),
    "a length of nothing and chunks": (get("content-length: 0", CHUNKED) + END, BAD),
    "chunks twice": (get(CHUNKED, CHUNKED) + END, BAD),
    "a list of chunks": (get("transfer-encoding: chunked, chunked") + END, BAD),
    "compressed chunks": (get("transfer-encoding: gzip, chunked") + END, UNKNOWN),
    "compressed chunks on two lines": (get("transfer-encoding: gzip", CHUNKED) + END, UNKNOWN),
    "chunks of themselves": (get("transfer-encoding: identity", CHUNKED) + END, UNKNOWN),
    "identity": (get("transfer-encoding: identity") + HIDDEN, UNKNOWN),
    "identity and a length": (get("transfer-encoding: identity", LENGTH) + HIDDEN, UNKNOWN),
    "a length and identity": (get(LENGTH, "transfer-encoding: identity") + HIDDEN, BAD),
    "chunks before something else": (get("transfer-encoding: chunked, gzip") + END, BAD),
    "chunks and something else": (get(CHUNKED, "transfer-encoding: identity") + END, BAD),
    "chunks with a parameter": (get("transfer-encoding: chunked;q=1") + END, UNKNOWN),
    "chunks in quotes": (get('transfer-encoding: "chunked"') + END, UNKNOWN),
    "chunks with blanks behind them": (get(f"{CHUNKED} \t") + END, UNKNOWN),
    "chunks with a comma": (get("transfer-encoding: ,chunked") + END, UNKNOWN),
    "chunks with a vertical tab": (get("transfer-encoding: \x0bchunked") + END, BAD),
    "chunks with a null": (get("transfer-encoding: chunked\0") + END, BAD),
    "an empty coding": (get("transfer-encoding:") + END, BAD),
    "a coding that begins right": (get("transfer-encoding: chunkedx") + END, UNKNOWN),
    "a coding that ends right": (get("transfer-encoding: xchunked") + END, UNKNOWN),
    "HTTP/1.0 and chunks": (get(CHUNKED, version="1.0") + CHUNK + END, LAST),
    # sizes of chunks: the head was fine, so the answer to it may have come first
    "a size with a blank behind it": (get(CHUNKED) + b"1 \r\na\r\n" + END, BAD),
    "a size with a blank before it": (get(CHUNKED) + b" 1\r\na\r\n" + END, BAD),
    "a size with a prefix": (get(CHUNKED) + b"0x1\r\na\r\n" + END, BAD),
    "a size with a plus": (get(CHUNKED) + b"+1\r\na\r\n" + END, BAD),
    "a size with an underscore": (get(CHUNKED) + b"1_0\r\n" + END, BAD),
    "no size": (get(CHUNKED) + b"\r\n" + END, BAD),
    "no size, but an extension": (get(CHUNKED) + b";a=b\r\n" + END, BAD),
    "a size that wraps around": (get(CHUNKED) + b"10000000000000001\r\na\r\n" + END, BAD),
    "a size and a line feed": (get(CHUNKED) + b"1\na\r\n" + END, BAD),
    "a size and a carriage return": (get(CHUNKED) + b"1\ra\r\n" + END, BAD),
    "an extension and a line feed": (get(CHUNKED) + b"1;x\na\r\n" + END, BAD),
    "an extension with a carriage return": (get(CHUNKED) + b"1;x\ry\r\na\r\n" + END, BAD),
    "an extension with a null": (get(CHUNKED) + b"1;x\0\r\na\r\n" + END, BAD),
    "a chunk longer than its size": (get(CHUNKED) + b"1\r\nab\r\n" + END, BAD),
    "a chunk without its end": (get(CHUNKED) + b"1\r\na" + END, BAD),
    "a chunk that ends with a line feed": (get(CHUNKED) + b"1\r\na\n" + END, BAD),
    "a last chunk that ends with line feeds": (get(CHUNKED) + b"0\n\n", BAD),
    "trailers that end with a line feed": (get(CHUNKED) + b"0\r\na: b\n\r\n", BAD),
    "a length behind the chunks": (get(CHUNKED) + b"0\r\n%b\r\n\r\n" % LENGTH.encode() + HIDDEN, BAD),
    "chunks behind the chunks": (get(CHUNKED) + b"0\r\ntransfer-encoding: chunked\r\n\r\n" + END, BAD),
    "an upgrade behind the chunks": (get(CHUNKED) + b"0\r\nconnection: upgrade\r\nupgrade: a\r\n\r\n", GOOD),
    "the end behind the chunks": (get(CHUNKED) + b"0\r\nconnection: close\r\n\r\n", LAST),
    # lines
    "line feeds": (get(line_end="\n"), BAD),
    "carriage returns": (get(line_end="\r"), BAD),
    "one line feed": (get("a: b\nc: d"), BAD),
    "one carriage return": (get("a: b\rc: d"), BAD),
    "a line feed at the end": (get()[:-2] + b"\n", BAD),
    "two carriage returns at the end": (get()[:-2] + b"\r\r\n", BAD),
    "a folded line": (get("a: b", " c"), BAD),
    "a folded length": (get("content-length:", f" {len(HIDDEN)}") + HIDDEN, BAD),
    "a folded coding": (get("transfer-encoding:", "\tchunked") + END, BAD),
    "a folded first line": (f"GET /{PREFIX}/n1 HTTP/1.1\r\n host: x\r\n\r\n".encode(), BAD),
    "no colon": (get("a"), BAD),
    "no name": (get(": a"), BAD),
    "a control character": (get("a: \x01"), BAD),
    "a delete": (get("a: \x7f"), BAD),
    "empty lines first": (b"\r\n\r\n" + get(), GOOD),
    "empty lines between": (get() + b"\r\n\r\n" + get(suffix="n2"), ["n1", "n2", SENTINEL]),
    "a blank behind the version": (get(version="1.1 "), BAD),
    "another version": (get(version="1.2"), BAD),
    "HTTP/2": (get(version="2.0"), BAD),
    "HTTP/2 that stays": (get("connection: keep-alive", version="2.0"), BAD),
    "HTTP/0.9": (get(version="0.9"), BAD),
    "HTTP/1.0": (get(version="1.0"), LAST),
    "HTTP/1.0 that stays": (get("connection: keep-alive", version="1.0"), LAST),
    "a connection that ends": (get("connection: close"), LAST),
    "a connection that ends, with a body": (get("connection: close", LENGTH) + HIDDEN, LAST),
    "a connection that stays and ends": (get("connection: keep-alive, close"), LAST),
    # the target
    "an absolute target": (get().replace(b"GET ", b"GET http://id.example.org"), GOOD),
    "an absolute target without a path": (b"GET http://h HTTP/1.1\r\nhost: h\r\n\r\n", BAD),
    "an absolute target with a query": (b"GET http://h?a HTTP/1.1\r\nhost: h\r\n\r\n", BAD),
    "an absolute target with half an address": (b"GET http://[::1/x HTTP/1.1\r\nhost: h\r\n\r\n", BAD),
    "an absolute target with a wrong port": (b"GET http://h:123456/x HTTP/1.1\r\nhost: h\r\n\r\n", BAD),
    "an authority": (b"GET h:80 HTTP/1.1\r\nhost: h\r\n\r\n", BAD),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", ["together", "after another", "in pieces"])
def test_exactly_the_expected_responses_are_sent(numbered_server: LiveServer, name: str, way: str) -> None:
    sent, expected = CASES[name]
    if way == "together":
        responses = send_and_read(numbered_server, sent)
    elif way == "in pieces":
        responses = send_and_read(numbered_server, *(sent[start : start + 23] for start in range(0, len(sent), 23)))
    else:
        responses = send_and_read(numbered_server, get(suffix="n3"), sent)
        assert responses.pop(0) == "n3"
    if expected == BAD and responses == LAST and sent.startswith(get(CHUNKED)):
        return  # the response was sent before the error in the rest was known
    assert responses == expected


@pytest.mark.parametrize("way", [(), (THROUGH_APPLICATION,)], ids=["fast path", "application"])
@pytest.mark.parametrize("name", [key for key, (_, expected) in CASES.items() if expected in (BAD, UNKNOWN)])
def test_nothing_in_the_same_packet_is_answered_after_a_refusal(
    numbered_server: LiveServer, name: str, way: tuple[str, ...]
) -> None:
    sent, expected = CASES[name]
    responses = send_and_read(numbered_server, get(*way, suffix="n3") + sent + get(suffix="n4") * 3)
    assert responses in (["n3", *expected], ["n3", CLOSED], [CLOSED], ["n3", *LAST])


MESSAGES = st.one_of(
    st.builds(
        lambda suffix, headers: (suffix, get(*headers, suffix=suffix)),
        st.sampled_from(["n1", "n2", "n3"]),
        st.sampled_from([(), ("connection: upgrade", "upgrade: h2c"), ("x: y",), (THROUGH_APPLICATION,)]),
    ),
    st.builds(
        lambda suffix, headers, body: (suffix, get(*headers, f"content-length: {len(body)}", suffix=suffix) + body),
        st.sampled_from(["n4", "n5", "n6"]),
        st.sampled_from([(), ("connection: upgrade", "upgrade: h2c")]),
        st.sampled_from([b"", b"\r\n", HIDDEN, HIDDEN * 2, END + HIDDEN, b"\0" * 20_000 + HIDDEN]),
    ),
    st.builds(
        lambda suffix, headers, chunks, trailer: (
            suffix,
            get(*headers, CHUNKED, suffix=suffix)
            + b"".join(b"%x;a\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
            + b"0\r\n%b\r\n" % trailer,
        ),
        st.sampled_from(["n8", "n9", "n10"]),
        st.sampled_from([(), ("connection: upgrade", "upgrade: h2c")]),
        st.lists(st.sampled_from([HIDDEN, END, b"\r\n", b"x" * 20_000]), max_size=3),
        st.sampled_from([b"", b"a: b\r\n", b"upgrade: x\r\nconnection: upgrade\r\n"]),
    ),
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(MESSAGES, min_size=1, max_size=6), cuts=st.lists(st.floats(0, 1), max_size=4))
def test_valid_messages_in_any_pieces_get_their_responses(
    numbered_server: LiveServer, messages: list[tuple[str, bytes]], cuts: list[float]
) -> None:
    data = b"".join(sent for _, sent in messages)
    offsets = sorted({0, len(data), *(int(cut * len(data)) for cut in cuts)})
    pieces = [data[first:last] for first, last in pairwise(offsets)]
    assert send_and_read(numbered_server, *pieces) == [*(suffix for suffix, _ in messages), SENTINEL]


def test_a_refused_request_is_not_carried_out(numbered_server: LiveServer) -> None:
    """The server must not execute a request that it refuses as malformed."""
    with numbered_server.client() as client:
        path = f"/api/handles/{PREFIX}/refused"
        value = {"index": 1, "type": "URL", "data": "https://example.org/refused"}
        assert client.put(path, json={"values": [value]}).status_code == 201
        for framing in ("transfer-encoding: identity", "transfer-encoding: gzip, chunked", f"{CHUNKED} "):
            head = request(path, f"authorization: Bearer {numbered_server.key}", framing, method="DELETE")
            assert send_and_read(numbered_server, head + END) == UNKNOWN
        time.sleep(0.2)
        assert client.get(path).status_code == 200


def test_an_invalid_target_does_not_affect_responses_to_other_clients(numbered_server: LiveServer) -> None:
    """All requests of one loop iteration are answered together."""
    wrong: list[object] = []

    def read() -> None:
        for _ in range(100):
            with connection(numbered_server) as client:
                client.socket.settimeout(5)
                try:
                    answer = client.request(f"/{PREFIX}/n1")
                    if answer.status != 302:
                        wrong.append(answer)
                except TimeoutError:
                    wrong.append("no answer")

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    while any(reader.is_alive() for reader in readers):
        assert send_and_read(numbered_server, b"GET http://h HTTP/1.1\r\nhost: h\r\n\r\n") == BAD
    assert wrong == []


@pytest.mark.parametrize(
    "endless", [b"0\r\na: ", b"0\r\n", b"1;"], ids=["a trailer", "the name of a trailer", "an extension"]
)
def test_endless_data_after_a_body_uses_no_memory(numbered_server: LiveServer, endless: bytes) -> None:
    before = resident_kilobytes(numbered_server)
    with connection(numbered_server) as client:
        client.send(get(CHUNKED) + endless)
        for _ in range(400):
            client.send(b"a" * 65_536)
        assert resident_kilobytes(numbered_server) - before < 8 << 10
        assert client.is_closed_within(2)


def test_many_trailers_are_refused(numbered_server: LiveServer) -> None:
    with connection(numbered_server) as client:
        client.send(get(CHUNKED) + b"0\r\n" + b"a: b\r\n" * 20_000)
        assert client.is_closed_within(2)


def resident_kilobytes(server: LiveServer) -> int:
    match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text())
    assert match
    return int(match[1])


def test_a_refusal_of_a_client_that_waits_to_continue_closes_the_connection(numbered_server: LiveServer) -> None:
    """Its next bytes could be the body or a new request, so the server closes the connection."""
    with connection(numbered_server) as client:
        client.send(request(f"/api/handles/{PREFIX}/x", "expect: 100-continue", "content-length: 100", method="PUT"))
        answer = client.read()
        assert answer is not None
        assert (answer.status, answer.header("connection")) == (401, "close")
        assert client.is_closed_within(2)


def test_an_http_1_0_client_gets_no_100_continue(numbered_server: LiveServer) -> None:
    headers = f"content-type: application/json\r\ncontent-length: 2\r\nauthorization: Bearer {numbered_server.key}"
    with connection(numbered_server) as client:
        client.send(f"PUT /api/handles/{PREFIX}/x HTTP/1.0\r\n{headers}\r\nexpect: 100-continue\r\n\r\n".encode())
        time.sleep(0.1)
        client.send(b"{}")
        assert client.socket.recv(12) == b"HTTP/1.1 400"
