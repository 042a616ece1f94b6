"""The catalogue of error codes, to which problem documents link."""

from collections.abc import Iterator
from typing import Annotated, Final

from litestar import Response, get
from litestar.openapi.spec import Example
from litestar.params import PathParameter

from perdure.errors import PerdureError
from perdure.http.api.request_context import CREDENTIALS_UNUSED, InjectedContext, decode_name, error_responses
from perdure.http.api.schemas.responses import ErrorDescription, ErrorListResponse
from perdure.http.shared.http_errors import NotFound
from perdure.http.shared.problem_json import status_of

_NO_DESCRIPTION: Final = ""


@get(
    "/errors",
    operation_id="errors",
    tags=["errors"],
    summary="List error codes",
    security=CREDENTIALS_UNUSED,
    responses=error_responses(),
    response_description="All error codes.",
)
async def list_errors(context: InjectedContext) -> Response[ErrorListResponse]:
    """List every code of a problem document, with its meaning."""
    return Response(ErrorListResponse(errors=tuple(describe_errors().values())))


@get(
    "/errors/{code:str}",
    operation_id="error",
    tags=["errors"],
    summary="Explain an error code",
    security=CREDENTIALS_UNUSED,
    responses=error_responses(404),
    response_description="The meaning of the code.",
)
async def show_error(
    context: InjectedContext,
    code: Annotated[str, PathParameter(description="The code.", examples=[Example(value="no-such-name")])],
) -> Response[ErrorDescription]:
    """Show the meaning of a code. The `type` of a problem document links here."""
    description = describe_errors().get(decode_name(code))
    if description is None:
        raise NotFound()
    return Response(description)


def describe_errors() -> dict[str, ErrorDescription]:
    """Return all codes, collected from the error classes."""
    descriptions: dict[str, ErrorDescription] = {}
    kinds: list[type[PerdureError]] = [PerdureError, *_all_subclasses(PerdureError)]
    for kind in kinds:
        status = status_of(kind.__new__(kind))
        meaning = " ".join((kind.__doc__ or _NO_DESCRIPTION).split())
        known = descriptions.get(kind.code)
        if known is None:
            descriptions[kind.code] = ErrorDescription(code=kind.code, statuses=(status,), meaning=meaning)
        elif status not in known.statuses:  # a subclass with the code of its base class
            descriptions[kind.code] = ErrorDescription(
                code=kind.code, statuses=(*known.statuses, status), meaning=known.meaning
            )
    return dict(sorted(descriptions.items()))


def _all_subclasses(kind: type[PerdureError]) -> Iterator[type[PerdureError]]:
    for narrower in kind.__subclasses__():
        yield narrower
        yield from _all_subclasses(narrower)
