"""The edits that a bulk change can make: retarget, withdraw, transfer. Each one computes the next record of a name."""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from perdure.errors import InvalidInput, WrongState
from perdure.records import record as records
from perdure.records.location_edit import replace_addresses
from perdure.records.location_xml import LOCATIONS
from perdure.records.record import Record, Tombstone
from perdure.records.url_replacement import UrlReplacement
from perdure.records.validation import Limits, check_one_line, check_target, check_values
from perdure.records.value import Text, Value
from perdure.registry.bulk_changes.bulk_change import BulkRequest
from perdure.registry.bulk_changes.pattern_replacement import PatternReplacement
from perdure.registry.entities import Action, Agent, History, Identifier
from perdure.registry.identifier_query import is_url_type, list_urls
from perdure.registry.new_record import with_timestamps
from perdure.registry.permissions.permissions import require_agent
from perdure.registry.prefixes.na_names import refuse_withdrawal
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_OLD_STATES: Final = ("withdrawn", "merged")


class BulkEdit(Protocol):
    """An edit of many records. `action` is that of the versions it writes, `detail` the end of their notes."""

    permission: Action
    action: str
    detail: str | None

    def concerns(self, row: Identifier) -> bool:
        """Return whether the edit could change this name, as far as its row shows."""
        ...

    def learn(self, histories: Sequence[History]) -> None:
        """Compute what the edit needs for these names, outside of any transaction."""
        ...

    def revise(self, reader: Reader, stored: History, record: Record, at: str) -> Record:
        """Return the next record, or the same one. Raise an error if the name must stay as it is."""
        ...

    def describe(self, before: Record, after: Record) -> list[tuple[str, str]]:
        """Return what is replaced, and by what."""
        ...


class RetargetEdit:
    """Replace the beginning of every URL: of URL values and their subtypes, and of the addresses of locations."""

    permission: Action = "edit"
    action = "retarget"
    detail: str | None = None

    def __init__(self, old: str, new: str, limits: Limits, *, is_pattern: bool) -> None:
        self._limits = limits
        self._pattern = PatternReplacement(old, new) if is_pattern else None
        self._replacement = self._pattern or UrlReplacement(old, new)
        if not is_pattern:
            check_one_line(new, "to", limits.url_characters)

    def concerns(self, row: Identifier) -> bool:
        return row.state == "active" and row.scheme != "ppid"

    def learn(self, histories: Sequence[History]) -> None:
        if self._pattern is not None:
            decoded = (records.decode(stored.identifier.record) for stored in histories)
            self._pattern.learn(url for record in decoded for value in record.values for url in list_urls(value))

    def revise(self, reader: Reader, stored: History, record: Record, at: str) -> Record:
        if record.state != "active" or stored.identifier.scheme == "ppid":
            return record
        changed = [revised for value in record.values if (revised := self._revise_value(value)) is not value]
        if not changed:
            return record
        new = {value.index: value for value in with_timestamps(changed, at)}
        return msgspec.structs.replace(record, values=tuple(new.get(value.index, value) for value in record.values))

    def _revise_value(self, value: Value) -> Value:
        if value.text is None:
            return value
        if is_url_type(value.kind):
            text = self._replace(value.text) or value.text
        elif value.kind == LOCATIONS:
            text = replace_addresses(value.text, self._replace)
        else:
            return value
        if text == value.text:
            return value
        is_verbatim = value.verbatim and value.kind == LOCATIONS  # other addresses of the list may still be invalid
        revised = msgspec.structs.replace(value, data=Text(text), timestamp="", verbatim=is_verbatim)
        return check_values([revised], self._limits)[0]

    def _replace(self, url: str) -> str | None:
        new = self._replacement.replace(url)
        return None if new is None else check_target(new, self._limits, allows_blanks=" " in url)

    def describe(self, before: Record, after: Record) -> list[tuple[str, str]]:
        """Return the URLs that are replaced, those of public values first."""
        old = {value.index: value for value in before.values}
        pairs = []
        for value in sorted(after.values, key=lambda value: not value.is_public):
            if (known := old.get(value.index)) is not None and known.data != value.data:
                pairs += [pair for pair in zip(list_urls(known), list_urls(value), strict=True) if pair[0] != pair[1]]
        return pairs


class WithdrawEdit:
    """Withdraw names, all for the same reason."""

    permission: Action = "withdraw"
    action = "withdraw"

    def __init__(self, reason: str, limits: Limits) -> None:
        self.detail: str | None = check_one_line(reason, "reason", limits.text_characters)
        self._tombstone = Tombstone(reason)

    def concerns(self, row: Identifier) -> bool:
        return row.state not in _OLD_STATES

    def learn(self, histories: Sequence[History]) -> None:
        pass

    def revise(self, reader: Reader, stored: History, record: Record, at: str) -> Record:
        row = stored.identifier
        if record.state == "merged":
            raise WrongState(row.name, record.state, "active or reserved")
        if record.state == "withdrawn":
            return record
        refuse_withdrawal(reader, row.key, row.name)
        return msgspec.structs.replace(record, state="withdrawn", tombstone=self._tombstone)

    def describe(self, before: Record, after: Record) -> list[tuple[str, str]]:
        return [(before.state, after.state)]


class TransferEdit:
    """Make another agent responsible for names."""

    permission: Action = "transfer"
    action = "transfer"

    def __init__(self, receiver: Agent, reason: str | None, limits: Limits) -> None:
        self.receiver = receiver
        self.detail: str | None = f"to {receiver.id}"
        if reason is not None:
            self.detail += f", {check_one_line(reason, 'reason', limits.text_characters)}"

    def concerns(self, row: Identifier) -> bool:
        return True

    def learn(self, histories: Sequence[History]) -> None:
        pass

    def revise(self, reader: Reader, stored: History, record: Record, at: str) -> Record:
        owners = () if self.receiver.identifier == record.creator else (self.receiver.identifier,)
        return record if owners == record.owners else msgspec.structs.replace(record, owners=owners)

    def describe(self, before: Record, after: Record) -> list[tuple[str, str]]:
        return [(", ".join(before.responsible_parties), ", ".join(after.responsible_parties))]


async def build_edit(registry: Registry, request: BulkRequest) -> BulkEdit:
    """Build the edit that a request asks for."""
    limits = registry.settings.limits
    if request.kind == "retarget":
        return RetargetEdit(request.old or "", request.new or "", limits, is_pattern=request.is_pattern)
    if request.kind == "withdraw":
        return WithdrawEdit(request.reason or "", limits)
    receiver = request.receiver
    if receiver is None:
        raise InvalidInput("bulk", "agent", "agent is required to transfer")
    return TransferEdit(
        await registry.store.read(lambda reader: require_agent(reader, receiver)), request.reason, limits
    )
