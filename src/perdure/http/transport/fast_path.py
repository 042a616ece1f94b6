"""The fast path: redirects, records for Handle clients, cached persons and cached files, each in one write.

It answers common requests only. All others go to the application, which sends the same response byte for byte to every
request that both can answer.

All requests of one iteration of the event loop are answered together, step by step: a processor is far faster when it
repeats one step for thirty requests than when it does all steps for each request in turn.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import compress, islice
from typing import Final, Literal, Protocol

from uvicorn.server import ServerState

from perdure.http.app_context import AppContext
from perdure.http.shared import redirects, responses
from perdure.http.shared.api_roots import HANDLES_ROOT, ITEMS_ROOT
from perdure.http.shared.conditional import RECORD_SUFFIX, if_none_match_has
from perdure.http.shared.cors import CORS_HEADERS
from perdure.http.shared.logging import AccessLog
from perdure.http.shared.person_cache import CachedPerson
from perdure.http.shared.request import Headers
from perdure.records.fast_json import fast_values_json
from perdure.registry.store_interface import Redirect, StoredRecord

_RECORDS: Final = f"{HANDLES_ROOT}/".encode()
_RECORD_NAME: Final = len(_RECORDS)  # where the name begins
_PERSONS: Final = (b"/POID-", b"/PRID-")
_ITEMS: Final = f"{ITEMS_ROOT}/".encode()
_PERCENT, _QUERY, _FRAGMENT, _AMPERSAND = b"%?#&"  # as numbers: searching bytes for a number raises no error
_NOT_MODIFIED: Final = b"HTTP/1.1 304 Not Modified\r\n"
_MOST: Final = 4096
_NUMBERS: Final = tuple(b"%d" % number for number in range(_MOST))  # nearly all versions and lengths
_RECORD_SUFFIX: Final = RECORD_SUFFIX.encode()
_TAG, _LENGTH, _RECORD_LENGTH = (
    b'\r\netag: "',
    b'"\r\ncontent-length: ',
    _RECORD_SUFFIX + b'"\r\ncontent-length: ',
)
_BODY_START, _BODY_END = b"\r\n\r\n" + redirects.REDIRECT_BODY_START, redirects.REDIRECT_BODY_END
_BODY_SIZE: Final = len(redirects.REDIRECT_BODY_START) + len(redirects.REDIRECT_BODY_END)


class PendingRequest(Protocol):
    """A connection that waits for its response. With `wants_page`, the client accepts a redirect."""

    url: bytes
    wants_page: bool
    accept: bytes
    if_none_match: bytes
    user_agent: bytes
    host: bytes | None
    scheme: Literal["http", "https"] | None

    def respond(self, answer: bytes | None) -> None:
        """Send the whole response. None passes the request on to the application."""
        ...


class FastPath:
    """The lookup that the protocol tries before it calls the application."""

    def __init__(self, app: AppContext, access: AccessLog) -> None:
        self.access = access if access.is_on else None
        self._call_soon = asyncio.get_running_loop().call_soon
        self._metrics = app.metrics
        self._resolutions = app.resolutions if app.resolutions.is_on else None
        self._finder = app.registry.store.batch_lookup()
        self._prefixes = app.prefixes.handle_prefixes
        self._type_prefix = app.registry.settings.type_prefix
        self._redirect_caching = redirects.caching_headers(app.options.redirect_caching)
        self._person_cache = app.person_cache
        self._file_cache = app.file_cache
        self._pending: list[PendingRequest] = []
        self._in_flight: list[list[PendingRequest]] = []  # one list per query that the store has not answered
        self.server = ServerState()  # replaced by the running server's
        self._server_headers: Headers | None = None
        self._redirect_head = self._record_head = self._document_head = b""
        self._redirect_not_modified_head = self._record_not_modified_head = b""

    def submit(self, request: PendingRequest) -> None:
        """Queue a request. Its `respond` is called by the end of the loop iteration, or when the store has answered."""
        if not self._pending:
            self._call_soon(self.flush)
        self._pending.append(request)

    def flush(self) -> None:
        """Look up the names of all queued requests."""
        requests, self._pending = self._pending, []
        prefixes = self._prefixes
        redirect_batch: list[PendingRequest] = []
        record_batch: list[PendingRequest] = []
        person_batch: list[PendingRequest] = []
        cached: list[CachedPerson] = []
        redirect_keys: list[str] = []
        record_keys: list[str] = []
        file_batch: list[PendingRequest] = []
        for request in requests:
            url = request.url
            is_record = url.startswith(_RECORDS)
            head, _, suffix = (url[_RECORD_NAME:] if is_record else url[1:]).partition(b"/")
            known = prefixes.get(head) or prefixes.get(head.lower())
            if url.startswith(_PERSONS) and (person := self._find_cached(request)) is not None:
                person_batch.append(request)
                cached.append(person)
            elif url.startswith(_ITEMS):
                file_batch.append(request)
            elif known is None or not suffix or not (is_record or request.wants_page) or not url.isascii():
                request.respond(None)
            elif _PERCENT in url or _QUERY in url or _FRAGMENT in url:
                request.respond(None)  # the URL has to be decoded or split
            else:
                text = suffix.decode("ascii")
                (record_keys if is_record else redirect_keys).append(known[0] + (text if known[1] else text.lower()))
                (record_batch if is_record else redirect_batch).append(request)
        if file_batch:
            self._send_files(file_batch)
        if redirect_keys:
            self._in_flight.append(redirect_batch)
            self._finder.find_redirects(redirect_keys, partial(self._send_redirects, redirect_batch, redirect_keys))
        if record_keys:
            self._in_flight.append(record_batch)
            self._finder.find_records(record_keys, partial(self._send_records, record_batch, record_keys))
        if cached:
            self._in_flight.append(person_batch)
            names = [name for person in cached for name in person.names]
            self._finder.find_records(names, partial(self._send_persons, person_batch, cached))

    def abandon(self, request: PendingRequest) -> None:
        """Stop waiting for the store: respond now if it answers at once, and otherwise through the application."""
        self.flush()
        for batch in self._in_flight:
            if request in batch:
                batch[batch.index(request)] = _ABANDONED
                request.respond(None)

    def _send_redirects(self, batch: list[PendingRequest], keys: list[str], results: Sequence[Redirect | None]) -> None:
        self._batch_done(batch)
        head, joined, is_plain = self._redirect_head, b"".join, redirects.is_plain_url
        answers: list[bytes | None] = []
        for request, result in zip(batch, results, strict=True):
            if result is None or request is _ABANDONED:
                answers.append(None)
                continue
            target, version = result
            if request.if_none_match and _has_etag(request, etag := b'"%d"' % version):
                answers.append(b"%b%b\r\n\r\n" % (self._redirect_not_modified_head, etag))
                continue
            location = target.encode() if is_plain(target) else redirects.encode_target(target)
            if location is None:
                answers.append(None)
                continue
            note = location.replace(b"&", b"&amp;") if _AMPERSAND in location else location
            size = len(note) + _BODY_SIZE
            tag = _NUMBERS[version] if version < _MOST else b"%d" % version
            length = _NUMBERS[size] if size < _MOST else b"%d" % size
            answers.append(joined((head, location, _TAG, tag, _LENGTH, length, _BODY_START, note, _BODY_END)))
        if self._resolutions is not None:
            readers = [request.user_agent for request in compress(batch, answers)]
            self._resolutions.count_readers(compress(keys, answers), readers)
        for request, answer in zip(batch, answers, strict=True):
            request.respond(answer)
        self._metrics.redirects += len(answers) - answers.count(None)

    def _send_records(
        self, batch: list[PendingRequest], keys: list[str], results: Sequence[StoredRecord | None]
    ) -> None:
        self._batch_done(batch)
        answers = [
            None if result is None or request is _ABANDONED else self._build_record(request, *result)
            for request, result in zip(batch, results, strict=True)
        ]
        if self._resolutions is not None:
            clients = [request.user_agent for request in compress(batch, answers)]
            self._resolutions.count_handle_clients(compress(keys, answers), clients)
        for request, answer in zip(batch, answers, strict=True):
            request.respond(answer)
        self._metrics.records += len(answers) - answers.count(None)

    def _build_record(self, request: PendingRequest, version: int, stored: bytes) -> bytes | None:
        values = fast_values_json(stored, version, self._type_prefix)
        if values is None:
            return None
        if request.if_none_match and _has_etag(request, etag := b'"%d%b"' % (version, _RECORD_SUFFIX)):
            return b"%b%b\r\n\r\n" % (self._record_not_modified_head, etag)
        body = responses.record_body_from_json(request.url[_RECORD_NAME:], values)
        size = len(body)
        tag = _NUMBERS[version] if version < _MOST else b"%d" % version
        length = _NUMBERS[size] if size < _MOST else b"%d" % size
        return b"".join((self._record_head, tag, _RECORD_LENGTH, length, b"\r\n\r\n", body))

    def _find_cached(self, request: PendingRequest) -> CachedPerson | None:
        """Return the cached response to an earlier request with the same URL, Accept header, host and scheme."""
        if request.host is None or request.scheme is None or request.if_none_match:
            return None
        return self._person_cache.find((request.url, request.accept, request.host, request.scheme))

    def _send_persons(
        self, batch: list[PendingRequest], cached: list[CachedPerson], results: Sequence[StoredRecord | None]
    ) -> None:
        """Send the cached responses whose records have not changed since."""
        self._batch_done(batch)
        rows = iter(results)
        answers: list[bytes | None] = []
        for request, person in zip(batch, cached, strict=True):
            now = tuple([None if row is None else row[0] for row in islice(rows, len(person.names))])
            is_current = now == person.versions and request is not _ABANDONED
            answers.append(self._document_head + person.answer if is_current else None)
        if self._resolutions is not None:
            readers = [request.user_agent for request in compress(batch, answers)]
            self._resolutions.count_readers([person.names[0] for person in compress(cached, answers)], readers)
        for request, answer in zip(batch, answers, strict=True):
            request.respond(answer)
        self._metrics.persons += len(answers) - answers.count(None)

    def _send_files(self, batch: list[PendingRequest]) -> None:
        """Send the cached files, if nothing has changed since."""
        self._refresh_heads_if_due()
        change, head, files = self._file_cache.change_number(), self._document_head, 0
        for request in batch:
            answer = None
            if request.host is not None and request.scheme is not None and not request.if_none_match:
                answer = self._file_cache.find((request.url, request.host, request.scheme), change)
            files += answer is not None
            request.respond(None if answer is None else head + answer)
        self._metrics.files += files

    def _batch_done(self, batch: list[PendingRequest]) -> None:
        self._in_flight.remove(batch)
        self._refresh_heads_if_due()

    def _refresh_heads_if_due(self) -> None:
        if self.server.default_headers is not self._server_headers:  # uvicorn replaces them every second, for the date
            self._refresh_heads(self.server.default_headers)

    def _refresh_heads(self, server_headers: Headers) -> None:
        """Rebuild the parts of a response that change once a second."""
        common = [*server_headers, *responses.COMMON_HEADERS, *CORS_HEADERS]
        redirect = [*common, *self._redirect_caching]
        self._redirect_head = (
            b"HTTP/1.1 302 Found\r\n" + responses.format_head([*redirect, redirects.HTML]) + b"location: "
        )
        self._redirect_not_modified_head = _NOT_MODIFIED + responses.format_head(redirect) + b"etag: "
        self._record_not_modified_head = (
            _NOT_MODIFIED + responses.format_head([*common, responses.NO_CACHE]) + b"etag: "
        )
        self._document_head = b"HTTP/1.1 200 OK\r\n" + responses.format_head(common)
        self._record_head = (
            b"HTTP/1.1 200 OK\r\n" + responses.format_head([*common, *responses.RECORD_HEADERS]) + b'etag: "'
        )
        self._server_headers = server_headers


class _AbandonedRequest:
    """The placeholder of an abandoned request in a batch."""

    url = accept = if_none_match = user_agent = b""
    wants_page = False
    host: bytes | None = None
    scheme: Literal["http", "https"] | None = None

    def respond(self, answer: bytes | None) -> None:
        pass


_ABANDONED: Final = _AbandonedRequest()


def _has_etag(request: PendingRequest, etag: bytes) -> bool:
    """Return whether the client has the response with this tag already."""
    header = request.if_none_match
    return header == etag or if_none_match_has(header.decode("latin-1"), etag.decode())
