"""The prefixes as this process last read them.

Only facts that never change are used: that a prefix exists, and how its names are compared.
"""

from time import monotonic
from typing import Final

from perdure.http.shared.api_roots import RESERVED_SEGMENTS
from perdure.registry import Registry
from perdure.registry.entities import Prefix
from perdure.registry.prefixes.na_names import NA_KEY

# Records of prefixes contain more than is stored, and the others are URLs of their own.
_NOT_ON_FAST_PATH: Final = RESERVED_SEGMENTS | {NA_KEY}
_UNKNOWN_SECONDS: Final = 1.0
_MOST_UNKNOWN: Final = 1000


class PrefixCache:
    """Prefixes by their keys, and by each label prefix that an IBI subsystem has had."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, Prefix] = {}
        self._unknown: set[str] = set()  # such as the names of pools
        self._forgotten_at = 0.0
        # For the fast path: from the first segment of a path in lower case to the start of keys, and case sensitivity.
        self.handle_prefixes: dict[bytes, tuple[str, bool]] = {}

    def prefix(self, key: str) -> Prefix | None:
        """Return a prefix by its key; None if it is unknown."""
        return self._known.get(key)

    async def find(self, key: str) -> Prefix | None:
        """Return a prefix by its key. Read it from the store if this process has not read it within the last second."""
        known = self._known.get(key)
        if known is not None or self._is_unknown(key):
            return known
        known = await self._registry.store.read_quick(lambda reader: reader.prefix(key))
        if known is not None:
            self._add(known)
        elif len(self._unknown) < _MOST_UNKNOWN:
            self._unknown.add(key)
        return known

    def _is_unknown(self, key: str) -> bool:
        now = monotonic()
        if now >= self._forgotten_at:
            self._unknown.clear()
            self._forgotten_at = now + _UNKNOWN_SECONDS
        return key in self._unknown

    async def refresh(self) -> None:
        """Read all prefixes from the store."""
        for prefix in await self._registry.store.read(lambda reader: reader.prefixes()):
            self._add(prefix)

    def _add(self, prefix: Prefix) -> None:
        self._known.update(dict.fromkeys(prefix.lookup_keys, prefix))
        if prefix.scheme == "handle" and prefix.key.isascii() and prefix.key not in _NOT_ON_FAST_PATH:
            self.handle_prefixes[prefix.key.encode()] = (f"{prefix.key}/", prefix.case_sensitive)
