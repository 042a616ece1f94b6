"""The end of the chain of events: a fact of the store that every new event reads, replaces and so locks.

The number gives events one order, even if several processes write them. The digest is that of the last event.
"""

from typing import Final, NamedTuple

from perdure.errors import StoreDamaged

NEWEST_EVENT: Final = "newest_event"


class EventMark(NamedTuple):
    """The number and the digest of an event; 0 and empty before the first event."""

    number: int = 0
    digest: bytes = b""

    def __str__(self) -> str:
        return f"{self.number} {self.digest.hex()}"

    @classmethod
    def parse(cls, text: str | None) -> "EventMark":
        """Parse the value of the fact."""
        if text is None:
            return cls()
        number, _, digest = text.partition(" ")
        try:
            return cls(int(number), bytes.fromhex(digest))
        except ValueError:
            raise StoreDamaged(f"the fact {NEWEST_EVENT} is invalid: restore a backup (perdure restore)") from None
