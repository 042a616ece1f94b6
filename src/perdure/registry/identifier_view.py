"""The view of an identifier: the part of its record that one reader may see."""

from collections.abc import Callable, Mapping
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from perdure.errors import InvalidInput, NoSuchName
from perdure.records import record as records
from perdure.records.authority_metadata import AuthorityMetadata, build_metadata
from perdure.records.derived_values import handle_values
from perdure.records.locations import public_location_urls
from perdure.records.person import Observation, Reconstruction, Redaction, Restriction
from perdure.records.record import About, Record, Tombstone
from perdure.records.target import first_url
from perdure.records.value import ADMIN_READ, Value
from perdure.registry.entities import Act, Agent, History, Identifier, Revision
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.permissions.hs_admin import READ_VALUE
from perdure.registry.permissions.permissions import is_granted, rights
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

HIDDEN_REASON: Final = "not shown"
_MOST_VERSIONS: Final = 1000  # read to find the last state of a removed value


class IdentifierFields(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The fields of an identifier that are the same here and in the responses of the HTTP API."""

    name: str
    names: Annotated[tuple[str, ...], Meta(description="All names of the identifier: an IBI has two or more.")]
    scheme: str
    state: Annotated[str, Meta(description="reserved, active, withdrawn or merged", examples=["active"])]
    version: int
    authority: AuthorityMetadata
    target: Annotated[str, Meta(description="The first URL value, which PATCH changes as `target`.")] | None = None
    locations: Annotated[
        tuple[str, ...],
        Meta(
            description="The locations of a 10320/loc value. If there are any, the resolver redirects to one of them."
        ),
    ] = ()
    about: About | None = None
    tombstone: Tombstone | None = None
    observation: Observation | None = None
    reconstruction: Reconstruction | None = None
    restriction: Restriction | None = None
    redaction: Redaction | None = None
    uuid_raw: str | None = None


class View(IdentifierFields, frozen=True, omit_defaults=True, kw_only=True):
    """All that one reader may see of an identifier."""

    values: tuple[Value, ...] = ()
    handle_record: tuple[Value, ...] = ()


class Visibility(NamedTuple):
    """What one reader may see of a record: which of its values, and whether the content of a person."""

    sees: Callable[[Value], bool]
    restriction: Restriction | None = None  # the current one, if it applies to the reader
    sees_digests: bool = False  # short redacted content could be guessed from them

    def visible_part(self, record: Record, last: Mapping[int, Value | None] | None = None) -> Record:
        """Return what is shown of a record; for an old one, `last` are the newest values of its indexes.

        An old value is shown to readers who may read that index today: its permissions of then are not enough.
        """
        if record.redaction is not None and not self.sees_digests:
            record = msgspec.structs.replace(record, redaction=record.redaction.without_digests())
        if self.restriction is not None:
            tombstone = record.tombstone
            return msgspec.structs.replace(
                record,
                values=(),
                about=None,
                observation=None,
                reconstruction=None,
                restriction=self.restriction,
                tombstone=None if tombstone is None else msgspec.structs.replace(tombstone, reason=HIDDEN_REASON),
            )
        values = tuple(value for value in record.values if self.sees(value) and self._sees_newest(value, last or {}))
        return record if len(values) == len(record.values) else msgspec.structs.replace(record, values=values)

    def _sees_newest(self, value: Value, last: Mapping[int, Value | None]) -> bool:
        newest = last.get(value.index, value)
        return newest is not None and self.sees(newest)


def view_identifier(registry: Registry, reader: Reader, text: str, version: int | None, by: Agent | None) -> View:
    """Build the view of an identifier, inside a transaction."""
    return view_with_revision(registry, reader, text, version, by)[0]


def view_with_revision(
    registry: Registry, reader: Reader, text: str, version: int | None, by: Agent | None
) -> tuple[View, Identifier, Revision]:
    """Build the view of an identifier.

    Return it with the row, which is of the newest version, and the revision it shows.
    """
    identifier, current, prefix = require_identifier(reader, text)
    revision = _require_revision(reader, identifier, version)
    # Current permissions decide what is visible, also for an old version.
    visibility = visibility_of(reader, by, current, prefix.key, registry.current_time(), identifier.key)
    subject = identifier if identifier.subject == identifier.key else reader.find(identifier.subject) or identifier
    uuid_raw = reader.input_uuid(identifier.key) if identifier.scheme == "ppid" else None
    last = _last_values(reader, identifier, current, revision, visibility)
    return _build_view(registry, identifier, subject.name, revision, visibility, uuid_raw, last), identifier, revision


def newest_view(registry: Registry, reader: Reader, stored: History, scope: str, by: Agent | None) -> View:
    """Build the view of the newest version from a history that was read already. The name must be its own subject."""
    identifier = stored.identifier
    if not stored.revisions:
        raise NoSuchName(identifier.name)
    visibility = visibility_of(
        reader, by, records.decode(identifier.record), scope, registry.current_time(), identifier.key
    )
    return _build_view(registry, identifier, identifier.name, stored.revisions[-1], visibility, stored.uuid_raw)


def is_hidden(scheme: str, newest: Record | View) -> bool:
    """Return whether this, as one reader sees it, is a person whose content is hidden: restricted, or redacted.

    If so, the notes of all versions are hidden too: they could reveal the content.
    """
    return scheme == "ppid" and newest.observation is None and newest.reconstruction is None


def visible_acts(acts: list[Act], scheme: str, newest: Record | View) -> list[Act]:
    """Return what was done to an identifier, without the notes if its newest version is hidden from the reader."""
    return [msgspec.structs.replace(one, note=None) for one in acts] if is_hidden(scheme, newest) else acts


def visibility_of(reader: Reader, by: Agent | None, record: Record, scope: str, now: str, name: str) -> Visibility:
    """Return what a reader may see: public values; with HS_ADMIN, those for administrators; with a grant, all."""
    if by is not None and is_granted(reader, by, "edit", scope, now, record, name):
        return Visibility(lambda value: True, sees_digests=True)
    if by is not None and rights(reader, by, record, scope, now, name) & READ_VALUE:
        return Visibility(lambda value: value.is_public or value.permissions[ADMIN_READ] == "1", record.restriction)
    return Visibility(lambda value: value.is_public, record.restriction)


def visible_revision(
    revision: Revision, record: Record, visibility: Visibility, hidden: bool, last: Mapping[int, Value | None]
) -> Revision:
    visible = visibility.visible_part(record, last)
    written = revision.record if visible is record else records.encode(visible)
    return msgspec.structs.replace(revision, record=written, note=None if hidden else revision.note)


def visible_revision_at(registry: Registry, reader: Reader, text: str, version: int, by: Agent | None) -> Revision:
    """Return one version with its record, as far as the agent may see it."""
    identifier, current, prefix = require_identifier(reader, text)
    revision = _require_revision(reader, identifier, version)
    visibility = visibility_of(reader, by, current, prefix.key, registry.current_time(), identifier.key)
    hidden = is_hidden(identifier.scheme, visibility.visible_part(current))
    last = _last_values(reader, identifier, current, revision, visibility)
    return visible_revision(revision, records.decode(revision.record), visibility, hidden, last)


def _require_revision(reader: Reader, identifier: Identifier, version: int | None) -> Revision:
    if version is None:
        newest = reader.newest_revision(identifier.subject)
        if newest is None:
            raise NoSuchName(identifier.name)
        return newest
    revision = reader.revision(identifier.subject, version) if 1 <= version <= identifier.version else None
    if revision is None:
        raise InvalidInput(
            "history", "version", f"{identifier.name} has versions 1 to {identifier.version}, not {version}"
        )
    return revision


def _last_values(
    reader: Reader, identifier: Identifier, current: Record, revision: Revision, visibility: Visibility
) -> Mapping[int, Value | None]:
    """Return the newest value of each index of an old version: today's, or the last one before it was removed.

    None means that it is too many versions back to look for.
    """
    if revision.version == identifier.version or visibility.sees_digests:
        return {}
    last: dict[int, Value | None] = {value.index: value for value in current.values}
    missing = {value.index for value in records.decode(revision.record).values} - last.keys()
    for version in range(identifier.version - 1, revision.version, -1):
        if not missing:
            break
        if identifier.version - version > _MOST_VERSIONS:
            return last | dict.fromkeys(missing)
        between = reader.revision(identifier.subject, version)
        values = () if between is None else records.decode(between.record).values
        last.update((value.index, value) for value in values if value.index in missing)
        missing -= last.keys()
    return last


def _build_view(
    registry: Registry,
    identifier: Identifier,
    subject: str,
    revision: Revision,
    visibility: Visibility,
    uuid_raw: str | None,
    last: Mapping[int, Value | None] | None = None,
) -> View:
    record = records.decode(revision.record)
    visible = visibility.visible_part(record, last)
    return View(
        name=identifier.name,
        scheme=identifier.scheme,
        state=record.state,
        version=revision.version,
        authority=build_metadata(record, revision.at),
        names=(subject, *record.other_names),
        target=first_url(visible) if record.state == "active" else None,
        locations=public_location_urls(visible.values, registry.settings.limits) if record.state == "active" else (),
        values=visible.values,
        about=visible.about,
        tombstone=visible.tombstone,
        observation=visible.observation,
        reconstruction=visible.reconstruction,
        restriction=visible.restriction,
        redaction=visible.redaction,
        uuid_raw=uuid_raw,
        handle_record=handle_values(visible, registry.settings.type_prefix, revision.at),
    )
