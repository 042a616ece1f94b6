"""Parts of a registry that an export carries beside its identifiers: prefixes, agents, grants."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, TypeVar

import msgspec

from perdure.errors import Conflict, InvalidInput
from perdure.exchange.entry import Notice, Setting
from perdure.minting.timeline import AHEAD
from perdure.names import handle, ibi, ppid
from perdure.records.checks import Limits, check_seconds, one_line
from perdure.registry.agents import checked_id
from perdure.registry.authority import bound_end, grant_end
from perdure.registry.entities import EVERYWHERE, Agent, Event, Grant, Prefix, counter
from perdure.registry.importing.options import OUTCOMES, Options, Outcome
from perdure.registry.naming import known_prefix
from perdure.registry.parties import check_party
from perdure.registry.prefixes import check_prefix_name, checked_minting, checked_passing, checked_policy, put_new
from perdure.registry.protocol import Transaction

T = TypeVar("T")
_LIMITS: Final = Limits()


def apply_setting(tx: Transaction, by: Agent, entry: Setting, options: Options, at: str) -> Outcome | Notice:
    """What is not here yet is made; what is here stays as it is, with a notice where that may surprise."""
    outcome = _KINDS[entry.kind](tx, by, entry.fields, options, at)
    return outcome if outcome in OUTCOMES else Notice(entry.line, outcome)


def _registry(tx: Transaction, by: Agent, fields: dict[str, Any], options: Options, at: str) -> str:
    namespace = tx.fact("ppid_namespace")
    if fields.get("ppid_namespace") not in (None, namespace):
        reason = f"this registry makes person identifiers in the namespace {namespace}, the other one does not"
        raise InvalidInput("import", "ppid_namespace", reason)
    if fields.get("id") not in (None, tx.fact("registry")):
        return "this comes from another registry: from now on let only one of the two mint under the same prefix"
    return "unchanged"


def _prefix(tx: Transaction, by: Agent, fields: dict[str, Any], options: Options, at: str) -> str:
    last = _number(fields.get("last"))
    wanted = _decoded({name: value for name, value in fields.items() if name != "last"}, Prefix, "prefix")
    _check_prefix(wanted)
    known = tx.prefix(wanted.key)
    if known is None:
        put_new(tx, wanted, by)
    elif (known.key, known.scheme, known.case_sensitive, known.opaque) != (
        wanted.key,
        wanted.scheme,
        wanted.case_sensitive,
        wanted.opaque,
    ):
        raise Conflict(wanted.name, "the same scheme and case policy", "another")
    if last is not None:
        timeline = counter(wanted) if wanted.minter == "sequential" else wanted.key
        here = tx.timeline(timeline)
        if here is None or 0 <= here < last:  # a counter below zero is stopped until an administrator resets it
            tx.put_timeline(timeline, last, AHEAD)
    return "created" if known is None else "unchanged"


def _agent(tx: Transaction, by: Agent, fields: dict[str, Any], options: Options, at: str) -> str:
    wanted = _decoded(fields, Agent, "agent")
    checked_id(wanted.id)
    one_line(wanted.name, "name", _LIMITS.text_characters)
    check_party(wanted.identifier, "identifier", _LIMITS)
    known = tx.agent(wanted.id)
    if known is not None:
        if known.identifier != wanted.identifier:
            return f"{wanted.id} is somebody else here ({known.identifier}): nothing is taken over for that name"
        return "unchanged"
    if any(other.identifier == wanted.identifier for other in tx.agents()):
        raise Conflict(wanted.id, "an identifier of its own", f"{wanted.identifier}, which is another agent's")
    tx.put_agent(wanted)
    tx.put_event(Event(at, by.id, "agent add", wanted.id, options.note))
    return "created"


def _grant(tx: Transaction, by: Agent, fields: dict[str, Any], options: Options, at: str) -> str:
    whose = fields.get("identifier")
    wanted = _decoded({name: value for name, value in fields.items() if name != "identifier"}, Grant, "grant")
    if wanted.scope != EVERYWHERE:
        wanted = msgspec.structs.replace(wanted, scope=known_prefix(tx, wanted.scope).key)
    if wanted.until is not None:
        check_seconds(wanted.until, "until")
    agent = tx.agent(wanted.agent)
    if agent is None or agent.identifier != whose:  # somebody else may go by that short name here
        return f"{wanted.agent!a} with the identifier {whose!a} is nobody here: the grant was passed over"
    if any((one.scope, one.action) == (wanted.scope, wanted.action) for one in tx.grants(wanted.agent)):
        return "unchanged"
    end = bound_end(wanted.until, grant_end(tx, by, "admin", wanted.scope, at), "until")
    tx.put_grant(msgspec.structs.replace(wanted, until=end))
    tx.put_event(Event(at, by.id, "grant", wanted.agent, f"{wanted.action} on {wanted.scope}, {options.note}"))
    return "created"


# An outcome, or a sentence about what was passed over.
_Apply = Callable[[Transaction, Agent, dict[str, Any], Options, str], str]
_KINDS: Final[dict[str, _Apply]] = {"registry": _registry, "prefix": _prefix, "agent": _agent, "grant": _grant}


def _number(text: Any) -> Fraction | None:
    try:
        return None if text is None else Fraction(text)
    except (ValueError, TypeError, ArithmeticError):
        raise InvalidInput("import", "last", f"{text!a} is no date of a timeline") from None


def _check_prefix(wanted: Prefix) -> None:
    checked_policy(wanted.policy)
    checked_passing(wanted)
    if wanted.scheme == "handle":
        check_prefix_name(wanted.name)
        checked_minting(wanted, wanted.minter, wanted.pattern)
        right = handle.fold(wanted.name)
    elif wanted.scheme == "ibi" and wanted.subsystem is not None and wanted.minter == "ibi":
        place = wanted.subsystem
        ibi.next_date(0, None, place.granularity)
        right = ibi.repository_prefix(place.host, place.port)
        if wanted.opaque != handle.fold(ibi.opaque_prefix(place.ip, place.ip_port)):
            raise InvalidInput("import", "opaque", f"{wanted.opaque!a} is not the opaque prefix of {wanted.name}")
    elif wanted.scheme == "ppid" and wanted.minter == "ppid" and wanted.name in ppid.TYPES:
        right = handle.fold(wanted.name)
    else:
        raise InvalidInput(
            "import", "minter", f"{wanted.name!a} cannot be {wanted.scheme} with the minter {wanted.minter}"
        )
    if wanted.key != right:
        raise InvalidInput("import", "key", f"{wanted.name} is looked up as {right}, not as {wanted.key!a}")


def _decoded(fields: dict[str, Any], kind: type[T], part: str) -> T:
    try:
        return msgspec.convert(fields, kind, dec_hook=_fraction)
    except msgspec.ValidationError as problem:
        raise InvalidInput("import", part, f"this is no {part}: {problem}") from None


def _fraction(kind: type, value: Any) -> Any:
    if kind is Fraction and isinstance(value, str):
        try:
            return Fraction(value)
        except ArithmeticError as problem:
            raise ValueError(str(problem)) from None
    raise NotImplementedError(kind)
