"""The address of a server, and the key for it, as the user gives them."""

from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from perdure.errors import BadKey, InvalidInput, quote_text
from perdure.records.web_address import to_ascii_host

_API_ROOT: Final = "/api/v1"
_SCHEMES: Final = ("http", "https")


class ServerAddress(NamedTuple):
    """The URL of a server without its final slash, and the key of an agent; None without one."""

    url: str
    key: str | None

    def without_key(self) -> "ServerAddress":
        return self._replace(key=None)


def parse_server(text: str, key: str | None, *, insecure_http: bool = False) -> ServerAddress:
    """Return the address of a server. Refuse to send a key without encryption to another machine."""
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname or "", parts.port
        host = host if ":" in host or not host else to_ascii_host(host)
    except ValueError as problem:
        raise InvalidInput("server", "server", f"{quote_text(text)} is not the URL of a server: {problem}") from None
    if parts.scheme not in _SCHEMES or not host:
        reason = f"{quote_text(text)} is not the URL of a server: write it as in https://id.example.org"
        raise InvalidInput("server", "server", reason)
    if "@" in parts.netloc or parts.query or parts.fragment:
        reason = "the URL of a server has no user name, password, query or fragment: give the key with PERDURE_KEY"
        raise InvalidInput("server", "server", reason)
    if parts.scheme == "http" and key is not None and not insecure_http and not is_this_machine(host):
        reason = (
            f"with http://, others on the way to {host} could read the key: use https://, or, in a network that you "
            "trust, add --insecure-http"
        )
        raise InvalidInput("server", "server", reason)
    netloc = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/").removesuffix(_API_ROOT).rstrip("/")
    return ServerAddress(f"{parts.scheme}://{netloc}{'' if port is None else f':{port}'}{path}", _check_key(key))


def is_this_machine(host: str) -> bool:
    """Return whether a host is this machine under its own address, which no other machine can reach."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_key(key: str | None) -> str | None:
    """Return the key without blanks around it. An error never contains it."""
    if key is None:
        return None
    key = key.strip()
    if not key:
        raise BadKey("the given key is empty")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise BadKey("it contains characters that no key has")
    return key
