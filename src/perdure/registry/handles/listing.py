"""Lists of the handles under a prefix, and of the prefixes: for administrators, page by page."""

from collections import OrderedDict
from collections.abc import AsyncGenerator
from typing import Final

from perdure.errors import NotAuthorised, OutOfRange
from perdure.records import record as records
from perdure.registry.entities import WHOLE_REGISTRY, Agent, HandleIdentity, Identifier, Prefix
from perdure.registry.name_keys import key_beginnings, require_prefix
from perdure.registry.permissions.hs_admin import LIST_HANDLES, Administrators
from perdure.registry.permissions.permissions import granted_actions, has_expired, prefix_rights, require_authenticated
from perdure.registry.prefixes.na_names import NA_KEY, na_name, prefix_of_record
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_CHUNK: Final = 1000
MOST_LISTED: Final = 100_000  # names in one page
_MOST_CURSORS: Final = 1_000


class PageCursors:
    """The keys where the next pages of lists begin, for clients that read page after page.

    Bounded: the oldest is dropped.

    A following page is read from the key where it begins, and nothing before it is counted again.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[object, ...], tuple[int, str]] = OrderedDict()

    def find(self, *which: object) -> tuple[int, str] | None:
        return self._known.get(which)

    def remember(self, *which: object, total: int, key: str) -> None:
        self._known[which] = total, key
        self._known.move_to_end(which)
        if len(self._known) > _MOST_CURSORS:
            self._known.popitem(last=False)


async def list_handles(
    registry: Registry,
    by: Agent | None,
    prefix: str,
    page: int = 0,
    page_size: int = 0,
    *,
    cursors: PageCursors | None = None,
) -> tuple[int, list[str]]:
    """Return how many handles are active under a prefix (`12345`, or `0.NA/12345`), and one page of their names.

    A page of size 0 counts only. With `cursors`, a later page repeats the total that the first page counted.
    """
    actor = require_authenticated(by, "list", prefix)
    first, _ = _bounds(page, page_size)
    known = None if cursors is None else cursors.find(actor.id, prefix, page_size, page)

    def work(reader: Reader) -> tuple[int, list[tuple[str, str]]]:
        under = _require_list_permission(registry, reader, actor, prefix)
        total, key = known or (reader.count_active(under), reader.active_key(first, under) if first else "")
        return total, [] if key is None else reader.active_names(key, page_size, under)

    total, rows = await registry.store.scan(work)
    last = rows[-1][0] if rows else known and known[1]
    if cursors is not None and last is not None:
        cursors.remember(actor.id, prefix, page_size, page + 1, total=total, key=last)
    return total, [name for _, name in rows]


async def iterate_handles(
    registry: Registry, by: Agent | None, prefix: str, first: int = 0, most: int | None = None
) -> AsyncGenerator[list[str], None]:
    """Yield the names of the active handles under a prefix in parts, in constant memory, after the `first` ones.

    Each part is read on its own, so long lists do not delay writes. Permission is checked each time.
    """
    actor = require_authenticated(by, "list", prefix)
    start: str | None = None  # the key before the next part

    def work(reader: Reader) -> list[tuple[str, str]]:
        under = _require_list_permission(registry, reader, actor, prefix)
        key = start
        if key is None:
            key = reader.active_key(first, under) if first else ""
        return [] if key is None else reader.active_names(key, _CHUNK, under)

    listed = 0
    while rows := await registry.store.scan(work):
        yield [name for _, name in rows[: None if most is None else most - listed]]
        listed += len(rows)
        if len(rows) < _CHUNK or (most is not None and listed >= most):
            return
        start = rows[-1][0]


async def list_prefixes(
    registry: Registry, by: Agent | None, page: int = 0, page_size: int | None = 0
) -> tuple[int, list[str]]:
    """Return how many Handle prefixes there are, and one page of the names of their records; all if it has no size."""
    actor = require_authenticated(by, "list", WHOLE_REGISTRY)
    first, behind = (0, None) if page_size is None else _bounds(page, page_size)

    def work(reader: Reader) -> list[Prefix]:
        if not _has_any_permission(registry, reader, actor):
            raise NotAuthorised(actor.id, "list", WHOLE_REGISTRY)
        return reader.prefixes()

    prefixes = [one for one in await registry.store.read(work) if one.scheme == "handle" and one.key != NA_KEY]
    return len(prefixes), [na_name(one) for one in prefixes[first:behind]]


def _require_list_permission(registry: Registry, reader: Reader, by: Agent, text: str) -> str:
    prefix = prefix_of_record(reader, text) or require_prefix(reader, text)
    actions = granted_actions(reader, by, prefix.key, registry.current_time())
    if not {"admin", "edit"}.intersection(actions) and not prefix_rights(reader, by, prefix.key) & LIST_HANDLES:
        raise NotAuthorised(by.id, "list", prefix.key)
    return key_beginnings(prefix, f"{text.rstrip('/')}/")[0]  # a handle begins with one of the label prefixes


def _has_any_permission(registry: Registry, reader: Reader, by: Agent) -> bool:
    """Return whether the actor has a grant that has not expired, or is an administrator in a record of a prefix."""
    if not isinstance(by, HandleIdentity):
        now = registry.current_time()
        if not all(has_expired(grant, now) for grant in reader.grants(by.id)):
            return True
    administrators = Administrators(reader, by)
    rows: list[Identifier] = []
    while rows := reader.identifiers_after(rows[-1].key if rows else "", _CHUNK, f"{NA_KEY}/"):
        if any(row.state == "active" and administrators.rights(records.decode(row.record)) for row in rows):
            return True
    return False


def _bounds(page: int, page_size: int) -> tuple[int, int]:
    if page < 0:
        raise OutOfRange("list", "page", "pages are numbered from 0")
    if not 0 <= page_size <= MOST_LISTED:
        raise OutOfRange("list", "page_size", f"a page has 0 to {MOST_LISTED} names")
    return page * page_size, (page + 1) * page_size
