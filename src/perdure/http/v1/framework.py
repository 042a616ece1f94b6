"""The framework: it finds the handler, converts parameters, writes answers, and draws up the document."""

from typing import Any, Final

import structlog
from litestar import Litestar, Request, Response
from litestar.di import Provide
from litestar.exceptions import HTTPException, ValidationException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme, Server, Tag
from litestar.types import ASGIApp

from perdure import __version__
from perdure.errors import InvalidInput, PerdureError
from perdure.http.message import Headers, send_response
from perdure.http.message import Response as Answer
from perdure.http.problems import problem_response, status_of
from perdure.http.refusals import ClientGone, CredentialsNeeded, Malformed
from perdure.http.v1 import (
    bulk,
    feed,
    finding,
    identifiers,
    lives,
    meanings,
    minting,
    observing,
    observing_many,
    past,
    person_acts,
    persons,
    prefixes,
)
from perdure.http.v1.asking import ASKING, ROOT, Asking, provide_asking

HANDLERS: Final = (
    minting.mint,
    identifiers.list_identifiers,
    identifiers.show,
    identifiers.change,
    identifiers.withdraw,
    lives.bind,
    lives.add_values,
    lives.remove_values,
    lives.redact_values,
    lives.reinstate,
    lives.transfer,
    past.history,
    past.version,
    past.diff,
    finding.search,
    finding.reverse,
    feed.changes,
    prefixes.list_prefixes,
    prefixes.add_prefix,
    prefixes.show_prefix,
    prefixes.change_prefix,
    prefixes.derive_prefix,
    prefixes.me,
    bulk.import_identifiers,
    bulk.export_identifiers,
    meanings.list_errors,
    meanings.show_error,
    observing.observe_person,
    observing_many.observe_lines,
    person_acts.reconstruct,
    persons.show,
    persons.validate,
    persons.observations,
    persons.history,
    persons.find,
    person_acts.revise,
    person_acts.link,
    person_acts.merge,
    person_acts.split,
    person_acts.undo,
    person_acts.restrict,
    person_acts.lift_restriction,
    person_acts.redact,
)
_BEARER: Final = b'Bearer realm="perdure"'
_GONE: Final = 499  # nobody sees it
_log = structlog.get_logger("perdure.http")

_DESCRIPTION: Final = """
Mint, bind, change, withdraw, look up and find identifiers of every scheme that this registry keeps.

- Names come percent-encoded as one segment (`12345%2Fabc`), or as the rest of the path (`12345/abc`).
- Every change of an identifier that exists needs `If-Match`, with the `ETag` of what you have read, or `*`.
- What is refused is told in a problem document (RFC 9457), whose `code` never changes its meaning: see `/errors`.
- Times are ISO 8601 in UTC. A field, or a parameter, that is not described here is refused.
"""


class StrictRequest(Request[Any, Any, Any]):
    """Bodies were read strictly before the framework sees them: it would take "1" for 1."""

    async def json(self) -> Any:
        asking: Asking = self.scope["state"][ASKING]
        return asking.body


class _Ready(Response[bytes]):
    """An answer of our own, which may have several headers of one name."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(b"", status_code=answer.status)
        self._answer = answer

    def to_asgi_response(self, *arguments: Any, **options: Any) -> ASGIApp:  # type: ignore[override]
        async def send_it(scope: Any, receive: Any, send: Any) -> None:
            await send_response(send, self._answer)

        return send_it


def framework() -> Litestar:
    return Litestar(
        route_handlers=HANDLERS,
        request_class=StrictRequest,
        dependencies={"asking": Provide(provide_asking, sync_to_thread=False)},
        exception_handlers={Exception: _as_problem},
        openapi_config=OpenAPIConfig(
            title="Perdure",
            use_handler_docstrings=True,
            version=__version__,
            description=_DESCRIPTION.strip(),
            servers=[Server(url=ROOT)],
            components=Components(
                security_schemes={
                    "bearer": SecurityScheme(
                        type="http", scheme="bearer", description="A key of this registry: perdure_…"
                    ),
                    "basic": SecurityScheme(
                        type="http",
                        scheme="basic",
                        description="An agent's short name and key, or index:handle (percent-encoded) and secret key.",
                    ),
                }
            ),
            tags=[
                Tag(name="identifiers", description="What they say, and how that changes."),
                Tag(name="history", description="What they said before."),
                Tag(name="finding", description="By what they say."),
                Tag(name="persons", description="What sources show of them (POID), and what curators conclude (PRID)."),
                Tag(name="prefixes", description="The namespaces that this registry keeps."),
                Tag(name="bulk", description="Many at once."),
                Tag(name="agents", description="Who is asking. Agents and grants are administered by the command."),
                Tag(name="errors", description="What they mean."),
            ],
        ),
        logging_config=None,
        debug=False,
    )


def _as_problem(request: Request[Any, Any, Any], problem: Exception) -> Response[Any]:
    if isinstance(problem, ClientGone):
        return Response(None, status_code=_GONE)
    asking: Asking = request.scope["state"][ASKING]
    return _Ready(problem_answer(asking, _in_our_words(problem)))


def _in_our_words(problem: Exception) -> PerdureError:
    if isinstance(problem, PerdureError):
        return problem
    if isinstance(problem, ValidationException):
        first = problem.extra[0] if isinstance(problem.extra, list) and problem.extra else {}
        part = str(first.get("key", "request"))
        return InvalidInput("request", part, f"{part}: {first.get('message', 'this cannot be taken')}")
    if isinstance(problem, HTTPException) and problem.status_code < 500:
        return Malformed(problem.detail)
    _log.error("a request failed", door="v1", exc_info=problem)
    return PerdureError("something went wrong here, and the log says what")


def problem_answer(asking: Asking, problem: PerdureError) -> Answer:
    """A problem document; what is the server's own fault is counted, and what needs credentials says which."""
    if status_of(problem) >= 500:
        asking.service.metrics.failed(problem.code)
        if type(problem) is not PerdureError:
            _log.error("a request failed", door="v1", code=problem.code, reason=str(problem))
    answer = problem_response(problem)
    if answer.status != 401:
        return answer
    is_wrong = not isinstance(problem, CredentialsNeeded)
    ours: Headers = [(b"www-authenticate", _BEARER + (b', error="invalid_token"' if is_wrong else b""))]
    return answer.with_headers([*ours, *asking.service.authenticator.challenges(asking.request)])
