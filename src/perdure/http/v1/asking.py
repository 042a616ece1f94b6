"""Who asks for what: the request as it came, whoever it comes from, and the service that answers."""

import re
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Annotated, Final

from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import HeaderParameter, PathParameter, QueryParameter
from litestar.types import Scope

from perdure.errors import Conflict
from perdure.http.message import Request
from perdure.http.problems import PROBLEM
from perdure.http.refusals import CredentialsNeeded, Malformed, Outdated, PreconditionNeeded
from perdure.http.service import Service
from perdure.http.v1.sent_values import Sent
from perdure.http.v1.showing import shown_identifier
from perdure.http.v1.told import Problem, ShownIdentifier
from perdure.http.v1.turns import BulkTurns
from perdure.names import handle
from perdure.registry import Agent, Registry, show
from perdure.registry.looking import View

ROOT: Final = "/api/v1"
ASKING: Final = "asking"  # its place in the state of a request

_ETAG: Final = re.compile(r'(?:W/)?"([^"]*)"')
_NO_VERSION: Final = 0  # which nothing has

Name = Annotated[
    str,
    PathParameter(
        description="An identifier in any form that people write: percent-encoded as one segment, or as the rest of "
        "the path.",
        examples=[Example(value="12345/Y35XYS0QH")],
    ),
]
IfMatch = Annotated[
    str | None,
    HeaderParameter(
        name="If-Match",
        description='The ETag of what you have read, as in "3"; or * for whatever is there. Without it nothing is '
        "changed.",
        examples=[Example(value='"1"')],
    ),
]
Limit = Annotated[int, QueryParameter(ge=1, le=1000, description="How many, at most.")]

KEY: Final[list[dict[str, list[str]]]] = [{"bearer": []}, {"basic": []}]
KEY_OR_NOBODY: Final[list[dict[str, list[str]]]] = [{}, *KEY]

MEANINGS: Final = {
    304: "It is what you have already.",
    308: "The identifier is spelt differently; `Location` has it right.",
    400: "The request, or a name in it, cannot be understood.",
    401: "Credentials are needed, or those that were given are wrong.",
    403: "Nobody has granted that.",
    404: "There is no such thing here.",
    409: "It is not in a state, or not free, for that.",
    410: "It was withdrawn.",
    412: "Somebody has changed it since.",
    413: "The body is too large.",
    415: "The body is of another kind than this reads.",
    422: "A field, a parameter or a header cannot be taken; `part` says which.",
    428: "If-Match is missing.",
    429: "Credentials were wrong too often, or as much as one client may have under way is under way already.",
    503: "It cannot be done now; try again later.",
    507: "The disk of the server, or a quota, is full.",
}
_ALWAYS: Final = (400, 401, 403, 422, 429, 503, 507)


class Asking:
    """One request to this interface."""

    __slots__ = ("body", "by", "imports", "request", "service")

    def __init__(self, service: Service, request: Request, by: Agent | None, imports: BulkTurns) -> None:
        self.service = service
        self.request = request
        self.by = by
        self.imports = imports  # only so many at a time
        self.body: Sent | None = None  # what was sent, once it has been read

    @property
    def registry(self) -> Registry:
        return self.service.registry

    @property
    def agent(self) -> Agent:
        """Somebody; or this needs credentials."""
        if self.by is None:
            raise CredentialsNeeded()
        return self.by

    def turn_to_search(self) -> AbstractAsyncContextManager[None]:
        return self.service.searches.turn(self.request.client)

    def bounded(self, limit: int) -> int:
        """As many as the settings allow on one page."""
        return min(limit, self.service.options.page_size)


def read_name(escaped: str) -> str:
    """A name from the path: decoded once, strictly."""
    return handle.unescape(escaped)


def _tag(if_match: str | None) -> str | None:
    """None says that whatever is there will do."""
    if if_match is None:
        raise PreconditionNeeded()
    if if_match.strip() == "*":
        return None
    tag = _ETAG.fullmatch(if_match.strip())
    if tag is None:
        raise Malformed('If-Match must be one ETag, as in "3", or *')
    return tag[1]


@contextmanager
def expecting_tag(if_match: str | None) -> Iterator[str | None]:
    """The tag of what is to be changed, for what is done inside; Outdated, if it is another one by now."""
    tag = _tag(if_match)
    try:
        yield tag
    except Conflict as problem:
        if tag is None or type(problem) is not Conflict:
            raise
        raise Outdated(problem.name, problem.expected, problem.found) from None


@contextmanager
def expecting(if_match: str | None) -> Iterator[int | None]:
    """The same, of what has its version for a tag."""
    with expecting_tag(if_match) as tag:
        yield None if tag is None else _version(tag)


def _version(tag: str) -> int:
    return int(tag) if tag.isascii() and tag.isdigit() and len(tag) < 10 else _NO_VERSION


def etag(version: int | str) -> str:
    return f'"{version}"'


def place_of(name: str) -> str:
    """Where an identifier is found in this interface."""
    return f"{ROOT}/identifiers/{handle.escape(name)}"


async def told(asking: Asking, name: str, status: int = 200) -> Response[ShownIdentifier]:
    """An identifier as it is now."""
    return as_answer(await show(asking.registry, name, by=asking.by), status)


def as_answer(view: View, status: int = 200) -> Response[ShownIdentifier]:
    return Response(
        shown_identifier(view),
        status_code=status,
        headers={"etag": etag(view.version), "cache-control": "no-cache", "vary": "authorization"},
    )


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    """What else may be answered, for the document."""
    return {
        status: ResponseSpec(
            None if status < 400 else Problem,
            generate_examples=False,
            description=MEANINGS[status],
            media_type=PROBLEM.decode(),
        )
        for status in sorted({*_ALWAYS, *statuses})
    }


def provide_asking(scope: Scope) -> Asking:
    found: Asking = scope["state"][ASKING]
    return found


FromDoor = NamedDependency[Asking]
