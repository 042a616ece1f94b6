"""The prefixes as this process last saw them.

Only what can never change is trusted: that a prefix exists, and how its names are compared.
"""

from typing import Final

from perdure.registry import Registry
from perdure.registry.entities import Prefix
from perdure.registry.prefix_names import RECORDS

# The records of prefixes say more than what is stored of them; and what begins like an address of an interface is one.
_NOT_EXPRESS: Final = frozenset({RECORDS, "api", "hrls"})


class KnownPrefixes:
    """Prefixes by their keys, and by the keys of the opaque half of an IBI subsystem."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, Prefix] = {}
        # For the express lane: the first part of a path, in lower case, to how keys begin, and whether case counts.
        self.handle_prefixes: dict[bytes, tuple[str, bool]] = {}

    def prefix(self, key: str) -> Prefix | None:
        return self._known.get(key)

    async def refresh(self) -> None:
        for prefix in await self._registry.store.read(lambda reader: reader.prefixes()):
            self._know(prefix)

    def _know(self, prefix: Prefix) -> None:
        self._known[prefix.key] = prefix
        if prefix.opaque is not None:
            self._known[prefix.opaque] = prefix
        if prefix.scheme == "handle" and prefix.key.isascii() and prefix.key not in _NOT_EXPRESS:
            self.handle_prefixes[prefix.key.encode()] = (f"{prefix.key}/", prefix.case_sensitive)
