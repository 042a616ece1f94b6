"""Look: what an identifier says now, what it said before, and where it leads. Reading needs no grant."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from perdure.errors import InvalidInput, NoSuchName, NoTarget, Withdrawn, WrongState
from perdure.records import record as records
from perdure.records.authority import AuthorityMetadata, handle_values, metadata
from perdure.records.checks import one_line, storable
from perdure.records.locations import places
from perdure.records.person import Observation, Reconstruction, Redaction, Restriction
from perdure.records.record import About, Record, Tombstone
from perdure.records.target import location
from perdure.records.value import ADMIN_READ, Value
from perdure.registry.administrators import READ_VALUE
from perdure.registry.authority import is_granted, rights
from perdure.registry.entities import Act, Agent, Found, History, Identifier, Revision
from perdure.registry.existing import existing
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry

MOST_FOUND: Final = 1000
_MOST_WORDS: Final = 20
_LONGEST_WORD: Final = 1000
_SHORTEST_BEGINNING: Final = 3
_NOT_SHOWN: Final = "not shown"
_MOST_VERSIONS: Final = 1000  # that are read to find the last state of a value that was removed


class View(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All that is said of an identifier, as it may be shown to whoever asked.

    `target` is its first address. Where it has a list of `locations`, readers are sent to one of those instead.
    """

    name: str
    scheme: str
    state: str
    version: int
    authority: AuthorityMetadata
    names: tuple[str, ...] = ()
    target: str | None = None
    locations: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()
    about: About | None = None
    tombstone: Tombstone | None = None
    observation: Observation | None = None
    reconstruction: Reconstruction | None = None
    restriction: Restriction | None = None
    redaction: Redaction | None = None
    uuid_raw: str | None = None
    handle_record: tuple[Value, ...] = ()


class Resolution(NamedTuple):
    """Where a name leads; `name` is its right spelling."""

    name: str
    target: str
    version: int


class Difference(NamedTuple):
    """One thing that two versions say differently."""

    part: str
    before: Any
    after: Any


async def show(registry: Registry, text: str, *, version: int | None = None, by: Agent | None = None) -> View:
    """The record with its authority metadata, now or at a version. Values that are not public need a grant to edit."""

    return await registry.store.read(lambda reader: view_of(registry, reader, text, version, by))


async def history(registry: Registry, text: str, *, by: Agent | None = None) -> list[Revision]:
    """Every version: when, by whom, and by what act. Values that are not public need a grant to edit."""

    def work(reader: Reader) -> list[Revision]:
        found, current, prefix = existing(reader, text)
        revisions = reader.revisions(found.subject)
        sight = _sight(reader, by, current, prefix.key, registry.now(), found.key)
        hidden = is_hidden(found.scheme, sight.of(current))
        past = [records.decode(revision.record) for revision in revisions]
        last = {value.index: value for record in past for value in record.values}
        return [_visible(*one, sight, hidden, last) for one in zip(revisions, past, strict=True)]

    return await registry.store.read(work)


async def acts(
    registry: Registry, text: str, *, after: int = 0, limit: int = 100, by: Agent | None = None
) -> list[Act]:
    """What was done to it, in the order of the versions, from the one after `after` on: without the records."""
    if after < 0:
        raise InvalidInput("history", "after", "versions are counted from 1")
    most = bounded(limit, "history")

    def work(reader: Reader) -> list[Act]:
        found, record, prefix = existing(reader, text)
        done = reader.acts(found.subject, after, most)
        shown = _sight(reader, by, record, prefix.key, registry.now(), found.key).of(record)
        return as_shown(done, found.scheme, shown)

    return await registry.store.read(work)


async def diff(registry: Registry, text: str, one: int, other: int, *, by: Agent | None = None) -> list[Difference]:
    """What changed from one version to another, part by part."""

    def work(reader: Reader) -> list[Difference]:
        old, new = (_parts(view_of(registry, reader, text, version, by)) for version in (one, other))
        return [
            Difference(part, old.get(part), new.get(part))
            for part in dict.fromkeys([*old, *new])
            if old.get(part) != new.get(part)
        ]

    return await registry.store.read(work)


async def search(registry: Registry, words: Sequence[str], *, limit: int = 100) -> list[Found]:
    """Identifiers whose names, targets, values or descriptions hold all these words, the newest first."""
    check_words(words)
    return await registry.store.scan(lambda reader: reader.search(words, bounded(limit)))


def check_words(words: Sequence[str]) -> None:
    """Whether these can be searched for, all of them together."""
    if not 1 <= len(words) <= _MOST_WORDS:
        raise InvalidInput("search", "words", f"give one to {_MOST_WORDS} words")
    for word in words:
        one_line(word, "words", _LONGEST_WORD)
        if word.endswith("*") and len(word.rstrip("*")) < _SHORTEST_BEGINNING:
            raise InvalidInput(
                "search", "words", f"the beginning of a word needs {_SHORTEST_BEGINNING} characters before the *"
            )
        if not any(character.isalnum() for character in word):
            raise InvalidInput("search", "words", f"{word!a} has no letter and no digit to search for")


async def find_by_value(registry: Registry, data: str, *, type: str | None = "URL", limit: int = 100) -> list[Found]:
    """Reverse look-up: the identifiers that lead to exactly this target, or say exactly this."""
    storable(data, "data")
    kind = None if type is None else storable(type, "type").upper()
    return await registry.store.scan(lambda reader: reader.reverse(data, kind, bounded(limit)))


async def resolve(registry: Registry, text: str) -> Resolution:
    """Where the name leads. Withdrawn, NoSuchName and WrongState say why it leads nowhere."""

    def work(reader: Reader) -> Resolution:
        found, record, _ = existing(reader, text)
        if record.tombstone is not None:
            raise Withdrawn(found.name, record.tombstone.reason, record.tombstone.replaced_by)
        if record.state != "active":
            raise WrongState(found.name, record.state, "active")
        target = found.target or location(record)
        if target is None:
            raise NoTarget(found.name)
        return Resolution(found.name, target, found.version)

    return await registry.store.read(work)


def is_hidden(scheme: str, newest: Record | View) -> bool:
    """Whether this, as whoever asked is shown it, is a person of whom nothing is said: restricted, or redacted.

    Then no note is shown either, of any version: it could say what is not to be seen.
    """
    return scheme == "ppid" and newest.observation is None and newest.reconstruction is None


def as_shown(done: list[Act], scheme: str, newest: Record | View) -> list[Act]:
    """What was done to an identifier, for whoever is shown its newest version like this."""
    return [msgspec.structs.replace(one, note=None) for one in done] if is_hidden(scheme, newest) else done


def view_of(registry: Registry, reader: Reader, text: str, version: int | None, by: Agent | None) -> View:
    """The same, inside of a transaction."""
    return look_at(registry, reader, text, version, by)[0]


def look_at(
    registry: Registry, reader: Reader, text: str, version: int | None, by: Agent | None
) -> tuple[View, Identifier, Revision]:
    """With the row, which is of the newest version, and the revision that the view is of."""
    found, current, prefix = existing(reader, text)
    revision = _revision(reader, found, version)
    # Who may see what is not public is a question of today, also for an old version.
    sight = _sight(reader, by, current, prefix.key, registry.now(), found.key)
    subject = found if found.subject == found.key else reader.find(found.subject) or found
    uuid_raw = reader.input_of(found.key) if found.scheme == "ppid" else None
    last = _last_values(reader, found, current, revision, sight)
    return _view(registry, found, subject.name, revision, sight, uuid_raw, last), found, revision


def newest_view(registry: Registry, reader: Reader, kept: History, scope: str, by: Agent | None) -> View:
    """The newest version of a name that is its own subject, from what was read of it already."""
    found = kept.identifier
    if not kept.revisions:
        raise NoSuchName(found.name)
    sight = _sight(reader, by, records.decode(found.record), scope, registry.now(), found.key)
    return _view(registry, found, found.name, kept.revisions[-1], sight, kept.uuid_raw)


def _revision(reader: Reader, found: Identifier, version: int | None) -> Revision:
    if version is None:
        newest = reader.newest_revision(found.subject)
        if newest is None:
            raise NoSuchName(found.name)
        return newest
    revision = reader.revision(found.subject, version) if 1 <= version <= found.version else None
    if revision is None:
        raise InvalidInput("history", "version", f"{found.name} has versions 1 to {found.version}, not {version}")
    return revision


class _Sight(NamedTuple):
    """What somebody may see of a record: which of its values, and whether what is said of a person."""

    sees: Callable[[Value], bool]
    restriction: Restriction | None = None  # as it is today, if it holds for them
    sees_digests: bool = False  # from which a little that was redacted could be guessed

    def of(self, record: Record, last: Mapping[int, Value | None] | None = None) -> Record:
        """Return what is shown of a record; of an old one, `last` are the newest values of its indexes.

        An old value is shown to readers who may read that index today: its permissions of then are not enough.
        """
        if record.redaction is not None and not self.sees_digests:
            record = msgspec.structs.replace(record, redaction=record.redaction.without_digests())
        if self.restriction is not None:
            stone = record.tombstone
            return msgspec.structs.replace(
                record,
                values=(),
                about=None,
                observation=None,
                reconstruction=None,
                restriction=self.restriction,
                tombstone=None if stone is None else msgspec.structs.replace(stone, reason=_NOT_SHOWN),
            )
        seen = tuple(value for value in record.values if self.sees(value) and self._sees_today(value, last or {}))
        return record if len(seen) == len(record.values) else msgspec.structs.replace(record, values=seen)

    def _sees_today(self, value: Value, last: Mapping[int, Value | None]) -> bool:
        newest = last.get(value.index, value)
        return newest is not None and self.sees(newest)


def _sight(reader: Reader, by: Agent | None, record: Record, scope: str, now: str, name: str) -> _Sight:
    """Of values the public ones; by an HS_ADMIN those for administrators; by a grant all, and persons too."""
    if by is not None and is_granted(reader, by, "edit", scope, now, record, name):
        return _Sight(lambda value: True, sees_digests=True)
    if by is not None and rights(reader, by, record, scope, now, name) & READ_VALUE:
        return _Sight(lambda value: value.is_public or value.permissions[ADMIN_READ] == "1", record.restriction)
    return _Sight(lambda value: value.is_public, record.restriction)


def _last_values(
    reader: Reader, found: Identifier, current: Record, revision: Revision, sight: _Sight
) -> Mapping[int, Value | None]:
    """Return the newest value of each index of an old version: today's, or the last one before it was removed.

    None stands for one that lies too many versions back to look for.
    """
    if revision.version == found.version or sight.sees_digests:
        return {}
    last: dict[int, Value | None] = {value.index: value for value in current.values}
    missing = {value.index for value in records.decode(revision.record).values} - last.keys()
    for version in range(found.version - 1, revision.version, -1):
        if not missing:
            break
        if found.version - version > _MOST_VERSIONS:
            return last | dict.fromkeys(missing)
        between = reader.revision(found.subject, version)
        values = () if between is None else records.decode(between.record).values
        last.update((value.index, value) for value in values if value.index in missing)
        missing -= last.keys()
    return last


def _visible(
    revision: Revision, record: Record, sight: _Sight, hidden: bool, last: Mapping[int, Value | None]
) -> Revision:
    shown = sight.of(record, last)
    written = revision.record if shown is record else records.encode(shown)
    return msgspec.structs.replace(revision, record=written, note=None if hidden else revision.note)


def _view(
    registry: Registry,
    found: Identifier,
    subject: str,
    revision: Revision,
    sight: _Sight,
    uuid_raw: str | None,
    last: Mapping[int, Value | None] | None = None,
) -> View:
    record = records.decode(revision.record)
    shown = sight.of(record, last)
    return View(
        name=found.name,
        scheme=found.scheme,
        state=record.state,
        version=revision.version,
        authority=metadata(record, revision.at),
        names=(subject, record.alias) if record.alias else (subject,),
        target=location(shown) if record.state == "active" else None,
        locations=places(shown.values, registry.settings.limits) if record.state == "active" else (),
        values=shown.values,
        about=shown.about,
        tombstone=shown.tombstone,
        observation=shown.observation,
        reconstruction=shown.reconstruction,
        restriction=shown.restriction,
        redaction=shown.redaction,
        uuid_raw=uuid_raw,
        handle_record=handle_values(shown, registry.settings.type_prefix),
    )


def _parts(view: View) -> dict[str, Any]:
    """A view taken apart into what a person would name."""
    parts: dict[str, Any] = {
        "state": view.state,
        "creator": view.authority.creator,
        "owners": list(view.authority.owners),
    }
    parts |= {"created": view.authority.created}
    for value in view.values:
        parts[f"value {value.index}"] = msgspec.to_builtins(value)
    for name in ("about", "tombstone", "observation", "reconstruction"):
        said = getattr(view, name)
        if said is not None:
            parts |= {f"{name}.{field}": text for field, text in msgspec.to_builtins(said).items()}
    return parts


def bounded(limit: int, asked: str = "search") -> int:
    """How many may be asked for at a time."""
    if not 1 <= limit <= MOST_FOUND:
        raise InvalidInput(asked, "limit", f"the limit must be between 1 and {MOST_FOUND}")
    return limit
