"""Identifiers of records: `oai:`, the host of the repository, and the name (the OAI identifier format)."""

import re
from typing import Final
from urllib.parse import urlsplit

from perdure.errors import InvalidName
from perdure.http.shared.request import Request
from perdure.names import handle

_DOMAIN: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*(?:\.[a-zA-Z][a-zA-Z0-9-]+)+")
_LONGEST: Final = 8192


def repository_host(request: Request) -> str:
    """Return the host of the public URL, or the one that the client used."""
    return urlsplit(request.origin).hostname or "localhost"


def has_domain(host: str) -> bool:
    """Return whether a host is a domain name, as the format of OAI identifiers requires."""
    return _DOMAIN.fullmatch(host) is not None


def identifier_of(request: Request, name: str) -> str:
    """Return the identifier of the record about a name."""
    return f"oai:{repository_host(request)}:{handle.escape(name)}"


def name_of(request: Request, identifier: str) -> str | None:
    """Return the name in an identifier; None if it is not one of this repository."""
    beginning = f"oai:{repository_host(request)}:"
    if not identifier.startswith(beginning) or len(identifier) > _LONGEST:
        return None
    try:
        return handle.unescape(identifier[len(beginning) :])
    except InvalidName:
        return None
