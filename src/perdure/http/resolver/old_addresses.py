"""Addresses of the archives of URLib, and links of the form `upn:`: redirects to the items that are registered here."""

from typing import Final, NamedTuple
from urllib.parse import urlencode, urlsplit

from perdure.errors import InvalidInput, InvalidName, NoSuchName
from perdure.http.app_context import AppContext
from perdure.http.resolver.name_lookup import ResolvedName, find_name
from perdure.http.resolver.resolver_parameters import PROXY_PARAMETERS
from perdure.http.shared.redirects import redirect_response
from perdure.http.shared.request import Request, Response
from perdure.http.urls import path_of, with_query
from perdure.names import handle, ibi, upn, urlib_address
from perdure.names.urlib_address import UrlibAddress
from perdure.registry.held_labels import find_held_item
from perdure.registry.name_keys import label_prefix_key
from perdure.registry.store_interface import Reader

_PAGE: Final = ("noredirect", "")
_SHOWN: Final = frozenset({"noredirect", "info", "format"})  # parameters without which a reader may be redirected
_FORMATS: Final = {"fullxml": "rdf", "refer": "ris", "fullrefer": "ris", "ris": "ris"}  # by the choice of a mirror


class StoredState(NamedTuple):
    """What decides where an address leads: the target of the item, and whether a collection here holds it."""

    target: str | None = None
    is_held: bool = False
    is_registered: bool = True


async def link_redirect(app: AppContext, request: Request, text: str) -> Response | None:
    """Return the redirect from `upn:ID:LABEL/PATH` to `/LABEL/PATH`; None if another server has the item.

    A prefix that is registered with such a name has its own names. Raise InvalidName if the link has no label.
    """
    if _is_registered(app, text):
        return None
    link = upn.parse(text)
    key = label_prefix_key(ibi.parse_any(ibi.split_document_type(link.label)[0]))

    def is_here(reader: Reader) -> bool:  # not app.prefixes: another process may just have added the prefix
        return reader.prefix(key) is not None or bool(find_held_item(reader, link.label))

    if not await app.registry.store.read(is_here):
        return None
    path = path_of(link.name)
    return redirect_response(with_query(path, request.query), 301, app.options.redirect_caching)


async def old_address_redirect(app: AppContext, request: Request, text: str) -> Response | None:
    """Return the redirect from an address of an archive to the item or its file; None for another path.

    `text` is the path without its first slash. A registered prefix such as `rep` has its own names.
    """
    if _is_registered(app, text):
        return None
    stated = urlib_address.read_path(text, request.query)
    address = stated or _address_of_host(app, request, text)
    if address is None:
        return None
    state = await app.registry.store.read(lambda reader: _find_state(reader, address.label))
    if stated is None and not state.is_registered:  # any path below a host has the form of a label
        return None
    name = f"{address.label}/{address.file}" if address.file and state.is_held else address.label
    parameters = [(key, text) for key, text in request.parameters() if key in PROXY_PARAMETERS]
    parameters += _parameters(address)
    leads_back = not state.is_held and state.target is not None and _is_same_host(request, state.target)
    if leads_back and _SHOWN.isdisjoint(key for key, _ in parameters):  # it would lead here again
        parameters.append(_PAGE)
    status = 302 if leads_back or address.file else 301  # the rest never changes
    url = with_query(_base(app, request) + path_of(name), urlencode(parameters).removesuffix("="))
    return redirect_response(url, status, app.options.redirect_caching)


def is_old_host(app: AppContext, request: Request) -> bool:
    """Return whether the client used the name of a host that this server has taken over."""
    return _host(request) in app.options.old_hosts


def _is_registered(app: AppContext, text: str) -> bool:
    return app.prefixes.prefix(handle.fold(text.partition("/")[0])) is not None


def _address_of_host(app: AppContext, request: Request, text: str) -> UrlibAddress | None:
    """Return the item of an archive's own pages, whose label begins with the name of the archive's host."""
    if not is_old_host(app, request):
        return None
    found = ibi.split_label_path(f"{_host(request)}/{text}")
    return None if found is None else UrlibAddress(found[0], found[1].removeprefix("doc/"))


def _find_state(reader: Reader, label: str) -> StoredState:
    try:
        resolved = find_name(reader, label)
    except (InvalidInput, InvalidName, NoSuchName):
        # The resolver reports it for the label, or finds it elsewhere.
        return StoredState(is_registered=False, is_held=_is_held(reader, label))
    return StoredState(_target(resolved), bool(reader.holdings(resolved.identifier.subject)))


def _is_held(reader: Reader, label: str) -> bool:
    """Return whether a collection here holds this item of another server."""
    try:
        return bool(find_held_item(reader, label))
    except InvalidName:
        return False


def _target(resolved: ResolvedName) -> str | None:
    return resolved.identifier.target if resolved.record.state == "active" else None


def _parameters(address: UrlibAddress) -> list[tuple[str, str]]:
    choice = address.choice
    named = "bibtex" if "bib" in choice else _FORMATS.get(choice)
    if named is not None:
        return [("format", named)]
    if choice:
        return [_PAGE]
    language = address.language
    return [("language", language), ("locatt", f"language:{language}")] if language else []


def _base(app: AppContext, request: Request) -> str:
    """Return the origin of the redirect: the public URL if the client used an old host, and otherwise none."""
    return app.options.public_url.rstrip("/") if is_old_host(app, request) else ""


def _is_same_host(request: Request, target: str) -> bool:
    """Return whether a target is an old address at the host that the client used."""
    try:
        host = urlsplit(target).hostname
    except ValueError:
        return False
    return host == _host(request) and urlib_address.read_url(target) is not None


def _host(request: Request) -> str:
    """Return the name of the host that the client used, without its port."""
    text = (request.header(b"host") or "").lower()
    return text.partition(":")[0] if not text.startswith("[") else text
