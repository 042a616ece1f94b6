"""Errors of HTTP requests themselves, not of the identifiers that they are about."""

from fractions import Fraction
from typing import NamedTuple

from perdure.errors import BadKey, Conflict, NoSuchName, PerdureError, quote_text


class MalformedRequest(PerdureError):
    """The request is malformed."""

    code = "malformed-request"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class BodyTooLarge(PerdureError):
    """The body, or a part of it, is too large."""

    code = "body-too-large"

    def __init__(self, most: int, part: str | None = None) -> None:
        super().__init__(most, part)
        self.most = most
        self.part = part

    def __str__(self) -> str:
        return f"the {f'part {self.part}' if self.part else 'body'} is too large: the limit is {self.most} bytes"


class ContentTooLarge(BodyTooLarge):
    """The file is too large to be hashed here."""

    def __init__(self, most: int) -> None:
        super().__init__(most, "content")
        self.args = (most,)

    def __str__(self) -> str:
        return f"the content is too large: the limit is {self.most} bytes. Send its SHA-256 as content_hash instead"


class BodyTooSlow(PerdureError):
    """The body was not received in time."""

    code = "body-too-slow"

    def __str__(self) -> str:
        return "timeout: the rest of the body was not received in time"


class BodyBelowRate(BodyTooSlow):
    """The body of a bulk request was received too slowly."""

    def __init__(self, least: int) -> None:
        super().__init__(least)
        self.least = least  # bytes a second

    def __str__(self) -> str:
        return (
            f"timeout: the rest of the body was not received in time, or came slower than {self.least} bytes a second. "
            "What came before may have been written. Send the body again: lines that were written are left unchanged"
        )


class UnsupportedMediaType(PerdureError):
    """The media type of the body is not supported here."""

    code = "unsupported-body"

    def __init__(self, needed: str) -> None:
        super().__init__(needed)
        self.needed = needed

    def __str__(self) -> str:
        return f"unsupported media type: the body must be {self.needed}"


class UnsupportedEncoding(UnsupportedMediaType):
    """The content encoding of the body is not supported."""

    code = "encoded-body"

    def __init__(self, encoding: str) -> None:
        super().__init__("sent without Content-Encoding")
        self.args = (encoding,)
        self.encoding = encoding

    def __str__(self) -> str:
        return f"unsupported Content-Encoding {quote_text(self.encoding)}: send the body without encoding"


class MethodNotAllowed(PerdureError):
    """The method is not allowed for this resource."""

    code = "method-not-allowed"

    def __init__(self, method: str, allowed: tuple[str, ...]) -> None:
        super().__init__(method, allowed)
        self.method = method
        self.allowed = allowed

    def __str__(self) -> str:
        return f"method {self.method} not allowed: use {', '.join(self.allowed)}"


class NotFound(PerdureError):
    """No resource of this server has that URL."""

    code = "nothing-here"

    def __str__(self) -> str:
        return "not found: no resource has this URL"


class NameReserved(NoSuchName):
    """The name is reserved, and not bound to anything yet."""

    code = "reserved"

    def __str__(self) -> str:
        return f"{quote_text(self.name)} is reserved, and not bound to anything yet"


class AliasChainTooLong(NoSuchName):
    """The alias chain is too long, or is a loop."""

    code = "alias-chain-too-long"

    def __str__(self) -> str:
        return f"alias chain too long, or a loop: {quote_text(self.name)} is an alias of another alias, and so on"


class RedirectLoop(NoSuchName):
    """The reader was sent to another resolver for this name again and again, and came back each time."""

    code = "redirect-loop"

    def __init__(self, name: str, resolver: str) -> None:
        super().__init__(name)
        self.args = (name, resolver)
        self.resolver = resolver

    def __str__(self) -> str:
        return (
            f"redirect loop: {quote_text(self.name)} was sent on to {self.resolver}, which sends it back here. Neither "
            "has the name; the operator of one of them should not send such names to the other"
        )


class PeersUnreachable(PerdureError):
    """No server that may have the name has answered. It may exist: try again later."""

    code = "peers-unreachable"

    def __init__(self, name: str, peers: tuple[str, ...]) -> None:
        super().__init__(name, peers)
        self.name = name
        self.peers = peers

    def __str__(self) -> str:
        return (
            f"{quote_text(self.name)} is not registered here, and the servers that may have it do not answer now "
            f"({', '.join(self.peers)}): try again later"
        )


class NotAcceptable(PerdureError):
    """None of the media types that the client accepts is available."""

    code = "not-acceptable"

    def __init__(self, available: tuple[str, ...], urls: tuple[str, ...] = ()) -> None:
        super().__init__(available, urls)
        self.available = available
        self.urls = urls  # the URL of each, if they have URLs of their own

    def __str__(self) -> str:
        return f"not acceptable: the available media types are {', '.join(self.available)}"


class ProxyProblem(NamedTuple):
    """Why the headers of a proxy do not help: they are not trusted, or they do not report https.

    `address` is that of a proxy on this machine. Other addresses are not shown to clients.
    """

    is_trusted: bool
    address: str | None = None

    def __str__(self) -> str:
        if self.is_trusted:
            return "the trusted proxy did not report that the client used https: let it set X-Forwarded-Proto"
        example = "" if self.address is None else f' (trusted_proxies = ["{self.address}"])'
        return (
            "the request came through a proxy that is not in trusted_proxies: add the address of the proxy there, "
            f"under [http] in the settings{example}, and restart the server"
        )


class InsecureCredentials(PerdureError):
    """Credentials were sent over an unencrypted connection, and were not checked."""

    code = "credentials-in-the-clear"

    def __init__(self, proxy: ProxyProblem | None = None) -> None:
        super().__init__(proxy)
        self.proxy = proxy

    def __str__(self) -> str:
        if self.proxy is not None:
            return f"credentials are not accepted over plain HTTP. If the client used https: {self.proxy}"
        return (
            "credentials are not accepted over plain HTTP, except on this machine: use https, or set "
            "plain_credentials = true under [http] in the settings. A request from the address of a trusted proxy is "
            "not local: on this machine, use another loopback address (curl --interface 127.0.0.2)"
        )


class ClientNotAllowed(PerdureError):
    """Metrics are available only to the clients that the settings name."""

    code = "not-for-this-client"

    def __init__(self, proxy: ProxyProblem | None = None) -> None:
        super().__init__(proxy)
        self.proxy = proxy

    def __str__(self) -> str:
        if self.proxy is not None and not self.proxy.is_trusted:
            return f"metrics are not available to this client. If it is in metrics_clients: {self.proxy}"
        return (
            "metrics are available to this machine only; allow other clients with metrics_clients under [http] in the "
            "settings"
        )


class CrossSiteRequest(PerdureError):
    """A browser sent the request on behalf of a page of another site, which is not allowed to write here."""

    code = "from-another-site"

    def __str__(self) -> str:
        return "cross-site request refused: send it from a page of this site, or not from a browser"


class CredentialsRequired(BadKey):
    """Credentials are required."""

    code = "credentials-needed"

    def __init__(self, lack: str = "the request has no credentials") -> None:
        super().__init__(lack)

    def __str__(self) -> str:
        return f"authentication required: {self.reason}"


class TooManyAttempts(PerdureError):
    """Too many failed attempts to authenticate."""

    code = "too-many-attempts"

    def __init__(self, wait: float) -> None:
        super().__init__(wait)
        self.wait = wait  # seconds

    def __str__(self) -> str:
        return f"too many failed attempts to authenticate: try again in {self.wait:.0f} s"


class TooManyConcurrentRequests(PerdureError):
    """The client has too many of these requests in progress."""

    code = "too-many-at-once"

    def __init__(self, what: str, source: str = "client") -> None:
        super().__init__(what, source)
        self.what, self.source = what, source

    def __str__(self) -> str:
        return f"too many concurrent {self.what} from the same {self.source}: try again when others have finished"


class ServerBusy(PerdureError):
    """Too many of these requests are waiting."""

    code = "too-busy"

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return f"too many {self.what} are waiting: try again later"


class MintQueueFull(ServerBusy):
    """Too many requests wait for the dates of their names."""

    code = "mint-queue-full"

    def __init__(self, what: str, wait: Fraction) -> None:
        super().__init__(what)
        self.wait = wait  # seconds until the next date comes, so that one request fewer waits

    def __str__(self) -> str:
        return f"too many requests wait for dates of {quote_text(self.what)}: nothing was minted; try again later"


class ServerStops(PerdureError):
    """The server stops before the dates of the names have come. They are on disk, and are not issued again."""

    code = "server-stops"

    def __init__(self, wait: Fraction) -> None:
        super().__init__(wait)
        self.wait = wait  # seconds until the dates come

    def __str__(self) -> str:
        return (
            "the server stops before the dates of the names have come. The names are on disk. A request with an "
            "Idempotency-Key can be repeated, and gets them"
        )


class RequestTimeout(PerdureError):
    """The request took longer than the server allows. A write may have been done, or may still be done."""

    code = "took-too-long"

    def __init__(self, is_write: bool = False) -> None:
        super().__init__(is_write)
        self.is_write = is_write

    def __str__(self) -> str:
        if self.is_write:
            return (
                "timeout: the request took too long, and may or may not have been carried out. Check before you retry. "
                "To make minting safe to retry, send an Idempotency-Key"
            )
        return "timeout: the request took too long; try again"


class PreconditionRequired(PerdureError):
    """A change requires the version that it is based on (If-Match)."""

    code = "precondition-needed"

    def __str__(self) -> str:
        return (
            "If-Match is required, to prevent lost updates: send the ETag of the version that you have read, or "
            "If-Match: * for any version"
        )


class RangeNotSatisfiable(PerdureError):
    """No byte of the file is in the requested range."""

    code = "no-such-range"

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size

    def __str__(self) -> str:
        return f"no byte of the file is in the requested range: it has {self.size} bytes"


class NoSuchUpload(PerdureError):
    """There is no such upload, or it belongs to another agent, or it has expired."""

    code = "no-such-upload"

    def __str__(self) -> str:
        return "there is no such upload of this agent: it was finished, removed, or has expired. Begin a new one"


class UploadInUse(PerdureError):
    """Another request has the upload open."""

    code = "upload-in-use"

    def __str__(self) -> str:
        return "another request has this upload open: try again when it has ended"


class UploadConflict(PerdureError):
    """The offset is not that of the upload."""

    code = "wrong-offset"

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(expected, found)
        self.expected, self.found = expected, found

    def __str__(self) -> str:
        return f"the next byte of this upload is at {self.expected}, not at {self.found}: send the rest from there"


class TooManyUploads(PerdureError):
    """The agent has too many unfinished uploads."""

    code = "too-many-uploads"

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.most = most

    def __str__(self) -> str:
        return f"this agent has {self.most} unfinished uploads: finish or remove one of them first"


class UnsupportedTusVersion(PerdureError):
    """The version of the tus protocol is not supported."""

    code = "unsupported-tus-version"

    def __str__(self) -> str:
        return "the header Tus-Resumable must be 1.0.0"


class DigestMismatch(PerdureError):
    """The bytes that were received are not those that the client meant to send."""

    code = "digest-mismatch"

    def __init__(self, algorithm: str, digest: str) -> None:
        super().__init__(algorithm, digest)
        self.algorithm, self.digest = algorithm, digest

    def __str__(self) -> str:
        return (
            f"the digest does not match: the {self.algorithm} of what was received is {self.digest}. "
            "Nothing was stored; send it again"
        )


class ChecksumMismatch(DigestMismatch):
    """A part of an upload was damaged on its way. It was discarded."""

    code = "checksum-mismatch"


class PreconditionFailed(Conflict):
    """The resource has changed since the client read it: read it again, then repeat the change if it is still right."""


class ClientDisconnected(Exception):
    """The client has closed the connection."""
