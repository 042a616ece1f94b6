"""How a registry is served over HTTP: what the section [http] of the settings may say."""

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Final

import msgspec

from perdure.errors import InvalidInput, shown

Size = Annotated[int, msgspec.Meta(ge=1, le=1 << 40)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
LOOPBACK: Final = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


class HttpOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`public_url` is where readers reach the resolver, if that is another address than the one it listens on.

    A trusted proxy says, in its forwarded headers, who the client is; nobody else is believed. What it says of the
    client's certificate is believed only if `certificate_header` names where: not every proxy overwrites that header.
    """

    public_url: str = ""
    upstream: str = ""
    contact: str = ""
    trusted_proxies: tuple[str, ...] = ()
    certificate_header: str = ""
    plain_credentials: bool = False
    metrics_clients: tuple[str, ...] = ("127.0.0.0/8", "::1")
    hsts_seconds: Annotated[int, msgspec.Meta(ge=0, le=1 << 31)] = 0
    access_log: bool = True
    url_bytes: Size = 16_384
    header_bytes: Size = 32_768
    headers: Size = 100
    body_bytes: Size = 4 << 20
    content_bytes: Size = 1 << 30
    content_seconds: Seconds = 3_600.0
    bulk_bytes: Size = 16 << 30
    bulk_line_bytes: Size = 2 << 20
    bulk_bytes_per_second: Size = 1_000
    page_size: Size = 1_000
    header_seconds: Seconds = 10.0
    idle_seconds: Seconds = 75.0
    stall_seconds: Seconds = 60.0
    request_seconds: Seconds = 30.0
    connections: Size = 10_000
    shutdown_seconds: Seconds = 20.0

    @property
    def proxies(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The networks of the trusted proxies."""
        return _networks(self.trusted_proxies, "trusted_proxies")

    @property
    def metrics_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The networks of the clients that see what is counted."""
        return _networks(self.metrics_clients, "metrics_clients")


def check_http_options(options: HttpOptions) -> HttpOptions:
    """Refuse, at the start, what would go wrong later."""
    _ = options.proxies, options.metrics_networks
    for name in ("public_url", "upstream"):
        text = getattr(options, name)
        if text and not text.startswith(("https://", "http://")):
            raise InvalidInput("settings", name, f"{name} must be a web address, not {shown(text)}")
    return options


@lru_cache(maxsize=16)
def _networks(texts: tuple[str, ...], setting: str) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(_network(text, setting) for text in texts)


def _network(text: str, setting: str) -> IPv4Network | IPv6Network:
    """Addresses of version 4 are compared as such, so a network of them in the dress of version 6 is read so too."""
    try:
        network = ip_network(text)
        if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
            first = int(network.network_address) - int(_MAPPED.network_address)
            return IPv4Network((first, network.prefixlen - _MAPPED.prefixlen))
        return network
    except ValueError:
        reason = f"{shown(text)} in {setting} is neither an address nor a network (10.0.0.0/8)"
        raise InvalidInput("settings", setting, reason) from None
