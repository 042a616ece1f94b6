"""Follow a registry: what has changed since one looked, for who keeps a copy of it."""

from typing import Final, NamedTuple

import msgspec

from perdure.errors import OutOfRange
from perdure.names import instant
from perdure.records import record as records
from perdure.registry.entities import Agent, Changed, Scheme
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry

MOST: Final = 1000
MOST_LOOKED_AT: Final = 10_000  # changes, for one page of those of one scheme
_RECORDS_AT_ONCE: Final = 100
_MICROSECONDS: Final = 1_000_000


class Followed(NamedTuple):
    """Some changes, since when they are told, and from when on to ask for the next.

    When these two are the same, that was all for now. Until then there may be more behind, even if there are none here.
    `redacted` are those whose every word was taken out: of others, a redaction has left something.
    """

    changes: list[Changed]
    since: str
    next: str
    redacted: frozenset[str] = frozenset()


async def changes_since(
    registry: Registry,
    since: str | None = None,
    *,
    limit: int = 100,
    scheme: Scheme | None = None,
    by: Agent | None = None,
) -> Followed:
    """Every revision that came after an instant, in the order in which they came; all of them, without one.

    What an import brings came with the import, whatever dates it bears. Readers without credentials learn neither
    the names that are reserved today nor the short names of agents.
    """
    if not 1 <= limit <= MOST:
        raise OutOfRange("changes", "limit", f"the limit must be between 1 and {MOST}")
    after = 0 if since is None else _number(since)

    def work(reader: Reader) -> Followed:
        found, last = _looked_through(reader, after, limit, scheme, shows_reserved=by is not None)
        if by is None:
            found = [msgspec.structs.replace(one, agent="") for one in found]
        return Followed(found, when(after), when(last), _redacted(reader, found))

    return await registry.store.read(work)


def _looked_through(
    reader: Reader, after: int, limit: int, scheme: Scheme | None, *, shows_reserved: bool
) -> tuple[list[Changed], int]:
    """As many as are wanted, or as there are among those that may be looked at; and the number of the last of these."""
    kept: list[Changed] = []
    last, looked_at, at_once = after, 0, limit
    while looked_at < MOST_LOOKED_AT and len(kept) < limit:
        some = reader.changes(last, at_once)
        for one in some:
            if len(kept) >= limit and one.number > last:  # those of one number stay together
                break
            last = one.number
            if scheme in (None, one.scheme) and (shows_reserved or one.state != "reserved"):
                kept.append(one)
        if len(some) < at_once:
            break
        looked_at += len(some)
        at_once = MOST
    return kept, last


def _redacted(reader: Reader, changes: list[Changed]) -> frozenset[str]:
    names = sorted({one.name for one in changes if one.action == "redact"})
    found: set[str] = set()
    for start in range(0, len(names), _RECORDS_AT_ONCE):
        rows = reader.find_many(names[start : start + _RECORDS_AT_ONCE])
        found.update(name for name, row in rows.items() if records.decode(row.record).is_redacted)
    return frozenset(found)


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
