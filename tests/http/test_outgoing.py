"""A whole answer is one write; a header that would end its line is never sent."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from perdure.http.message import CYCLE, Response
from perdure.http.outgoing import Outgoing


def outgoing(method: str = "GET") -> tuple[Outgoing, list[bytes], Any]:
    """One, what it writes, and the connection as far as it is asked about."""
    written: list[bytes] = []
    scope: dict[str, Any] = {"method": method}
    cycle = SimpleNamespace(
        scope=scope,
        default_headers=[(b"date", b"today")],
        keep_alive=True,
        disconnected=False,
        flow=SimpleNamespace(write_paused=False),
        transport=SimpleNamespace(write=written.append, close=lambda: written.append(b"closed")),
        message_event=asyncio.Event(),
        on_response=lambda: written.append(b"done"),
    )
    scope[CYCLE] = cycle
    return Outgoing(scope), written, cycle


def test_a_whole_answer_is_one_write_with_its_length() -> None:
    out, written, cycle = outgoing()
    asyncio.run(out.respond(Response(200, b"hello", [(b"x-one", b"1")])))
    head, _, body = written[0].partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\ndate: today\r\n")
    assert {b"x-one: 1", b"content-length: 5", b"access-control-allow-origin: *"} <= set(head.split(b"\r\n"))
    assert (body, written[1:], out.status, out.size) == (b"hello", [b"done"], 200, 5)
    assert cycle.response_complete


def test_what_is_sent_in_two_messages_is_one_write_as_well() -> None:
    out, written, _ = outgoing("POST")

    async def send() -> None:
        await out({"type": "http.response.start", "status": 201, "headers": [(b"Content-Length", b"2")]})
        assert (written, out.status) == ([], 0)
        await out({"type": "http.response.body", "body": b"{}"})

    asyncio.run(send())
    assert written[0].lower().count(b"content-length: 2") == 1
    assert written[0].endswith(b"\r\n\r\n{}")


def test_who_asks_for_the_head_gets_the_length_and_no_body() -> None:
    out, written, _ = outgoing("HEAD")
    asyncio.run(out.respond(Response(200, b"hello")))
    assert b"content-length: 5\r\n\r\n" in written[0]
    assert written[0].endswith(b"\r\n\r\n")


def test_a_connection_that_ends_says_so() -> None:
    out, written, cycle = outgoing()
    cycle.keep_alive = False
    asyncio.run(out.respond(Response(204)))
    assert b"connection: close\r\n\r\n" in written[0]
    assert b"\r\ncontent-length" not in written[0]
    assert written[1:] == [b"closed", b"done"]


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: x", b"a\nb", b"a\rb", b"a\0b", b"\x7f"])
def test_a_header_that_would_break_its_line_is_never_sent(value: bytes) -> None:
    out, written, _ = outgoing()
    with pytest.raises(RuntimeError):
        asyncio.run(out.respond(Response(200, b"", [(b"location", value)])))
    assert (written, out.status) == ([], 0)
