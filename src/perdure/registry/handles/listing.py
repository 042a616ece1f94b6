"""List the handles under a prefix, and the prefixes: for administrators, page by page."""

from collections import OrderedDict
from typing import Final

from perdure.errors import NotAuthorised, OutOfRange
from perdure.records import record as records
from perdure.registry.administrators import LIST_HANDLES, Administrators
from perdure.registry.authority import authenticated, granted, has_lapsed, stated_for_prefix
from perdure.registry.entities import EVERYWHERE, Agent, HandleIdentity, Identifier, Prefix
from perdure.registry.naming import keys_under, known_prefix
from perdure.registry.prefix_names import RECORDS, prefix_of_record, record_name
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry

_CHUNK: Final = 1000
MOST_LISTED: Final = 100_000  # names in one page
_MOST_WALKS: Final = 1_000


class Walks:
    """Where the next page of each list begins, for those who ask for page after page. Bounded: the oldest goes first.

    A page that follows is read from the key where it begins, and nothing before it is counted again.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[object, ...], tuple[int, str]] = OrderedDict()

    def find(self, *which: object) -> tuple[int, str] | None:
        return self._known.get(which)

    def keep(self, *which: object, total: int, key: str) -> None:
        self._known[which] = total, key
        self._known.move_to_end(which)
        if len(self._known) > _MOST_WALKS:
            self._known.popitem(last=False)


async def list_handles(
    registry: Registry, by: Agent | None, prefix: str, page: int = 0, page_size: int = 0, *, walks: Walks | None = None
) -> tuple[int, list[str]]:
    """Return how many handles are active under a prefix (`12345`, or `0.NA/12345`), and one page of their names.

    A page of size 0 counts only. With `walks`, a later page repeats the total that the first page counted.
    """
    actor = authenticated(by, "list", prefix)
    first, _ = _bounds(page, page_size)
    known = None if walks is None else walks.find(actor.id, prefix, page_size, page)

    def work(reader: Reader) -> tuple[int, list[tuple[str, str]]]:
        under = _permitted(registry, reader, actor, prefix)
        total, key = known or (reader.number_of_active(under), reader.active_key(first, under) if first else "")
        return total, [] if key is None else reader.active_names(key, page_size, under)

    total, rows = await registry.store.scan(work)
    last = rows[-1][0] if rows else known and known[1]
    if walks is not None and last is not None:
        walks.keep(actor.id, prefix, page_size, page + 1, total=total, key=last)
    return total, [name for _, name in rows]


async def list_prefixes(
    registry: Registry, by: Agent | None, page: int = 0, page_size: int = 0
) -> tuple[int, list[str]]:
    """How many Handle prefixes are kept, and one page of the names of their records."""
    actor = authenticated(by, "list", EVERYWHERE)
    first, behind = _bounds(page, page_size)

    def work(reader: Reader) -> list[Prefix]:
        if not _is_known(registry, reader, actor):
            raise NotAuthorised(actor.id, "list", EVERYWHERE)
        return reader.prefixes()

    kept = [one for one in await registry.store.read(work) if one.scheme == "handle" and one.key != RECORDS]
    return len(kept), [record_name(one) for one in kept[first:behind]]


def _permitted(registry: Registry, reader: Reader, by: Agent, text: str) -> str:
    prefix = prefix_of_record(reader, text) or known_prefix(reader, text)
    given = granted(reader, by, prefix.key, registry.now())
    if not {"admin", "edit"}.intersection(given) and not stated_for_prefix(reader, by, prefix.key) & LIST_HANDLES:
        raise NotAuthorised(by.id, "list", prefix.key)
    return keys_under(prefix)


def _is_known(registry: Registry, reader: Reader, by: Agent) -> bool:
    """An agent with any grant that has not lapsed, or an administrator that some record of a prefix names."""
    if not isinstance(by, HandleIdentity):
        now = registry.now()
        if not all(has_lapsed(grant, now) for grant in reader.grants(by.id)):
            return True
    administrators = Administrators(reader, by)
    rows: list[Identifier] = []
    while rows := reader.after(rows[-1].key if rows else "", _CHUNK, f"{RECORDS}/"):
        if any(row.state == "active" and administrators.rights(records.decode(row.record)) for row in rows):
            return True
    return False


def _bounds(page: int, page_size: int) -> tuple[int, int]:
    if page < 0:
        raise OutOfRange("list", "page", "pages are counted from 0")
    if not 0 <= page_size <= MOST_LISTED:
        raise OutOfRange("list", "page_size", f"a page has 0 to {MOST_LISTED} names")
    return page * page_size, (page + 1) * page_size
