"""The HTTP interface of Handle servers, as their clients know it."""

from perdure.http.handle_api.door import unknown
from perdure.http.handle_api.handle_endpoint import handles
from perdure.http.handle_api.prefix_endpoint import prefixes
from perdure.http.handle_api.reverse_endpoint import reverse
from perdure.http.handle_api.session_endpoint import sessions
from perdure.http.handle_api.site_endpoint import site
from perdure.http.handle_api.verification_endpoint import verifications

__all__ = ["handles", "prefixes", "reverse", "sessions", "site", "unknown", "verifications"]
