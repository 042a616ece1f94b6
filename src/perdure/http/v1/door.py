"""The way in: each request is bounded, known by whom, and read strictly before any handler sees it.

Two routes go past the framework, because they are asked thousands of times a second: to mint, and to observe.
"""

from collections import Counter
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from litestar.exceptions import LitestarException

from perdure.errors import InvalidInput, PerdureError
from perdure.http.answers import PREFLIGHT, location
from perdure.http.attempting import out_of_time
from perdure.http.message import READING, Request, Response, Send
from perdure.http.outgoing import Outgoing
from perdure.http.pulse import Limit
from perdure.http.refusals import (
    ClientGone,
    CredentialsNeeded,
    Malformed,
    MethodNotAllowed,
    NothingHere,
    Outdated,
    UnsupportedBody,
)
from perdure.http.service import Service
from perdure.http.v1 import page
from perdure.http.v1.asking import ASKING, ROOT, Asking
from perdure.http.v1.bodies import read_body
from perdure.http.v1.document import Operation, draw_up, operations
from perdure.http.v1.framework import framework, problem_answer
from perdure.http.v1.minting import minted
from perdure.http.v1.observing import observed
from perdure.http.v1.observing_form import observed_in_form
from perdure.http.v1.person_paths import person_path
from perdure.http.v1.sent_form import FORM
from perdure.http.v1.turns import BulkTurns

_BULK: Final = ("/imports", "/exports", "/observations")
_PAST_THE_FRAMEWORK: Final = {"/identifiers": minted, "/poid": observed}
_JSON: Final = "application/json"
_OTHER_KINDS: Final = {("/poid", FORM): observed_in_form}
_MOST_PARAMETERS: Final = 4096
_IMPORTS_AT_ONCE: Final = 2
_IMPORTS_OF_ONE_AGENT: Final = 8


class OwnApi:
    """Every path under /api/v1."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._framework = framework()
        document = draw_up(self._framework)
        self._document = msgspec.json.encode(document)
        self._operations = operations(self._framework, document)
        roots = {path.partition("/{")[0]: path for path in self._operations if "{" in path}
        self._named = {root: path for root, path in roots.items() if root}
        self._imports = BulkTurns(_IMPORTS_AT_ONCE, _IMPORTS_OF_ONE_AGENT)

    async def __call__(self, request: Request, send: Outgoing) -> None:
        asking = Asking(self._service, request, None, self._imports)
        try:
            below = request.path.removeprefix(ROOT)
            if below in _BULK:
                answer = await self._answer(asking, below, send)
            else:
                with Limit(self._service.pulse, self._service.options.request_seconds):
                    answer = await self._answer(asking, below, send)
        except TimeoutError:
            answer = problem_answer(asking, out_of_time(request))
        except PerdureError as problem:
            answer = problem_answer(asking, problem)
        if answer is not None:
            await send.respond(answer)

    async def _answer(self, asking: Asking, below: str, send: Send) -> Response | None:
        """The answer; None, if the framework has given it."""
        request = asking.request
        receive = request.receive
        fixed = self._fixed(request, below)
        if fixed is not None:
            return fixed
        path, inner, right = self._found(below)
        allowed = self._operations[path]
        if request.method == "OPTIONS":
            return _options(tuple(allowed))
        operation = allowed.get("GET" if request.method == "HEAD" else request.method)
        if operation is None:
            raise MethodNotAllowed(request.method, _methods(tuple(allowed)))
        if right is not None and request.method in READING:
            return _elsewhere(right, request.query)
        asking.by = await self._service.authenticator.actor(request)
        if asking.by is None and request.method not in READING:
            raise CredentialsNeeded()
        _check_query(request, operation)
        if not operation.is_conditional and request.method not in READING:
            _refuse_condition(request)
        if operation.body is not None:
            kind = _kind(request)
            if kind != _JSON:
                return await _in_another_kind(asking, path, kind)
            if path in _PAST_THE_FRAMEWORK:
                return await _PAST_THE_FRAMEWORK[path](asking)
            asking.body = read_body(operation.body, await request.body())
            receive = _read_already
        try:
            await self._framework(self._inside(asking, inner), receive, _for_caches(asking, send))  # type: ignore[arg-type]
        except LitestarException as problem:  # after the answer had begun
            if isinstance(problem.__cause__, ClientGone):
                raise problem.__cause__ from None
            raise
        return None

    def _fixed(self, request: Request, below: str) -> Response | None:
        """What is the same for everybody."""
        name = below.removeprefix("/docs/")
        if below not in ("", "/", "/openapi.json", "/docs") and name == below:
            return None
        if request.method == "OPTIONS":
            return _options(("GET",))
        if request.method not in READING:
            raise MethodNotAllowed(request.method, _methods(("GET",)))
        if below in ("", "/"):
            return Response(307, b"", [(b"location", f"{ROOT}/docs".encode())])
        if below == "/openapi.json":
            return Response(
                200, self._document, [(b"content-type", b"application/json"), (b"cache-control", b"no-cache")]
            )
        return page.page() if name == below else page.asset(name)

    def _found(self, below: str) -> tuple[str, str, str | None]:
        """The path as the document has it, and as the framework is given it: with the name as one segment.

        And the right address, where a person's identifier is spelt differently.
        """
        if below in self._operations and "{" not in below:
            return below, below, None
        root, _, rest = below[1:].partition("/")
        path = self._named.get(f"/{root}")
        if path is not None and rest:
            return path, f"/{root}/{rest.replace('/', '%2F')}", None
        person = person_path(below)
        if person is None or person.path not in self._operations:
            raise NothingHere()
        return person.path, below, person.right

    def _inside(self, asking: Asking, inner: str) -> Any:
        request = asking.request
        return {
            **request.scope,
            "method": "GET" if request.method == "HEAD" else request.method,
            "path": inner,
            "raw_path": inner.encode("latin-1"),
            "state": {**request.scope.get("state", {}), ASKING: asking},
        }


def _for_caches(asking: Asking, send: Send) -> Send:
    """What is told to somebody is for nobody else: no cache on the way may keep it. What anybody is told is checked."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = [(name.lower(), value) for name, value in message["headers"]]
            if asking.by is not None:
                headers = [one for one in headers if one[0] != b"cache-control"]
                headers.append((b"cache-control", b"private, no-store"))
            elif not any(name == b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", b"no-cache"))
            if not any(name == b"vary" for name, _ in headers):
                headers.append((b"vary", b"authorization"))
            message = {**message, "headers": headers}
        await send(message)

    return sending


def _elsewhere(place: str, query: str) -> Response:
    """The same, under its right name, for good."""
    address = location(f"{place}?{query}" if query else place)
    return Response(308, b"", [(b"location", address), (b"cache-control", b"max-age=86400")])


def _check_query(request: Request, operation: Operation) -> None:
    """Refuse what nobody knows: a `dryrun` that is passed over would write."""
    if not request.query and not operation.needed:
        return
    try:
        given = parse_qsl(
            request.query, keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS, separator="&"
        )
    except UnicodeDecodeError:
        raise Malformed("the query is not UTF-8") from None
    except ValueError:
        raise Malformed(f"the query has more than {_MOST_PARAMETERS} parameters") from None
    names = Counter(name for name, _ in given)
    for name, times in names.items():
        if name not in operation.parameters:
            known = f"only {', '.join(sorted(operation.parameters))}" if operation.parameters else "none"
            raise InvalidInput("request", name, f"there is no parameter {name!a} here, {known}")
        if times > 1 and name not in operation.repeated:
            raise InvalidInput("request", name, f"the parameter {name} is there twice")
    for name in sorted(operation.needed.difference(names)):
        raise InvalidInput("request", name, f"the parameter {name} is missing")


def _refuse_condition(request: Request) -> None:
    """What has no ETag is never what somebody has read: a condition that nobody looks at would be taken for met."""
    expected = request.header_list(b"if-match")
    if expected is not None and expected.strip() != "*":
        raise Outdated(request.path, expected, "nothing that has an ETag")


def _kind(request: Request) -> str:
    return (request.header(b"content-type") or "").partition(";")[0].strip().lower()


async def _in_another_kind(asking: Asking, path: str, kind: str) -> Response:
    handler = _OTHER_KINDS.get((path, kind))
    if handler is None:
        raise UnsupportedBody(" or ".join((_JSON, *(other for place, other in _OTHER_KINDS if place == path))))
    return await handler(asking)


def _methods(allowed: tuple[str, ...]) -> tuple[str, ...]:
    reading = ("HEAD",) if "GET" in allowed else ()
    return (*allowed, *reading, "OPTIONS")


def _options(allowed: tuple[str, ...]) -> Response:
    """What can be done here, also for pages of other origins, which may read and nothing else."""
    return Response(204, b"", [(b"allow", ", ".join(_methods(allowed)).encode()), *PREFLIGHT])


async def _read_already() -> Any:
    """For the framework, which wants to see that there is a body before it asks for what it says."""
    return {"type": "http.request", "body": b"{}", "more_body": False}
