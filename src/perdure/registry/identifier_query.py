"""Queries for identifiers by what their records state: filters for lists and for bulk changes."""

import re
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from perdure.errors import InvalidInput, NotAuthorised
from perdure.records import record as records
from perdure.records.authority_metadata import to_seconds
from perdure.records.location_edit import list_addresses
from perdure.records.location_xml import LOCATIONS
from perdure.records.record import Record, State
from perdure.records.target import full_text
from perdure.records.url_replacement import UrlBeginning
from perdure.records.validation import check_one_line, check_storable, to_iso_seconds
from perdure.records.value import Value
from perdure.registry.entities import WHOLE_REGISTRY, Action, Agent, History, Scheme
from perdure.registry.name_keys import find_beginnings
from perdure.registry.permissions.permissions import has_expired, is_allowed, is_granted
from perdure.registry.prefixes.na_names import NA_KEY
from perdure.registry.store_interface import Reader

_LONGEST: Final = 4_096
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
LISTING_ACTIONS: Final[tuple[Action, ...]] = ("edit", "admin")
_OWN_ACTIONS: Final[tuple[Action, ...]] = ("edit", "withdraw", "transfer", "admin")

Text = Annotated[str, Meta(min_length=1, max_length=_LONGEST)]


class IdentifierQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The filters of a query; a name must pass all of them."""

    prefix: Annotated[
        Text | None, Meta(description="A prefix, or the beginning of names under one, as in 12345/thesis-.")
    ] = None
    state: Annotated[State | None, Meta(description="The current state.")] = None
    scheme: Annotated[Scheme | None, Meta(description="The scheme of the name.")] = None
    creator: Annotated[Text | None, Meta(description="The creator: an agent's short name, or its identifier.")] = None
    owner: Annotated[
        Text | None, Meta(description="A responsible party: an owner, or the creator if there is no owner.")
    ] = None
    created_since: Annotated[Text | None, Meta(description="Created at this date or time (UTC), or later.")] = None
    created_before: Annotated[Text | None, Meta(description="Created before this date or time.")] = None
    changed_since: Annotated[Text | None, Meta(description="Last changed at this date or time, or later.")] = None
    changed_before: Annotated[Text | None, Meta(description="Last changed before this date or time.")] = None
    target_begins: Annotated[
        Text | None, Meta(description="The beginning of a URL: of a URL value, or of a location.")
    ] = None
    target_contains: Annotated[Text | None, Meta(description="A text in a URL, without case.")] = None
    type: Annotated[Text | None, Meta(description="The type of a value, without case.")] = None
    text: Annotated[Text | None, Meta(description="A text in the name, a value or the description, without case.")] = (
        None
    )


EVERYTHING: Final = IdentifierQuery()


class Selection:
    """The names that a query selects for one agent: the beginnings of their keys, and a test of their records.

    With several beginnings, those of an IBI subsystem, an identifier is selected by its first name alone.
    """

    def __init__(
        self, reader: Reader, by: Agent, query: IdentifierQuery, now: str, actions: tuple[Action, ...]
    ) -> None:
        self.scope = WHOLE_REGISTRY
        self.beginnings: tuple[str, ...] | None = None
        if query.prefix is not None:
            prefix, self.beginnings = find_beginnings(reader, check_one_line(query.prefix, "prefix", _LONGEST))
            self.scope = prefix.key
        self._query = query
        self._has_several_beginnings = self.beginnings is not None and len(self.beginnings) > 1
        self._creators = _party_forms(reader, query.creator, "creator")
        self._owners = _party_forms(reader, query.owner, "owner")
        self._created = _parse_period(query.created_since, query.created_before, "created")
        self._changed = _parse_period(query.changed_since, query.changed_before, "changed")
        self._target = None if query.target_begins is None else UrlBeginning(query.target_begins, "target_begins")
        self._target_part = (query.target_contains or "").casefold()
        self._type = (query.type or "").upper()
        self._text = (query.text or "").casefold()
        self._sees_all = is_granted(reader, by, "edit", self.scope, now)
        self.is_own = not any(is_allowed(reader, by, action, self.scope, now) for action in actions)
        if self.is_own:
            self._select_own(reader, by, now, actions[0])
        self._reads_records = any((
            self._creators, self._owners, self._target, self._target_part, self._type, self._text
        ))  # fmt: skip

    @property
    def is_everything(self) -> bool:
        """Return whether the query selects every name that begins so."""
        is_filter_given = self._query != IdentifierQuery(prefix=self._query.prefix) or self._owners
        return not is_filter_given and not self._has_several_beginnings

    def _select_own(self, reader: Reader, by: Agent, now: str, action: Action) -> None:
        """Select the agent's own identifiers only, if it has a grant for these."""
        scopes = (WHOLE_REGISTRY, self.scope)
        has_own = any(
            grant.own and grant.action in _OWN_ACTIONS and not has_expired(grant, now)
            for grant in reader.grants(by.id)
            if self.scope == WHOLE_REGISTRY or grant.scope in scopes
        )
        own = frozenset((by.identifier,))
        if not has_own or (self._owners and not own & self._owners):
            raise NotAuthorised(by.id, action, self.scope)
        self._owners = own

    def includes(self, stored: History) -> bool:
        """Return whether the query selects this name."""
        query, row = self._query, stored.identifier
        if self._has_several_beginnings and row.subject != row.key:
            return False
        if query.state not in (None, row.state) or query.scheme not in (None, row.scheme):
            return False
        if self._created is not None and not _is_within(row.created, self._created):
            return False
        if self._changed is not None:
            at = to_seconds(stored.revisions[-1].at) if stored.revisions else None
            if not _is_within(at, self._changed):
                return False
        return not self._reads_records or self._includes_record(row.key, row.name, records.decode(row.record))

    def _includes_record(self, key: str, name: str, record: Record) -> bool:
        if self._creators and record.creator not in self._creators:
            return False
        if self._owners and self._owners.isdisjoint(record.responsible_parties):
            return False
        if self._text and self._text not in full_text(name, record).casefold():
            return False
        if not (self._type or self._target or self._target_part):
            return True
        sees_all = self._sees_all and not key.startswith(f"{NA_KEY}/")
        values = [value for value in record.values if sees_all or (value.is_public and record.restriction is None)]
        if self._type and not any(value.kind == self._type for value in values):
            return False
        urls = [url for value in values for url in list_urls(value)]
        if self._target is not None and not any(self._target.find_rest(url) is not None for url in urls):
            return False
        return not self._target_part or any(self._target_part in url.casefold() for url in urls)


def is_url_type(kind: str) -> bool:
    """Return whether values of this type, in upper case, are URLs: URL itself, and its subtypes such as URL.mirror."""
    return kind == "URL" or kind.startswith("URL.")


def list_urls(value: Value) -> list[str]:
    """Return the URLs in a value: its text, or the addresses of a list of locations."""
    if is_url_type(value.kind):
        return [] if value.text is None else [value.text]
    return list_addresses(value.text or "") if value.kind == LOCATIONS else []


def _party_forms(reader: Reader, text: str | None, part: str) -> frozenset[str]:
    """Return the stored forms of a party: of an agent, or of an identifier with and without `hdl:`."""
    if text is None:
        return frozenset()
    agent = reader.agent(check_storable(text, part))
    return frozenset((text, f"hdl:{text}")) if agent is None else frozenset((agent.identifier,))


Period = tuple[str, str]
_FIRST, _LAST = "", "9999-99"


def _parse_period(since: str | None, before: str | None, part: str) -> Period | None:
    if since is None and before is None:
        return None
    start = _FIRST if since is None else _parse_time(since, f"{part}_since")
    end = _LAST if before is None else _parse_time(before, f"{part}_before")
    if start >= end:
        raise InvalidInput("query", f"{part}_before", f"{part}_before must be later than {part}_since")
    return start, end


def _parse_time(text: str, part: str) -> str:
    """Return an instant with seconds. A date alone is its beginning."""
    try:
        return to_iso_seconds(f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text, part)
    except InvalidInput as problem:
        raise InvalidInput("query", part, f"{problem.reason}; a day alone, as in 2026-01-31, is enough") from None


def _is_within(at: str | None, period: Period) -> bool:
    return at is not None and period[0] <= at < period[1]
