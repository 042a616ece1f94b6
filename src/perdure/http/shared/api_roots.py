"""The first segments of the URLs that are not names, for modules that the routes import."""

from typing import Final

API_ROOT: Final = "/api/v1"
HANDLES_ROOT: Final = "/api/handles"
# No prefix with one of these names is resolved by the fast path. A test compares them with the routes.
RESERVED_SEGMENTS: Final = frozenset({"api", "hrls", "items", "healthz", "readyz", "metrics", ".well-known"})
ITEMS_ROOT: Final = "/items"
