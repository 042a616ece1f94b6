"""One request to the Handle interface and its answer: who asks, what was asked, and how it is told."""

import re
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import msgspec

from perdure.errors import BadKey, InvalidInput, InvalidName, NoSuchPrefix, PerdureError, ValueExists
from perdure.http.answers import HANDLE_JSON
from perdure.http.authentication import NOT_VERIFIED
from perdure.http.authentication.channel import is_private
from perdure.http.handle_api import codes
from perdure.http.handle_api.parameters import Parameters
from perdure.http.message import Headers, Request, Response
from perdure.http.problems import headers_of
from perdure.http.refusals import CredentialsNeeded, PlainCredentials
from perdure.http.service import Service
from perdure.registry import Agent, Registry

_JAVASCRIPT: Final = b"application/javascript;charset=utf-8"
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_$]")
_LONGEST_CALLBACK: Final = 200
_NEVER_KEPT: Final = (b"cache-control", b"no-store")
_encode: Final = msgspec.json.Encoder().encode


class Exchange:
    """`handle` is the name as it was asked for, once that is known: clients expect it back, also with an error."""

    __slots__ = ("handle", "parameters", "request", "service")

    def __init__(self, service: Service, request: Request) -> None:
        self.service = service
        self.request = request
        self.parameters = Parameters([])
        self.handle: str | None = None

    @property
    def registry(self) -> Registry:
        return self.service.registry

    @property
    def is_scripted(self) -> bool:
        """Whether the answer is to be a script, which a page of any origin can load and read."""
        return any(name == "callback" for name, _ in self.parameters.pairs)

    def turn_to_search(self) -> AbstractAsyncContextManager[None]:
        return self.service.searches.turn(self.request.client)

    async def actor(self) -> Agent | None:
        """Who asks. A script is for everybody who loads it, so whoever asks for one is nobody."""
        if self.is_scripted:
            return None
        return await self.service.authenticator.actor(self.request)

    async def administrator(self) -> Agent:
        """Who asks, where nobody may not."""
        found = await self.actor()
        if found is not None:
            return found
        raise self.credentials_needed()

    def credentials_needed(self) -> PerdureError:
        """Asks for them, unless they would be of no use over this connection."""
        return CredentialsNeeded() if is_private(self.request) else PlainCredentials()

    def success(self, status: int = 200, **more: Any) -> Response:
        said: dict[str, Any] = {"responseCode": codes.SUCCESS}
        if self.handle is not None:
            said["handle"] = self.handle
        return self.reply(status, said | more)

    def reply(self, status: int, said: Any, headers: Headers | None = None) -> Response:
        """An answer as JSON: for people to read, or inside a script, if that was asked for."""
        more = [_NEVER_KEPT] if headers is None else headers
        return self.dressed(Response(status, _encode(said), [(b"content-type", HANDLE_JSON), *more]))

    def dressed(self, response: Response) -> Response:
        """The same answer, in the form that was asked for."""
        if not self.parameters.pairs:
            return response
        body, headers = response.body, response.headers
        if any(name == "pretty" for name, _ in self.parameters.pairs) and self.parameters.flag("pretty"):
            body = msgspec.json.format(body, indent=2)
        if self.is_scripted:
            body = _script(self.parameters.one("callback") or "callback", body)
            headers = [(name, _JAVASCRIPT if name == b"content-type" else value) for name, value in headers]
        return Response(response.status, body, headers)

    def refusal(self, problem: PerdureError) -> Response:
        """What went wrong, as Handle clients are told it."""
        status = codes.status_of(problem)
        more = headers_of(problem)
        if isinstance(problem, BadKey):
            is_wrong = not isinstance(problem, CredentialsNeeded)
            more = self.service.authenticator.challenges(self.request, error=NOT_VERIFIED if is_wrong else None)
            if is_wrong:
                return Response(status, b"", [_NEVER_KEPT, *more])
        code = codes.code_of(problem)
        if isinstance(problem, InvalidName) and self.handle is not None and "/" not in self.handle:
            code = codes.NOT_RESPONSIBLE  # a name without a slash is a prefix, of somebody else
        said: dict[str, Any] = {"responseCode": code}
        if code != codes.HANDLE_NOT_FOUND:
            said["message"] = _message(problem, code)
        if self.handle is not None:
            said["handle"] = self.handle
        return self.reply(status, said, [_NEVER_KEPT, *more])


def _message(problem: PerdureError, code: int) -> str:
    """In the words that Handle servers have for it, where they have some; always with the place, where there is one."""
    if isinstance(problem, NoSuchPrefix) or code == codes.NOT_RESPONSIBLE:
        return "That prefix doesn't live here"
    if isinstance(problem, ValueExists):
        return f"Index conflict for {problem.index}"
    if isinstance(problem, InvalidInput):
        return f"{problem.part}: {problem.reason}"
    return str(problem)


def _script(name: str, body: bytes) -> bytes:
    """A call of the page's own function. The comment in front keeps it from being taken for anything but a script."""
    clean = _NOT_IN_A_NAME.sub("_", name[:_LONGEST_CALLBACK]).encode()
    safe = body.replace("\u2028".encode(), b"\\u2028").replace("\u2029".encode(), b"\\u2029")
    return b"/**/%b(%b);" % (clean, safe)
