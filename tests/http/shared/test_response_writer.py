"""A complete response is one write. A header that would end its line is never sent."""

import asyncio
import logging
import struct
from types import SimpleNamespace
from typing import Any, cast

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from perdure.http.shared.request import CYCLE, Response
from perdure.http.shared.response_writer import ResponseWriter


def make_writer(method: str = "GET") -> tuple[ResponseWriter, list[bytes], Any]:
    """Return a response writer, its output, and the parts of the connection that it reads."""
    written: list[bytes] = []
    scope: dict[str, Any] = {"method": method}
    cycle = SimpleNamespace(
        scope=scope,
        default_headers=[(b"date", b"today")],
        keep_alive=True,
        disconnected=False,
        waiting_for_100_continue=False,
        more_body=False,
        flow=SimpleNamespace(write_paused=False),
        transport=SimpleNamespace(write=written.append, close=lambda: written.append(b"closed")),
        message_event=asyncio.Event(),
        on_response=lambda: written.append(b"done"),
    )
    scope[CYCLE] = cycle
    return ResponseWriter(scope), written, cycle


def test_a_complete_response_is_one_write_with_its_length() -> None:
    out, written, cycle = make_writer()
    asyncio.run(out.respond(Response(200, b"hello", [(b"x-one", b"1")])))
    head, _, body = written[0].partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\ndate: today\r\n")
    assert {b"x-one: 1", b"content-length: 5", b"access-control-allow-origin: *"} <= set(head.split(b"\r\n"))
    assert (body, written[1:], out.status, out.size) == (b"hello", [b"done"], 200, 5)
    assert cycle.response_complete


def test_a_response_in_two_messages_is_one_write() -> None:
    out, written, _ = make_writer("POST")

    async def send() -> None:
        await out({"type": "http.response.start", "status": 201, "headers": [(b"Content-Length", b"2")]})
        assert (written, out.status) == ([], 0)
        await out({"type": "http.response.body", "body": b"{}"})

    asyncio.run(send())
    assert written[0].lower().count(b"content-length: 2") == 1
    assert written[0].endswith(b"\r\n\r\n{}")


def test_a_head_request_gets_the_length_and_no_body() -> None:
    out, written, _ = make_writer("HEAD")
    asyncio.run(out.respond(Response(200, b"hello")))
    assert b"content-length: 5\r\n\r\n" in written[0]
    assert written[0].endswith(b"\r\n\r\n")


def test_a_connection_that_will_be_closed_has_the_header_for_it() -> None:
    out, written, cycle = make_writer()
    cycle.keep_alive = False
    asyncio.run(out.respond(Response(204)))
    assert b"connection: close\r\n\r\n" in written[0]
    assert b"\r\ncontent-length" not in written[0]
    assert written[1:] == [b"closed", b"done"]


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: x", b"a\nb", b"a\rb", b"a\0b", b"\x7f"])
def test_a_header_that_would_break_its_line_is_never_sent(value: bytes) -> None:
    out, written, _ = make_writer()
    with pytest.raises(RuntimeError):
        asyncio.run(out.respond(Response(200, b"", [(b"location", value)])))
    assert (written, out.status) == ([], 0)


class Pipe:
    """A connection that records its output; `linger` is its socket option for closing."""

    def __init__(self) -> None:
        self.written = b""
        self.is_closed = False
        self.linger: tuple[int, ...] = (0, 0)

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_extra_info(self, name: str) -> "Pipe":
        assert name == "socket"
        return self

    def setsockopt(self, level: int, option: int, value: bytes) -> None:
        self.linger = struct.unpack("ii", value)


def make_uvicorn_writer(version: str, method: str = "GET") -> tuple[ResponseWriter, Pipe]:
    """Return a response writer that writes through uvicorn itself."""
    scope: dict[str, Any] = {"method": method, "http_version": version}
    pipe = Pipe()
    scope[CYCLE] = RequestResponseCycle(
        scope=cast(Any, scope),
        transport=cast(Any, pipe),
        flow=cast(Any, SimpleNamespace(write_paused=False)),
        logger=logging.getLogger("test"),
        access_logger=logging.getLogger("test"),
        access_log=False,
        default_headers=[(b"date", b"today")],
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=version != "1.0",
        on_response=lambda: None,
    )
    return ResponseWriter(scope), pipe


async def send(out: ResponseWriter, *pieces: bytes, ends: bool = True, headers: Any = ()) -> None:
    await out({"type": "http.response.start", "status": 200, "headers": list(headers)})
    for piece in pieces:
        await out({"type": "http.response.body", "body": piece, "more_body": True})
    if ends:
        await out({"type": "http.response.body", "body": b"", "more_body": False})


def test_a_streamed_response_is_chunked_and_the_connection_stays_open() -> None:
    out, pipe = make_uvicorn_writer("1.1")
    asyncio.run(send(out, b"one\n", b"two\n"))
    assert b"transfer-encoding: chunked\r\n" in pipe.written
    assert pipe.written.endswith(b"\r\n\r\n4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n")
    assert (pipe.is_closed, pipe.linger, out.status, out.size) == (False, (0, 0), 200, 8)


def test_a_streamed_response_to_http_1_0_has_no_chunks_and_ends_with_the_connection() -> None:
    out, pipe = make_uvicorn_writer("1.0")
    asyncio.run(send(out, b"one\n", b"", b"two\n"))
    head, _, body = pipe.written.partition(b"\r\n\r\n")
    assert b"connection: close" in head.split(b"\r\n")
    assert b"transfer-encoding" not in head
    assert b"\r\ncontent-length" not in head
    assert (body, pipe.is_closed, pipe.linger, out.size) == (b"one\ntwo\n", True, (0, 0), 8)


def test_an_incomplete_response_to_http_1_0_aborts_the_connection() -> None:
    out, pipe = make_uvicorn_writer("1.0")
    asyncio.run(send(out, b"one\n", ends=False))
    assert (pipe.is_closed, pipe.linger) == (False, (1, 0))  # closing it now resets it


def test_no_option_is_set_on_a_closed_socket() -> None:
    out, pipe = make_uvicorn_writer("1.0")
    asyncio.run(send(out, b"one\n", ends=False))
    pipe.close()
    cast(Any, out)._cycle.disconnected = True
    asyncio.run(out({"type": "http.response.body", "body": b"", "more_body": False}))
    assert pipe.linger == (1, 0)


@pytest.mark.parametrize("pieces", [(), (b"one\n",)])
@pytest.mark.parametrize(
    "header", [(b"x-note", b"a\r\nset-cookie: x=1"), (b"x-note", b"a\r\n\r\nHTTP/1.1 200 OK"), (b"a\nb", b"c")]
)
def test_a_header_that_would_break_its_line_is_replaced_by_an_error_response(
    header: tuple[bytes, bytes], pieces: tuple[bytes, ...]
) -> None:
    """Complete or in pieces: nothing was sent before the error, so another response can still be sent."""
    out, pipe = make_uvicorn_writer("1.1")
    with pytest.raises(RuntimeError, match="broken its line"):
        asyncio.run(send(out, *pieces, headers=[header]))
    assert (pipe.written, out.status, out.size) == (b"", 0, 0)
    asyncio.run(out.respond(Response(500, b"sorry")))
    assert pipe.written.startswith(b"HTTP/1.1 500 ")
    assert pipe.written.count(b"HTTP/1.1") == 1
    assert b"set-cookie" not in pipe.written


def test_no_second_response_is_written_after_one_has_started() -> None:
    out, pipe = make_uvicorn_writer("1.1")
    asyncio.run(send(out, b"one\n", ends=False))
    before = pipe.written
    with pytest.raises(RuntimeError, match="begun"):
        asyncio.run(out.respond(Response(500, b"sorry")))
    assert pipe.written == before
