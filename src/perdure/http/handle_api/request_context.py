"""The context of a request to the Handle API, and its responses."""

import re
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import msgspec

from perdure.errors import BadKey, InvalidInput, InvalidName, NoSuchPrefix, PerdureError, ValueExists
from perdure.http.app_context import AppContext
from perdure.http.auth import NOT_VERIFIED
from perdure.http.auth.transport_policy import is_secure_transport, missing_credentials_error
from perdure.http.handle_api import response_codes
from perdure.http.handle_api.parameters import Parameters
from perdure.http.shared.http_errors import CredentialsRequired, InsecureCredentials
from perdure.http.shared.problem_json import problem_headers
from perdure.http.shared.request import Headers, Request, Response
from perdure.http.shared.responses import HANDLE_JSON, NO_STORE, SUCCESS
from perdure.registry import Agent, Registry

_JAVASCRIPT: Final = b"application/javascript;charset=utf-8"
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_$]")
_LONGEST_CALLBACK: Final = 200
_encode: Final = msgspec.json.Encoder().encode


class HandleContext:
    """A request. `handle` is the name as the client wrote it: clients expect it back, also with an error."""

    __slots__ = ("app", "handle", "parameters", "request")

    def __init__(self, app: AppContext, request: Request) -> None:
        self.app = app
        self.request = request
        self.parameters = Parameters([])
        self.handle: str | None = None

    @property
    def registry(self) -> Registry:
        return self.app.registry

    @property
    def is_jsonp(self) -> bool:
        """Return whether the response is a script, which a page of any origin can load and read."""
        return any(name == "callback" for name, _ in self.parameters.pairs)

    def search_slot(self) -> AbstractAsyncContextManager[None]:
        """Wait for a slot to search."""
        return self.app.search_limiter.slot(self.request.client)

    async def find_caller(self) -> Agent | None:
        """Return the authenticated caller; None without credentials, and for a script, which every page may load."""
        if self.is_jsonp:
            return None
        return await self.app.authenticator.authenticate(self.request)

    async def require_caller(self) -> Agent:
        """Return the authenticated caller. Raise CredentialsRequired for an anonymous request."""
        found = await self.find_caller()
        if found is not None:
            return found
        raise self.credentials_error()

    def credentials_error(self) -> PerdureError:
        """Return the error that requests credentials, or one that says that this connection is not secure enough."""
        if is_secure_transport(self.request):
            return missing_credentials_error(self.request)
        return InsecureCredentials(self.request.proxy_problem())

    def success_response(self, status: int = 200, **more: Any) -> Response:
        """Return a response with the response code for success."""
        document: dict[str, Any] = {"responseCode": SUCCESS}
        if self.handle is not None:
            document["handle"] = self.handle
        return self.json_response(status, document | more)

    def json_response(self, status: int, document: Any, headers: Headers | None = None) -> Response:
        """Return a JSON response in the requested format."""
        more = [NO_STORE] if headers is None else headers
        return self.apply_format(Response(status, _encode(document), [(b"content-type", HANDLE_JSON), *more]))

    def apply_format(self, response: Response) -> Response:
        """Return a response in the format that the parameters request: indented, or as a script."""
        if not self.parameters.pairs:
            return response
        body, headers = response.body, response.headers
        if any(name == "pretty" for name, _ in self.parameters.pairs) and self.parameters.flag("pretty"):
            body = msgspec.json.format(body, indent=2)
        if self.is_jsonp:
            body = _format_jsonp(self.parameters.single("callback") or "callback", body)
            headers = [(name, _JAVASCRIPT if name == b"content-type" else value) for name, value in headers]
        return Response(response.status, body, headers)

    def error_response(self, problem: PerdureError) -> Response:
        """Return an error as Handle clients expect it."""
        status = response_codes.status_of(problem)
        more = problem_headers(problem)
        if isinstance(problem, BadKey):
            is_wrong = not isinstance(problem, CredentialsRequired)
            more = self.app.authenticator.challenges(error=NOT_VERIFIED if is_wrong else None)
            if is_wrong:
                return Response(status, b"", [NO_STORE, *more])
        code = response_codes.code_of(problem)
        if isinstance(problem, InvalidName) and self.handle is not None and "/" not in self.handle:
            code = response_codes.NOT_RESPONSIBLE  # a name without a slash is a prefix, and not one of this server
        document: dict[str, Any] = {"responseCode": code}
        if code != response_codes.HANDLE_NOT_FOUND:
            document["message"] = _format_message(problem, code)
        if self.handle is not None:
            document["handle"] = self.handle
        return self.json_response(status, document, [NO_STORE, *more])


def _format_message(problem: PerdureError, code: int) -> str:
    """Return the message of an error, in the words of Handle servers where they have some."""
    if isinstance(problem, NoSuchPrefix) or code == response_codes.NOT_RESPONSIBLE:
        return "That prefix doesn't live here"
    if isinstance(problem, ValueExists):
        return f"Index conflict for {problem.index}"
    if isinstance(problem, InvalidInput):
        return f"{problem.part}: {problem.reason}"
    return str(problem)


def _format_jsonp(name: str, body: bytes) -> bytes:
    """Return a call of the page's own function. The comment in front prevents other interpretations of the file."""
    clean = _NOT_IN_A_NAME.sub("_", name[:_LONGEST_CALLBACK]).encode()
    safe = body.replace("\u2028".encode(), b"\\u2028").replace("\u2029".encode(), b"\\u2029")
    return b"/**/%b(%b);" % (clean, safe)
