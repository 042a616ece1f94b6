"""/api/sessions: begin a session, authenticate in it, read it, or end it."""

from base64 import b64encode
from typing import Any, Final

from perdure.errors import BadKey
from perdure.http.auth import NOT_VERIFIED, Session
from perdure.http.auth.credentials import Handle, parse_authorization
from perdure.http.auth.transport_policy import check_channel
from perdure.http.handle_api.endpoint import allow_methods, unknown_endpoint_response
from perdure.http.handle_api.parameters import read_body_parameters
from perdure.http.handle_api.request_context import HandleContext
from perdure.http.shared.http_errors import CredentialsRequired
from perdure.http.shared.request import Response
from perdure.http.shared.responses import NO_STORE

_THIS: Final = "/this"


@allow_methods("GET", "HEAD", "POST", "PUT", "DELETE")
async def sessions(context: HandleContext) -> Response:
    """Begin, authenticate, read or end a session. A failure has the form of a session, because clients read that."""
    try:
        return await _respond(context)
    except CredentialsRequired:
        raise
    except BadKey:
        session = context.app.authenticator.sessions.create()
        challenges = context.app.authenticator.challenges(error=NOT_VERIFIED, session=session)
        failure = {**_session_document(session), "authenticated": False, "error": NOT_VERIFIED}
        return context.json_response(401, failure, [NO_STORE, *challenges])


async def _respond(context: HandleContext) -> Response:
    method, rest = context.request.method, context.request.rest.rstrip("/")
    if not rest and method == "POST":
        session = await context.app.authenticator.begin_session(context.request)
        return context.json_response(
            201,
            _session_document(session),
            [NO_STORE, (b"location", f"{context.request.path.rstrip('/')}{_THIS}".encode())],
        )
    if rest != _THIS:
        return unknown_endpoint_response(context)
    check_channel(context.request)
    if method in ("PUT", "POST"):  # clients do either
        proof = _read_authorization(context) | dict(await read_body_parameters(context.request))
        return context.json_response(
            200, _session_document(await context.app.authenticator.answer_session(context.request, proof))
        )
    known = context.app.authenticator.sessions
    session_id = _read_authorization(context).get("sessionId")
    if session_id is None:
        raise CredentialsRequired('the request names no session, as in Authorization: Handle sessionId="…"')
    found = await known.find(session_id)
    if found is None:
        raise BadKey("the session has expired or ended, or was not created by this server")
    if method == "DELETE":
        known.end(session_id)
        return Response(204)
    return context.json_response(200, _session_document(found))


def _read_authorization(context: HandleContext) -> dict[str, str]:
    given = context.request.header(b"authorization")
    if given is None:
        return {}
    parsed = parse_authorization(given)
    return dict(parsed.parameters) if isinstance(parsed, Handle) else {}


def _session_document(session: Session) -> dict[str, Any]:
    document: dict[str, Any] = {"sessionId": session.id, "nonce": b64encode(session.nonce).decode()}
    if session.actor is not None:
        document |= {"authenticated": True, "id": session.actor.id}
    return document
