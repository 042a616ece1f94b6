"""Follow a registry: what has changed since one looked, for who keeps a copy of it."""

from typing import Final, NamedTuple

from perdure.errors import OutOfRange
from perdure.names import instant
from perdure.registry.entities import Changed, Scheme
from perdure.registry.registry import Registry

MOST: Final = 1000
_MICROSECONDS: Final = 1_000_000


class Followed(NamedTuple):
    """Some changes, and from when on to ask for the next. There may be more behind even if there are none here."""

    changes: list[Changed]
    next: str


async def changes_since(
    registry: Registry, since: str | None = None, *, limit: int = 100, scheme: Scheme | None = None
) -> Followed:
    """Every revision that came after an instant, in the order in which they came; all of them, without one.

    What an import brings came with the import, whatever dates it bears.
    """
    if not 1 <= limit <= MOST:
        raise OutOfRange("changes", "limit", f"the limit must be between 1 and {MOST}")
    after = 0 if since is None else _number(since)
    found = await registry.store.read(lambda reader: reader.changes(after, limit))
    last = found[-1].number if found else after
    kept = [one for one in found if scheme is None or one.scheme == scheme]
    return Followed(kept, when(last))


def when(number: int) -> str:
    """The instant that a number stands for, to the microsecond.

    >>> when(1736418600000001)
    '2025-01-09T10:30:00.000001Z'
    """
    whole, rest = divmod(number, _MICROSECONDS)
    return f"{instant.to_iso(whole)[:-1]}.{rest:06d}Z"


def _number(since: str) -> int:
    value = instant.from_iso(since, "changes", "since") * _MICROSECONDS
    number = value.numerator // value.denominator
    if not 0 <= number < 1 << 62:
        raise OutOfRange("changes", "since", f"{since} is before 1970, or too far ahead")
    return number
