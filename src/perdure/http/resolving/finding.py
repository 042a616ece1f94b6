"""Find what a reader asked for: under its name, its right spelling, or the longest name that it begins with."""

from typing import Final, NamedTuple

import msgspec

from perdure.errors import InvalidInput, InvalidName, NoSuchName
from perdure.http.refusals import AliasChainTooLong
from perdure.http.resolving.places import bare, is_elsewhere
from perdure.records import record as records
from perdure.records.record import Record
from perdure.records.value import Value
from perdure.registry.entities import Act, Agent, Identifier, Prefix
from perdure.registry.existing import suggestions
from perdure.registry.naming import Located, forgiven, handle_key, locate
from perdure.registry.prefix_names import prefix_of_record, record_name
from perdure.registry.prefix_records import prefix_record
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry

_ALIAS: Final = "HS_ALIAS"
_MOST_ALIASES: Final = 10
_MOST_CUTS: Final = 256
_SEPARATORS: Final = frozenset("/?#.-_:;,=&@+~ ")
_WITHDRAWING: Final = ("withdraw", "merge", "split", "undo split")


class Finding(NamedTuple):
    """An identifier; `rest` is what the name that was asked for has behind the identifier's own."""

    found: Identifier
    record: Record
    prefix: Prefix
    asked: str
    rest: str = ""
    is_slip: bool = False
    alias: Value | None = None
    withdrawal: tuple[Act, Agent | None] | None = None

    @property
    def name(self) -> str:
        return self.found.name


class KeptPrefix(NamedTuple):
    """A prefix, whose record is there without being written."""

    name: str
    prefix: Prefix
    values: tuple[Value, ...]


def find_prefix(registry: Registry, reader: Reader, text: str) -> KeptPrefix | None:
    """The prefix whose record somebody means by `0.NA/PREFIX`, with what everybody may know of it."""
    prefix = prefix_of_record(reader, text)
    if prefix is None:
        return None
    values = prefix_record(reader, prefix, registry.now(), registry.settings.type_prefix)
    return KeptPrefix(record_name(prefix), prefix, tuple(value for value in values if value.is_public))


def find(reader: Reader, text: str) -> Finding:
    """NoSuchPrefix, InvalidName, NoSuchName with its suggestions."""
    located = locate(reader, text)
    found, rest, is_slip = reader.find(located.key), "", False
    if found is None and (right := forgiven(located)) is not None:
        found = reader.find(right.key)
        is_slip = found is not None
    if found is None and located.prefix.pass_through:
        found, rest = _longest(reader, located)
    if found is None:
        raise NoSuchName(located.name, suggestions(reader, located))
    record = shown_to_everybody(records.decode(found.record))
    return Finding(
        found,
        record,
        located.prefix,
        located.name,
        rest,
        is_slip,
        _alias(record),
        None if record.tombstone is None else withdrawal(reader, found.subject),
    )


def shown_to_everybody(record: Record) -> Record:
    """Of a person that is restricted, neither where it leads nor what it is about."""
    if record.restriction is None:
        return record
    stone = None if record.tombstone is None else msgspec.structs.replace(record.tombstone, reason="not shown")
    return msgspec.structs.replace(record, values=(), about=None, tombstone=stone)


def check_chain(reader: Reader, finding: Finding, *, follows_aliases: bool) -> None:
    """Walk as a reader is going to be sent, as far as names are kept here: that must come to an end.

    Every step is found as its address will be, slips put right and longer names passed through; a name that grows with
    each step never comes back to where it was, so steps are counted.
    """
    step = finding
    for _ in range(_MOST_ALIASES + 1):  # the last look is at where they arrive
        try:
            onward = _onward(reader, step, follows_aliases)
            if onward is None:
                return
            step = find(reader, onward)
        except (InvalidName, InvalidInput, NoSuchName):
            return  # it is kept elsewhere, or is no name; whoever is asked next says so
    raise AliasChainTooLong(finding.name)


def aliased(finding: Finding) -> str | None:
    """The name that an alias stands for, with what the name that was asked for has behind it."""
    return None if finding.alias is None else bare(finding.alias.text or "") + finding.rest


def _onward(reader: Reader, finding: Finding, follows_aliases: bool) -> str | None:
    """The name to which a reader is sent on from here; None, where this is the end or the way leads out."""
    stone = finding.record.tombstone
    if finding.record.state != "merged" or stone is None or stone.replaced_by is None:
        return aliased(finding) if follows_aliases else None
    if is_elsewhere(stone.replaced_by):
        return None
    return locate(reader, stone.replaced_by).name + finding.rest


def _alias(record: Record) -> Value | None:
    if record.state != "active":
        return None
    return next((value for value in record.values if value.kind == _ALIAS and value.is_public and value.text), None)


def withdrawal(reader: Reader, subject: str) -> tuple[Act, Agent | None] | None:
    """When what has a tombstone was withdrawn, and by whom; where it came withdrawn from elsewhere, when it came."""
    last = reader.newest_act(subject, _WITHDRAWING) or reader.newest_act(subject)
    return None if last is None else (last, reader.agent(last.agent))


def _longest(reader: Reader, located: Located) -> tuple[Identifier | None, str]:
    """The longest registered name that this one begins with, and what is left of it."""
    suffix = located.name.partition("/")[2]
    cuts = {handle_key(located.prefix, suffix[:at]): at for at in cutting_places(suffix)}
    rows = reader.find_many(list(cuts))
    longest = max(rows, key=cuts.__getitem__, default=None)
    return (None, "") if longest is None else (rows[longest], suffix[cuts[longest] :])


def cutting_places(suffix: str) -> list[int]:
    """Where a suffix may end and the rest begin, the longest first.

    Anywhere; in one so long that this were too many places, at separators, and as near to the end as can be tried.
    """
    anywhere = range(len(suffix) - 1, 0, -1)
    if len(anywhere) <= _MOST_CUTS:
        return list(anywhere)
    separated = [at for at in anywhere if suffix[at] in _SEPARATORS or suffix[at - 1] in _SEPARATORS][:_MOST_CUTS]
    places = set(separated)
    for at in anywhere:
        if len(places) == _MOST_CUTS:
            break
        places.add(at)
    return sorted(places, reverse=True)
