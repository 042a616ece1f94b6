"""The client for other servers: bounded whatever a server sends."""

import asyncio
import gzip
import time
from collections.abc import Awaitable, Callable

import pytest

from perdure.errors import PeerUnavailable
from perdure.federation.peer_client import PeerClient

MOST = 65_536
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"

Respond = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def send_without_end(writer: asyncio.StreamWriter, start: bytes, part: bytes, pause: float = 0.0) -> None:
    writer.write(start)
    while True:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(pause)


ENDLESS: dict[str, tuple[Respond, str]] = {
    "a body": (lambda to: send_without_end(to, CHUNKED, b"1000\r\n" + b" " * 4096 + b"\r\n"), "longer than"),
    "a slow body": (lambda to: send_without_end(to, CHUNKED, b"1\r\n \r\n", 0.05), "did not answer within"),
    "headers": (lambda to: send_without_end(to, HEAD, b"x: " + b"a" * 1000 + b"\r\n"), "too long"),
    "early responses": (lambda to: send_without_end(to, b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"), "did not answer"),
    "nothing": (lambda to: asyncio.sleep(60), "did not answer within"),
}


async def get(respond: Respond, *, private: bool = True, host: str = "127.0.0.1", times: int = 1) -> list[bytes | str]:
    """Return the bodies that a client receives from this server, or the reasons why it has none."""
    requests = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        try:
            await reader.readuntil(b"\r\n\r\n")
            requests += 1
            await respond(writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    url = f"http://{host}:{server.sockets[0].getsockname()[1]}/x"
    client, outcomes = PeerClient(0.5), list[bytes | str]()
    try:
        for _ in range(times):
            try:
                outcomes.append(await client.get(url, {}, private=private, most=MOST))
            except PeerUnavailable as problem:
                outcomes.append(problem.reason)
    finally:
        await client.close()
        server.close()
    assert private or requests == 0, "it was contacted"
    return outcomes


@pytest.mark.parametrize("what", ENDLESS)
def test_what_never_ends_is_left_at_a_bound(what: str) -> None:
    respond, reason = ENDLESS[what]
    started = time.monotonic()
    (outcome,) = asyncio.run(get(respond))
    assert isinstance(outcome, str)
    assert reason in outcome
    assert time.monotonic() - started < 10


def test_a_small_body_that_would_unpack_to_a_large_one_stays_as_it_is() -> None:
    bomb = gzip.compress(b"0" * 50_000_000)

    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(bomb) + bomb)
        await writer.drain()

    assert asyncio.run(get(respond)) == [bomb]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
def test_a_host_name_that_leads_to_this_machine_gets_no_request(host: str) -> None:
    """Each attempt gives its connection back: there are more attempts than connections."""
    outcomes = asyncio.run(get(lambda to: asyncio.sleep(0), private=False, host=host, times=70))
    assert all("private network" in str(outcome) for outcome in outcomes)
