"""Import of the parts of a registry other than identifiers: prefixes, agents, grants."""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, TypeVar

import msgspec

from perdure.errors import Conflict, InvalidInput, quote_text
from perdure.formats.import_entries import Notice, RegistryPart
from perdure.names import handle, ibi, ppid
from perdure.records.namespaces import is_local
from perdure.records.validation import Limits, check_one_line, check_seconds, to_iso_seconds
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Event, Grant, Pool, Prefix, counter_key
from perdure.registry.importing.import_options import OUTCOMES, ImportOptions, Outcome
from perdure.registry.name_keys import require_prefix
from perdure.registry.permissions.agents import check_agent_id
from perdure.registry.permissions.permissions import grant_end, limit_end
from perdure.registry.person_iris import PERSON_IRIS
from perdure.registry.pools.pools import check_pool_name, describe_pool, find_members, refuse_taken_name
from perdure.registry.prefixes.label_periods import (
    change_periods,
    current_labels,
    is_continued_by,
    period_problems,
)
from perdure.registry.prefixes.label_prefixes import label_prefix_named
from perdure.registry.prefixes.new_prefix import check_keys_are_free, format_settings, insert_prefix
from perdure.registry.prefixes.prefixes import (
    check_minter,
    check_policy,
    check_prefix_name,
    check_scheme_settings,
    check_ttl,
)
from perdure.registry.responsible_parties import check_party
from perdure.registry.store_interface import Transaction
from perdure.timelines.timeline import HIGH_WATER_LEAD

T = TypeVar("T")
_LIMITS: Final = Limits()
_MICROSECONDS: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_OTHER_REGISTRY: Final = (
    "this file is from another registry: only one of the two may mint under the same prefix from now on"
)


def apply_registry_part(
    tx: Transaction, by: Agent, entry: RegistryPart, options: ImportOptions, at: str
) -> Outcome | Notice:
    """Create what does not exist here. What exists stays unchanged, with a notice where that may surprise."""
    outcome = _APPLY_BY_KIND[entry.kind](tx, by, entry.fields, options, at)
    return outcome if outcome in OUTCOMES else Notice(entry.line, outcome)


def _apply_registry(tx: Transaction, by: Agent, fields: dict[str, Any], options: ImportOptions, at: str) -> str:
    namespace = tx.fact("ppid_namespace")
    if fields.get("ppid_namespace") not in (None, namespace):
        reason = f"the PPID namespace of this registry is {namespace}, and the file has another one"
        raise InvalidInput("import", "ppid_namespace", reason)
    notices = []
    if fields.get("id") not in (None, tx.fact("registry")):
        notices.append(_OTHER_REGISTRY)
    iris, ours = fields.get("person_iris"), tx.fact(PERSON_IRIS)
    if isinstance(iris, str) and ours not in (None, iris) and not is_local(iris):
        notices.append(f"its persons have IRIs of {quote_text(iris)} there, and of {ours} here")
    return "; ".join(notices) or "unchanged"


def _apply_prefix(tx: Transaction, by: Agent, fields: dict[str, Any], options: ImportOptions, at: str) -> str:
    last = _parse_date(fields.get("last"))
    imported = _decode_fields({name: value for name, value in fields.items() if name != "last"}, Prefix, "prefix")
    existing, outcome = tx.prefix(imported.key), "unchanged"
    imported = _with_periods(imported, existing)
    _check_prefix(imported)
    if existing is None:
        insert_prefix(tx, imported, by)
        outcome = "created"
    elif (existing.key, existing.scheme, existing.case_sensitive) != (
        imported.key,
        imported.scheme,
        imported.case_sensitive,
    ):
        raise Conflict(imported.name, "the same scheme and case policy", "another")
    elif not is_continued_by(imported.periods, existing.periods):
        _continue_periods(tx, by, existing, imported, at)
        outcome = "changed"
    if last is not None:
        timeline = counter_key(imported) if imported.minter == "sequential" else imported.key
        current = tx.timeline(timeline)
        if current is None or 0 <= current < last:  # a counter below zero is stopped until an administrator resets it
            tx.put_timeline(timeline, last, HIGH_WATER_LEAD)
    return outcome


def _with_periods(imported: Prefix, existing: Prefix | None) -> Prefix:
    """Return the prefix with label periods, if it was exported before they were recorded."""
    if imported.periods or imported.subsystem is None:
        return imported
    labels = current_labels(imported.subsystem)
    periods = change_periods((), labels, imported.created)
    if existing is not None and {one.label for one in existing.periods} >= set(labels.values()):
        return msgspec.structs.replace(
            imported, periods=existing.periods, subsystem=existing.subsystem, opaque=existing.opaque
        )
    return msgspec.structs.replace(imported, periods=periods)


def _continue_periods(tx: Transaction, by: Agent, existing: Prefix, imported: Prefix, at: str) -> None:
    """Take over later addresses of a subsystem: those of a newer export of the same registry."""
    if not is_continued_by(existing.periods, imported.periods):
        raise Conflict(imported.name, "the same label periods, or later ones", "others")
    check_keys_are_free(tx, imported, [key for key in imported.lookup_keys if key not in existing.lookup_keys])
    continued = msgspec.structs.replace(
        existing, subsystem=imported.subsystem, opaque=imported.opaque, periods=imported.periods
    )
    tx.put_prefix(continued)
    tx.put_event(Event(at, by.id, "prefix change", continued.name, format_settings(continued)))


def _apply_pool(tx: Transaction, by: Agent, fields: dict[str, Any], options: ImportOptions, at: str) -> str:
    imported = _decode_fields(fields, Pool, "pool")
    check_pool_name(imported.name)
    existing = tx.pool(imported.name)
    if existing is not None:
        same = (existing.policy, existing.members) == (imported.policy, imported.members)
        return "unchanged" if same else f"the pool {imported.name} has other settings here: they are not changed"
    refuse_taken_name(tx, imported.name)
    pool = msgspec.structs.replace(imported, members=find_members(tx, imported.members))
    tx.put_pool(pool)
    tx.put_event(Event(at, by.id, "pool add", pool.name, f"{describe_pool(pool)}, {options.note}"))
    return "created"


def _apply_agent(tx: Transaction, by: Agent, fields: dict[str, Any], options: ImportOptions, at: str) -> str:
    imported = _decode_fields(fields, Agent, "agent")
    check_agent_id(imported.id)
    check_one_line(imported.name, "name", _LIMITS.text_characters)
    check_party(imported.identifier, "identifier", _LIMITS)
    if imported.retired is not None:
        to_iso_seconds(imported.retired, "retired")
    existing = tx.agent(imported.id)
    if existing is not None:
        if existing.identifier != imported.identifier:
            return f"{imported.id} is another agent here ({existing.identifier}): nothing is imported for that id"
        if (existing.retired is None) != (imported.retired is None):
            here, there = ("active", "retired") if existing.retired is None else ("retired", "active")
            return f"{imported.id} is {here} here, and {there} in the file: that is not changed"
        return "unchanged"
    if any(other.identifier == imported.identifier for other in tx.agents()):
        raise Conflict(imported.id, "an identifier of its own", f"{imported.identifier}, which is another agent's")
    tx.put_agent(imported)
    tx.put_event(Event(at, by.id, "agent add", imported.id, options.note))
    return "created"


def _apply_grant(tx: Transaction, by: Agent, fields: dict[str, Any], options: ImportOptions, at: str) -> str:
    whose = fields.get("identifier")
    imported = _decode_fields({name: value for name, value in fields.items() if name != "identifier"}, Grant, "grant")
    if imported.scope != WHOLE_REGISTRY:
        imported = msgspec.structs.replace(imported, scope=require_prefix(tx, imported.scope).key)
    if imported.until is not None:
        check_seconds(imported.until, "until")
    agent = tx.agent(imported.agent)
    if agent is None or agent.identifier != whose:  # another agent may have that id here
        return f"{imported.agent!a} with the identifier {whose!a} is not an agent here: the grant was skipped"
    if agent.retired is not None:
        return f"{imported.agent!a} was retired here at {agent.retired}: the grant was skipped"
    if any((one.scope, one.action) == (imported.scope, imported.action) for one in tx.grants(imported.agent)):
        return "unchanged"
    end = limit_end(imported.until, grant_end(tx, by, "admin", imported.scope, at), "until")
    tx.put_grant(msgspec.structs.replace(imported, until=end))
    tx.put_event(Event(at, by.id, "grant", imported.agent, f"{imported.action} on {imported.scope}, {options.note}"))
    return "created"


# An outcome, or a sentence about what was skipped.
_Apply = Callable[[Transaction, Agent, dict[str, Any], ImportOptions, str], str]
_APPLY_BY_KIND: Final[dict[str, _Apply]] = {
    "registry": _apply_registry,
    "prefix": _apply_prefix,
    "pool": _apply_pool,
    "agent": _apply_agent,
    "grant": _apply_grant,
}


def _parse_date(text: Any) -> Fraction | None:
    try:
        return None if text is None else Fraction(text)
    except (ValueError, TypeError, ArithmeticError):
        raise InvalidInput("import", "last", f"{text!a} is not a date of a timeline") from None


def _check_prefix(imported: Prefix) -> None:
    check_policy(imported.policy)
    check_scheme_settings(imported)
    check_ttl(imported.ttl)
    if imported.scheme == "handle":
        check_prefix_name(imported.name)
        check_minter(imported, imported.minter, imported.pattern)
        expected_key = handle.fold(imported.name)
    elif imported.scheme == "ibi" and imported.subsystem is not None and imported.minter == "ibi":
        ibi.next_date(0, None, imported.subsystem.granularity)
        for period in imported.periods:
            for part, instant in (("started", period.started), ("ended", period.ended)):
                if instant is not None and instant != imported.created and _MICROSECONDS.fullmatch(instant) is None:
                    raise InvalidInput("import", part, f"{instant!a} is not in UTC with microseconds")
        problem = next(period_problems(imported), None)
        if problem is not None:
            raise InvalidInput("import", "periods", f"{imported.name}: {problem}")
        expected_key = handle.fold(imported.name)
    elif imported.scheme == "ibi" and imported.minter == "ibi" and imported.opaque is None and not imported.periods:
        expected = label_prefix_named(imported.name, imported.created)
        expected_key = expected.key
        if imported.case_sensitive != expected.case_sensitive:
            raise InvalidInput("import", "case_sensitive", f"{imported.name} has the other rule of case")
    elif imported.scheme == "ppid" and imported.minter == "ppid" and imported.name in ppid.TYPES:
        expected_key = handle.fold(imported.name)
    else:
        raise InvalidInput(
            "import", "minter", f"{imported.name!a} cannot be {imported.scheme} with the minter {imported.minter}"
        )
    if imported.key != expected_key:
        raise InvalidInput("import", "key", f"{imported.name} is looked up as {expected_key}, not as {imported.key!a}")


def _decode_fields(fields: dict[str, Any], kind: type[T], part: str) -> T:
    try:
        return msgspec.convert(fields, kind, dec_hook=_decode_fraction)
    except msgspec.ValidationError as problem:
        raise InvalidInput("import", part, f"this is not a valid {part}: {problem}") from None


def _decode_fraction(kind: type, value: Any) -> Any:
    if kind is Fraction and isinstance(value, str):
        try:
            return Fraction(value)
        except ArithmeticError as problem:
            raise ValueError(str(problem)) from None
    raise NotImplementedError(kind)
