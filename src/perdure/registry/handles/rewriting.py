"""One write of a Handle client, inside its transaction: what it finds, whether it may, and what is kept."""

from collections.abc import Collection, Sequence

import msgspec

from perdure.errors import NotAuthorised
from perdure.records.checks import checked_values
from perdure.records.record import Record
from perdure.records.value import SECRET, Value
from perdure.registry import change
from perdure.registry.administrators import ADMINS, VALUES
from perdure.registry.authority import CHANGE_KEYS, own_key, require_changes, rights
from perdure.registry.entities import Agent
from perdure.registry.handles.expecting import Expected, check_expected
from perdure.registry.handles.incoming import Incoming, only_shown, timed, without_shown
from perdure.registry.handles.place import existing_record, find_place, record_of_prefix, refuse_gone, refuse_observed
from perdure.registry.prefix_records import granted_administrators, write_prefix_record
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry
from perdure.registry.sealing import keep_secret


class HandleWritten(msgspec.Struct, frozen=True):
    """What a write came to. `created`: something is there now that Handle clients did not see before."""

    name: str
    created: bool
    version: int


class Rewriting:
    """The state of one transaction. `now` judges grants; `at` dates what is kept, and never runs backwards."""

    def __init__(
        self, registry: Registry, tx: Transaction, by: Agent, text: str, expected: Sequence[Expected] = ()
    ) -> None:
        self.tx = tx
        self.by = by
        self.now = registry.now()
        self.place = find_place(tx, text)
        self.limits = registry.settings.limits
        self.registry = registry
        self._text = text
        self._expected = expected
        newest = None if self.place.row is None else tx.newest_revision(self.place.row.subject)
        self.at = self.now if newest is None else max(self.now, newest.at)

    def check_expected(self) -> None:
        """The last thing before anything is written: who may not write, or nothing so, is told that and no more."""
        check_expected(self.place, self._expected)

    def standing(self) -> Record:
        """A record whose values can be changed one by one. That of a prefix is always there."""
        if self.place.of_prefix is not None:
            return record_of_prefix(self.place, self.by.identifier, self.now)
        record = existing_record(self.tx, self.place, self._text)
        refuse_gone(self.place, record)
        refuse_observed(self.place, record)
        return record

    def meant(self, incoming: Incoming, record: Record | None, *, was_seen: bool = True) -> list[Value]:
        """What the client really says, with its times: without what it was only shown (if it was) and sends back."""
        type_prefix = self.registry.settings.type_prefix
        shown: Sequence[Value] = ()
        before: tuple[Value, ...] = () if record is None else record.values
        if self.place.of_prefix is not None:
            taken = [value.index for value in before]
            shown = granted_administrators(self.tx, self.place.of_prefix, self.now, taken)
        elif record is not None and was_seen:
            shown = only_shown(record, type_prefix)
        return timed(without_shown(incoming.values, record, type_prefix, shown), before, incoming, self.at)

    def change(
        self, record: Record, values: Sequence[Value], secrets: dict[int, bytes], act: str, *, created: bool = False
    ) -> HandleWritten:
        """The record with these values instead, if every change is allowed. Saying the same again is no change."""
        place = self.place
        may = rights(self.tx, self.by, record, place.scope, self.now, place.key)
        if not may & (VALUES | ADMINS | CHANGE_KEYS) and own_key(self.tx, self.by, record, place.key) is None:
            raise NotAuthorised(self.by.id, "edit", place.scope)
        self.require_changes(record, values, secrets)
        if tuple(values) == record.values and not secrets:
            self.check_expected()
            return HandleWritten(place.name, False, 0 if place.row is None else place.row.version)
        return self.keep(record, values, secrets, act, created=created)

    def require_changes(self, record: Record, values: Sequence[Value], said_again: Collection[int]) -> None:
        place = self.place
        require_changes(
            self.tx,
            self.by,
            record,
            values,
            place.scope,
            self.now,
            place.key,
            said_again=said_again,
            obey_values=True,
        )

    def keep(
        self, record: Record, values: Sequence[Value], secrets: dict[int, bytes], act: str, *, created: bool
    ) -> HandleWritten:
        """Write it down, whoever may: the version, its history, and the secrets, each where it belongs."""
        place, largest = self.place, self.limits.record_bytes
        kept = msgspec.structs.replace(record, values=checked_values(values, self.limits))
        self.check_expected()
        if place.of_prefix is not None:
            version = write_prefix_record(self.tx, place.row, place.of_prefix, kept, self.by, act, self.at, largest)
        elif place.row is None:
            self.registry.check_clock()
            version, encoded = 1, change.fitting(kept, largest)
            new = change.first(place.name, place.key, place.scheme, kept, self.by, act, self.at, encoded=encoded)
            self.tx.insert([new])
        else:
            version = change.revise(self.tx, place.row, kept, self.by, act, self.at, largest=largest)
        self.keep_secrets(place.subject, kept, secrets)
        return HandleWritten(place.name, created, version)

    def keep_secrets(self, subject: str, record: Record, secrets: dict[int, bytes]) -> None:
        for value in record.values:
            if value.kind == SECRET and value.index in secrets:
                keep_secret(self.tx, self.registry.sealer, subject, value.index, secrets[value.index])
