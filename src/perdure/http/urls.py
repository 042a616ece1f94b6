"""URLs of identifiers, here and elsewhere, and of targets with text appended to them."""

import re
from typing import Final

from perdure.errors import InvalidInput, InvalidName, NoSuchPrefix, PerdureError
from perdure.http.app_context import AppContext
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.http_errors import MalformedRequest
from perdure.names import handle
from perdure.records.namespaces import is_local
from perdure.records.validation import Limits, check_target
from perdure.records.web_address import encode_web_address
from perdure.registry.name_keys import locate

_WEB: Final = re.compile(r"https?://", re.IGNORECASE)
_HOST: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


def path_of(name: str) -> str:
    """Return the path of a name at this server. It never begins with two slashes, which would name another server."""
    escaped = handle.escape(name)
    return f"/%2F{escaped[1:]}" if escaped.startswith("/") else f"/{escaped}"


def identifier_api_path(name: str) -> str:
    """Return the path of an identifier in the API."""
    return f"{API_ROOT}/identifiers/{handle.escape(name)}"


def strip_scheme(text: str) -> str:
    """Return a name without its scheme or the URL of a resolver."""
    try:
        return str(handle.parse(text, joiners=True))
    except InvalidName:
        return text


def is_external_url(identifier: str) -> bool:
    """Return whether an identifier is a web URL that is not that of a Handle resolver."""
    return _WEB.match(identifier) is not None and not handle.is_proxy_address(identifier)


def link_to(app: AppContext, identifier: str) -> str | None:
    """Return the link of an identifier: a path if its prefix is registered here, another URL, or None."""
    limits = app.registry.settings.limits
    try:
        if is_external_url(identifier):
            return target_link(identifier, limits)
        return path_of(locate(app.prefixes, identifier).name)
    except NoSuchPrefix:
        pass
    except PerdureError:
        return None
    try:
        return handle.parse(identifier, joiners=True).url()
    except InvalidName:
        return None


def target_link(text: str, limits: Limits, *, allows_blanks: bool = False) -> str | None:
    """Return the URL of a link to a target; None for text that must not be linked."""
    try:
        return encode_web_address(check_target(text, limits, allows_blanks=allows_blanks))
    except PerdureError:
        return None


def citation_url(app: AppContext, origin: str, name: str, scheme: str) -> str | None:
    """Return the URL by which an identifier is cited: for a person its IRI, as in linked data.

    None if that is local, because it does not resolve. A registry without a fixed base has no such IRI.
    """
    base = app.registry.person_iris if scheme == "ppid" else None
    if base is None:
        return f"{origin}{path_of(name)}"
    return None if is_local(base) else base + name


def absolute_url(origin: str, link: str) -> str:
    """Return a link as an absolute URL."""
    return f"{origin}{link}" if link.startswith("/") else link


def with_query(path: str, query: str) -> str:
    """Return a path with a query, if there is one."""
    return f"{path}?{query}" if query else path


def extend_target(target: str, rest: str, limits: Limits) -> str:
    """Return a target with the rest of a name appended. The rest is text, so each of its percent signs is encoded."""
    return append_to_target(target, rest.replace("%", "%25"), limits)


def append_to_target(target: str, rest: str, limits: Limits) -> str:
    """Return a target with a part of a URL appended, with the same scheme and host.

    Percent-encoding in that part is left unchanged. A percent sign without two digits is encoded.
    """
    rest = handle.STRAY_PERCENT.sub("%25", rest)
    try:
        whole = encode_web_address(target.strip(" ") + rest)
        before, after = _HOST.match(encode_web_address(target)), _HOST.match(whole)
    except ValueError as problem:
        raise MalformedRequest(f"this text cannot be appended to the target: {problem}") from None
    if before is None or after is None or before[0] != after[0]:
        raise MalformedRequest("this text cannot be appended to the target: it would change the host")
    try:
        return check_target(whole, limits)
    except InvalidInput as problem:
        raise MalformedRequest(f"this text cannot be appended to the target: {problem.reason}") from None
