"""Copies of files that are hashed on the way: the data is read once, and hashed in a second thread meanwhile."""

import hashlib
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self

ALGORITHMS: Final = ("sha512", "sha256", "sha1", "md5")
BUFFER_BYTES: Final = 1 << 18
_BUFFERS: Final = 4
_FLUSH_BYTES: Final = 1 << 25

Advance = Callable[[int], None]


class ReadableStream(Protocol):
    """A stream of bytes."""

    def readinto(self, buffer: memoryview, /) -> int | None: ...


class ReadFailed(OSError):
    """The source cannot be read, as opposed to the copy that cannot be written."""


class HashedContent(NamedTuple):
    """The size and the digests of what was read, by their algorithms."""

    size: int
    digests: dict[str, str]


class HashedCopier:
    """Reads, hashes and perhaps writes files. One thread uses it; the hashes of large files are computed in another."""

    def __init__(self, advance: Advance | None = None) -> None:
        self._buffers = [memoryview(bytearray(BUFFER_BYTES)) for _ in range(_BUFFERS)]
        self._threads = ThreadPoolExecutor(1, "perdure-hash")
        self._advance = advance

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)

    def copy(
        self, stream: ReadableStream, descriptor: int | None, algorithms: Iterable[str] = (), most: int | None = None
    ) -> HashedContent:
        """Copy a stream to a file descriptor, or only read it. Return its size, its SHA-512 and further digests.

        `most` is the largest size; reading stops when the stream turns out to be larger, and the size returned is then
        larger as well.
        """
        hashes = [hashlib.new(name, usedforsecurity=False) for name in dict.fromkeys(("sha512", *algorithms))]

        def update(part: memoryview) -> None:
            for one in hashes:
                one.update(part)

        pending: list[Future[None] | None] = [None] * _BUFFERS
        size = index = 0
        previous: memoryview | None = None
        while True:
            _await(pending[index])
            buffer = self._buffers[index]
            try:
                count = stream.readinto(buffer) or 0
            except OSError as problem:
                raise ReadFailed(problem.errno, problem.strerror) from problem
            if previous is not None and (count or size > len(previous)):
                at = (index - 1) % _BUFFERS
                pending[at] = self._threads.submit(update, previous)
                previous = None
            if not count:
                break
            previous = buffer[:count]
            size += count
            if descriptor is not None:
                _write_all(descriptor, previous)
            if self._advance is not None:
                self._advance(count)
            if most is not None and size > most:
                break
            index = (index + 1) % _BUFFERS
        for one in pending:
            _await(one)
        if previous is not None:  # a small file is hashed here: the other thread would cost more than the hash
            update(previous)
        return HashedContent(size, {one.name: one.hexdigest() for one in hashes})


def _await(future: Future[None] | None) -> None:
    if future is not None:
        future.result()


def _write_all(descriptor: int, part: memoryview) -> None:
    while part:
        part = part[os.write(descriptor, part) :]
