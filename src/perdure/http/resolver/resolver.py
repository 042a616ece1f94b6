"""The resolver: from a request for a name to its response, with a shortcut for plain redirects."""

from contextlib import suppress
from typing import Final

import msgspec

from perdure.errors import InvalidName, NoSuchName, NoSuchPrefix, PerdureError
from perdure.federation.answer_choice import GivenAnswer
from perdure.federation.local_answers import find_local_answer, mints_names
from perdure.http import pages
from perdure.http.app_context import AppContext
from perdure.http.federation.elsewhere import (
    OWN_PARAMETERS,
    THIS_SERVER,
    name_elsewhere,
    own_copy_redirect,
    respond_elsewhere,
)
from perdure.http.persons import handler as persons
from perdure.http.persons.handler import Delegate, Reason
from perdure.http.persons.memento import with_vary_datetime
from perdure.http.resolver import landing_pages
from perdure.http.resolver.descriptions import (
    describe_identifier,
    describe_prefix,
    describe_reserved,
    record_overrides_negotiation,
)
from perdure.http.resolver.item_redirect import find_file_address, find_item_address
from perdure.http.resolver.name_lookup import (
    ResolvedName,
    ResolvedPrefix,
    alias_target,
    check_alias_chain,
    find_name,
    find_prefix,
)
from perdure.http.resolver.old_addresses import link_redirect, old_address_redirect
from perdure.http.resolver.representation import (
    Representation,
    representation_of_ending,
    requested_representation,
    split_ending,
)
from perdure.http.resolver.resolver_parameters import PROXY_PARAMETERS, ResolverParameters, parse_resolver_parameters
from perdure.http.resolver.target_selection import Target, choose_target, list_locations_xml
from perdure.http.shared.conditional import chosen_target_etag
from perdure.http.shared.http_errors import MalformedRequest, NameReserved
from perdure.http.shared.preferred_representation import wants_record
from perdure.http.shared.problem_json import problem_response, status_of
from perdure.http.shared.redirects import encode_target, plain_redirect, redirect_response, target_redirect
from perdure.http.shared.request import Request, Response
from perdure.http.shared.responses import VARY_ACCEPT
from perdure.http.shared.threads import run_large_in_thread
from perdure.http.urls import append_to_target, extend_target, link_to, path_of, with_query
from perdure.names import handle, ppid, upn
from perdure.names.resolver_address import strip_handle_path
from perdure.records.validation import Limits
from perdure.records.web_address import encode_web_address
from perdure.registry.held_labels import held_label_key
from perdure.registry.name_keys import locate
from perdure.registry.store_interface import Reader

_A_DAY: Final = 86_400  # seconds
_SHOWN: Final = (200, 304)  # the statuses of a response that shows a person
_RECONSTRUCTION: Final = "PRID-"  # such a person has versions by date (Memento)


async def resolve(app: AppContext, request: Request) -> Response:
    """Return the response to a request for a name: every path that is not another handler's."""
    request.require_read_method()
    text = handle.unescape(request.path[1:])
    if upn.is_link(text):
        link = await link_redirect(app, request, text)
        if link is not None:
            return link
    person = _find_cited_person(request, text)
    if person is not None:
        return with_vary_datetime(await _resolve_name(app, request, *person))
    outcome = await persons.respond(app, request, text, PROXY_PARAMETERS)
    if isinstance(outcome, Response):
        if outcome.status in _SHOWN and ppid.validate_ppid_syntax(text):
            app.resolutions.count(request, ppid.canonical(text))
        return outcome
    return await _resolve_delegated(app, request, text, outcome)


def format_error(app: AppContext, request: Request, problem: PerdureError) -> Response:
    """Return an error of the client as a page or as a problem document; an error of the server as the latter."""
    if status_of(problem) >= 500:
        return problem_response(problem)
    return landing_pages.error_page(app, request, problem)


async def _resolve_delegated(app: AppContext, request: Request, text: str, delegate: Delegate) -> Response:
    """Return the response to a request that the handler of persons has left to the resolver."""
    match delegate.reason:
        case Reason.NOT_REGISTERED if delegate.error is not None and not isinstance(delegate.error, NoSuchPrefix):
            elsewhere = await respond_elsewhere(app, request, text, delegate.error, is_plain=_is_plain(request))
            if elsewhere is None:
                raise delegate.error
            return elsewhere
        case _:
            response = await _resolve_name(app, request, text)
            return with_vary_datetime(response) if text.startswith(_RECONSTRUCTION) else response


def _find_cited_person(request: Request, text: str) -> tuple[str, str] | None:
    """Return a person and the ending of its URL, if the client requests its citation; None for any other request."""
    stem, ending = split_ending(text)
    if stem is None or ending is None:
        stem, ending = text, ""
    representation = representation_of_ending(ending) if ending else requested_representation(request)
    if representation is None or representation.write_citation is None or not ppid.validate_ppid(stem):
        return None
    return (stem, ending) if stem == ppid.canonical(stem) else None


async def _resolve_name(app: AppContext, request: Request, text: str, ending: str = "") -> Response:
    """Return the response to a request for a name. `ending` is the part of the URL behind it that names a format."""
    representation = representation_of_ending(ending) if ending else requested_representation(request)
    is_record = wants_record(request) or (representation is not None and representation.is_record)
    if not request.query and not is_record and representation is None:
        plain = await _plain_redirect(app, request, text)
        if plain is not None:
            return plain
    parameters = parse_resolver_parameters(request)
    if representation is not None and representation.is_record:
        parameters, representation = msgspec.structs.replace(parameters, is_record=True), None
    follows = not (parameters.ignores_aliases or parameters.info or is_record or representation)

    def work(reader: Reader) -> ResolvedName | ResolvedPrefix:
        try:
            resolved = find_name(reader, text)
        except (NoSuchName, InvalidName):
            prefix = find_prefix(app.registry, reader, text)
            if prefix is None:
                raise
            return prefix
        if not parameters.info:
            check_alias_chain(reader, resolved, follows_aliases=follows)
        return resolved

    try:
        resolved = await app.registry.store.read(work)
    except (InvalidName, NoSuchName) as problem:
        elsewhere = None if ending else await _respond_unregistered(app, request, text, problem)
        if elsewhere is None:
            raise
        return elsewhere
    if isinstance(resolved, ResolvedName) and resolved.rest:
        file = await find_file_address(app, request, text)
        if file is not None:
            return redirect_response(with_query(file, request.query), 302, app.options.redirect_caching)
    if isinstance(resolved, ResolvedPrefix):
        if representation is not None and representation.is_linked_data:
            return describe_prefix(app, request, resolved, representation)
        return await landing_pages.prefix_page(app, request, resolved, parameters)
    if app.prefixes.prefix(resolved.prefix.key) is None:  # another process has added it
        await app.prefixes.refresh()
    if resolved.is_slip:
        # Another spelling of a label may be registered later. A PILIN suffix with a typing mistake never is.
        caching = b"max-age=%d" % _A_DAY if resolved.prefix.minter == "pilin" else app.options.redirect_caching
        return redirect_response(with_query(path_of(resolved.name) + ending, request.query), 301, caching)
    if resolved.record.state != "active":
        return await _respond_inactive(app, request, resolved, parameters, representation, ending)
    if (original := await _respond_copy(app, request, resolved)) is not None:
        return original
    if parameters.item_query:
        page = await find_item_address(app, request, resolved.name)
        if page is not None:
            return redirect_response(f"{page}?{parameters.item_query}", 302, b"no-cache")
    onward = alias_target(resolved) if follows else None
    if onward is not None and resolved.alias is not None:
        return redirect_response(with_query(path_of(onward), request.query), 301, app.options.redirect_caching)
    if representation is not None and not await record_overrides_negotiation(
        app, request, resolved, parameters, representation
    ):
        return await describe_identifier(app, request, resolved, representation)
    return await _respond_active(app, request, resolved, parameters, is_record)


async def _respond_unregistered(
    app: AppContext, request: Request, text: str, problem: InvalidName | NoSuchName
) -> Response | None:
    """Return the response for a name that is not registered.

    It may be a stored item with the path of a file, a registered name with an ending, or a name elsewhere.
    """
    file = await find_file_address(app, request, text)
    if file is not None:
        return redirect_response(with_query(file, request.query), 302, app.options.redirect_caching)
    held = await _respond_foreign_item(app, request, text)
    if held is not None:
        return held
    stem, ending = split_ending(text)
    if stem is not None and ending is not None:
        with suppress(InvalidName, NoSuchName):
            return await _resolve_name(app, request, stem, ending)
    old = await old_address_redirect(app, request, text)
    if old is not None or isinstance(problem, InvalidName):
        return old
    return await _respond_unknown(app, request, text, problem)


async def _plain_redirect(app: AppContext, request: Request, text: str) -> Response | None:
    """Return the redirect of nearly all requests, by one look-up; None if the request needs more."""
    try:
        located = locate(app.prefixes, text)
    except PerdureError:
        return None
    servers = await app.peers.table()
    if servers and not mints_names(located.prefix):
        return None  # the server that mints these labels may have the original
    found = await app.registry.store.lookup(located.key)
    if servers and found is not None and found.target is not None and servers.leads_to_peer(found.target):
        return None  # the original may have moved there, and that server may be down
    url = None if found is None or found.target is None else encode_target(found.target)
    if found is None or url is None:
        return None
    app.resolutions.count(request, found.key)
    return plain_redirect(request, url, found.version)


async def _respond_unknown(app: AppContext, request: Request, text: str, problem: NoSuchName) -> Response | None:
    """Return the response to a name that is not registered here: other servers may have it; None if they cannot."""
    if isinstance(problem, NoSuchPrefix):
        own = _handle_path_redirect(app, request, text)
        if own is not None:
            return own
    elif type(problem) is not NoSuchName or not _may_be_elsewhere(app, text):
        return None
    return await respond_elsewhere(app, request, text, problem, is_plain=_is_plain(request))


async def _respond_foreign_item(app: AppContext, request: Request, text: str) -> Response | None:
    """Return the redirect to an item of another server that a collection here holds, or to its living original.

    Return None if it is not held here.
    """
    name, origin, is_plain = name_elsewhere(text), request.origin, _is_plain(request)
    try:
        held_label_key(name)
    except InvalidName:
        return None  # without a look-up: only IBI labels can be held
    answer = await app.registry.store.read(lambda reader: find_local_answer(app.registry, reader, name, origin))
    if answer.state not in ("original", "copy") or answer.url is None:
        return None
    own = GivenAnswer(THIS_SERVER, answer)
    if answer.state == "copy" or request.query:
        elsewhere = await respond_elsewhere(app, request, text, None, is_plain=is_plain, own=own)
        if elsewhere is not None:
            return elsewhere
    if is_plain:
        return own_copy_redirect(own, answer.url)
    page = await find_item_address(app, request, name)
    return None if page is None else own_copy_redirect(own, with_query(page, request.query))


async def _respond_copy(app: AppContext, request: Request, resolved: ResolvedName) -> Response | None:
    """Return the redirect to the living original of an item of which this server has a copy; None if it has none.

    If the original of an item that is registered here has moved to a server that does not answer, it is a copy, here or
    elsewhere.
    """
    servers, target = await app.peers.table(), resolved.identifier.target
    is_own = mints_names(resolved.prefix)
    if not servers or (is_own and not (target and servers.leads_to_peer(target) and _is_plain(request))):
        return None
    name, origin = resolved.requested_name, request.origin
    answer = await app.registry.store.read(lambda reader: find_local_answer(app.registry, reader, name, origin))
    is_copy = answer.state == "copy"
    if not is_copy and not (is_own and resolved.prefix.scheme == "ibi"):
        return None
    own = GivenAnswer(THIS_SERVER, answer, is_own)
    elsewhere = await respond_elsewhere(app, request, name, None, is_plain=_is_plain(request), own=own)
    if elsewhere is not None or not is_own or not is_copy or answer.url is None:
        return elsewhere
    return own_copy_redirect(own, answer.url)


def _may_be_elsewhere(app: AppContext, text: str) -> bool:
    """Return whether other servers have names with this prefix too: persons, and labels that were imported here."""
    try:
        located = locate(app.prefixes, text)
    except PerdureError:
        return False
    return located.scheme == "ppid" or not mints_names(located.prefix)


def _is_plain(request: Request) -> bool:
    """Return whether the reader wants to get to the target of a name, and nothing else."""
    if wants_record(request) or requested_representation(request) is not None:
        return False
    return not request.query or all(name in OWN_PARAMETERS for name, _ in request.parameters())


async def _respond_active(
    app: AppContext, request: Request, resolved: ResolvedName, parameters: ResolverParameters, is_record: bool
) -> Response:
    limits = app.registry.settings.limits
    record, size = resolved.record, len(resolved.identifier.record)
    if parameters.lists_locations:
        xml = await run_large_in_thread(record.values, size, lambda: list_locations_xml(record, parameters, limits))
        return pages.document_response(xml, b"text/xml; charset=utf-8", [VARY_ACCEPT])
    if parameters.info or parameters.shows_values or is_record:
        return await landing_pages.record_page(app, request, resolved, parameters)
    choice = await run_large_in_thread(record.values, size, lambda: choose_target(request, record, parameters, limits))
    if choice is None:
        if resolved.rest:
            raise NoSuchName(resolved.requested_name, (resolved.name,))
        app.resolutions.count(request, resolved.identifier.key)
        return await landing_pages.record_page(app, request, resolved, parameters)
    target = _extend_target(choice.target, resolved, limits) if resolved.rest else choice.target
    if parameters.append:
        target = append_to_target(target, parameters.append, limits)
    app.resolutions.count(request, resolved.identifier.key)
    url, version = encode_web_address(target).encode("ascii"), resolved.identifier.version
    if target == resolved.identifier.target and choice == Target(target):
        return plain_redirect(request, url, version)
    return target_redirect(request, url, chosen_target_etag(version, url), choice.status, choice.vary)


def _extend_target(target: str, resolved: ResolvedName, limits: Limits) -> str:
    """Return the target of a longer name. Raise NoSuchName if the rest cannot be appended."""
    try:
        return extend_target(target, resolved.rest, limits)
    except MalformedRequest:
        raise NoSuchName(resolved.requested_name, (resolved.name,)) from None


async def _respond_inactive(
    app: AppContext,
    request: Request,
    resolved: ResolvedName,
    parameters: ResolverParameters,
    representation: Representation | None,
    ending: str,
) -> Response:
    stone = resolved.record.tombstone
    if stone is None:
        if representation is not None and representation.is_linked_data:
            return describe_reserved(app, request, resolved, representation)
        raise NameReserved(resolved.name)
    is_merged = resolved.record.state == "merged" and stone.replaced_by is not None
    if is_merged and parameters.info:
        if representation is not None:
            return await describe_identifier(app, request, resolved, representation)
        return await landing_pages.record_page(app, request, resolved, parameters)
    survivor = link_to(app, stone.replaced_by) if is_merged and stone.replaced_by is not None else None
    if survivor is None:
        if representation is not None:
            return await describe_identifier(app, request, resolved, representation, 410)
        return landing_pages.tombstone_page(app, request, resolved, parameters)
    if survivor.startswith("/"):  # it is registered here, and gets the rest and the query
        survivor = with_query(survivor + handle.escape(resolved.rest) + ending, request.query)
    return redirect_response(survivor, 301, b"no-cache")  # a merge can be undone


def _handle_path_redirect(app: AppContext, request: Request, text: str) -> Response | None:
    """Return the redirect from `/hdl/NAME` to `/NAME`; None for another path. No prefix `hdl` is registered."""
    name = strip_handle_path(text)
    if name is None:
        return None
    return redirect_response(with_query(path_of(name), request.query), 301, app.options.redirect_caching)
