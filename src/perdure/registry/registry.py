"""A registry that is open: a store, a clock and the settings. The use cases are the functions beside this file."""

from typing import NamedTuple
from uuid import UUID

from perdure.errors import ClockUnconfirmed
from perdure.minting.clock import Clock, iso_now
from perdure.registry.protocol import Store
from perdure.registry.sealing import NoSealer, Sealer
from perdure.registry.settings import Settings


class Registry(NamedTuple):
    """`id` is the registry's own identity, which its keys, its backups and its settings carry too."""

    id: str
    store: Store
    clock: Clock
    settings: Settings
    ppid_namespace: UUID
    home: str  # the prefix under which agents get their own identifiers
    sealer: Sealer = NoSealer()
    clock_doubt: ClockUnconfirmed | None = None  # why the clock is not believed yet

    def check_clock(self) -> None:
        """Refuse to make a new name while the clock is in doubt."""
        if self.clock_doubt is not None:
            raise self.clock_doubt.with_traceback(None)  # raised many times, it would keep every frame

    def now(self) -> str:
        return iso_now(self.clock)
