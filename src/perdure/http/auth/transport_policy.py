"""The requests that may carry credentials: over TLS or from this machine, and not from a page of another site."""

from typing import Final

from perdure.http.shared.cors import is_from_listed_origin
from perdure.http.shared.http_errors import CredentialsRequired, InsecureCredentials
from perdure.http.shared.media_type import FORM_URLENCODED, body_media_type
from perdure.http.shared.request import Request

_OWN_PAGES: Final = ("same-origin", "none")
# Media types of a POST that browsers send without a preflight, and with stored credentials.
_FORMS: Final = ("", FORM_URLENCODED, "multipart/form-data", "text/plain")


def check_channel(request: Request) -> None:
    """Raise InsecureCredentials if the connection can be overheard."""
    if not is_secure_transport(request):
        raise InsecureCredentials(request.proxy_problem())


def is_secure_transport(request: Request) -> bool:
    """Return whether nothing on the way can read the request: it came over TLS, or from this machine."""
    return request.is_secure or request.options.plain_credentials or request.is_loopback


def has_foreign_credentials(request: Request) -> bool:
    """Return whether a browser may have added credentials of its reader to a request of a page of another site.

    Browsers add stored certificates and passwords to requests of any page. Such a page could write in the name of its
    reader, and read records that only the reader may see. A page of an origin in the settings puts credentials into
    its requests: browsers add none to those that need a preflight, and do not let it read what they add others to.
    """
    return is_cross_site(request) and not (is_from_listed_origin(request) and not _is_form(request))


def missing_credentials_error(request: Request) -> CredentialsRequired:
    """Return the error for a request that no credentials have authenticated. It says if some were ignored."""
    if request.header(b"authorization") is None or not has_foreign_credentials(request):
        return CredentialsRequired()
    if is_from_listed_origin(request):
        return CredentialsRequired("passwords sent with a form are ignored; send application/json")
    return CredentialsRequired(
        "passwords in requests of pages of other sites are ignored; to accept those of one, add its origin to "
        "cors_origins under [http] in the settings"
    )


def is_cross_site(request: Request) -> bool:
    """Return whether a page of another site made the browser send this request."""
    site = request.header(b"sec-fetch-site")
    if site is not None:
        return site not in _OWN_PAGES
    origin = request.header(b"origin")
    return origin is not None and origin.lower() != request.origin.lower()


def _is_form(request: Request) -> bool:
    return request.method == "POST" and body_media_type(request) in _FORMS
