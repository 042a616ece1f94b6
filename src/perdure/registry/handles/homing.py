"""Home a prefix: let this registry keep it, as Handle servers say. A prefix that is kept is never given up."""

from perdure.errors import Immutable, InvalidInput, NotAuthorised
from perdure.names import handle
from perdure.registry.authority import (
    authenticated,
    grant_end,
    is_granted,
    refuse_derived_administrators,
    require,
)
from perdure.registry.entities import EVERYWHERE, Agent, Prefix
from perdure.registry.naming import known_prefix
from perdure.registry.prefix_names import PREFIX_OF_RECORDS, RECORDS, prefix_of_record
from perdure.registry.prefix_records import let_administer
from perdure.registry.prefixes import check_prefix_name, prefix_parents, put_new, refuse_own_address
from perdure.registry.protocol import Reader, Transaction
from perdure.registry.registry import Registry


async def home_prefix(registry: Registry, by: Agent | None, name: str) -> Prefix:
    """Keep a Handle prefix (`12345.1`, or `0.NA/12345.1`), whose names clients choose and compare without case.

    That takes an administrator of everything, or authority to derive from the prefix above; whoever homes it may
    create under it. NameTaken if it is kept already.
    """
    actor = authenticated(by, "derive", name)
    wanted = _named(name)
    check_prefix_name(wanted)
    refuse_own_address(wanted)
    key = handle.fold(wanted)
    if key == RECORDS:
        raise InvalidInput("prefix", "prefix", f"{PREFIX_OF_RECORDS} is kept for the records of prefixes")

    def work(tx: Transaction) -> Prefix:
        at = registry.now()
        is_admin = is_granted(tx, actor, "admin", EVERYWHERE, at)
        until = grant_end(tx, actor, "admin", EVERYWHERE, at) if is_admin else _require_above(tx, actor, key, at)
        parent = next(iter(prefix_parents(tx, wanted)), None)
        prefix = Prefix(
            key=key,
            name=wanted,
            scheme="handle",
            minter="chosen",
            case_sensitive=False,
            parent=parent,
            created=at,
        )
        put_new(tx, prefix, actor)
        let_administer(tx, actor, prefix, at, registry.settings.limits.record_bytes, until)
        return prefix

    return await registry.store.write(work)


async def unhome_prefix(registry: Registry, by: Agent | None, name: str) -> None:
    """Always refused: the names under a prefix were promised to stay."""
    authenticated(by, "admin", name)
    prefix = await registry.store.read(lambda reader: prefix_of_record(reader, name) or known_prefix(reader, name))
    raise Immutable(prefix.name, "a prefix that is kept stays, and the names under it with it")


def _named(name: str) -> str:
    head, slash, rest = name.partition("/")
    return rest if slash and handle.fold(head) == RECORDS else name


def _require_above(reader: Reader, by: Agent, key: str, at: str) -> str | None:
    """Authority to derive from the Handle prefix directly above, and when it ends.

    Where none is kept here, nothing is derived.
    """
    above = handle.parents(key)
    parent = reader.prefix(above[0]) if above else None
    if parent is None or parent.scheme != "handle":
        raise NotAuthorised(by.id, "admin", EVERYWHERE)
    require(reader, by, "derive", parent.key, at)
    refuse_derived_administrators(reader, by, key, prefix_parents(reader, key), at)
    return grant_end(reader, by, "derive", parent.key, at)
