"""The look-up of a name: exact, with corrected spelling, or by the longest registered name that it begins with."""

from typing import Final, NamedTuple

import msgspec

from perdure.errors import InvalidInput, InvalidName, NoSuchName
from perdure.http.shared.http_errors import AliasChainTooLong
from perdure.http.urls import is_external_url, strip_scheme
from perdure.names import handle
from perdure.records import record as records
from perdure.records.record import Record
from perdure.records.value import ALIAS, Value
from perdure.registry.entities import Act, Agent, Identifier, Prefix
from perdure.registry.identifier_lookup import find_located, governing_prefix, missing_name_error
from perdure.registry.identifier_view import HIDDEN_REASON
from perdure.registry.longest_name import find_longest
from perdure.registry.name_keys import LONGEST_NAME, locate
from perdure.registry.prefixes.na_names import na_name, prefix_of_record
from perdure.registry.prefixes.na_records import prefix_record
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader
from perdure.registry.withdrawal import find_withdrawal

_MOST_ALIASES: Final = 10


class ResolvedName(NamedTuple):
    """An identifier. `rest` is what the requested name has after the identifier's own name."""

    identifier: Identifier
    record: Record
    prefix: Prefix
    requested_name: str
    rest: str = ""
    is_slip: bool = False
    alias: Value | None = None
    withdrawal: tuple[Act, Agent | None] | None = None

    @property
    def name(self) -> str:
        """Return the name of the identifier."""
        return self.identifier.name


class ResolvedPrefix(NamedTuple):
    """A prefix and its record, which is derived and not stored."""

    name: str
    prefix: Prefix
    values: tuple[Value, ...]


def find_prefix(registry: Registry, reader: Reader, text: str) -> ResolvedPrefix | None:
    """Return the prefix that `0.NA/PREFIX` names, with its public values, or the IBI subsystem of a label prefix.

    Return None if there is none.
    """
    prefix = prefix_of_record(reader, text)
    if prefix is None:
        of_labels = reader.prefix(handle.fold(text)) if len(text) <= LONGEST_NAME and text.isprintable() else None
        if of_labels is None or of_labels.subsystem is None:
            return None
        return ResolvedPrefix(of_labels.name, of_labels, ())
    values = prefix_record(reader, prefix, registry.current_time(), registry.settings.type_prefix)
    return ResolvedPrefix(na_name(prefix), prefix, tuple(value for value in values if value.is_public))


def find_name(reader: Reader, text: str) -> ResolvedName:
    """Return the identifier of a name. Raise NoSuchPrefix, InvalidName, or NoSuchName with suggestions."""
    located = locate(reader, text)
    found, rest = find_located(reader, located), ""
    is_slip = found is not None and found.key != located.key
    if found is None and located.prefix.pass_through:
        found, rest = find_longest(reader, located)
    if found is None:
        raise missing_name_error(reader, located)
    record = without_restricted_content(records.decode(found.record))
    return ResolvedName(
        found,
        record,
        governing_prefix(reader, located, found),
        located.name,
        rest,
        is_slip,
        _find_alias(record),
        None if record.tombstone is None else find_withdrawal(reader, found.subject),
    )


def without_restricted_content(record: Record) -> Record:
    """Return the record of a restricted person without its targets and its description."""
    if record.restriction is None:
        return record
    stone = None if record.tombstone is None else msgspec.structs.replace(record.tombstone, reason=HIDDEN_REASON)
    return msgspec.structs.replace(record, values=(), about=None, tombstone=stone)


def check_alias_chain(reader: Reader, resolved: ResolvedName, *, follows_aliases: bool) -> None:
    """Follow the redirects of a reader through names of this registry. Raise AliasChainTooLong if they do not end.

    Each step is resolved like a request for its URL. Steps are counted, because a name that grows never repeats.
    """
    step = resolved
    for _ in range(_MOST_ALIASES + 1):  # the last one checks the end
        try:
            onward = _next_name(reader, step, follows_aliases)
            if onward is None:
                return
            step = find_name(reader, onward)
        except (InvalidName, InvalidInput, NoSuchName):
            return  # it is elsewhere or not a name, which the next response reports
    raise AliasChainTooLong(resolved.name)


def alias_target(resolved: ResolvedName) -> str | None:
    """Return the name that an alias stands for, with the rest of the requested name appended."""
    return None if resolved.alias is None else strip_scheme(resolved.alias.text or "") + resolved.rest


def _next_name(reader: Reader, resolved: ResolvedName, follows_aliases: bool) -> str | None:
    """Return the name to which a reader is redirected from here; None at the end, or if it is elsewhere."""
    stone = resolved.record.tombstone
    if resolved.record.state != "merged" or stone is None or stone.replaced_by is None:
        return alias_target(resolved) if follows_aliases else None
    if is_external_url(stone.replaced_by):
        return None
    return locate(reader, stone.replaced_by).name + resolved.rest


def _find_alias(record: Record) -> Value | None:
    if record.state != "active":
        return None
    return next((value for value in record.values if value.kind == ALIAS and value.is_public and value.text), None)
