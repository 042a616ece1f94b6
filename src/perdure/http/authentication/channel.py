"""Where credentials may be shown at all: over TLS or on this machine; and not by a browser on another site's behalf."""

from typing import Final

from perdure.http.message import Request, is_trusted_peer
from perdure.http.refusals import PlainCredentials

_FORWARDED: Final = frozenset({b"forwarded", b"x-forwarded-for", b"x-forwarded-proto", b"x-real-ip", b"via"})
_OWN_PAGES: Final = ("same-origin", "none")


def check_channel(request: Request) -> None:
    """PlainCredentials, if others can read along."""
    if not is_private(request):
        raise PlainCredentials()


def is_private(request: Request) -> bool:
    """A proxy on this machine that is not trusted speaks for others, though it looks like this machine itself."""
    if request.is_secure or request.options.plain_credentials:
        return True
    if not request.is_loopback:
        return False
    is_forwarded = any(name in _FORWARDED for name, _ in request.headers)
    return not is_forwarded or is_trusted_peer(request.scope, request.options)


def is_from_another_site(request: Request) -> bool:
    """Whether a page of another site has made a browser send this.

    Browsers add what they remember, certificates and passwords, to whatever a page asks for. Such a page could write
    here in its reader's name, and read what only its reader may.
    """
    site = request.header(b"sec-fetch-site")
    if site is not None:
        return site not in _OWN_PAGES
    origin = request.header(b"origin")
    return origin is not None and origin.lower() != request.origin.lower()
