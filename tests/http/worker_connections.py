"""Connections to a server with several workers: which worker accepted which, and requests on all of them at once."""

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

_BATCH: Final = 100  # connections that are opened before the workers of all of them are looked up
_PAUSE: Final = 0.02  # seconds until a worker has accepted a connection
_PATIENCE: Final = 120.0


class WorkerConnection(NamedTuple):
    """An open connection, and the process that accepted it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    worker: int


class TimedResponse(NamedTuple):
    """A response: its worker, its status and body, and when it was requested and received, in POSIX nanoseconds."""

    worker: int
    sent: int
    received: int
    status: int
    body: bytes

    @property
    def name(self) -> str:
        """The name that was minted."""
        assert self.status == 201, self.body
        return str(json.loads(self.body)["identifiers"][0]["name"])


@asynccontextmanager
async def connect_to_workers(
    address: tuple[str, int], workers: Sequence[int], each: int
) -> AsyncIterator[list[WorkerConnection]]:
    """Open `each` connections to each worker. The kernel chooses the worker, so those that are too many are closed."""
    chosen: list[WorkerConnection] = []
    surplus: list[asyncio.StreamWriter] = []
    try:
        await _connect(address, workers, each, chosen, surplus)
        yield chosen
    finally:
        for writer in [*surplus, *(one.writer for one in chosen)]:
            writer.close()
            with suppress(OSError):  # the server was killed
                await writer.wait_closed()


async def _connect(
    address: tuple[str, int],
    workers: Sequence[int],
    each: int,
    chosen: list[WorkerConnection],
    surplus: list[asyncio.StreamWriter],
) -> None:
    counts: Counter[int] = Counter()
    deadline = time.monotonic() + _PATIENCE
    while len(chosen) < each * len(workers):
        assert time.monotonic() < deadline, f"some worker accepts too few connections: {counts}"
        opened = []
        for _ in range(_BATCH):
            opened.append(await asyncio.open_connection(*address))
            await asyncio.sleep(0)
        await asyncio.sleep(_PAUSE)
        owners = _find_owners(address[1], workers)
        for reader, writer in opened:
            worker = owners.get(writer.get_extra_info("sockname")[1])
            if worker is None or counts[worker] == each:
                surplus.append(writer)
                writer.close()
                continue
            counts[worker] += 1
            chosen.append(WorkerConnection(reader, writer, worker))


def _find_owners(port: int, workers: Sequence[int]) -> dict[int, int]:
    """Return the worker of each connection, by the port of the client."""
    clients = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        local, remote = (int(fields[column].partition(":")[2], 16) for column in (1, 2))
        if local == port:
            clients[f"socket:[{fields[9]}]"] = remote
    return {
        clients[target]: worker
        for worker in workers
        for link in Path(f"/proc/{worker}/fd").iterdir()
        if (target := _read_link(link)) in clients
    }


def _read_link(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:  # it was closed meanwhile
        return ""


async def send_at_once(
    connections: Sequence[WorkerConnection], request: bytes, responses: list[TimedResponse], times: int = 1
) -> None:
    """Send a request on all connections at once, and again after each response. Collect the responses as they come.

    A connection that the server ends gives no more responses.
    """
    await asyncio.gather(*(_send(one, request, responses, times) for one in connections))


async def _send(connection: WorkerConnection, request: bytes, responses: list[TimedResponse], times: int) -> None:
    for _ in range(times):
        sent = time.time_ns()
        try:
            connection.writer.write(request)
            head = await connection.reader.readuntil(b"\r\n\r\n")
            received = time.time_ns()
            fields = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:-2])
            body = await connection.reader.readexactly(int(fields[b"content-length"]))
        except (OSError, asyncio.IncompleteReadError):
            return
        responses.append(TimedResponse(connection.worker, sent, received, int(head.split()[1]), body))


def most_overtaken(responses: Sequence[TimedResponse]) -> int:
    """Return how many requests came later than another one and were answered before it, for the unluckiest one."""
    return max(sum(other.sent > one.sent and other.received < one.received for other in responses) for one in responses)
