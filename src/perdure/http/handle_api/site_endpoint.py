"""/api/site: this server, as the only one of its site."""

from typing import Final
from urllib.parse import urlsplit

from perdure.http.handle_api.endpoint import allow_methods, unknown_endpoint_response
from perdure.http.handle_api.request_context import HandleContext
from perdure.http.shared.proxy_headers import parse_ip_address
from perdure.http.shared.request import Request, Response
from perdure.records.site import Attribute, Interface, Server, Site, to_json

_PORTS: Final = {"http": 80, "https": 443}
_UNKNOWN: Final = "0.0.0.0"  # noqa: S104  (an address in a response, not one to listen on)


@allow_methods("GET", "HEAD", "POST")
async def site(context: HandleContext) -> Response:
    """Return the description of the site."""
    if context.request.rest.rstrip("/"):
        return unknown_endpoint_response(context)
    return context.success_response(site=to_json(_build_site(context)))


def _build_site(context: HandleContext) -> Site:
    address, port, is_secure = _server_address(context.request)
    interface = Interface(query=True, admin=True, protocol="HTTPS" if is_secure else "HTTP", port=port)
    return Site(
        serial_number=1,
        primary_site=True,
        multi_primary=False,
        attributes=(Attribute("desc", f"Perdure registry {context.registry.id}"),),
        servers=(Server(1, address, interfaces=(interface,)),),
    )


def _server_address(request: Request) -> tuple[str, int, bool]:
    """Return the address and port of the server, from the settings or from the connection, and whether it uses TLS."""
    host, port = request.scope.get("server") or (_UNKNOWN, 0)
    is_secure = request.is_secure
    if request.options.public_url:
        public = urlsplit(request.options.public_url)
        is_secure = public.scheme == "https"
        port = public.port or _PORTS[public.scheme]
        host = public.hostname if _is_address(public.hostname) else host
    return (host if _is_address(host) else _UNKNOWN), port or _PORTS["https" if is_secure else "http"], is_secure


def _is_address(host: str | None) -> bool:
    return parse_ip_address(host or "") is not None
