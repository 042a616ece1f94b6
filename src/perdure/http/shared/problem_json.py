"""Errors as problem documents (RFC 9457), with the table of errors and HTTP statuses."""

from math import ceil
from typing import Any, Final

import msgspec

from perdure import errors
from perdure.http.shared import http_errors
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.redirects import encode_location
from perdure.http.shared.request import Headers, Response
from perdure.http.shared.responses import NO_STORE

PROBLEM_JSON: Final = b"application/problem+json"

# The first match counts, so subclasses come first.
_STATUSES: Final[tuple[tuple[type[errors.PerdureError], int], ...]] = (
    (http_errors.MalformedRequest, 400),
    (http_errors.BodyTooLarge, 413),
    (http_errors.BodyTooSlow, 408),
    (http_errors.UnsupportedMediaType, 415),
    (http_errors.MethodNotAllowed, 405),
    (http_errors.NotFound, 404),
    (http_errors.RedirectLoop, 508),
    (http_errors.PeersUnreachable, 503),
    (http_errors.NotAcceptable, 406),
    (http_errors.InsecureCredentials, 403),
    (http_errors.CrossSiteRequest, 403),
    (http_errors.ClientNotAllowed, 403),
    (http_errors.TooManyAttempts, 429),
    (http_errors.TooManyConcurrentRequests, 429),
    (http_errors.ServerBusy, 503),
    (http_errors.ServerStops, 503),
    (http_errors.RequestTimeout, 503),
    (http_errors.PreconditionRequired, 428),
    (http_errors.PreconditionFailed, 412),
    (http_errors.RangeNotSatisfiable, 416),
    (http_errors.NoSuchUpload, 404),
    (http_errors.UploadInUse, 423),
    (http_errors.UploadConflict, 409),
    (http_errors.TooManyUploads, 429),
    (http_errors.UnsupportedTusVersion, 412),
    (http_errors.ChecksumMismatch, 460),
    (http_errors.DigestMismatch, 422),
    (errors.InvalidName, 400),
    (errors.NoSuchAgent, 404),
    (errors.InvalidInput, 422),
    (errors.NameTaken, 409),
    (errors.NoSuchName, 404),
    (errors.NoSuchValue, 404),
    (errors.Withdrawn, 410),
    (errors.WrongState, 409),
    (errors.BadKey, 401),
    (errors.NotAuthorised, 403),
    (errors.Conflict, 409),
    (errors.ClockBehind, 503),
    (errors.PeerUnavailable, 502),
    (errors.StoreFull, 507),
    (errors.QuotaExceeded, 507),
    (errors.ItemDamaged, 500),
    (errors.StoreUnavailable, 503),
    (errors.PerdureError, 500),
)
# Attributes of errors that help a program, and never contain a secret.
_DETAILS: Final = (
    "scheme",
    "part",
    "rule",
    "position",
    "suggestion",
    "suggestions",
    "name",
    "path",
    "replaced_by",
    "state",
    "needed",
)
_MORE_DETAILS: Final = (
    "expected",
    "found",
    "action",
    "scope",
    "allowed",
    "available",
    "index",
    "indexes",
    "owner",
    "since",
    "until",
    "safe_to_retry",
)


def status_of(problem: errors.PerdureError) -> int:
    """Return the HTTP status of an error."""
    return next(status for kind, status in _STATUSES if isinstance(problem, kind))


def problem_document(problem: errors.PerdureError, instance: str | None = None) -> dict[str, Any]:
    """Return the problem document of an error."""
    status = status_of(problem)
    document: dict[str, Any] = {
        "type": f"{API_ROOT}/errors/{problem.code}",
        "title": (type(problem).__doc__ or problem.code).partition("\n")[0],
        "status": status,
        "detail": str(problem),
        "code": problem.code,
    }
    if instance is not None:
        document["instance"] = instance
    for field in (*_DETAILS, *_MORE_DETAILS):
        value = getattr(problem, field, None)
        if value not in (None, (), "") and field not in document:
            document[field] = value
    return document


def problem_headers(problem: errors.PerdureError) -> Headers:
    """Return the headers that the status of an error requires."""
    if isinstance(problem, http_errors.TooManyAttempts):
        return [(b"retry-after", str(max(1, round(problem.wait))).encode())]
    # Not after a jump of the clock, because waiting does not help.
    if type(problem) is errors.ClockBehind or isinstance(problem, http_errors.MintQueueFull | http_errors.ServerStops):
        return [(b"retry-after", str(max(1, ceil(problem.wait))).encode())]
    if isinstance(problem, http_errors.MethodNotAllowed):
        return [(b"allow", ", ".join(problem.allowed).encode())]
    if isinstance(problem, http_errors.RangeNotSatisfiable):
        return [(b"content-range", b"bytes */%d" % problem.size)]
    if isinstance(problem, http_errors.UnsupportedEncoding):
        return [(b"accept-encoding", b"identity")]
    if isinstance(problem, http_errors.NotAcceptable) and problem.urls:
        forms = zip(problem.urls, problem.available, strict=True)
        links = [b'<%b>; rel="alternate"; type="%b"' % (encode_location(url), kind.encode()) for url, kind in forms]
        return [(b"link", b", ".join(links))]
    if status_of(problem) in (429, 503):
        return [(b"retry-after", b"1")]
    return []


def problem_response(problem: errors.PerdureError, instance: str | None = None) -> Response:
    """Return an error as a response."""
    body = msgspec.json.encode(problem_document(problem, instance))
    return Response(
        status_of(problem),
        body,
        [(b"content-type", PROBLEM_JSON), NO_STORE, *problem_headers(problem)],
    )
