"""One bulk change of many identifiers: what was requested, how far it came, and what became of it.

It is stored as a fact, in the same transactions as the versions that it writes. So after an interruption it continues
exactly where it stopped. Each version that it writes has its id in the note.
"""

from collections.abc import Mapping
from secrets import token_hex
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from perdure.errors import InvalidInput, NoSuchBulkChange, NotAuthorised
from perdure.names import handle
from perdure.registry.entities import WHOLE_REGISTRY, Agent
from perdure.registry.identifier_query import IdentifierQuery
from perdure.registry.name_keys import find_beginnings
from perdure.registry.permissions.permissions import is_allowed
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

Kind = Literal["retarget", "withdraw", "transfer"]
KINDS: Final[tuple[Kind, ...]] = ("retarget", "withdraw", "transfer")
BulkState = Literal["preview", "applying", "finished", "undoing", "undone"]
MOST_STORED_PROBLEMS: Final = 20
_FACT: Final = "bulk change "
_ID_BYTES: Final = 5


class BulkRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What to change, in which identifiers: those of a query, or of a list, whose digest is in `names`.

    In JSON, the fields have the names that clients use in their requests.
    """

    kind: Kind
    query: IdentifierQuery | None = None
    names: str | None = None
    old: str | None = msgspec.field(default=None, name="from")
    new: str | None = msgspec.field(default=None, name="to")
    is_pattern: bool = msgspec.field(default=False, name="regex")
    receiver: str | None = msgspec.field(default=None, name="agent")
    reason: str | None = None


class BulkProblem(msgspec.Struct, frozen=True):
    """An identifier that was left as it is, and the reason."""

    name: str
    reason: str


class Example(msgspec.Struct, frozen=True):
    """A change of one identifier: what is replaced, and by what."""

    name: str
    before: str
    after: str


class BulkChange(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a bulk change. `seen` are the identifiers that were selected, `urls` those URLs that were replaced.

    `first` and `last` are the keys between which it has changed anything.
    """

    id: Annotated[str, Meta(description="Its id; empty for a preview, and if nothing had to be changed.")] = ""
    agent: str
    scope: str
    request: BulkRequest
    state: BulkState = "preview"
    started: str
    ended: str | None = None
    seen: int = 0
    changed: int = 0
    unchanged: int = 0
    refused: int = 0
    urls: int = 0
    undone: int = 0
    undo_refused: int = 0
    cursor: str = ""
    undo_cursor: str = ""
    first: str = ""
    last: str = ""
    problems: tuple[BulkProblem, ...] = ()

    @property
    def is_recorded(self) -> bool:
        return bool(self.id)

    def with_problems(self, problems: list[BulkProblem]) -> tuple[BulkProblem, ...]:
        """Return the first problems, with these after those before."""
        return (*self.problems, *problems)[:MOST_STORED_PROBLEMS]


_decode: Final = msgspec.json.Decoder(BulkChange).decode


def new_change(registry: Registry, by: Agent, request: BulkRequest, scope: str) -> BulkChange:
    return BulkChange(agent=by.id, scope=scope, request=request, started=registry.current_time())


def new_id() -> str:
    return token_hex(_ID_BYTES)


def revision_note(id: str, detail: str | None) -> str:
    """Return the note of each version that a bulk change writes."""
    return f"bulk change {id}" + (f": {detail}" if detail else "")


def undo_note(id: str) -> str:
    """Return the note of each version that takes a bulk change back."""
    return f"undo of bulk change {id}"


def read_change(reader: Reader, by: Agent, id: str, now: str) -> BulkChange:
    """Return a bulk change. It is shown to its agent, and to administrators of the prefix or of the whole registry."""
    stored = reader.fact(_FACT + id) if _is_id(id) else None
    if stored is None:
        raise NoSuchBulkChange(id)
    change = _decode(stored)
    if not _may_see(reader, by, change, now):
        raise NotAuthorised(by.id, "admin", change.scope)
    return change


def put_change(tx: Transaction, change: BulkChange) -> None:
    tx.put_fact(_FACT + change.id, msgspec.json.encode(change).decode())


def is_current(reader: Reader, change: BulkChange) -> bool:
    """Return whether a bulk change is still as it was read: no other process has continued it."""
    return reader.fact(_FACT + change.id) == msgspec.json.encode(change).decode()


async def find_bulk_change(registry: Registry, by: Agent, id: str) -> BulkChange:
    """Return a bulk change. Raise NoSuchBulkChange, or NotAuthorised for a change of another agent."""
    return await registry.store.read(lambda reader: read_change(reader, by, id, registry.current_time()))


async def list_bulk_changes(registry: Registry, by: Agent) -> list[BulkChange]:
    """List the bulk changes that an agent may see, the newest first."""

    def work(reader: Reader) -> list[BulkChange]:
        now = registry.current_time()
        return [change for change in _all_changes(reader.facts()) if _may_see(reader, by, change, now)]

    return sorted(await registry.store.read(work), key=lambda change: (change.started, change.id), reverse=True)


async def find_unfinished(registry: Registry, by: Agent, request: BulkRequest) -> BulkChange | None:
    """Return the bulk change with exactly this request that the agent has begun and not finished."""

    def work(reader: Reader) -> BulkChange | None:
        for change in _all_changes(reader.facts()):
            if change.state == "applying" and change.agent == by.id and change.request == request:
                return change
        return None

    return await registry.store.read(work)


def scope_of(reader: Reader, query: IdentifierQuery | None) -> str:
    """Return the scope of a request: the prefix of its query, or the whole registry."""
    if query is None or query.prefix is None:
        return WHOLE_REGISTRY
    return find_beginnings(reader, query.prefix)[0].key


def check_request(request: BulkRequest) -> None:
    """Check that a request has what its kind needs, and nothing else."""
    needed = {"retarget": ("old", "new"), "withdraw": ("reason",), "transfer": ("receiver",)}[request.kind]
    labels = {"old": "from", "new": "to", "receiver": "agent", "reason": "reason"}
    for field, label in labels.items():
        is_given = getattr(request, field) is not None
        if field in needed and not is_given:
            raise InvalidInput("bulk", label, f"{label} is required to {request.kind}")
        if is_given and field not in needed and field != "reason":
            raise InvalidInput("bulk", label, f"{label} has no meaning for {request.kind}")
    if request.is_pattern and request.kind != "retarget":
        raise InvalidInput("bulk", "regex", f"regex has no meaning for {request.kind}")
    if (request.query is None) == (request.names is None):
        raise InvalidInput("bulk", "names", "give either names, or filters that select them")
    if request.query == IdentifierQuery() and request.kind != "retarget":
        raise InvalidInput("bulk", "query", f"at least one filter is required to {request.kind}")


def _is_id(text: str) -> bool:
    return len(text) == 2 * _ID_BYTES and text.isalnum() and text == handle.fold(text)


def _all_changes(facts: Mapping[str, str]) -> list[BulkChange]:
    return [_decode(value) for name, value in facts.items() if name.startswith(_FACT)]


def _may_see(reader: Reader, by: Agent, change: BulkChange, now: str) -> bool:
    return change.agent == by.id or is_allowed(reader, by, "admin", change.scope, now)


def summarize(change: BulkChange) -> str:
    """Return one line for the log of events."""
    request = change.request
    what: dict[Kind, Any] = {
        "retarget": f"from {request.old} to {request.new}",
        "withdraw": request.reason,
        "transfer": f"to {request.receiver}",
    }
    return f"{change.changed} changed, {change.refused} refused; {what[request.kind]}"
