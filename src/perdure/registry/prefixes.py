"""Prefixes: the namespaces that a registry keeps, how names under them are made, and what is promised about them."""

import ipaddress
from fractions import Fraction
from typing import Final

import msgspec

from perdure.errors import InvalidInput, InvalidName, NameTaken, shown
from perdure.minting.clock import seconds
from perdure.minting.suffixes import checked_pattern
from perdure.minting.timeline import AHEAD
from perdure.names import handle, ibi, ppid
from perdure.names.instant import Exact
from perdure.records.checks import one_line, plain_text
from perdure.registry.authority import grant_end, refuse_derived_administrators, require
from perdure.registry.entities import (
    EVERYWHERE,
    HANDLE_MINTERS,
    Agent,
    Event,
    Minter,
    Prefix,
    Subsystem,
    counter,
)
from perdure.registry.naming import check_length, known_prefix
from perdure.registry.prefix_digest import check_digest
from perdure.registry.prefix_records import let_administer
from perdure.registry.protocol import Reader, Transaction
from perdure.registry.registry import Registry

_LONGEST_POLICY: Final = 100_000
_ANY_SUFFIX: Final = "x"
# How addresses of the server itself begin.
_OWN_ADDRESSES: Final = frozenset({"api", "hrls", "healthz", "readyz", "metrics"})


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
) -> Prefix:
    """Keep a Handle prefix. The case policy is fixed for life; the other settings are not."""
    prefix = _handle_prefix(name, minter, case_sensitive, policy, pattern, pass_through, registry.now(), parent=None)

    def work(tx: Transaction) -> Prefix:
        require(tx, by, "admin", EVERYWHERE, registry.now())
        parent = next((one for one in prefix_parents(tx, name)), None)
        kept = msgspec.structs.replace(prefix, parent=parent)
        put_new(tx, kept, by)
        return kept

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
) -> Prefix:
    """Keep `12345.1`, with authority over `12345`; whoever derives it administers it."""
    parents = handle.parents(name)
    if not parents:
        raise InvalidInput(
            "prefix", "prefix", f"{shown(name)} is derived from nothing: a derived prefix looks like 12345.1"
        )

    def work(tx: Transaction) -> Prefix:
        at = registry.now()
        parent = known_prefix(tx, parents[0])
        if parent.scheme != "handle":
            raise InvalidInput("prefix", "prefix", f"{parent.name} is no Handle prefix: nothing is derived from it")
        require(tx, by, "derive", parent.key, at)
        refuse_derived_administrators(tx, by, handle.fold(name), prefix_parents(tx, name), at)
        kept = _handle_prefix(name, minter, case_sensitive, policy, pattern, pass_through, at, parent.key)
        put_new(tx, kept, by)
        until = grant_end(tx, by, "derive", parent.key, at)
        let_administer(tx, by, kept, at, registry.settings.limits.record_bytes, until)
        return kept

    return await registry.store.write(work)


async def add_subsystem(
    registry: Registry,
    by: Agent,
    host: str,
    ip: str,
    *,
    port: int = 80,
    ip_port: int = 800,
    granularity: Exact = 1,
    private: bool = False,
    policy: str = "",
) -> Prefix:
    """Keep an IBI subsystem: where it is, and how fine its dates are. Both its addresses belong to it alone."""
    ibi.next_date(0, None, granularity)  # refuses what is no granularity
    name, opaque = ibi.repository_prefix(host, port), ibi.opaque_prefix(ip, ip_port)
    if not private and not ipaddress.ip_address(ip).is_global:
        reason = f"{ip} is an address that exists in many places at once; if labels from it are meant, say so (private)"
        raise InvalidInput("ibi", "ip", reason)
    place = Subsystem(handle.fold(host).removesuffix("."), port, ip, ip_port, Fraction(granularity), private)
    prefix = Prefix(
        key=name,
        name=name,
        scheme="ibi",
        minter="ibi",
        case_sensitive=False,
        policy=checked_policy(policy),
        opaque=handle.fold(opaque),
        subsystem=place,
        created=registry.now(),
    )

    def work(tx: Transaction) -> Prefix:
        require(tx, by, "admin", EVERYWHERE, registry.now())
        put_new(tx, prefix, by)
        return prefix

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
    expected: str | None = None,
) -> Prefix:
    """Change what may be changed: the policy text, the granularity of a subsystem, how a Handle prefix mints.

    With `expected`, the digest of the settings that the caller has read, a Conflict if somebody has changed them since.
    """
    if all(one is None for one in (policy, granularity, minter, pattern, pass_through)):
        reason = "say what to change: the policy, the granularity, the minter, the pattern or the pass-through"
        raise InvalidInput("prefix", "prefix", reason)
    if granularity is not None:
        ibi.next_date(0, None, granularity)

    def work(tx: Transaction) -> Prefix:
        at = registry.now()
        prefix = known_prefix(tx, name)
        require(tx, by, "admin", prefix.key, at)
        check_digest(prefix, expected)
        if policy is not None:
            prefix = msgspec.structs.replace(prefix, policy=checked_policy(policy))
        if granularity is not None:
            if prefix.subsystem is None:
                raise InvalidInput("prefix", "granularity", f"{prefix.name} is no IBI subsystem and has no granularity")
            place = msgspec.structs.replace(prefix.subsystem, granularity=Fraction(granularity))
            prefix = msgspec.structs.replace(prefix, subsystem=place)
        if minter is not None or pattern is not None:
            wanted = minter or prefix.minter
            prefix = msgspec.structs.replace(prefix, minter=wanted, pattern=checked_minting(prefix, wanted, pattern))
        if pass_through is not None:
            prefix = checked_passing(msgspec.structs.replace(prefix, pass_through=pass_through))
        tx.put_prefix(prefix)
        tx.put_event(Event(at, by.id, "prefix change", prefix.name, _said(prefix)))
        return prefix

    return await registry.store.write(work)


async def reset_timeline(registry: Registry, by: Agent, name: str, reason: str, *, number: int | None = None) -> None:
    """Let a timeline go on from now, after a wrong clock drove it into the future; names stay unique all the same."""
    one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> None:
        at = registry.now()
        prefix = known_prefix(tx, name)
        require(tx, by, "admin", prefix.key, at)
        if prefix.minter == "ppid":
            raise InvalidInput("prefix", "prefix", f"{prefix.name} has no timeline: its names are not made from one")
        key = counter(prefix) if prefix.minter == "sequential" else prefix.key
        last = tx.timeline(key)
        if prefix.minter == "sequential":
            if number is None or number < 0:
                raise InvalidInput("prefix", "number", "say after which number to go on, as in --number 5000")
            value = Fraction(number)
        else:
            value = seconds(registry.clock)
        tx.put_timeline(key, value, AHEAD)
        tx.put_event(Event(at, by.id, "timeline reset", prefix.name, f"from {last} to {value}: {reason}"))

    await registry.store.write(work)


def prefix_parents(reader: Reader, name: str) -> list[str]:
    """The prefixes kept here that this one is derived from, the nearest first."""
    return [parent.key for key in handle.parents(handle.fold(name)) if (parent := reader.prefix(key)) is not None]


def person_prefixes(at: str) -> list[Prefix]:
    """The two namespaces of person identifiers, which every registry keeps."""
    return [
        Prefix(key=handle.fold(kind), name=kind, scheme="ppid", minter="ppid", case_sensitive=False, created=at)
        for kind in ppid.TYPES
    ]


def check_prefix_name(name: str) -> None:
    """Refuse what is no Handle prefix, or what could be mistaken for something else."""
    handle.Handle(name, _ANY_SUFFIX)
    check_length(name)
    if name == EVERYWHERE:
        raise InvalidName("handle", "prefix", 0, f"{EVERYWHERE} stands for the whole registry")
    if name != name.strip() or ".." in name or name.startswith(".") or name.endswith("."):
        raise InvalidName(
            "handle", "prefix", None, f"{shown(name)} has a space at its end, or an empty part between dots"
        )


def refuse_own_address(name: str) -> None:
    """Refuse a new prefix whose names nobody could follow: the server answers there itself."""
    if handle.fold(name) in _OWN_ADDRESSES:
        reason = f"names under {name} could not be resolved, since addresses of the server itself begin so"
        raise InvalidName("handle", "prefix", 0, reason)


def _handle_prefix(
    name: str,
    minter: Minter,
    case_sensitive: bool,
    policy: str,
    pattern: str | None,
    pass_through: bool,
    at: str,
    parent: str | None,
) -> Prefix:
    check_prefix_name(name)
    refuse_own_address(name)
    prefix = Prefix(
        key=handle.fold(name),
        name=name,
        scheme="handle",
        minter=minter,
        case_sensitive=case_sensitive,
        parent=parent,
        policy=checked_policy(policy),
        created=at,
        pass_through=pass_through,
    )
    return msgspec.structs.replace(prefix, pattern=checked_minting(prefix, minter, pattern))


def checked_minting(prefix: Prefix, minter: Minter, pattern: str | None) -> str | None:
    if prefix.scheme != "handle" or minter not in HANDLE_MINTERS:
        raise InvalidInput("prefix", "minter", f"the minter of {prefix.name} cannot be {shown(minter)}")
    if pattern is None:
        return prefix.pattern if minter == "sequential" else None
    if minter != "sequential":
        raise InvalidInput("prefix", "pattern", "a pattern is for numbered names (the minter sequential)")
    handle.Handle(prefix.name, checked_pattern(pattern))
    return pattern


def checked_passing(prefix: Prefix) -> Prefix:
    if prefix.pass_through and prefix.scheme != "handle":
        reason = f"{prefix.name} is no Handle prefix: a longer name than one that is registered is another name there"
        raise InvalidInput("prefix", "pass_through", reason)
    return prefix


def checked_policy(policy: str) -> str:
    if len(policy) > _LONGEST_POLICY:
        raise InvalidInput("prefix", "policy", f"the policy is longer than {_LONGEST_POLICY} characters")
    return plain_text(policy, "policy")


def put_new(tx: Transaction, prefix: Prefix, by: Agent) -> None:
    """A prefix that is not kept yet, and under which no name could be read in two ways."""
    for key in (prefix.key, prefix.opaque):
        if key is not None and tx.prefix(key) is not None:
            raise NameTaken(key)
    for other in tx.prefixes():
        if other.scheme != prefix.scheme and _first_parts(other) & _first_parts(prefix):
            reason = f"{prefix.name} and {other.name} begin alike: names under them could not be told apart"
            raise InvalidInput("prefix", "prefix", reason)
    tx.put_prefix(prefix)
    tx.put_event(Event(prefix.created, by.id, "prefix add", prefix.name, _said(prefix)))


def _first_parts(prefix: Prefix) -> set[str]:
    return {key.partition("/")[0] for key in (prefix.key, prefix.opaque) if key is not None}


def _said(prefix: Prefix) -> str:
    parts = [f"minter {prefix.minter}", "case-sensitive" if prefix.case_sensitive else "not case-sensitive"]
    if prefix.pass_through:
        parts.append("longer names pass through")
    if prefix.subsystem is not None:
        parts.append(f"granularity {prefix.subsystem.granularity}")
    return ", ".join(parts)
