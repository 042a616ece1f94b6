"""Where credentials may be shown at all: over TLS or on this machine; and not by a browser on another site's behalf."""

from typing import Final

from perdure.http.message import Request
from perdure.http.refusals import PlainCredentials

_OWN_PAGES: Final = ("same-origin", "none")


def check_channel(request: Request) -> None:
    """PlainCredentials, if others can read along."""
    if not is_private(request):
        raise PlainCredentials()


def is_private(request: Request) -> bool:
    """Return whether nothing on the way can read the request: it came over TLS, or from this machine."""
    return request.is_secure or request.options.plain_credentials or request.is_loopback


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
