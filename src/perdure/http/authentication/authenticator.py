"""Who is asking: one place for every way in."""

import asyncio
from base64 import b64encode
from collections.abc import Mapping
from typing import Final

import msgspec

from perdure.errors import BadKey, PerdureError, StoreUnavailable
from perdure.http.authentication.attempts import Attempts
from perdure.http.authentication.certificates import Certificate, certificate, passed_on
from perdure.http.authentication.channel import check_channel, is_from_another_site, is_private
from perdure.http.authentication.credentials import Basic, Bearer, Handle, Identity, credentials, identity, octets
from perdure.http.authentication.proofs import LONGEST_NONCE, NOT_PROVEN, Proof, named, same_secret
from perdure.http.authentication.sessions import Session, Sessions
from perdure.http.message import Headers, Request
from perdure.http.refusals import TooManyAttempts
from perdure.http_options import HttpOptions
from perdure.registry import Agent, Registry, authenticate
from perdure.registry.handles import KeyMaterial, key_material

NOT_VERIFIED: Final = "Identity not verified"  # what Handle servers say in their challenge after a failure
_NO_SESSION: Final = "the session has ended, or was never begun here"
_KEYS: Final = "keys of Perdure"  # counted together: whoever guesses them guesses the identity as well


class _Proven(msgspec.Struct, frozen=True):
    """Who it is; and by which key of a handle, where it is one. It may be a session that says so."""

    actor: Agent
    who: Identity | None = None
    by: KeyMaterial | None = None
    session: Session | None = None


class Authenticator:
    """Checks the credentials of requests. What it knows of keys it reads anew each time: revoking works at once."""

    def __init__(self, registry: Registry, options: HttpOptions) -> None:
        self._registry = registry
        self._attempts = Attempts()
        self._turn: dict[str, Agent] = {}  # by the header, with a key that was right
        self.sessions = Sessions(registry.clock, self._keys)

    async def actor(self, request: Request) -> Agent | None:
        """Who the credentials of this request belong to; None, if there are none; BadKey, if they are wrong."""
        proven = await self._proven(request)
        if proven is None:
            return None
        request.agent = proven.actor.id
        return proven.actor

    def challenges(self, request: Request, *, error: str | None = None) -> Headers:
        """The headers of a 401: each time with a new session, which the client may answer."""
        session = self.sessions.create()
        challenge = f'Handle sessionId="{session.id}", nonce="{b64encode(session.nonce).decode()}"'
        if error is not None:
            challenge += f', error="{error}"'
        return [(b"www-authenticate", b'Basic realm="handle"'), (b"www-authenticate", challenge.encode())]

    async def begin_session(self, request: Request, cnonce: bytes | None = None) -> Session:
        """A new session; already answered, if the request shows who is asking, or proves it in one that it names."""
        proven = await self._proven(request)
        if proven is not None:
            request.agent = proven.actor.id
            if proven.session is not None:
                return proven.session
        session = self.sessions.create(cnonce)
        if proven is None or proven.who is None or proven.by is None:
            return session
        return await self.sessions.opened(session, proven.who, proven.by) or session

    async def answer_session(self, request: Request, parameters: Mapping[str, str]) -> Session:
        """Answer the session that `sessionId` names by the proof in the other parameters; BadKey, if it is none."""
        check_channel(request)
        proven, session = await self._by_session(request, parameters)
        request.agent = proven.actor.id
        return session

    async def verify(self, request: Request, index: int, handle: str, parameters: Mapping[str, str]) -> bool:
        """Whether somebody's proof, of a number that somebody else chose, is right. Guessing is slowed here too."""
        proof = Proof(parameters)
        who = Identity(index, handle)
        nonce = octets(parameters.get("nonce", ""), "nonce", LONGEST_NONCE)
        keys = await self._keys(who)
        async with proof.turn(request.client):
            attempt = self._attempts.begin(request.client, _counted(who, keys))
            is_right = await proof.proven(nonce, keys) is not None
        if is_right:  # whoever was shown one proof can show it here again and again, and is not forgiven for it
            attempt.succeeded(forgives=False)
        return is_right

    async def _proven(self, request: Request) -> _Proven | None:
        given = request.header(b"authorization")
        if given is None:
            return await self._by_unasked_certificate(request)
        if (agent := self._turn.get(given)) is not None:
            check_channel(request)
            self._attempts.succeeded(request.client, _KEYS)
            return _Proven(agent)
        shown = credentials(given)
        if isinstance(shown, Handle) and not shown.says_certificate and "sessionId" not in shown.parameters:
            return None  # a number to be signed, or a wish for a certificate that is not there: nobody is named
        check_channel(request)
        if isinstance(shown, Bearer):
            return _Proven(await self._in_turn(request, given, shown.token))
        if isinstance(shown, Basic):
            return None if is_from_another_site(request) else await self._by_password(request, shown)
        if shown.says_certificate:
            return await self._by_certificate(request)
        if "signature" in shown.parameters:
            return (await self._by_session(request, shown.parameters))[0]
        session = await self.sessions.find(shown.parameters["sessionId"])
        if session is None:
            raise BadKey(_NO_SESSION)
        return None if session.actor is None else _Proven(session.actor, session=session)

    async def _by_key(self, request: Request, token: str, name: str | None = None) -> Agent:
        """Keys are long and random, so the right one is never kept waiting by the wrong ones of others."""
        try:
            agent = await authenticate(self._registry, token)
            if name is not None and name != agent.id:
                raise BadKey("it belongs to another agent")
        except BadKey:
            self._attempts.failed(request.client, _KEYS)
            if wait := self._attempts.wait(request.client, _KEYS):
                raise TooManyAttempts(wait) from None
            raise
        self._attempts.succeeded(request.client, _KEYS)
        return agent

    async def _in_turn(self, request: Request, given: str, token: str) -> Agent:
        """Whose key it is. All that came before one turn of the loop share one look in it, where looking is quick."""
        turn = self._turn
        if not turn:
            asyncio.get_running_loop().call_soon(self._end_turn)
        agent = turn[given] = await self._by_key(request, token)  # seen by nobody, if that took until another turn
        return agent

    def _end_turn(self) -> None:
        self._turn = {}

    async def _by_password(self, request: Request, shown: Basic) -> _Proven:
        who = identity(shown.name)
        if who is None:
            return _Proven(await self._by_key(request, shown.password.decode("latin-1"), shown.name))
        keys = await self._keys(who)
        attempt = self._attempts.begin(request.client, _counted(who, keys))
        found: KeyMaterial | None = None
        for one in (() if keys is None else keys.candidates) or (None,):
            if same_secret(shown.password, None if one is None else one.secret):
                found = found or one
        if found is None:
            raise BadKey(NOT_PROVEN)
        attempt.succeeded(forgives=found.identity.index == who.index)
        return _Proven(found.identity, who, found)

    async def _by_session(self, request: Request, parameters: Mapping[str, str]) -> tuple[_Proven, Session]:
        session = await self.sessions.find(parameters.get("sessionId", ""))
        if session is None:
            raise BadKey(_NO_SESSION)
        proof, who = Proof(parameters), named(parameters)
        keys = None if who is None else await self._keys(who)
        async with proof.turn(request.client):
            attempt = self._attempts.begin(request.client, _counted(who, keys))
            by = await proof.proven(session.nonce, keys)
        if who is None or by is None:
            raise BadKey(NOT_PROVEN)
        attempt.succeeded(forgives=by.identity.index == who.index)
        if session.actor is None:
            opened = await self.sessions.opened(session, who, by) or await self.sessions.find(session.id)
            if opened is None:
                raise BadKey(_NO_SESSION)
            session = opened
        if session.actor != by.identity:  # the same proof in its own session is nothing new; another's is refused
            raise BadKey("the session was answered by somebody else")
        return _Proven(by.identity, who, by, session), session

    async def _by_certificate(self, request: Request) -> _Proven:
        escaped = passed_on(request)
        if escaped is None:
            raise BadKey("no certificate came with the request, or not through a trusted proxy")
        shown = certificate(escaped, self._registry.clock)
        by = await self._held(shown)
        if by is None:
            raise BadKey(NOT_PROVEN)
        return _Proven(by.identity, shown.identity, by)

    async def _by_unasked_certificate(self, request: Request) -> _Proven | None:
        """A client that has a certificate shows it to everybody; if it is nobody's here, that is no failure."""
        escaped = passed_on(request)
        if escaped is None or not is_private(request) or is_from_another_site(request):
            return None
        try:
            shown = certificate(escaped, self._registry.clock)
        except BadKey:
            return None
        by = await self._held(shown)
        return None if by is None else _Proven(by.identity, shown.identity, by)

    async def _held(self, shown: Certificate) -> KeyMaterial | None:
        return shown.proven(await self._keys(shown.identity))

    async def _keys(self, who: Identity) -> KeyMaterial | None:
        try:
            return await key_material(self._registry, who.index, who.handle)
        except StoreUnavailable:
            raise
        except PerdureError:  # what cannot be a name is nobody's
            return None


def _counted(who: Identity | None, keys: KeyMaterial | None) -> str:
    """What attempts are counted under: the same for all ways to write an identity, and for all that cannot be one.

    So the keys are looked for first. Index 0 is by itself, and not forgiven when one of a handle's keys fits: whoever
    holds that one may be guessing the others.
    """
    return "" if who is None or keys is None else f"{who.index}:{keys.place}"
