"""/api/site: this server, as the only one of its site."""

from typing import Final
from urllib.parse import urlsplit

from perdure.http.addresses import read_address
from perdure.http.handle_api.door import door, unknown_endpoint
from perdure.http.handle_api.exchange import Exchange
from perdure.http.message import Request, Response
from perdure.records.site import Attribute, Interface, Server, Site, to_json

_ROOT: Final = "/api/site"
_PORTS: Final = {"http": 80, "https": 443}
_UNKNOWN: Final = "0.0.0.0"  # noqa: S104  (an address that is told, not one to listen on)


@door("GET", "HEAD", "POST")
async def site(exchange: Exchange) -> Response:
    if exchange.request.path.rstrip("/") != _ROOT:
        return unknown_endpoint(exchange)
    return exchange.success(site=to_json(_described(exchange)))


def _described(exchange: Exchange) -> Site:
    address, port, is_secure = _place(exchange.request)
    interface = Interface(query=True, admin=True, protocol="HTTPS" if is_secure else "HTTP", port=port)
    return Site(
        serial_number=1,
        primary_site=True,
        multi_primary=False,
        attributes=(Attribute("desc", f"Perdure registry {exchange.registry.id}"),),
        servers=(Server(1, address, interfaces=(interface,)),),
    )


def _place(request: Request) -> tuple[str, int, bool]:
    """Where clients reach the server: as the settings have it, or where this request came in."""
    host, port = request.scope.get("server") or (_UNKNOWN, 0)
    is_secure = request.is_secure
    if request.options.public_url:
        public = urlsplit(request.options.public_url)
        is_secure = public.scheme == "https"
        port = public.port or _PORTS[public.scheme]
        host = public.hostname if _is_address(public.hostname) else host
    return (host if _is_address(host) else _UNKNOWN), port or _PORTS["https" if is_secure else "http"], is_secure


def _is_address(host: str | None) -> bool:
    return read_address(host or "") is not None
