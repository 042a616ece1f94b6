"""The express lane: a plain redirect, or a record for a Handle client, in one look-up and one write.

It answers only when nothing about a request is unusual. Whatever it leaves goes to the application, which gives the
same answer byte for byte to every request that both can answer.

All that came in one turn of the event loop is answered together, step by step: a processor that does one thing thirty
times is faster by far than one that does thirty things in turn.
"""

import asyncio
from typing import Final, Protocol

from uvicorn.server import ServerState

from perdure.errors import PerdureError
from perdure.http import answers
from perdure.http.access_log import AccessLog
from perdure.http.message import Headers
from perdure.http.service import Service
from perdure.records import record as records
from perdure.records.authority import handle_values
from perdure.records.value import DEFAULT_TTL
from perdure.registry.protocol import Brief, Find

_TTL: Final = b'"ttl":'  # how a record is written that holds a lifetime of its own
_PERCENT, _QUERY, _FRAGMENT = b"%?#"  # as numbers: to look for one of these in bytes raises no error on the way
_MOST: Final = 4096
_NUMBERS: Final = tuple(b"%d" % number for number in range(_MOST))  # versions and lengths, nearly all
_TAG, _LENGTH = b'\r\netag: "', b'"\r\ncontent-length: '


class Passenger(Protocol):
    """A connection that waits for its answer."""

    def take(self, answer: bytes | None) -> None:
        """The whole response; None, if the application has to be asked."""
        ...


_Asked = tuple[Passenger, str, bytes | None]  # its key, and the name as it was asked for, where the record is wanted


def lane_for(service: Service, access: AccessLog) -> "Lane | None":
    """None where the store cannot answer at once."""
    find = service.registry.store.immediate()
    return None if find is None else Lane(service, find, access)


class Lane:
    """What the protocol asks before it troubles the application."""

    def __init__(self, service: Service, find: Find, access: AccessLog) -> None:
        self.access = access if access.is_on else None
        self._call_soon = asyncio.get_running_loop().call_soon
        self._metrics = service.metrics
        self._find = find
        self._prefixes = service.prefixes.handle_prefixes
        self._type_prefix = service.registry.settings.type_prefix
        self._asked: list[_Asked] = []
        self.server = ServerState()  # the one that runs, once there is one
        self._server_headers: Headers | None = None
        self._redirect_head = self._record_head = b""

    def ask(self, passenger: Passenger, url: bytes, wants_page: bool) -> bool:
        """Whether this GET will be answered by the end of the turn. `wants_page`: a redirect is acceptable."""
        if _PERCENT in url or _QUERY in url or _FRAGMENT in url or not url.isascii():
            return False  # there is something to decode, or to take apart
        is_record = url.startswith(b"/api/handles/")
        name = url[13:] if is_record else url[1:]
        head, _, suffix = name.partition(b"/")
        known = self._prefixes.get(head) or self._prefixes.get(head.lower())
        if known is None or not suffix or not (wants_page or is_record):
            return False
        if not self._asked:
            self._call_soon(self.go)
        text = suffix.decode("ascii")
        key = known[0] + (text if known[1] else text.lower())
        self._asked.append((passenger, key, name if is_record else None))
        return True

    def go(self) -> None:
        """Answer everybody who has asked."""
        asked, self._asked = self._asked, []
        if not asked:
            return
        if self.server.default_headers is not self._server_headers:  # they are made anew every second, for their date
            self._begin_second(self.server.default_headers)
        try:
            found = self._find([key for _, key, _ in asked])
        except PerdureError:  # the application says what is wrong
            found = [None] * len(asked)
        given = [
            None if brief is None else self._redirect(brief) if name is None else self._record(name, brief)
            for (_, _, name), brief in zip(asked, found, strict=True)
        ]
        for (passenger, _, _), answer in zip(asked, given, strict=True):
            passenger.take(answer)

    def _redirect(self, brief: Brief) -> bytes | None:
        target, version, record = brief
        if target is None or record.find(_TTL) >= 0:
            return None
        place = answers.location(target)
        note = answers.redirect_note(place)
        self._metrics.redirects += 1
        number = _NUMBERS[version] if version < _MOST else b"%d" % version
        length = _NUMBERS[len(note)] if len(note) < _MOST else b"%d" % len(note)
        parts = self._redirect_head, b"location: ", place, _TAG, number, _LENGTH, length, b"\r\n\r\n", note
        return b"".join(parts)

    def _record(self, asked: bytes, brief: Brief) -> bytes | None:
        _, version, written = brief
        record = records.decode(written)
        if record.state != "active":
            return None
        shown = [value for value in handle_values(record, self._type_prefix) if value.is_public]
        body = answers.record_body(asked.decode("ascii"), shown)
        self._metrics.records += 1
        return b'%betag: "%d-record"\r\ncontent-length: %d\r\n\r\n%b' % (self._record_head, version, len(body), body)

    def _begin_second(self, server_headers: Headers) -> None:
        """The parts of a response that change once a second."""
        common = [*server_headers, *answers.EVERYWHERE, *answers.READABLE_ANYWHERE]
        self._redirect_head = _head(b"302 Found", [*common, *answers.redirect_headers(DEFAULT_TTL)])
        self._record_head = _head(b"200 OK", [*common, *answers.RECORD_HEADERS])
        self._server_headers = server_headers


def _head(status: bytes, headers: Headers) -> bytes:
    return b"HTTP/1.1 %b\r\n%b" % (status, b"".join(b"%b: %b\r\n" % header for header in headers))
