"""An open registry: a store, a clock and the settings.

The use cases are the functions of the modules beside this one.
"""

from typing import NamedTuple
from uuid import UUID

from perdure.errors import ClockUnconfirmed
from perdure.registry.secret_box import NoSealer, Sealer
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

    def check_clock(self) -> None:
        """Refuse to make a new name while the clock is in doubt."""
        if self.clock_doubt is not None:
            raise self.clock_doubt.with_traceback(None)  # otherwise each raise would add frames to the traceback

    def current_time(self) -> str:
        return iso_now(self.clock)
