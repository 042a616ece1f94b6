"""Where the chain of events ends: a fact of the store, which every new event reads, replaces and so locks.

The number puts events in one order, also where several processes write them; the digest is that of the last one.
"""

from typing import Final, NamedTuple

from perdure.errors import StoreDamaged

NEWEST_EVENT: Final = "newest_event"


class EventMark(NamedTuple):
    """The number and the digest of one event; of none, if nothing was recorded yet."""

    number: int = 0
    digest: bytes = b""

    def __str__(self) -> str:
        return f"{self.number} {self.digest.hex()}"

    @classmethod
    def parse(cls, text: str | None) -> "EventMark":
        """Read what the fact says."""
        if text is None:
            return cls()
        number, _, digest = text.partition(" ")
        try:
            return cls(int(number), bytes.fromhex(digest))
        except ValueError:
            raise StoreDamaged(f"the fact {NEWEST_EVENT} cannot be read: restore a backup (perdure restore)") from None
