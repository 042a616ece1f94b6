"""The insertion of a new prefix, and of new label prefixes of a subsystem: no name may be read in two ways."""

from collections.abc import Iterable

from perdure.errors import InvalidInput, LabelPrefixTaken, NameTaken
from perdure.names import handle
from perdure.registry.entities import Agent, Event, LabelPeriod, Prefix
from perdure.registry.store_interface import Transaction


def insert_prefix(tx: Transaction, prefix: Prefix, by: Agent) -> None:
    """Insert a new prefix. Refuse it if it exists, or if a name under it could be read in two ways."""
    check_keys_are_free(tx, prefix, prefix.lookup_keys)
    tx.put_prefix(prefix)
    tx.put_event(Event(prefix.created, by.id, "prefix add", prefix.name, format_settings(prefix)))


def check_keys_are_free(tx: Transaction, prefix: Prefix, keys: Iterable[str]) -> None:
    """Refuse keys that lead to another prefix. A label prefix stays with one subsystem for ever."""
    for key in keys:
        existing = tx.prefix(key)
        if existing is None:
            continue
        if prefix.subsystem is not None and existing.subsystem is None and existing.scheme == "ibi":
            reason = (
                f"{existing.name} holds imported labels, and cannot become a subsystem: "
                "choose another host, IP address or port"
            )
            raise InvalidInput("prefix", "host", reason)
        period = _newest_period(existing, key)
        if period is not None:
            raise LabelPrefixTaken(period.label_prefix, existing.name, period.started, period.ended)
        raise NameTaken(key)
    for key in keys:
        if tx.pool(key) is not None:  # a request to mint names either a prefix or a pool
            raise NameTaken(key)
    beginnings = _first_parts(keys)
    for other in tx.prefixes():
        if other.scheme != prefix.scheme and _first_parts(other.lookup_keys) & beginnings:
            reason = f"{prefix.name} and {other.name} have the same beginning: names under them would be ambiguous"
            raise InvalidInput("prefix", "prefix", reason)


def _newest_period(prefix: Prefix, label: str) -> LabelPeriod | None:
    return next((one for one in reversed(prefix.periods) if one.label == label), None)


def _first_parts(keys: Iterable[str]) -> set[str]:
    return {handle.fold(key.partition("/")[0]) for key in keys}


def format_settings(prefix: Prefix) -> str:
    """Write the settings of a prefix as one line for the log of events."""
    parts = [f"minter {prefix.minter}", "case-sensitive" if prefix.case_sensitive else "not case-sensitive"]
    if prefix.pass_through:
        parts.append("longer names pass through")
    if prefix.ttl is not None:
        parts.append(f"TTL {prefix.ttl}")
    if prefix.joiners:
        parts.append("zero-width joiners allowed")
    if prefix.scheme == "ibi" and prefix.subsystem is None:
        parts = ["imported labels only"]
    if prefix.subsystem is not None:
        parts.append(f"granularity {prefix.subsystem.granularity}")
        parts.append(f"labels {' and '.join(prefix.current_label_prefixes)}")
    return ", ".join(parts)
