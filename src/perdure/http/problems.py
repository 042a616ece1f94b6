"""Errors as problem documents (RFC 9457): the one table from what went wrong to the status that says so."""

from math import ceil
from typing import Any, Final

import msgspec

from perdure import errors
from perdure.http import refusals
from perdure.http.answers import location
from perdure.http.message import Headers, Response

PROBLEM: Final = b"application/problem+json"

# The first that fits, so the narrower kinds come first.
_STATUSES: Final[tuple[tuple[type[errors.PerdureError], int], ...]] = (
    (refusals.Malformed, 400),
    (refusals.BodyTooLarge, 413),
    (refusals.BodyTooSlow, 408),
    (refusals.UnsupportedBody, 415),
    (refusals.MethodNotAllowed, 405),
    (refusals.NothingHere, 404),
    (refusals.NotNegotiable, 406),
    (refusals.PlainCredentials, 403),
    (refusals.FromAnotherSite, 403),
    (refusals.NotForThisClient, 403),
    (refusals.TooManyAttempts, 429),
    (refusals.TooManyAtOnce, 429),
    (refusals.TooBusy, 503),
    (refusals.TookTooLong, 503),
    (refusals.PreconditionNeeded, 428),
    (refusals.Outdated, 412),
    (errors.InvalidName, 400),
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
    (errors.StoreFull, 507),
    (errors.StoreUnavailable, 503),
    (errors.PerdureError, 500),
)
# What an error knows beyond its words, where that helps a program: never a secret.
_DETAILS: Final = (
    "scheme",
    "part",
    "rule",
    "position",
    "suggestion",
    "suggestions",
    "name",
    "replaced_by",
    "state",
    "needed",
)
_OFFERED: Final = ("expected", "found", "action", "scope", "allowed", "available", "index", "indexes", "safe_to_retry")


def status_of(problem: errors.PerdureError) -> int:
    return next(status for kind, status in _STATUSES if isinstance(problem, kind))


def document(problem: errors.PerdureError, instance: str | None = None) -> dict[str, Any]:
    """The problem document, before it is written."""
    status = status_of(problem)
    said: dict[str, Any] = {
        "type": f"/api/v1/errors/{problem.code}",
        "title": (type(problem).__doc__ or problem.code).partition("\n")[0],
        "status": status,
        "detail": str(problem),
        "code": problem.code,
    }
    if instance is not None:
        said["instance"] = instance
    for field in (*_DETAILS, *_OFFERED):
        value = getattr(problem, field, None)
        if value not in (None, (), "") and field not in said:
            said[field] = value
    return said


def headers_of(problem: errors.PerdureError) -> Headers:
    """What a status needs beside it."""
    if isinstance(problem, refusals.TooManyAttempts):
        return [(b"retry-after", str(max(1, round(problem.wait))).encode())]
    if type(problem) is errors.ClockBehind:  # not one that jumped, which waiting does not mend
        return [(b"retry-after", str(max(1, ceil(problem.wait))).encode())]
    if isinstance(problem, refusals.MethodNotAllowed):
        return [(b"allow", ", ".join(problem.allowed).encode())]
    if isinstance(problem, refusals.EncodedBody):
        return [(b"accept-encoding", b"identity")]
    if isinstance(problem, refusals.NotNegotiable) and problem.places:
        forms = zip(problem.places, problem.available, strict=True)
        links = [b'<%b>; rel="alternate"; type="%b"' % (location(place), kind.encode()) for place, kind in forms]
        return [(b"link", b", ".join(links))]
    if status_of(problem) in (429, 503):
        return [(b"retry-after", b"1")]
    return []


def problem_response(problem: errors.PerdureError, instance: str | None = None) -> Response:
    body = msgspec.json.encode(document(problem, instance))
    return Response(
        status_of(problem),
        body,
        [(b"content-type", PROBLEM), (b"cache-control", b"no-store"), *headers_of(problem)],
    )
