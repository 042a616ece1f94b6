"""The authenticator: finds the agent that a request's credentials belong to, for every supported scheme."""

import asyncio
from base64 import b64encode
from collections.abc import Mapping
from typing import Final

import msgspec

from perdure.errors import BadKey, PerdureError, StoreUnavailable
from perdure.http.auth.certificates import Certificate, forwarded_certificate, parse_certificate
from perdure.http.auth.challenge_response import LONGEST_NONCE, NOT_PROVEN, Proof, parse_claimed_identity
from perdure.http.auth.credentials import (
    Basic,
    Bearer,
    Handle,
    Identity,
    decode_octets,
    parse_authorization,
    parse_identity,
)
from perdure.http.auth.passwords import is_same_secret
from perdure.http.auth.rate_limit import LoginThrottle
from perdure.http.auth.sessions import Session, Sessions
from perdure.http.auth.transport_policy import check_channel, has_foreign_credentials, is_secure_transport
from perdure.http.shared.http_errors import TooManyAttempts
from perdure.http.shared.request import Headers, Request
from perdure.http_options import HttpOptions
from perdure.registry import Agent, Registry, authenticate
from perdure.registry.handles import KeyMaterial, find_key_material

NOT_VERIFIED: Final = "Identity not verified"  # the text of Handle servers in a challenge after a failure
_NO_SESSION: Final = "the session has expired or ended, or was not created by this server"
_KEYS: Final = "keys of Perdure"  # counted together: a client that guesses keys guesses the identity as well


class _AuthenticatedClient(msgspec.Struct, frozen=True):
    """The authenticated agent; for a Handle identity also the key that proved it, and the session if there is one."""

    actor: Agent
    who: Identity | None = None
    by: KeyMaterial | None = None
    session: Session | None = None


class Authenticator:
    """Checks the credentials of requests. It reads keys from the store every time, so a revocation works at once."""

    def __init__(self, registry: Registry, options: HttpOptions) -> None:
        self._registry = registry
        self._attempts = LoginThrottle()
        self._checked: dict[str, Agent] = {}  # agents by Authorization header, for one turn of the event loop
        self.sessions = Sessions(registry.clock, self._find_key_material)

    async def authenticate(self, request: Request) -> Agent | None:
        """Return the agent of the request's credentials, or None without any. Raises BadKey if they are wrong."""
        proven = await self._authenticate(request)
        if proven is None:
            return None
        request.agent = proven.actor.id
        return proven.actor

    def challenges(self, *, error: str | None = None, session: Session | None = None) -> Headers:
        """Return the headers of a 401 response, with a session to authenticate, by default a new one."""
        session = session or self.sessions.create()
        challenge = f'Handle sessionId="{session.id}", nonce="{b64encode(session.nonce).decode()}"'
        if error is not None:
            challenge += f', error="{error}"'
        return [(b"www-authenticate", b'Basic realm="handle"'), (b"www-authenticate", challenge.encode())]

    async def begin_session(self, request: Request, cnonce: bytes | None = None) -> Session:
        """Create a session, authenticated at once if the request has credentials or a proof for a session it names."""
        proven = await self._authenticate(request)
        if proven is not None:
            request.agent = proven.actor.id
            if proven.session is not None:
                return proven.session
        session = self.sessions.create(cnonce)
        if proven is None or proven.who is None or proven.by is None:
            return session
        return await self.sessions.authenticate(session, proven.who, proven.by) or session

    async def answer_session(self, request: Request, parameters: Mapping[str, str]) -> Session:
        """Authenticate the session `sessionId` by the proof in the other parameters. Raises BadKey if it is wrong."""
        check_channel(request)
        proven, session = await self._by_session(request, parameters)
        request.agent = proven.actor.id
        return session

    async def verify(self, request: Request, index: int, handle: str, parameters: Mapping[str, str]) -> bool:
        """Return whether a proof for a nonce that a third party chose is right. Guessing is throttled here too."""
        proof = Proof(parameters)
        who = Identity(index, handle)
        nonce = decode_octets(parameters.get("nonce", ""), "nonce", LONGEST_NONCE)
        keys = await self._find_key_material(who)
        async with proof.derivation_slot(request.client):
            attempt = self._attempts.begin(request.client, _throttle_name(who, keys))
            is_right = await proof.check(nonce, keys) is not None
        if is_right:  # a proof can be replayed here, so it clears no earlier failures
            attempt.record_success(forgives=False)
        return is_right

    async def _authenticate(self, request: Request) -> _AuthenticatedClient | None:
        given = request.header(b"authorization")
        if given is None:
            return await self._by_optional_certificate(request)
        if (agent := self._checked.get(given)) is not None:
            check_channel(request)
            self._attempts.record_success(request.client, _KEYS)
            return _AuthenticatedClient(agent)
        shown = parse_authorization(given)
        escaped = forwarded_certificate(request) if isinstance(shown, Handle) and shown.is_certificate else None
        if escaped is None and isinstance(shown, Handle) and "sessionId" not in shown.parameters:
            return None  # a nonce to sign, or no certificate, as public reads announce too: no identity is named
        check_channel(request)
        if isinstance(shown, Bearer):
            return _AuthenticatedClient(await self._authenticate_once_per_turn(request, given, shown.token))
        if isinstance(shown, Basic):
            return None if has_foreign_credentials(request) else await self._by_password(request, shown)
        if escaped is not None:
            return await self._by_certificate(escaped)
        if "signature" in shown.parameters:
            return (await self._by_session(request, shown.parameters))[0]
        session = await self.sessions.find(shown.parameters["sessionId"])
        if session is None:
            raise BadKey(_NO_SESSION)
        return None if session.actor is None else _AuthenticatedClient(session.actor, session=session)

    async def _by_key(self, request: Request, token: str, name: str | None = None) -> Agent:
        """Authenticate a Perdure key. Keys are long and random, so a right key never waits for failures of others."""
        try:
            agent = await authenticate(self._registry, token)
            if name is not None and name != agent.id:
                raise BadKey("the key belongs to another agent")
        except BadKey:
            self._attempts.record_failure(request.client, _KEYS)
            if wait := self._attempts.wait(request.client, _KEYS):
                raise TooManyAttempts(wait) from None
            raise
        self._attempts.record_success(request.client, _KEYS)
        return agent

    async def _authenticate_once_per_turn(self, request: Request, given: str, token: str) -> Agent:
        """Authenticate a key once for all requests of one turn of the event loop that carry it."""
        checked = self._checked
        if not checked:
            asyncio.get_running_loop().call_soon(self._clear_checked)
        agent = checked[given] = await self._by_key(request, token)  # unused if the check lasted beyond this turn
        return agent

    def _clear_checked(self) -> None:
        self._checked = {}

    async def _by_password(self, request: Request, shown: Basic) -> _AuthenticatedClient:
        who = parse_identity(shown.name)
        if who is None:
            return _AuthenticatedClient(await self._by_key(request, shown.password.decode("latin-1"), shown.name))
        keys = await self._find_key_material(who)
        attempt = self._attempts.begin(request.client, _throttle_name(who, keys))
        found: KeyMaterial | None = None
        for one in (() if keys is None else keys.candidates) or (None,):
            if is_same_secret(shown.password, None if one is None else one.secret):
                found = found or one
        if found is None:
            raise BadKey(NOT_PROVEN)
        attempt.record_success(forgives=found.identity.index == who.index)
        return _AuthenticatedClient(found.identity, who, found)

    async def _by_session(
        self, request: Request, parameters: Mapping[str, str]
    ) -> tuple[_AuthenticatedClient, Session]:
        session = await self.sessions.find(parameters.get("sessionId", ""))
        if session is None:
            raise BadKey(_NO_SESSION)
        proof, who = Proof(parameters), parse_claimed_identity(parameters)
        keys = None if who is None else await self._find_key_material(who)
        async with proof.derivation_slot(request.client):
            attempt = self._attempts.begin(request.client, _throttle_name(who, keys))
            by = await proof.check(session.nonce, keys)
        if who is None or by is None:
            raise BadKey(NOT_PROVEN)
        attempt.record_success(forgives=by.identity.index == who.index)
        if session.actor is None:
            opened = await self.sessions.authenticate(session, who, by) or await self.sessions.find(session.id)
            if opened is None:
                raise BadKey(_NO_SESSION)
            session = opened
        if session.actor != by.identity:  # repeating the own proof is harmless; another identity is refused
            raise BadKey("the session was authenticated by another identity")
        return _AuthenticatedClient(by.identity, who, by, session), session

    async def _by_certificate(self, escaped: str) -> _AuthenticatedClient:
        shown = parse_certificate(escaped, self._registry.clock)
        by = await self._find_certificate_key(shown)
        if by is None:
            raise BadKey(NOT_PROVEN)
        return _AuthenticatedClient(by.identity, shown.identity, by)

    async def _by_optional_certificate(self, request: Request) -> _AuthenticatedClient | None:
        """Authenticate an optional certificate. TLS clients send one to every server: an unknown one is ignored."""
        escaped = forwarded_certificate(request)
        if escaped is None or not is_secure_transport(request) or has_foreign_credentials(request):
            return None
        try:
            shown = parse_certificate(escaped, self._registry.clock)
        except BadKey:
            return None
        by = await self._find_certificate_key(shown)
        return None if by is None else _AuthenticatedClient(by.identity, shown.identity, by)

    async def _find_certificate_key(self, shown: Certificate) -> KeyMaterial | None:
        return shown.check(await self._find_key_material(shown.identity))

    async def _find_key_material(self, who: Identity) -> KeyMaterial | None:
        try:
            return await find_key_material(self._registry, who.index, who.handle)
        except StoreUnavailable:
            raise
        except PerdureError:  # a text that is not a name has no keys
            return None


def _throttle_name(who: Identity | None, keys: KeyMaterial | None) -> str:
    """Return the name that attempts are counted under: one for all spellings of an identity, one for all unknown ones.

    The keys are therefore looked up first. Index 0 is counted by itself, and a matching key does not clear its
    failures: the holder of one key of a handle could otherwise guess the others.
    """
    return "" if who is None or keys is None else f"{who.index}:{keys.handle_key}"
