"""The response codes of Handle servers, with the tables from errors to codes and from codes to HTTP statuses."""

from typing import Final

from perdure import errors
from perdure.http.shared import http_errors
from perdure.http.shared.responses import SUCCESS

ERROR: Final = 2
TOO_BUSY: Final = 3
PROTOCOL_ERROR: Final = 4
NOT_SUPPORTED: Final = 5
IN_BACKUP: Final = 7
HANDLE_NOT_FOUND: Final = 100
HANDLE_EXISTS: Final = 101
INVALID_HANDLE: Final = 102
VALUES_NOT_FOUND: Final = 200
VALUE_EXISTS: Final = 201
INVALID_VALUE: Final = 202
NOT_RESPONSIBLE: Final = 301
INVALID_ADMIN: Final = 400
INSUFFICIENT_PERMISSIONS: Final = 401
AUTHENTICATION_NEEDED: Final = 402
AUTHENTICATION_FAILED: Final = 403

HTTP: Final[dict[int, int]] = {
    SUCCESS: 200,
    ERROR: 500,
    TOO_BUSY: 503,
    PROTOCOL_ERROR: 400,
    NOT_SUPPORTED: 501,
    IN_BACKUP: 503,
    HANDLE_NOT_FOUND: 404,
    HANDLE_EXISTS: 409,
    INVALID_HANDLE: 400,
    VALUES_NOT_FOUND: 400,  # of a change; a read has status 200
    VALUE_EXISTS: 409,
    INVALID_VALUE: 400,
    NOT_RESPONSIBLE: 400,
    INVALID_ADMIN: 403,
    INSUFFICIENT_PERMISSIONS: 403,
    AUTHENTICATION_NEEDED: 401,
    AUTHENTICATION_FAILED: 403,
}

# The first match counts, so subclasses come first.
_CODES: Final[tuple[tuple[type[errors.PerdureError], int], ...]] = (
    (http_errors.CredentialsRequired, AUTHENTICATION_NEEDED),
    (http_errors.InsecureCredentials, AUTHENTICATION_NEEDED),
    (http_errors.TooManyConcurrentRequests, TOO_BUSY),
    (http_errors.ServerBusy, TOO_BUSY),
    (http_errors.TooManyAttempts, AUTHENTICATION_FAILED),
    (http_errors.RequestTimeout, TOO_BUSY),
    (http_errors.NotAcceptable, NOT_SUPPORTED),
    (http_errors.MalformedRequest, PROTOCOL_ERROR),
    (http_errors.BodyTooLarge, PROTOCOL_ERROR),
    (http_errors.BodyTooSlow, PROTOCOL_ERROR),
    (http_errors.UnsupportedMediaType, PROTOCOL_ERROR),
    (http_errors.MethodNotAllowed, PROTOCOL_ERROR),
    (http_errors.NotFound, PROTOCOL_ERROR),
    (http_errors.PreconditionFailed, PROTOCOL_ERROR),
    (errors.InvalidName, INVALID_HANDLE),
    (errors.InvalidInput, INVALID_VALUE),
    (errors.ValueExists, VALUE_EXISTS),
    (errors.NameTaken, HANDLE_EXISTS),
    (errors.NoSuchPrefix, NOT_RESPONSIBLE),
    (errors.NoSuchName, HANDLE_NOT_FOUND),
    (errors.NoSuchValue, VALUES_NOT_FOUND),
    (errors.Withdrawn, HANDLE_NOT_FOUND),
    (errors.Immutable, INSUFFICIENT_PERMISSIONS),
    (errors.WrongState, HANDLE_NOT_FOUND),
    (errors.BadKey, AUTHENTICATION_FAILED),
    (errors.NotAuthorised, INVALID_ADMIN),
    (errors.Conflict, HANDLE_EXISTS),
    (errors.ClockBehind, TOO_BUSY),
    (errors.StoreSealed, IN_BACKUP),
    (errors.StoreDamaged, ERROR),
    (errors.OutcomeUnknown, ERROR),
    (errors.StoreUnavailable, TOO_BUSY),
    (errors.PerdureError, ERROR),
)
# An invalid input is not always a value: it may be a name, or the request.
_INPUTS: Final[dict[str, int]] = {
    "record": INVALID_VALUE,
    "request": PROTOCOL_ERROR,
    "search": PROTOCOL_ERROR,
    "list": PROTOCOL_ERROR,
    "handle": INVALID_HANDLE,
    "ibi": INVALID_HANDLE,
    "ppid": INVALID_HANDLE,
    "prefix": INVALID_HANDLE,
}
# Where an HTTP status is more exact than the response code.
_STATUSES: Final[tuple[tuple[type[errors.PerdureError], int], ...]] = (
    (http_errors.InsecureCredentials, 403),
    (http_errors.TooManyAttempts, 429),
    (http_errors.TooManyConcurrentRequests, 429),
    (http_errors.BodyTooLarge, 413),
    (http_errors.BodyTooSlow, 408),
    (http_errors.UnsupportedEncoding, 415),
    (http_errors.MethodNotAllowed, 405),
    (http_errors.PreconditionFailed, 412),
    (http_errors.NotFound, 404),
    (errors.BadKey, 401),
    (errors.StoreFull, 507),
)


def code_of(problem: errors.PerdureError) -> int:
    """Return the response code of an error."""
    if type(problem) in (errors.InvalidInput, errors.OutOfRange, errors.NoSuchAgent):
        return _INPUTS.get(problem.scheme, INVALID_VALUE)  # type: ignore[attr-defined]
    return next(code for kind, code in _CODES if isinstance(problem, kind))


def status_of(problem: errors.PerdureError) -> int:
    """Return the HTTP status of an error."""
    status_of_kind = next((status for kind, status in _STATUSES if isinstance(problem, kind)), None)
    return HTTP[code_of(problem)] if status_of_kind is None else status_of_kind
