"""The section [http] of the settings: how a registry is served over HTTP."""

import re
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from perdure.errors import InvalidInput, quote_text

Size = Annotated[int, Meta(ge=1, le=1 << 40)]
Seconds = Annotated[float, Meta(gt=0, le=86_400)]
_ORIGIN: Final = re.compile(r"https?://(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_HOST: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_IPV4_MAPPED: Final = IPv6Network("::ffff:0:0/96")
LOOPBACK: Final = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


class HttpOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of the HTTP server.

    Only the forwarded headers of a trusted proxy are believed. Its header with a client certificate is believed only if
    `certificate_header` names it, because not every proxy overwrites that header.
    """

    public_url: Annotated[
        str,
        Meta(
            description="Base URL at which readers reach the resolver, if it is not the address it listens on. "
            "A URL below it is accepted wherever a name is."
        ),
    ] = ""
    upstream: Annotated[
        str,
        Meta(
            description="Base URL of another resolver, to which names with an unknown prefix are redirected. It is "
            "the last row of the table of peers (perdure peer list)."
        ),
    ] = ""
    old_hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Host names of earlier servers that now lead to this one. Old addresses of URLib at them are "
            "redirected to public_url."
        ),
    ] = ()
    peer_seconds: Annotated[Seconds, Meta(description="Timeout for the answer of another server about a name.")] = 2.0
    peer_cache_seconds: Annotated[
        Seconds, Meta(description="Time for which the answers of other servers about a name are used again.")
    ] = 30.0
    peer_missing_seconds: Annotated[
        Seconds,
        Meta(
            description="Time for which a name is not looked up again that no other server has, or about which one of "
            "them did not answer."
        ),
    ] = 5.0
    redirect_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=31_536_000,
            description="Seconds for which browsers may repeat a redirect without asking the server again. "
            "0: they ask each time, so that a change is visible at once. Handle clients use the TTL of the value.",
        ),
    ] = 0
    contact: Annotated[
        str,
        Meta(
            description="E-mail or web address of the operator, shown on pages, in problem documents and to harvesters."
        ),
    ] = ""
    repository_name: Annotated[
        str, Meta(description="Name of the repository for harvesters (OAI-PMH). Default: the host of public_url.")
    ] = ""
    trusted_proxies: Annotated[
        tuple[str, ...],
        Meta(description="IP addresses or networks of the proxies whose Forwarded and X-Forwarded-For are trusted."),
    ] = ()
    certificate_header: Annotated[
        str, Meta(description="Request header in which trusted proxies pass a client certificate on (URL-encoded PEM).")
    ] = ""
    plain_credentials: Annotated[
        bool, Meta(description="Whether credentials are accepted over plain HTTP from other machines than this one.")
    ] = False
    cors_origins: Annotated[
        tuple[str, ...],
        Meta(
            description="Origins of the web pages that may write, with credentials that they send. Pages of all "
            "origins may read what is public."
        ),
    ] = ()
    metrics_clients: Annotated[
        tuple[str, ...], Meta(description="IP addresses or networks of the clients that may read /metrics.")
    ] = ("127.0.0.0/8", "::1")
    hsts_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=1 << 31,
            description="The max-age of Strict-Transport-Security, sent if the server uses TLS; 0: not sent.",
        ),
    ] = 0
    statistics: Annotated[
        bool, Meta(description="Whether resolutions are counted, for each name, day and kind of client.")
    ] = True
    statistics_seconds: Annotated[
        Seconds, Meta(description="Time after which counted resolutions are written to the database.")
    ] = 300.0
    access_log: Annotated[bool, Meta(description="Whether each request is written to the access log.")] = True
    url_bytes: Annotated[Size, Meta(description="Maximum length of the URL of a request, in bytes.")] = 16_384
    header_bytes: Annotated[Size, Meta(description="Maximum size of all request headers together, in bytes.")] = 32_768
    headers: Annotated[Size, Meta(description="Maximum number of headers in a request.")] = 100
    body_bytes: Annotated[
        Size, Meta(description="Maximum size of a request body, in bytes, except for bulk requests and uploaded files.")
    ] = 4 << 20
    content_bytes: Annotated[
        Size,
        Meta(description="Maximum size of a file that can be uploaded with an observation to be hashed, in bytes."),
    ] = 1 << 30
    content_seconds: Annotated[Seconds, Meta(description="Timeout for uploading a file with an observation.")] = 3_600.0
    upload_bytes: Annotated[
        Size, Meta(description="Maximum size of a file that is uploaded into an item, in bytes.")
    ] = 1 << 37
    upload_days: Annotated[
        float,
        Meta(
            gt=0, le=3_660, description="Days after which an upload in several parts is removed if it does not go on."
        ),
    ] = 7.0
    bulk_bytes: Annotated[Size, Meta(description="Maximum size of the body of a bulk request, in bytes.")] = 16 << 30
    bulk_line_bytes: Annotated[
        Size, Meta(description="Maximum length of a line in the body of a bulk request, in bytes.")
    ] = 2 << 20
    bulk_bytes_per_second: Annotated[
        Size, Meta(description="Minimum average rate of a bulk request body, after the first request_seconds.")
    ] = 1_000
    page_size: Annotated[Size, Meta(description="Maximum number of entries in one page of a listing or a search.")] = (
        1_000
    )
    header_seconds: Annotated[
        Seconds, Meta(description="Timeout for the request line and headers, and for the next part of a body.")
    ] = 10.0
    idle_seconds: Annotated[
        Seconds, Meta(description="Timeout after which an idle keep-alive connection is closed.")
    ] = 75.0
    stall_seconds: Annotated[
        Seconds,
        Meta(description="Timeout after which a connection is closed if the client reads nothing of the response."),
    ] = 60.0
    request_seconds: Annotated[Seconds, Meta(description="Timeout for handling one request.")] = 30.0
    waiting_requests: Annotated[
        Size,
        Meta(
            description="Maximum number of requests per worker process that wait for the dates of one IBI subsystem, "
            "pool or prefix. Further ones are refused (503)."
        ),
    ] = 2_000
    connections: Annotated[Size, Meta(description="Maximum number of concurrent connections per worker process.")] = (
        10_000
    )
    shutdown_seconds: Annotated[
        Seconds, Meta(description="Timeout for requests in progress when the server shuts down.")
    ] = 20.0

    @property
    def redirect_caching(self) -> bytes:
        """The Cache-Control of redirects to targets."""
        return b"max-age=%d" % self.redirect_seconds if self.redirect_seconds else b"no-cache"

    @property
    def proxies(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The networks of the trusted proxies."""
        return _parse_networks(self.trusted_proxies, "trusted_proxies")

    @property
    def metrics_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The networks of the clients that may read /metrics."""
        return _parse_networks(self.metrics_clients, "metrics_clients")


def check_http_options(options: HttpOptions) -> HttpOptions:
    """Refuse invalid addresses and URLs when the server starts."""
    _ = options.proxies, options.metrics_networks
    for origin in options.cors_origins:
        if _ORIGIN.fullmatch(origin) is None:
            reason = (
                f"{quote_text(origin)} in cors_origins is not an origin in lower case, as in https://app.example.org"
            )
            raise InvalidInput("settings", "cors_origins", reason)
    for host in options.old_hosts:
        if _HOST.fullmatch(host) is None:
            reason = f"{quote_text(host)} in old_hosts is not a host name in lower case, as in archive.example.org"
            raise InvalidInput("settings", "old_hosts", reason)
    for name in ("public_url", "upstream"):
        text = getattr(options, name)
        if text and not text.startswith(("https://", "http://")):
            raise InvalidInput("settings", name, f"{name} must be an http or https URL, not {quote_text(text)}")
    return options


@lru_cache(maxsize=16)
def _parse_networks(texts: tuple[str, ...], setting: str) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(_parse_network(text, setting) for text in texts)


def _parse_network(text: str, setting: str) -> IPv4Network | IPv6Network:
    """Parse a network. An IPv4-mapped IPv6 network becomes an IPv4 network, because addresses are compared as IPv4."""
    try:
        network = ip_network(text)
        if isinstance(network, IPv6Network) and network.subnet_of(_IPV4_MAPPED):
            first = int(network.network_address) - int(_IPV4_MAPPED.network_address)
            return IPv4Network((first, network.prefixlen - _IPV4_MAPPED.prefixlen))
        return network
    except ValueError:
        reason = f"{quote_text(text)} in {setting} is not a valid IP address or network (10.0.0.0/8)"
        raise InvalidInput("settings", setting, reason) from None
