"""The change feed: all changes since an instant, for clients that mirror a registry."""

from typing import Final, NamedTuple

import msgspec

from perdure.errors import OutOfRange
from perdure.names import instant
from perdure.records import record as records
from perdure.registry.entities import Agent, FeedEntry, Scheme
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

MOST_CHANGES: Final = 1000
MOST_SCANNED: Final = 10_000  # changes, for one page of one scheme
_RECORDS_PER_LOOKUP: Final = 100
_MICROSECONDS: Final = 1_000_000


class ChangeFeedPage(NamedTuple):
    """A page of changes, with the instant that it starts after and the instant to ask for next.

    If `since` and `next` are equal, there are no more changes for now. Otherwise there may be more, even if this page
    is empty. `redacted` lists the names whose whole content was redacted. For other names, a redaction left some
    content.
    """

    changes: list[FeedEntry]
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
) -> ChangeFeedPage:
    """Return the revisions that were stored after an instant, in the order of storing; without an instant, all of them.

    Imported revisions count from the time of the import, whatever dates they have. Without credentials, a reader sees
    neither the names that are reserved today nor the ids of agents.
    """
    if not 1 <= limit <= MOST_CHANGES:
        raise OutOfRange("changes", "limit", f"the limit must be between 1 and {MOST_CHANGES}")
    after = 0 if since is None else _parse_since(since)

    def work(reader: Reader) -> ChangeFeedPage:
        changes, last = _scan_changes(reader, after, limit, scheme, shows_reserved=by is not None)
        if by is None:
            changes = [msgspec.structs.replace(change, agent="") for change in changes]
        return ChangeFeedPage(
            changes, format_number(after), format_number(last), _fully_redacted_names(reader, changes)
        )

    return await registry.store.read(work)


def _scan_changes(
    reader: Reader, after: int, limit: int, scheme: Scheme | None, *, shows_reserved: bool
) -> tuple[list[FeedEntry], int]:
    """Return up to `limit` matching changes among those that may be scanned, and the number of the last one scanned."""
    matching: list[FeedEntry] = []
    last, looked_at, at_once = after, 0, limit
    while looked_at < MOST_SCANNED and len(matching) < limit:
        chunk = reader.changes(last, at_once)
        for change in chunk:
            if len(matching) >= limit and change.number > last:  # changes with the same number stay together
                break
            last = change.number
            if scheme in (None, change.scheme) and (shows_reserved or change.state != "reserved"):
                matching.append(change)
        if len(chunk) < at_once:
            break
        looked_at += len(chunk)
        at_once = MOST_CHANGES
    return matching, last


def _fully_redacted_names(reader: Reader, changes: list[FeedEntry]) -> frozenset[str]:
    names = sorted({one.name for one in changes if one.action == "redact"})
    redacted: set[str] = set()
    for start in range(0, len(names), _RECORDS_PER_LOOKUP):
        rows = reader.find_many(names[start : start + _RECORDS_PER_LOOKUP])
        redacted.update(name for name, row in rows.items() if records.decode(row.record).is_redacted)
    return frozenset(redacted)


def format_number(number: int) -> str:
    """Format the number of a change as an instant, to the microsecond.

    >>> format_number(1736418600000001)
    '2025-01-09T10:30:00.000001Z'
    """
    whole, rest = divmod(number, _MICROSECONDS)
    return f"{instant.to_iso(whole)[:-1]}.{rest:06d}Z"


def _parse_since(since: str) -> int:
    value = instant.from_iso(since, "changes", "since") * _MICROSECONDS
    number = value.numerator // value.denominator
    if not 0 <= number < 1 << 62:
        raise OutOfRange("changes", "since", f"{since} is before 1970, or too far in the future")
    return number
