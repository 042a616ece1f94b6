"""An open registry: a store, a clock and the settings.

The use cases are the functions of the modules beside this one.
"""

from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import msgspec

from perdure.errors import ClockUnconfirmed
from perdure.records.namespaces import Namespaces
from perdure.registry.secret_box import NoSealer, Sealer
from perdure.registry.server_key_store import ServerKeyStore
from perdure.registry.settings import Settings
from perdure.registry.store_interface import Store
from perdure.timelines.clock import Clock, iso_now


class Registry(NamedTuple):
    """An open registry. `id` is its identity, which its keys, its backups and its settings carry too."""

    id: str
    store: Store
    clock: Clock
    settings: Settings
    ppid_namespace: UUID
    home: str  # the prefix of agents' own identifiers
    sealer: Sealer = NoSealer()
    person_iris: str | None = None  # the base of the IRIs of persons; None if the registry is older than this fact
    clock_doubt: ClockUnconfirmed | None = None  # why the clock is not trusted yet
    server_key: ServerKeyStore = ServerKeyStore()

    @property
    def namespaces(self) -> Namespaces:
        """The namespaces of linked data: those of the settings, with the base of the IRIs of persons."""
        return _with_base(self.settings.namespaces, self.person_iris)

    def check_clock(self) -> None:
        """Refuse to make a new name while the clock is in doubt."""
        if self.clock_doubt is not None:
            raise self.clock_doubt.with_traceback(None)  # otherwise each raise would add frames to the traceback

    def current_time(self) -> str:
        return iso_now(self.clock)


@lru_cache(maxsize=16)
def _with_base(namespaces: Namespaces, base: str | None) -> Namespaces:
    return namespaces if base is None else msgspec.structs.replace(namespaces, ppid=base)
