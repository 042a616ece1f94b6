"""/api/sessions: begin one, prove in it who you are, look at it, end it."""

from base64 import b64encode
from typing import Any, Final

from perdure.errors import BadKey
from perdure.http.authentication import Session
from perdure.http.authentication.channel import check_channel
from perdure.http.authentication.credentials import Handle, credentials
from perdure.http.handle_api.door import door, unknown_endpoint
from perdure.http.handle_api.exchange import Exchange
from perdure.http.handle_api.parameters import body_parameters
from perdure.http.message import Response

_ROOT: Final = "/api/sessions"
_THIS: Final = f"{_ROOT}/this"
_NEVER_KEPT: Final = (b"cache-control", b"no-store")


@door("GET", "HEAD", "POST", "PUT", "DELETE")
async def sessions(exchange: Exchange) -> Response:
    method, path = exchange.request.method, exchange.request.path.rstrip("/")
    if path == _ROOT and method == "POST":
        session = await exchange.service.authenticator.begin_session(exchange.request)
        return exchange.reply(201, _told(session), [_NEVER_KEPT, (b"location", _THIS.encode())])
    if path != _THIS:
        return unknown_endpoint(exchange)
    check_channel(exchange.request)
    if method in ("PUT", "POST"):  # clients do either
        proof = _from_header(exchange) | dict(await body_parameters(exchange.request))
        return exchange.reply(200, _told(await exchange.service.authenticator.answer_session(exchange.request, proof)))
    known = exchange.service.authenticator.sessions
    session_id = _from_header(exchange).get("sessionId", "")
    found = await known.find(session_id)
    if found is None:
        raise BadKey("the session has ended, or was never begun here")
    if method == "DELETE":
        known.end(session_id)
        return Response(204)
    return exchange.reply(200, _told(found))


def _from_header(exchange: Exchange) -> dict[str, str]:
    given = exchange.request.header(b"authorization")
    if given is None:
        return {}
    shown = credentials(given)
    return dict(shown.parameters) if isinstance(shown, Handle) else {}


def _told(session: Session) -> dict[str, Any]:
    said: dict[str, Any] = {"sessionId": session.id, "nonce": b64encode(session.nonce).decode()}
    if session.actor is not None:
        said |= {"authenticated": True, "id": session.actor.id}
    return said
