"""Preconditions of a write (If-Match, If-None-Match; RFC 9110, section 13.1)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from perdure.http.shared.conditional import conflict_as_precondition_failed, parse_record_versions
from perdure.http.shared.request import Request
from perdure.registry.handles import Precondition

_HEADERS: Final = (("if-match", True), ("if-none-match", False))


@contextmanager
def check_preconditions(request: Request) -> Iterator[Sequence[Precondition]]:
    """Yield the preconditions of a request, for the write inside the block. Raise PreconditionFailed if one fails.

    The registry checks them inside its transaction, so that no other write can come between the check and the write.
    """
    preconditions = [
        Precondition(parse_record_versions(header, name), must_match)
        for name, must_match in _HEADERS
        if (header := request.header_list(name.encode())) is not None
    ]
    with conflict_as_precondition_failed(bool(preconditions)):
        yield preconditions
