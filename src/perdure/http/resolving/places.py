"""Addresses: of a name at this server, of an identifier wherever it lives, and of a target with something behind it."""

import re
from typing import Final

from perdure.errors import InvalidInput, InvalidName, NoSuchPrefix, PerdureError
from perdure.http.refusals import Malformed
from perdure.http.service import Service
from perdure.names import handle
from perdure.records.checks import Limits, check_target
from perdure.records.web_address import outgoing_address
from perdure.registry.naming import locate

_WEB: Final = re.compile(r"https?://", re.IGNORECASE)
_STRAY_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


def path_of(name: str) -> str:
    """Where a name is at this server. It never begins with two slashes, which would be another server."""
    escaped = handle.escape(name)
    return f"/%2F{escaped[1:]}" if escaped.startswith("/") else f"/{escaped}"


def record_path(name: str) -> str:
    """Where its record is, for programs."""
    return f"/api/v1/identifiers/{handle.escape(name)}"


def bare(text: str) -> str:
    """A name without what introduces it."""
    try:
        return str(handle.parse(text))
    except InvalidName:
        return text


def is_elsewhere(identifier: str) -> bool:
    """Whether it is an address of the web, and not of a resolver for handles."""
    return _WEB.match(identifier) is not None and not handle.is_proxy_address(identifier)


def link_to(service: Service, identifier: str) -> str | None:
    """Where an identifier leads: a path if it is kept here, an address elsewhere, None if it is nothing to follow."""
    limits = service.registry.settings.limits
    try:
        if is_elsewhere(identifier):
            return target_link(identifier, limits)
        return path_of(locate(service.prefixes, identifier).name)
    except NoSuchPrefix:
        pass
    except PerdureError:
        return None
    try:
        return handle.parse(identifier).url()
    except InvalidName:
        return None


def target_link(text: str, limits: Limits) -> str | None:
    """Return the address that a link to this target has; None if it is text that no link may lead to."""
    try:
        return outgoing_address(check_target(text, limits))
    except PerdureError:
        return None


def absolute(origin: str, link: str) -> str:
    return f"{origin}{link}" if link.startswith("/") else link


def with_query(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def continued(target: str, rest: str, limits: Limits) -> str:
    """The target with the rest of a name behind it, which is text: each percent sign in it stands for itself."""
    return appended(target, rest.replace("%", "%25"), limits)


def appended(target: str, rest: str, limits: Limits) -> str:
    """The target with a piece of an address behind it: still of the same scheme, and at the same host.

    What is encoded in it stays encoded; a percent sign that introduces nothing stands for itself.
    """
    rest = _STRAY_PERCENT.sub("%25", rest)
    try:
        whole = outgoing_address(target + rest)
        before, after = _HOST.match(outgoing_address(target)), _HOST.match(whole)
    except ValueError as problem:
        raise Malformed(f"this cannot be appended: {problem}") from None
    if before is None or after is None or before[0] != after[0]:
        raise Malformed("what is to be appended would lead to another host than the identifier does")
    try:
        return check_target(whole, limits)
    except InvalidInput as problem:
        raise Malformed(f"this cannot be appended: {problem.reason}") from None
