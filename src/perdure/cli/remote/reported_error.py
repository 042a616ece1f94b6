"""Errors that a server reports as problem documents (RFC 9457), as the errors that the local registry raises."""

from collections.abc import Mapping
from typing import Any, Final

from perdure import errors
from perdure.errors import InvalidInput, PerdureError

_LONGEST: Final = 4_000  # characters of a message
# Attributes of errors. Other members of a problem document are not for programs.
_DETAILS: Final = ("name", "suggestions", "scheme", "part", "rule", "state", "needed", "expected", "found", "indexes")
_BY_CODE: Final = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, PerdureError) and "code" in vars(kind)
}


class ReportedError(PerdureError):
    """An error with the text of the server."""

    def __init__(self, detail: str, details: Mapping[str, Any]) -> None:
        Exception.__init__(self, detail)  # not that of the kind, which needs what only the server knows
        self.detail = detail
        for field, value in details.items():
            setattr(self, field, value)

    def __str__(self) -> str:
        return self.detail


def build_error(document: Mapping[str, Any]) -> PerdureError:
    """Return the error of a problem document, with the type that its code has here."""
    detail = str(document.get("detail") or document.get("title") or "unknown error")[:_LONGEST]
    kind = _BY_CODE.get(str(document.get("code")), PerdureError)
    if issubclass(kind, InvalidInput):
        return _build_invalid_input(kind, detail, document)
    return _reported_kind(kind)(detail, {field: document[field] for field in _DETAILS if field in document})


def _build_invalid_input(kind: type[InvalidInput], detail: str, document: Mapping[str, Any]) -> InvalidInput:
    """Return the error itself: unlike others, it can be built from what the server sends."""
    scheme, part = str(document.get("scheme", "request")), str(document.get("part", "request"))
    rule = None if document.get("rule") is None else str(document["rule"])
    reason = detail.removeprefix(f"{scheme}: ").removesuffix(f" (rule: {rule})")
    return kind(scheme, part, reason, rule)


def _reported_kind(kind: type[PerdureError]) -> type[ReportedError]:
    """Return a subclass of an error whose text is that of the server."""
    return type(kind.__name__, (ReportedError, kind), {}) if kind is not PerdureError else ReportedError
