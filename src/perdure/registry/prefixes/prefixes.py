"""Prefixes: the namespaces of a registry, how names under them are minted, and their policies."""

from fractions import Fraction
from typing import Final

import msgspec

from perdure.errors import InvalidInput, InvalidName, OutOfRange, quote_text
from perdure.names import handle, ibi, ppid
from perdure.names.instant import Exact
from perdure.records.validation import check_one_line, check_plain_text
from perdure.registry.entities import (
    HANDLE_MINTERS,
    WHOLE_REGISTRY,
    Agent,
    Event,
    Minter,
    Prefix,
    counter_key,
)
from perdure.registry.name_keys import check_length, require_prefix
from perdure.registry.permissions.permissions import grant_end, refuse_derived_administrators, require_permission
from perdure.registry.prefixes.na_records import grant_creator_rights
from perdure.registry.prefixes.new_prefix import format_settings, insert_prefix
from perdure.registry.prefixes.prefix_etag import check_digest
from perdure.registry.prefixes.subsystem_address import SAME_ADDRESS, AddressChange, change_address
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction
from perdure.timelines.clock import now_seconds
from perdure.timelines.clockless_suffixes import check_pattern
from perdure.timelines.timeline import HIGH_WATER_LEAD

_LONGEST_POLICY: Final = 100_000
_ANY_SUFFIX: Final = "x"
_LARGEST_TTL: Final = 2**31 - 1  # seconds
# The first segments of the server's own paths.
_SERVER_PATHS: Final = frozenset({"api", "hrls", "healthz", "readyz", "metrics"})


async def add_prefix(
    registry: Registry,
    by: Agent,
    name: str,
    *,
    minter: Minter = "pilin",
    case_sensitive: bool = True,
    policy: str = "",
    pattern: str | None = None,
    pass_through: bool = False,
    ttl: int | None = None,
    joiners: bool = False,
) -> Prefix:
    """Add a Handle prefix. Case sensitivity can never be changed; the other settings can."""
    prefix = build_handle_prefix(
        name,
        minter,
        case_sensitive,
        policy,
        pattern,
        registry.current_time(),
        parent=None,
        pass_through=pass_through,
        ttl=ttl,
        joiners=joiners,
    )

    def work(tx: Transaction) -> Prefix:
        require_permission(tx, by, "admin", WHOLE_REGISTRY, registry.current_time())
        parent = next((one for one in prefix_parents(tx, name)), None)
        with_parent = msgspec.structs.replace(prefix, parent=parent)
        insert_prefix(tx, with_parent, by)
        return with_parent

    return await registry.store.write(work)


async def derive_prefix(
    registry: Registry,
    by: Agent,
    name: str,
    *,
    minter: Minter = "pilin",
    case_sensitive: bool = True,
    policy: str = "",
    pattern: str | None = None,
    pass_through: bool = False,
    ttl: int | None = None,
    joiners: bool = False,
) -> Prefix:
    """Add a prefix such as `12345.1`, with permission on `12345`. The caller becomes its administrator."""
    parents = handle.parents(name)
    if not parents:
        raise InvalidInput("prefix", "prefix", f"{quote_text(name)} is not a derived prefix, such as 12345.1")

    def work(tx: Transaction) -> Prefix:
        at = registry.current_time()
        parent = require_prefix(tx, parents[0])
        if parent.scheme != "handle":
            raise InvalidInput("prefix", "prefix", f"{parent.name} is not a Handle prefix and cannot be derived from")
        require_permission(tx, by, "derive", parent.key, at)
        refuse_derived_administrators(tx, by, handle.fold(name), prefix_parents(tx, name), at)
        derived = build_handle_prefix(
            name,
            minter,
            case_sensitive,
            policy,
            pattern,
            at,
            parent.key,
            pass_through=pass_through,
            ttl=ttl,
            joiners=joiners,
        )
        insert_prefix(tx, derived, by)
        until = grant_end(tx, by, "derive", parent.key, at)
        grant_creator_rights(tx, by, derived, at, registry.settings.limits.record_bytes, until)
        return derived

    return await registry.store.write(work)


async def change_prefix(
    registry: Registry,
    by: Agent,
    name: str,
    *,
    policy: str | None = None,
    granularity: Exact | None = None,
    minter: Minter | None = None,
    pattern: str | None = None,
    pass_through: bool | None = None,
    ttl: int | None = None,
    joiners: bool | None = None,
    address: AddressChange = SAME_ADDRESS,
    expected: str | None = None,
) -> Prefix:
    """Change what may be changed: the policy text, how a Handle prefix mints, granularity and address of a subsystem.

    Zero-width joiners stay allowed, once they are: there may be names with them.

    With `expected`, the digest of the settings that the caller has read, raise Conflict if they have changed since.
    """
    settings = (policy, granularity, minter, pattern, pass_through, ttl, joiners)
    if all(one is None for one in settings) and address == SAME_ADDRESS:
        reason = (
            "nothing to change: give the policy, granularity, host, IP address, minter, pattern, pass-through, TTL or "
            "joiners"
        )
        raise InvalidInput("prefix", "prefix", reason)
    if granularity is not None:
        ibi.next_date(0, None, granularity)

    def work(tx: Transaction) -> Prefix:
        at = registry.current_time()
        prefix = require_prefix(tx, name)
        require_permission(tx, by, "admin", prefix.key, at)
        check_digest(prefix, expected)
        if policy is not None:
            prefix = msgspec.structs.replace(prefix, policy=check_policy(policy))
        if granularity is not None:
            if prefix.subsystem is None:
                raise InvalidInput(
                    "prefix", "granularity", f"only IBI subsystems have a granularity, and {prefix.name} is not one"
                )
            subsystem = msgspec.structs.replace(prefix.subsystem, granularity=Fraction(granularity))
            prefix = msgspec.structs.replace(prefix, subsystem=subsystem)
        if minter is not None or pattern is not None:
            new_minter = minter or prefix.minter
            prefix = msgspec.structs.replace(
                prefix, minter=new_minter, pattern=check_minter(prefix, new_minter, pattern)
            )
        if pass_through is not None:
            prefix = msgspec.structs.replace(prefix, pass_through=pass_through)
        if ttl is not None:
            prefix = msgspec.structs.replace(prefix, ttl=check_ttl(ttl))
        if joiners is not None:
            if prefix.joiners and not joiners:
                reason = "zero-width joiners stay allowed: names with them may exist"
                raise InvalidInput("prefix", "joiners", f"{prefix.name}: {reason}")
            prefix = msgspec.structs.replace(prefix, joiners=joiners)
        if address != SAME_ADDRESS:
            prefix = change_address(tx, prefix, address, at)
        check_scheme_settings(prefix)
        tx.put_prefix(prefix)
        tx.put_event(Event(at, by.id, "prefix change", prefix.name, format_settings(prefix)))
        return prefix

    return await registry.store.write(work)


async def reset_timeline(registry: Registry, by: Agent, name: str, reason: str, *, number: int | None = None) -> None:
    """Continue a timeline from now, after a wrong clock moved it into the future. Names stay unique all the same."""
    check_one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> None:
        at = registry.current_time()
        prefix = require_prefix(tx, name)
        require_permission(tx, by, "admin", prefix.key, at)
        if prefix.minter == "ppid":
            raise InvalidInput("prefix", "prefix", f"{prefix.name} has no timeline: its names are not dated")
        key = counter_key(prefix) if prefix.minter == "sequential" else prefix.key
        last = tx.timeline(key)
        if prefix.minter == "sequential":
            if number is None or number < 0:
                raise InvalidInput("prefix", "number", "the last number in use is required, as in --number 5000")
            value = Fraction(number)
        else:
            value = now_seconds(registry.clock)
        tx.put_timeline(key, value, HIGH_WATER_LEAD)
        tx.put_event(Event(at, by.id, "timeline reset", prefix.name, f"from {last} to {value}: {reason}"))

    await registry.store.write(work)


def prefix_parents(reader: Reader, name: str) -> list[str]:
    """Return the prefixes of this registry that this one is derived from, the nearest first."""
    return [parent.key for key in handle.parents(handle.fold(name)) if (parent := reader.prefix(key)) is not None]


def person_prefixes(at: str) -> list[Prefix]:
    """Return the two namespaces of person identifiers, which every registry has."""
    return [
        Prefix(key=handle.fold(kind), name=kind, scheme="ppid", minter="ppid", case_sensitive=False, created=at)
        for kind in ppid.TYPES
    ]


def check_prefix_name(name: str) -> None:
    """Refuse a name that is not a Handle prefix, or that could be mistaken for something else."""
    handle.Handle(name, _ANY_SUFFIX)
    check_length(name)
    if name == WHOLE_REGISTRY:
        raise InvalidName("handle", "prefix", 0, f"{WHOLE_REGISTRY} means the whole registry")
    if name != name.strip() or ".." in name or name.startswith(".") or name.endswith("."):
        raise InvalidName(
            "handle", "prefix", None, f"{quote_text(name)} starts or ends with a space, or has an empty part"
        )


def refuse_server_path(name: str) -> None:
    """Refuse a new prefix whose names could not be resolved: the server uses those paths itself."""
    if handle.fold(name) in _SERVER_PATHS:
        reason = f"names under {name} could not be resolved: the server uses this path itself"
        raise InvalidName("handle", "prefix", 0, reason)


def build_handle_prefix(
    name: str,
    minter: Minter,
    case_sensitive: bool,
    policy: str,
    pattern: str | None,
    at: str,
    parent: str | None,
    *,
    pass_through: bool,
    ttl: int | None,
    joiners: bool,
) -> Prefix:
    """Return a new Handle prefix. Raise an error if its name or its settings are not allowed."""
    check_prefix_name(name)
    refuse_server_path(name)
    prefix = Prefix(
        key=handle.fold(name),
        name=name,
        scheme="handle",
        minter=minter,
        case_sensitive=case_sensitive,
        parent=parent,
        policy=check_policy(policy),
        created=at,
        pass_through=pass_through,
        ttl=check_ttl(ttl),
        joiners=joiners,
    )
    return msgspec.structs.replace(prefix, pattern=check_minter(prefix, minter, pattern))


def check_minter(prefix: Prefix, minter: Minter, pattern: str | None) -> str | None:
    if prefix.scheme != "handle" or minter not in HANDLE_MINTERS:
        raise InvalidInput("prefix", "minter", f"the minter of {prefix.name} cannot be {quote_text(minter)}")
    if pattern is None:
        return prefix.pattern if minter == "sequential" else None
    if minter != "sequential":
        raise InvalidInput("prefix", "pattern", "a pattern requires the minter sequential")
    handle.Handle(prefix.name, check_pattern(pattern))
    return pattern


def check_ttl(ttl: int | None) -> int | None:
    if ttl is not None and not 0 <= ttl <= _LARGEST_TTL:
        raise OutOfRange("prefix", "ttl", f"the TTL must be between 0 and {_LARGEST_TTL} seconds, not {ttl}")
    return ttl


def check_scheme_settings(prefix: Prefix) -> None:
    """Refuse settings that the scheme of the prefix does not have."""
    if prefix.scheme != "handle":
        for setting in ("pass_through", "joiners"):
            if getattr(prefix, setting):
                reason = f"{prefix.name} is not a Handle prefix: {setting.replace('_', '-')} is not supported there"
                raise InvalidInput("prefix", setting, reason)
    if prefix.scheme == "ppid" and prefix.ttl is not None:
        raise InvalidInput("prefix", "ttl", f"records of persons have no values, so {prefix.name} has no TTL")


def check_policy(policy: str) -> str:
    if len(policy) > _LONGEST_POLICY:
        raise InvalidInput("prefix", "policy", f"the policy is longer than {_LONGEST_POLICY} characters")
    return check_plain_text(policy, "policy")
