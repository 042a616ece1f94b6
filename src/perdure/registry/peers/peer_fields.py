"""The fields of another server: its URL, its name, and the prefixes that are sent on to it.

>>> parse_peer_url("HTTPS://Id.Example.org:443/"), default_peer_name("https://id.example.org:8443/archive")
('https://id.example.org', 'id.example.org:8443')
>>> [parse_peer_prefix(text) for text in ("*", "PPID", "10.1000", "sid.inpe.br/mtc-m18@80", "UPN:4CR88AP")]
['*', 'ppid', '10.1000', 'sid.inpe.br/mtc-m18', 'upn:4cr88ap']
"""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from perdure.errors import InvalidInput, InvalidName, OutOfRange, quote_text
from perdure.names import handle, ppid
from perdure.records.web_address import encode_web_address
from perdure.registry.name_keys import check_length
from perdure.registry.prefixes.label_prefixes import label_prefix_named
from perdure.registry.prefixes.prefixes import check_prefix_name

ALL_NAMES: Final = "*"
UPSTREAM: Final = "upstream"  # the name of the row that the settings make
PERSONS: Final = "ppid"
RESOLVER_ID: Final = "upn:"
MOST_PREFIXES: Final = 5_000  # of one server

_LONGEST_URL: Final = 500
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.:_-]{0,98}[a-z0-9])?")
_RESOLVER: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{43}")


def parse_peer_url(text: str) -> str:
    """Return the base URL of a server, without a slash at its end. Raise InvalidInput if it cannot be one."""
    reason = None
    try:
        if len(text) > _LONGEST_URL or not text.isprintable():
            raise ValueError(f"it is longer than {_LONGEST_URL} characters, or has invisible ones")
        parts = urlsplit(encode_web_address(text.strip()))
        port = parts.port
    except ValueError as problem:
        raise InvalidInput("peer", "url", f"{quote_text(text)} is not the URL of a server: {problem}") from None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        reason = "it must begin with https:// or http://"
    elif "@" in parts.netloc:
        reason = "it must not contain a user name or a password"
    elif parts.query or parts.fragment or "?" in text or "#" in text:
        reason = "it must not have a query or a fragment"
    elif "." in parts.path.split("/") or ".." in parts.path.split("/"):
        reason = "its path must not have segments of dots"
    if reason is not None:
        raise InvalidInput("peer", "url", f"{quote_text(text)} is not the URL of a server: {reason}")
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else str(parts.hostname).removesuffix(".")
    explicit = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{explicit}{parts.path.rstrip('/')}"


def default_peer_name(url: str) -> str:
    """Return the name of a server by default: its host, with the port if it is not the usual one."""
    host = url.partition("://")[2].partition("/")[0]
    return host.replace("[", "").replace("]", "").strip(":").replace("::", "-")


def check_peer_name(name: str) -> str:
    """Return the name of a server. Raise InvalidInput if it cannot be one."""
    if _NAME.fullmatch(name) is None:
        reason = f"{quote_text(name)} is not a name for a server: use a-z, 0-9, and inside it also . : _ -"
        raise InvalidInput("peer", "name", reason)
    if name == UPSTREAM:
        raise InvalidInput("peer", "name", f"{UPSTREAM} is the name of the server in the settings: choose another name")
    return name


def check_public_key(key: str) -> str:
    """Return a public key. Raise InvalidInput if it cannot be one."""
    if _KEY.fullmatch(key) is None:
        reason = f"{quote_text(key)} is not a public key: it must be an Ed25519 key in base64url, 43 characters"
        raise InvalidInput("peer", "key", reason)
    return key


def parse_peer_prefix(text: str) -> str:
    """Return the prefix of names as the table of peers holds it.

    It is the prefix of IBI labels or of handles, `upn:` with a resolver ID, `ppid`, `poid` or `prid` for persons, or
    `*` for all names.
    """
    prefix = text.strip()
    folded = handle.fold(prefix)
    if folded in (ALL_NAMES, PERSONS, *map(handle.fold, ppid.TYPES)):
        return folded
    if folded.startswith(RESOLVER_ID):
        if _RESOLVER.fullmatch(folded[len(RESOLVER_ID) :]) is None:
            raise InvalidInput("peer", "prefix", f"{quote_text(prefix)} is not {RESOLVER_ID} with a resolver ID")
        return folded
    check_length(prefix)
    try:
        return label_prefix_named(prefix, "").key
    except InvalidName:
        pass
    try:
        check_prefix_name(prefix)
    except InvalidName as problem:
        reason = f"{quote_text(prefix)} is not the prefix of labels or handles, upn:ID, ppid or *: {problem.reason}"
        raise InvalidInput("peer", "prefix", reason) from None
    return folded


def parse_peer_prefixes(texts: Iterable[str]) -> tuple[str, ...]:
    """Return prefixes in their order, each once."""
    prefixes = tuple(dict.fromkeys(map(parse_peer_prefix, texts)))
    if len(prefixes) > MOST_PREFIXES:
        raise OutOfRange("peer", "prefixes", f"a server can have {MOST_PREFIXES} prefixes, not {len(prefixes)}")
    return prefixes
