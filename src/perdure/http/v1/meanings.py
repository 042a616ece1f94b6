"""What each error code means: what problem documents point to."""

from collections.abc import Iterator
from typing import Annotated, Final

from litestar import Response, get
from litestar.openapi.spec import Example
from litestar.params import PathParameter

from perdure.errors import PerdureError
from perdure.http.problems import status_of
from perdure.http.refusals import NothingHere
from perdure.http.v1.asking import KEY_OR_NOBODY, FromDoor, problems, read_name
from perdure.http.v1.told import Meaning, Meanings

_NO_MEANING: Final = ""


@get(
    "/errors",
    operation_id="errors",
    tags=["errors"],
    summary="All error codes",
    security=KEY_OR_NOBODY,
    responses=problems(),
    response_description="All of them.",
)
async def list_errors(asking: FromDoor) -> Response[Meanings]:
    """Every code that a problem document may have, and what it means."""
    return Response(Meanings(errors=tuple(meanings().values())))


@get(
    "/errors/{code:str}",
    operation_id="error",
    tags=["errors"],
    summary="One error code",
    security=KEY_OR_NOBODY,
    responses=problems(404),
    response_description="What it means.",
)
async def show_error(
    asking: FromDoor,
    code: Annotated[str, PathParameter(description="The code.", examples=[Example(value="no-such-name")])],
) -> Response[Meaning]:
    """What a code means. The `type` of a problem document leads here."""
    found = meanings().get(read_name(code))
    if found is None:
        raise NothingHere()
    return Response(found)


def meanings() -> dict[str, Meaning]:
    """All codes, from the errors themselves."""
    found: dict[str, Meaning] = {}
    kinds: list[type[PerdureError]] = [PerdureError, *_below(PerdureError)]
    for kind in kinds:
        status = status_of(kind.__new__(kind))
        meaning = " ".join((kind.__doc__ or _NO_MEANING).split())
        known = found.get(kind.code)
        if known is None:
            found[kind.code] = Meaning(code=kind.code, statuses=(status,), meaning=meaning)
        elif status not in known.statuses:  # a narrower kind with the code of the wider one
            found[kind.code] = Meaning(code=kind.code, statuses=(*known.statuses, status), meaning=known.meaning)
    return dict(sorted(found.items()))


def _below(kind: type[PerdureError]) -> Iterator[type[PerdureError]]:
    for narrower in kind.__subclasses__():
        yield narrower
        yield from _below(narrower)
