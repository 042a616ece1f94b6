"""The express lane: a plain redirect, or a record for a Handle client, in one look-up and one write.

It answers only when nothing about a request is unusual. Whatever it leaves goes to the application, which gives the
same answer byte for byte to every request that both can answer.
"""

import re
from typing import Final

from perdure.errors import PerdureError
from perdure.http import answers
from perdure.http.access_log import AccessLog
from perdure.http.service import Service
from perdure.records import record as records
from perdure.records.authority import handle_values
from perdure.records.value import DEFAULT_TTL
from perdure.registry.protocol import Brief, Find

# A handle as it stands: nothing to decode, nothing to take apart.
_USUAL: Final = re.compile(rb"/(api/handles/)?([^/%?#\x7f-\xff]+)/([^%?#\x7f-\xff]+)").fullmatch
_TTL: Final = b'"ttl":'  # how a record is written that holds a lifetime of its own


def lane_for(service: Service, access: AccessLog) -> "Lane | None":
    """None where the store cannot answer at once."""
    find = service.registry.store.immediate()
    return None if find is None else Lane(service, find, access)


class Lane:
    """What the protocol asks before it troubles the application."""

    def __init__(self, service: Service, find: Find, access: AccessLog) -> None:
        self.metrics = service.metrics
        self.access = access if access.is_on else None
        self._find = find
        self._prefixes = service.prefixes.handle_prefixes
        self._type_prefix = service.registry.settings.type_prefix
        self._server_headers: list[tuple[bytes, bytes]] | None = None
        self._redirect_head = self._record_head = b""

    def answer(self, url: bytes, wants_page: bool, server_headers: list[tuple[bytes, bytes]]) -> bytes | None:
        """The whole response to a GET, or None. `wants_page`: a redirect is what the client accepts."""
        parts = _USUAL(url)
        if parts is None:
            return None
        api, head, suffix = parts.groups()
        known = self._prefixes.get(head) or self._prefixes.get(head.lower())
        if known is None or not (api or wants_page):
            return None
        text = suffix.decode("ascii")
        try:
            brief = self._find(known[0] + (text if known[1] else text.lower()))
        except PerdureError:
            return None  # the application says what is wrong
        if brief is None:
            return None
        if server_headers is not self._server_headers:  # they are made anew every second, for their date
            self._begin_second(server_headers)
        return self._redirect(brief) if api is None else self._record(b"%b/%b" % (head, suffix), brief)

    def _redirect(self, brief: Brief) -> bytes | None:
        target, version, record = brief
        if target is None or _TTL in record:
            return None
        place = answers.location(target)
        note = answers.redirect_note(place)
        self.metrics.redirects += 1
        return b'%blocation: %b\r\netag: "%d"\r\ncontent-length: %d\r\n\r\n%b' % (
            self._redirect_head,
            place,
            version,
            len(note),
            note,
        )

    def _record(self, asked: bytes, brief: Brief) -> bytes | None:
        _, version, written = brief
        record = records.decode(written)
        if record.state != "active":
            return None
        shown = [value for value in handle_values(record, self._type_prefix) if value.is_public]
        body = answers.record_body(asked.decode("latin-1"), shown)
        self.metrics.records += 1
        return b'%betag: "%d-record"\r\ncontent-length: %d\r\n\r\n%b' % (self._record_head, version, len(body), body)

    def _begin_second(self, server_headers: list[tuple[bytes, bytes]]) -> None:
        """The parts of a response that change once a second."""
        common = [*server_headers, *answers.EVERYWHERE, *answers.READABLE_ANYWHERE]
        self._redirect_head = _head(b"302 Found", [*common, *answers.redirect_headers(DEFAULT_TTL)])
        self._record_head = _head(b"200 OK", [*common, *answers.RECORD_HEADERS])
        self._server_headers = server_headers


def _head(status: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    return b"HTTP/1.1 %b\r\n%b" % (status, b"".join(b"%b: %b\r\n" % header for header in headers))
