"""Readers of names that this server does not have: they are sent on to the server that has them."""

from typing import Any, Final, NamedTuple

import msgspec

from perdure.errors import InvalidName, NoSuchName, PeerUnavailable
from perdure.federation.answer_choice import Choice, GivenAnswer, choose_answer
from perdure.federation.federated_lookup import Lookup
from perdure.http import pages
from perdure.http.app_context import AppContext
from perdure.http.federation.preferences import read_language
from perdure.http.shared.http_errors import PeersUnreachable, RedirectLoop, ServerBusy
from perdure.http.shared.preferred_representation import wants_record
from perdure.http.shared.query_string import single_parameter
from perdure.http.shared.redirects import redirect_response
from perdure.http.shared.request import Headers, Request, Response
from perdure.http.shared.responses import NO_CACHE, VARY_ACCEPT
from perdure.http.urls import path_of, strip_scheme, with_query
from perdure.names import handle, resolver_address

OWN_PARAMETERS: Final = frozenset({"site", "language", "explain"})
THIS_SERVER: Final = "this server"  # the peer of its own answer

_IBI: Final = "ibi:"  # a prefix that people write, which is not part of the label
_LONGEST_PREFERENCE: Final = 200
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class Preferences(NamedTuple):
    """What the reader prefers, and whether it wants to know why a server was chosen."""

    site: str | None
    language: str | None
    explains: bool


async def respond_elsewhere(
    app: AppContext,
    request: Request,
    text: str,
    problem: NoSuchName | None,
    *,
    is_plain: bool,
    own: GivenAnswer | None = None,
) -> Response | None:
    """Return the response to a name that other servers may have.

    `problem` is what this server itself says about the name; it is raised if no other server has it. A `plain` request
    is one for the target of the name. If this server has a copy, `own` is its answer, and None is returned if no other
    server has a better one.
    """
    name = name_elsewhere(text)
    preferences = read_preferences(request)
    try:
        everything = preferences.site is not None or preferences.explains
        is_own = own is not None and own.is_owner
        found = await app.peers.find(
            name, language=preferences.language, waits_for_all=everything, is_owned_here=is_own
        )
    except PeerUnavailable:
        if own is not None:
            return None
        raise ServerBusy("names of other servers") from None
    answers = _without_own_addresses(request, found)
    if own is not None:
        answers = (*answers, own)
    choice = choose_answer(answers, site=preferences.site, language=preferences.language, unreachable=found.unreachable)
    redirects = None if choice is not None else _find_redirect(request, found)
    if preferences.explains:
        return _explanation(app, request, name, found._replace(answers=answers), choice, redirects)
    if choice is not None:
        if choice.given is own:
            return None
        return _answered_redirect(request, name, choice, is_plain=is_plain)
    if redirects is not None:
        if app.returning_readers.is_in_loop(_reader_of(request), name):
            raise RedirectLoop(name, redirects)
        url = with_query(redirects + path_of(name), request.query)
        return redirect_response(url, 302, b"no-cache").with_headers(
            [_answer_header("redirect", redirects, found.at, "no key")]
        )
    if found.failures:
        raise PeersUnreachable(name, tuple(failure.url for failure in found.failures))
    if problem is not None:
        raise problem
    return None


def own_copy_redirect(own: GivenAnswer, url: str) -> Response:
    """Return the redirect to what this server holds of an item of another server."""
    answer = own.answer
    why = "original" if answer.state == "original" else "newest copy"
    header = _answer_header(own.peer, answer.archive, answer.time, why, answer.state)
    return redirect_response(url, 302, b"no-cache").with_headers([header])


def name_elsewhere(text: str) -> str:
    """Return a name as other servers know it: without its scheme, or the URL of a resolver."""
    name = strip_scheme(text)
    return name[len(_IBI) :] if handle.fold(name).startswith(_IBI) else name


def read_preferences(request: Request) -> Preferences:
    """Return the parameters that choose between servers."""
    if not request.query:
        return Preferences(None, None, False)
    parameters = request.parameters()
    site = single_parameter(parameters, "site")
    language = single_parameter(parameters, "language")
    return Preferences(
        site[:_LONGEST_PREFERENCE] if site else None,
        read_language(language),
        any(name == "explain" for name, _ in parameters),
    )


def _without_own_addresses(request: Request, found: Lookup) -> tuple[GivenAnswer, ...]:
    """Return the answers that do not lead back to this server, which does not have the name."""
    own = request.own_addresses()

    def is_own(url: str) -> bool:
        try:
            return resolver_address.find_name(url, own) is not None
        except InvalidName:  # the address is one of this server, and what follows is not a name
            return True

    def leads_back(given: GivenAnswer) -> bool:
        urls = (given.answer.url, given.answer.archive and f"{given.answer.archive}/x")
        return any(url and is_own(url) for url in urls)

    return tuple(given for given in found.answers if not leads_back(given))


def _find_redirect(request: Request, found: Lookup) -> str | None:
    """Return the URL of the resolver to which readers are sent without a question; None if there is none."""
    if found.redirect is None or request.origin == found.redirect.url:
        return None
    return found.redirect.url


def _answered_redirect(request: Request, name: str, choice: Choice, *, is_plain: bool) -> Response:
    """Return the redirect to what a server has answered: to the item or the target, or to the page about the name."""
    answer = choice.given.answer
    page = f"{answer.archive.rstrip('/')}{path_of(name)}"
    header = _answer_header(choice.given.peer, answer.archive, answer.time, choice.reason, answer.state)
    if is_plain and answer.url is not None and answer.state != "withdrawn":
        return redirect_response(answer.url, 302, b"no-cache").with_headers([header])
    return redirect_response(with_query(page, _other_query(request)), 302, b"no-cache").with_headers([header])


def _other_query(request: Request) -> str:
    """Return the query without the parameters that this server itself has used."""
    kept = [part for part in request.query.split("&") if part.partition("=")[0] not in OWN_PARAMETERS]
    return "&".join(kept)


def _answer_header(peer: str, server: str, at: str, why: str, state: str = "unknown") -> tuple[bytes, bytes]:
    """Return the header that says who gave the answer, when, and why it was chosen (a dictionary of RFC 9651)."""
    fields = {"by": peer, "server": server, "at": at, "state": state, "why": why}
    parts = [f'{key}="{_to_header_text(text)}"' for key, text in fields.items()]
    return b"perdure-answer", ", ".join(parts).encode("ascii")


def _to_header_text(text: str) -> str:
    plain = "".join(character if " " <= character <= "~" else "?" for character in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"')


def _reader_of(request: Request) -> str:
    agent = next((value for key, value in request.headers if key == b"user-agent"), b"")
    return f"{request.client} {hash(agent)}"


def _explanation(
    app: AppContext, request: Request, name: str, found: Lookup, choice: Choice | None, redirects: str | None
) -> Response:
    """Return which servers were asked, what each of them answered, and why one of the answers was chosen."""
    headers: Headers = [VARY_ACCEPT, NO_CACHE]
    document: dict[str, Any] = {
        "name": name,
        "at": found.at,
        "chosen": None if choice is None else {**_describe(choice.given), "reason": choice.reason},
        "redirect": redirects,
        "answers": [_describe(given) for given in found.answers],
        "failures": [failure._asdict() for failure in found.failures],
    }
    if wants_record(request):
        return Response(200, _encode(document), [(b"content-type", b"application/json"), *headers])
    return pages.render_page(
        "answers.html",
        200,
        headers,
        contact=app.options.contact,
        name=name,
        chosen=choice,
        redirect=redirects,
        answers=found.answers,
        failures=found.failures,
    )


def _describe(given: GivenAnswer) -> dict[str, Any]:
    answer: dict[str, Any] = msgspec.to_builtins(given.answer)
    return {"peer": given.peer, "owns_prefix": given.is_owner, **{k: v for k, v in answer.items() if k != "nonce"}}
