"""Homing of prefixes: adding one to this registry, as Handle servers call it. A prefix is never removed."""

from perdure.errors import Immutable, InvalidInput, NotAuthorised
from perdure.names import handle
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Prefix
from perdure.registry.name_keys import require_prefix
from perdure.registry.permissions.permissions import (
    grant_end,
    is_granted,
    refuse_derived_administrators,
    require_authenticated,
    require_permission,
)
from perdure.registry.prefixes.na_names import NA_KEY, NA_PREFIX, prefix_of_record
from perdure.registry.prefixes.na_records import grant_creator_rights
from perdure.registry.prefixes.new_prefix import insert_prefix
from perdure.registry.prefixes.prefixes import check_prefix_name, prefix_parents, refuse_server_path
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction


async def home_prefix(registry: Registry, by: Agent | None, name: str) -> Prefix:
    """Add a Handle prefix (`12345.1`, or `0.NA/12345.1`), whose suffixes clients choose and compare without case.

    This needs an administrator of the whole registry, or permission to derive from the parent prefix. The caller may
    then create under it. Raise NameTaken if it exists already.
    """
    actor = require_authenticated(by, "derive", name)
    prefix_name = _prefix_name(name)
    check_prefix_name(prefix_name)
    refuse_server_path(prefix_name)
    key = handle.fold(prefix_name)
    if key == NA_KEY:
        raise InvalidInput("prefix", "prefix", f"{NA_PREFIX} is reserved for the records of prefixes")

    def work(tx: Transaction) -> Prefix:
        at = registry.current_time()
        is_admin = is_granted(tx, actor, "admin", WHOLE_REGISTRY, at)
        until = (
            grant_end(tx, actor, "admin", WHOLE_REGISTRY, at)
            if is_admin
            else _require_derive_permission(tx, actor, key, at)
        )
        parent = next(iter(prefix_parents(tx, prefix_name)), None)
        prefix = Prefix(
            key=key,
            name=prefix_name,
            scheme="handle",
            minter="chosen",
            case_sensitive=False,
            parent=parent,
            created=at,
        )
        insert_prefix(tx, prefix, actor)
        grant_creator_rights(tx, actor, prefix, at, registry.settings.limits.record_bytes, until)
        return prefix

    return await registry.store.write(work)


async def unhome_prefix(registry: Registry, by: Agent | None, name: str) -> None:
    """Refuse, always: the names under a prefix are persistent."""
    require_authenticated(by, "admin", name)
    prefix = await registry.store.read(lambda reader: prefix_of_record(reader, name) or require_prefix(reader, name))
    raise Immutable(prefix.name, "a prefix cannot be removed, because the names under it are persistent")


def _prefix_name(name: str) -> str:
    head, slash, rest = name.partition("/")
    return rest if slash and handle.fold(head) == NA_KEY else name


def _require_derive_permission(reader: Reader, by: Agent, key: str, at: str) -> str | None:
    """Require permission to derive from the Handle prefix directly above. Return when that permission ends.

    If that prefix is not in this registry, nothing can be derived.
    """
    above = handle.parents(key)
    parent = reader.prefix(above[0]) if above else None
    if parent is None or parent.scheme != "handle":
        raise NotAuthorised(by.id, "admin", WHOLE_REGISTRY)
    require_permission(reader, by, "derive", parent.key, at)
    refuse_derived_administrators(reader, by, key, prefix_parents(reader, key), at)
    return grant_end(reader, by, "derive", parent.key, at)
