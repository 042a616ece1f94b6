"""The express lane: a plain redirect, or a record for a Handle client, in one look-up and one write.

It answers only when nothing about a request is unusual. Whatever it leaves goes to the application, which gives the
same answer byte for byte to every request that both can answer.

All that came in one turn of the event loop is answered together, step by step: a processor that does one thing thirty
times is faster by far than one that does thirty things in turn.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Final, Literal, Protocol

from uvicorn.server import ServerState

from perdure.http import answers
from perdure.http.access_log import AccessLog
from perdure.http.kept_documents import Kept
from perdure.http.message import Headers
from perdure.http.service import Service
from perdure.records.terse import terse_values
from perdure.records.value import DEFAULT_TTL
from perdure.registry.protocol import Redirect, Written

_RECORDS: Final = b"/api/handles/"
_PERSONS: Final = (b"/POID-", b"/PRID-")
_PERCENT, _QUERY, _FRAGMENT, _AMPERSAND = b"%?#&"  # as numbers: to look for one of these in bytes raises no error
_MOST: Final = 4096
_NUMBERS: Final = tuple(b"%d" % number for number in range(_MOST))  # versions and lengths, nearly all
_TAG, _LENGTH, _RECORD_LENGTH = b'\r\netag: "', b'"\r\ncontent-length: ', b'-record"\r\ncontent-length: '
_NOTE, _NOTE_END = b"\r\n\r\n" + answers.NOTE_BEFORE, answers.NOTE_AFTER
_NOTE_SIZE: Final = len(answers.NOTE_BEFORE) + len(answers.NOTE_AFTER)


class Passenger(Protocol):
    """A connection that waits for its answer. `wants_page`: a redirect is acceptable."""

    url: bytes
    wants_page: bool
    accept: bytes
    host: bytes | None
    scheme: Literal["http", "https"] | None

    def take(self, answer: bytes | None) -> None:
        """The whole response; None, if the application has to be asked."""
        ...


class Lane:
    """What the protocol asks before it troubles the application."""

    def __init__(self, service: Service, access: AccessLog) -> None:
        self.access = access if access.is_on else None
        self._call_soon = asyncio.get_running_loop().call_soon
        self._metrics = service.metrics
        self._finder = service.registry.store.finder()
        self._prefixes = service.prefixes.handle_prefixes
        self._type_prefix = service.registry.settings.type_prefix
        self._documents = service.documents
        self._asked: list[Passenger] = []
        self._riding: list[list[Passenger]] = []  # whom the store is being asked for
        self.server = ServerState()  # the one that runs, once there is one
        self._server_headers: Headers | None = None
        self._redirect_head = self._record_head = self._person_head = b""

    def ask(self, passenger: Passenger) -> None:
        """It is given its answer by the end of the turn, or when the store has found it."""
        if not self._asked:
            self._call_soon(self.go)
        self._asked.append(passenger)

    def go(self) -> None:
        """Look up what everybody who has asked wants to know."""
        asked, self._asked = self._asked, []
        prefixes = self._prefixes
        to_leave: list[Passenger] = []
        to_read: list[Passenger] = []
        to_tell: list[Passenger] = []
        telling: list[Kept] = []
        leaving: list[str] = []
        reading: list[str] = []
        for passenger in asked:
            url = passenger.url
            is_record = url.startswith(_RECORDS)
            head, _, suffix = (url[13:] if is_record else url[1:]).partition(b"/")
            known = prefixes.get(head) or prefixes.get(head.lower())
            if url.startswith(_PERSONS) and (kept := self._kept(passenger)) is not None:
                to_tell.append(passenger)
                telling.append(kept)
            elif known is None or not suffix or not (is_record or passenger.wants_page) or not url.isascii():
                passenger.take(None)
            elif _PERCENT in url or _QUERY in url or _FRAGMENT in url:
                passenger.take(None)  # there is something to decode, or to take apart
            else:
                text = suffix.decode("ascii")
                (reading if is_record else leaving).append(known[0] + (text if known[1] else text.lower()))
                (to_read if is_record else to_leave).append(passenger)
        if leaving:
            self._riding.append(to_leave)
            self._finder.redirects(leaving, partial(self._redirect, to_leave))
        if reading:
            self._riding.append(to_read)
            self._finder.records(reading, partial(self._show, to_read))
        if telling:
            self._riding.append(to_tell)
            names = [name for kept in telling for name in kept.names]
            self._finder.records(names, partial(self._tell, to_tell, telling))

    def leave(self, passenger: Passenger) -> None:
        """It cannot wait: it is answered now, if the store answers at once, and by the application otherwise."""
        self.go()
        for riders in self._riding:
            if passenger in riders:
                riders[riders.index(passenger)] = _NOBODY
                passenger.take(None)

    def _redirect(self, riders: list[Passenger], found: Sequence[Redirect | None]) -> None:
        self._arrive(riders)
        head, joined, is_plain = self._redirect_head, b"".join, answers.is_plain
        given: list[bytes | None] = []
        for passenger, one in zip(riders, found, strict=True):
            if one is None or passenger is _NOBODY:
                given.append(None)
                continue
            target, version = one
            place = target.encode() if is_plain(target) else answers.target_location(target)
            if place is None:
                given.append(None)
                continue
            note = place.replace(b"&", b"&amp;") if _AMPERSAND in place else place
            size = len(note) + _NOTE_SIZE
            tag = _NUMBERS[version] if version < _MOST else b"%d" % version
            length = _NUMBERS[size] if size < _MOST else b"%d" % size
            given.append(joined((head, place, _TAG, tag, _LENGTH, length, _NOTE, note, _NOTE_END)))
        for passenger, answer in zip(riders, given, strict=True):
            passenger.take(answer)
        self._metrics.redirects += len(given) - given.count(None)

    def _show(self, riders: list[Passenger], found: Sequence[Written | None]) -> None:
        self._arrive(riders)
        given = [
            None if one is None or passenger is _NOBODY else self._record(passenger.url[13:], *one)
            for passenger, one in zip(riders, found, strict=True)
        ]
        for passenger, answer in zip(riders, given, strict=True):
            passenger.take(answer)
        self._metrics.records += len(given) - given.count(None)

    def _record(self, asked: bytes, version: int, written: bytes) -> bytes | None:
        values = terse_values(written, self._type_prefix)
        if values is None:
            return None
        body = answers.terse_body(asked, values)
        size = len(body)
        tag = _NUMBERS[version] if version < _MOST else b"%d" % version
        length = _NUMBERS[size] if size < _MOST else b"%d" % size
        return b"".join((self._record_head, tag, _RECORD_LENGTH, length, b"\r\n\r\n", body))

    def _kept(self, passenger: Passenger) -> Kept | None:
        """A document that was given before, to who asked with the same words."""
        if passenger.host is None or passenger.scheme is None:
            return None
        return self._documents.find((passenger.url, passenger.accept, passenger.host, passenger.scheme))

    def _tell(self, riders: list[Passenger], kept: list[Kept], found: Sequence[Written | None]) -> None:
        """What is kept, if all that it was made from is as it was."""
        self._arrive(riders)
        versions = iter(found)
        given: list[bytes | None] = []
        for passenger, one in zip(riders, kept, strict=True):
            now = tuple([None if row is None else row[0] for row in islice(versions, len(one.names))])
            is_right = now == one.versions and passenger is not _NOBODY
            given.append(self._person_head + one.answer if is_right else None)
        for passenger, answer in zip(riders, given, strict=True):
            passenger.take(answer)
        self._metrics.persons += len(given) - given.count(None)

    def _arrive(self, riders: list[Passenger]) -> None:
        self._riding.remove(riders)
        if self.server.default_headers is not self._server_headers:  # they are made anew every second, for their date
            self._begin_second(self.server.default_headers)

    def _begin_second(self, server_headers: Headers) -> None:
        """The parts of a response that change once a second."""
        common = [*server_headers, *answers.EVERYWHERE, *answers.READABLE_ANYWHERE]
        self._redirect_head = _head(b"302 Found", [*common, *answers.redirect_headers(DEFAULT_TTL)]) + b"location: "
        self._person_head = _head(b"200 OK", common)
        self._record_head = _head(b"200 OK", [*common, *answers.RECORD_HEADERS]) + b'etag: "'
        self._server_headers = server_headers


class _Nobody:
    """Sits where somebody left."""

    url = accept = b""
    wants_page = False
    host: bytes | None = None
    scheme: Literal["http", "https"] | None = None

    def take(self, answer: bytes | None) -> None:
        pass


_NOBODY: Final = _Nobody()


def _head(status: bytes, headers: Headers) -> bytes:
    return b"HTTP/1.1 %b\r\n%b" % (status, b"".join(b"%b: %b\r\n" % header for header in headers))
