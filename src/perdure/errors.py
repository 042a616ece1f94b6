"""Every error that Perdure raises on purpose.

PerdureError                 has a stable `code`, in every language and in every API
  ├─ InvalidName             the text is not a name of its scheme     (scheme, part, position, reason)
  ├─ InvalidInput            the value is not accepted                (scheme, part, reason, rule)
  │    ├─ OutOfRange         the right kind of value, but too early, too late, too small or too large
  │    ├─ RefusedFile        a file, or an entry of an archive, cannot be part of an item  (path, reason)
  │    ├─ NotACollection     the directory is not a collection
  │    └─ NoSuchAgent        no agent, or no key of an agent, has this id
  ├─ NameTaken               the name is already in use               (name)
  │    ├─ LabelPrefixTaken   it belongs to another IBI subsystem      (name, owner, since, until)
  │    └─ ValueExists        a value with this index exists           (name, index)
  ├─ NoSuchName              the name is not registered               (name, suggestions)
  │    ├─ NoSuchPrefix       the prefix is not registered
  │    ├─ NoTarget           the name is registered, but has no URL
  │    ├─ NoSuchCollection   the registry has no collection with this name
  │    ├─ NoSuchItem         the collection does not hold this item
  │    ├─ NoSuchVersion      the item has no version with this number      (name, version)
  │    ├─ NoSuchFile         this version of the item has no such file     (name, path)
  │    ├─ NoSuchBulkChange   there is no bulk change with this id
  │    ├─ NoSuchPeer         no other server is registered by this name
  │    └─ NoSuchPool         there is no pool of subsystems with this name
  ├─ NoSuchValue             the record has no value with this index  (name, indexes)
  ├─ Withdrawn               there is a tombstone                     (name, reason, replaced_by)
  ├─ WrongState              not in the required state                (name, state, needed)
  │    ├─ Immutable          it can never be changed                  (name, reason)
  │    └─ CountUnknown       after a restore, the last number of a prefix is unknown
  ├─ NotAuthorised           the required grant is missing            (agent, action, scope)
  │    └─ BadKey             the key is wrong, expired or revoked
  ├─ Conflict                the record was changed meanwhile         (name, expected, found)
  │    └─ DifferentIdentifiers   names of one line identify two things    (name, other)
  ├─ ClockBehind             the next date is too far ahead           (timeline, last, now, wait)
  │    └─ ClockJumped        the clock itself cannot be trusted
  │         └─ ClockUnconfirmed   it is far from the newest change, and not confirmed by the operator
  ├─ PeerUnavailable         another server does not answer           (peer, reason)
  │    └─ PeerNotTrusted     it does not sign with the key that is registered for it
  └─ StoreUnavailable        nothing was written                      (reason, safe_to_retry)
       ├─ OutcomeUnknown     it may have been written or not: check before trying again
       ├─ StoreFull          the disk, or a quota, is full
       ├─ QuotaExceeded      the agent may not store as many bytes   (agent, limit, used, size)
       ├─ StoreSealed        it is read-only, on purpose
       ├─ ItemBusy           another process is writing the item           (name)
       ├─ StoreBehind        acknowledged changes are missing                (missing)
       └─ StoreDamaged       stored data cannot be read
            ├─ ItemDamaged   files of an item are missing or changed       (name)
            └─ SchemaChanged the database has other tables, indexes or triggers than it should   (differences)

Invalid names and inputs are ValueErrors as well, so that code that does not know Perdure can catch them.
"""

import errno
from collections.abc import Sequence
from datetime import datetime, timezone
from fractions import Fraction
from typing import ClassVar, Final

_LONGEST_QUOTE: Final = 60
_MOST_DIFFERENCES: Final = 5
_REMEDY: Final = "do not use it; restore a backup from before that change (perdure restore FILE)"
_DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_full(number: int | None) -> bool:
    """Return whether an error number of the operating system means that the disk, or a quota, is full."""
    return number in _DISK_FULL


def quote_text(value: object) -> str:
    """Quote a text for an error message: escaped, and not longer than a line. Of any other value, return the type."""
    if not isinstance(value, str):
        return type(value).__name__
    return f"{value!a}" if len(value) <= _LONGEST_QUOTE else f"{value[:_LONGEST_QUOTE]!a}…"


class PerdureError(Exception):
    """An internal error.

    All errors of Perdure are subclasses of this one.
    """

    code: ClassVar[str] = "error"


class InvalidName(PerdureError, ValueError):
    """The text is not a name of its scheme.

    `part` is the part of the name that is wrong. `position` is an index into the text, from 0, of the first wrong
    character; in a web address, an index into the decoded name; None if no single position is wrong. `suggestion` is
    the name that was probably meant, if there is only one.
    """

    code = "invalid-name"

    def __init__(
        self, scheme: str, part: str, position: int | None, reason: str, suggestion: str | None = None
    ) -> None:
        super().__init__(scheme, part, position, reason, suggestion)
        self.scheme = scheme
        self.part = part
        self.position = position
        self.reason = reason
        self.suggestion = suggestion

    def __str__(self) -> str:
        return f"not a valid {self.scheme} name: {self.reason}"


class InvalidInput(PerdureError, ValueError):
    """The value is not accepted.

    `part` names the field. `rule` quotes the rule of a specification that the value violates, if there is one.
    """

    code = "invalid-input"

    def __init__(self, scheme: str, part: str, reason: str, rule: str | None = None) -> None:
        super().__init__(scheme, part, reason, rule)
        self.scheme = scheme
        self.part = part
        self.reason = reason
        self.rule = rule

    def __str__(self) -> str:
        return f"{self.scheme}: {self.reason}" + (f" (rule: {self.rule})" if self.rule else "")


class OutOfRange(InvalidInput):
    """The value is outside the allowed range."""

    code = "out-of-range"


class NoSuchAgent(InvalidInput):
    """There is no agent, or no key of the agent, with this id."""

    code = "no-such-agent"


class RefusedFile(InvalidInput):
    """A file, or an entry of an archive or a bag, cannot be part of an item. Nothing of the item was stored.

    `path` is the path of the file in its source.
    """

    code = "refused-file"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__("item", "file", reason)
        self.args = (path, reason)
        self.path = path

    def __str__(self) -> str:
        return f"the file {quote_text(self.path)} is refused: {self.reason}"


class NotACollection(InvalidInput):
    """The directory is not a collection that this program can use."""

    code = "not-a-collection"

    def __init__(self, directory: str, reason: str) -> None:
        super().__init__("collection", "directory", reason)
        self.args = (directory, reason)
        self.directory = directory

    def __str__(self) -> str:
        return f"{self.directory} is not a collection: {self.reason}"


class NameTaken(PerdureError):
    """The name is already in use, and names are never reused."""

    code = "name-taken"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"{quote_text(self.name)} is already in use"


class LabelPrefixTaken(NameTaken):
    """The label prefix of this host or address belongs to another IBI subsystem, or belonged to it once.

    `since` and `until` are the times in which that one issued labels under it; `until` is None if it still does.
    """

    code = "label-prefix-taken"

    def __init__(self, name: str, owner: str, since: str, until: str | None) -> None:
        super().__init__(name)
        self.args = (name, owner, since, until)
        self.owner = owner
        self.since = since
        self.until = until

    def __str__(self) -> str:
        use = f"mints under it since {self.since}"
        if self.until is not None:
            use = f"minted under it from {self.since} to {self.until}"
        return (
            f"the label prefix {quote_text(self.name)} stays with one subsystem for ever, and "
            f"{quote_text(self.owner)} {use}: choose another host, IP address or port"
        )


class ValueExists(NameTaken):
    """The record has a value with this index, which must not be replaced; or two new values have one index."""

    code = "value-exists"

    def __init__(self, name: str, index: int) -> None:
        super().__init__(name)
        self.args = (name, index)
        self.index = index

    def __str__(self) -> str:
        return f"index {self.index} of {quote_text(self.name)} is already in use"


class NoSuchName(PerdureError):
    """The name is not registered.

    `suggestions` are similar names that exist.
    """

    code = "no-such-name"

    def __init__(self, name: str, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(name, suggestions)
        self.name = name
        self.suggestions = suggestions

    def with_suggestions(self, suggestions: tuple[str, ...]) -> "NoSuchName":
        """Return the same error with suggestions."""
        return type(self)(self.name, suggestions)

    @property
    def _question(self) -> str:
        return f"; did you mean {' or '.join(self.suggestions)}?" if self.suggestions else ""

    def __str__(self) -> str:
        return f"{quote_text(self.name)} is not registered here{self._question}"


class NoSuchPrefix(NoSuchName):
    """The prefix of the name is not registered here."""

    code = "no-such-prefix"

    def __init__(self, name: str, suggestions: tuple[str, ...] = (), whole_name: str = "") -> None:
        super().__init__(name, suggestions)
        self.args = (name, suggestions, whole_name)
        self.whole_name = whole_name or name  # the name that has the prefix, if there is one

    def with_suggestions(self, suggestions: tuple[str, ...]) -> "NoSuchPrefix":
        return NoSuchPrefix(self.name, suggestions, self.whole_name)

    def __str__(self) -> str:
        return f"the prefix {quote_text(self.name)} is not registered here{self._question}"


class NoTarget(NoSuchName):
    """The name is registered, but its record has no target."""

    code = "no-target"

    def __init__(self, name: str, verbatim: str | None = None) -> None:
        super().__init__(name)
        self.verbatim = verbatim

    def __str__(self) -> str:
        if self.verbatim is not None:
            address = f"its address {quote_text(self.verbatim)} was imported as it was, and is not valid"
            return f"{quote_text(self.name)} has no target: {address}; replace it by a valid one"
        return f"{quote_text(self.name)} has no target: its record has no URL"


class NoSuchCollection(NoSuchName):
    """The registry has no collection with this name."""

    code = "no-such-collection"

    def __str__(self) -> str:
        return f"there is no collection {quote_text(self.name)}{self._question}"


class NoSuchItem(NoSuchName):
    """The collection does not hold an item with this label."""

    code = "no-such-item"

    def __str__(self) -> str:
        return f"the collection does not hold the item {quote_text(self.name)}"


class NoSuchVersion(NoSuchName):
    """The item has no version with this number."""

    code = "no-such-version"

    def __init__(self, name: str, version: int) -> None:
        super().__init__(name)
        self.args = (name, version)
        self.version = version

    def with_suggestions(self, suggestions: tuple[str, ...]) -> "NoSuchVersion":
        return self

    def __str__(self) -> str:
        return f"the item {quote_text(self.name)} has no version {self.version}"


class NoSuchFile(NoSuchName):
    """This version of the item has no file with this path."""

    code = "no-such-file"

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name)
        self.args = (name, path)
        self.path = path

    def with_suggestions(self, suggestions: tuple[str, ...]) -> "NoSuchFile":
        return self

    def __str__(self) -> str:
        return f"the item {quote_text(self.name)} has no file {quote_text(self.path)}"


class NoSuchBulkChange(NoSuchName):
    """There is no bulk change with this id."""

    code = "no-such-bulk-change"

    def __str__(self) -> str:
        return f"there is no bulk change {quote_text(self.name)}"


class NoSuchPeer(NoSuchName):
    """No other server is registered by this name."""

    code = "no-such-peer"

    def __str__(self) -> str:
        return f"no peer is called {quote_text(self.name)}: perdure peer list shows all of them"


class NoSuchPool(NoSuchName):
    """There is no pool of subsystems with this name."""

    code = "no-such-pool"

    def __str__(self) -> str:
        return f"there is no pool {quote_text(self.name)}: perdure pool list shows all of them"


class NoSuchValue(PerdureError):
    """The record exists, but has no values with these indexes."""

    code = "no-such-value"

    def __init__(self, name: str, indexes: tuple[int, ...]) -> None:
        super().__init__(name, indexes)
        self.name = name
        self.indexes = indexes

    def __str__(self) -> str:
        return f"{quote_text(self.name)} has no value with index {', '.join(map(str, self.indexes))}"


class Withdrawn(PerdureError):
    """The name was withdrawn. Its tombstone and its history remain."""

    code = "withdrawn"

    def __init__(self, name: str, reason: str, replaced_by: str | None = None) -> None:
        super().__init__(name, reason, replaced_by)
        self.name = name
        self.reason = reason
        self.replaced_by = replaced_by

    def __str__(self) -> str:
        instead = f", replaced by {self.replaced_by}" if self.replaced_by else ""
        return f"{quote_text(self.name)} was withdrawn ({quote_text(self.reason)}){instead}"


class WrongState(PerdureError):
    """The identifier is not in the state that the operation requires."""

    code = "wrong-state"

    def __init__(self, name: str, state: str, needed: str) -> None:
        super().__init__(name, state, needed)
        self.name = name
        self.state = state
        self.needed = needed

    def __str__(self) -> str:
        return f"{quote_text(self.name)} is {self.state}; this operation requires that it is {self.needed}"


class Immutable(WrongState):
    """The content of this identifier can never be changed."""

    code = "immutable"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, "immutable", "not")
        self.args = (name, reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"{quote_text(self.name)} cannot be changed: {self.reason}"


class CountUnknown(WrongState):
    """After a restore, it is unknown which numbers of a prefix were issued since the backup."""

    code = "count-unknown"

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix, "restored", "counted")
        self.args = (prefix,)

    def __str__(self) -> str:
        return (
            f"the last number issued under {quote_text(self.name)} is unknown after a restore, so a number could be "
            "issued twice: an administrator must set the last number in use"
        )


class NotAuthorised(PerdureError):
    """The agent has no grant for the action."""

    code = "not-authorised"

    def __init__(self, agent: str, action: str, scope: str) -> None:
        super().__init__(agent, action, scope)
        self.agent = agent
        self.action = action
        self.scope = scope

    def __str__(self) -> str:
        where = "the whole registry" if self.scope == "*" else quote_text(self.scope)
        return f"permission denied: {quote_text(self.agent)} has no grant to {self.action} on {where}"


class BadKey(NotAuthorised):
    """The key is wrong, expired or revoked. The error never contains the key."""

    code = "bad-key"

    def __init__(self, reason: str) -> None:
        super().__init__("", "authenticate", "*")
        self.args = (reason,)
        self.reason = reason

    def __str__(self) -> str:
        return f"the key was not accepted: {self.reason}"


class Conflict(PerdureError):
    """The record is not, or is no longer, in the version that the caller expected."""

    code = "conflict"

    def __init__(self, name: str, expected: str, found: str) -> None:
        super().__init__(name, expected, found)
        self.name = name
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"conflict on {quote_text(self.name)}: expected {self.expected}, found {self.found}"


class DifferentIdentifiers(Conflict):
    """Two names that should belong to one identifier belong to two. They are never joined."""

    code = "different-identifiers"

    def __init__(self, name: str, other: str) -> None:
        super().__init__(name, "names of one identifier", f"names of {name} and of {other}")
        self.args = (name, other)
        self.other = other

    def __str__(self) -> str:
        return (
            f"the names belong to two identifiers, {quote_text(self.name)} and {quote_text(self.other)}, which are not "
            "joined: correct the line, or withdraw one of them (perdure withdraw --replaced-by)"
        )


class ClockBehind(PerdureError):
    """The next free date is further ahead of the clock than a caller may wait. All times are POSIX seconds."""

    code = "clock-behind"

    def __init__(self, timeline: str, last: Fraction, now: Fraction, wait: Fraction) -> None:
        super().__init__(timeline, last, now, wait)
        self.timeline = timeline
        self.last = last
        self.now = now
        self.wait = wait

    def __str__(self) -> str:
        return (
            f"the next date for {quote_text(self.timeline)} is available in {float(self.wait):.1f} s: try again then. "
            "If the clock is wrong, correct it"
        )


class ClockJumped(ClockBehind):
    """The clock shows an implausible time. A date issued now would block its timeline for a long time."""

    code = "clock-jumped"

    def __str__(self) -> str:
        return (
            f"the clock has jumped by {float(self.wait):.0f} s, which is implausible; nothing was issued. "
            "Correct the clock and start again"
        )


class ClockUnconfirmed(ClockJumped):
    """The clock is far from the newest change, and the operator has not confirmed it yet."""

    code = "clock-unconfirmed"

    def __str__(self) -> str:
        last, now = (datetime.fromtimestamp(int(one), timezone.utc).isoformat() for one in (self.last, self.now))
        return (
            f"the clock shows {now}, and the newest change is from {last}: nothing is minted until an administrator "
            "corrects the clock, or confirms that it is right"
        )


class PeerUnavailable(PerdureError):
    """Another server did not answer, or its answer cannot be used."""

    code = "peer-unavailable"

    def __init__(self, peer: str, reason: str, *, refuses_question: bool = False) -> None:
        super().__init__(peer, reason)
        self.peer = peer
        self.reason = reason
        # The server works, but does not accept what a reader has put into this question.
        self.refuses_question = refuses_question

    def __str__(self) -> str:
        return f"the server {self.peer} gave no usable answer: {self.reason}"


class PeerNotTrusted(PeerUnavailable):
    """The answer of another server is not signed with the key that is registered for it."""

    code = "peer-not-trusted"

    def __str__(self) -> str:
        return f"the answer of {self.peer} was refused: {self.reason}"


class StoreUnavailable(PerdureError):
    """The store failed, and nothing was written.

    `safe_to_retry`: the call may succeed later.
    """

    code = "store-unavailable"

    def __init__(self, reason: str, safe_to_retry: bool = False) -> None:
        super().__init__(reason, safe_to_retry)
        self.reason = reason
        self.safe_to_retry = safe_to_retry

    def __str__(self) -> str:
        return self.reason


class OutcomeUnknown(StoreUnavailable):
    """The connection was lost during a commit and not restored: the change may have been written or not."""

    code = "outcome-unknown"


class StoreFull(StoreUnavailable):
    """The disk, or a quota, is full. The call may succeed when there is free space."""

    code = "store-full"

    def __init__(self, where: str, outcome: str = "nothing was written") -> None:
        super().__init__(f"{where} is full, or a quota is exceeded: {outcome}. Free some space and try again", True)


class QuotaExceeded(StoreUnavailable):
    """The agent may not store as many bytes. Nothing was stored."""

    code = "quota-exceeded"

    def __init__(self, agent: str, limit: int, used: int, size: int) -> None:
        super().__init__(
            f"{quote_text(agent)} may store {limit} bytes and has stored {used}: {size} more are too many. An "
            f"administrator can raise the quota (perdure agent quota {agent} --limit BYTES)"
        )
        self.args = (agent, limit, used, size)
        self.agent, self.limit, self.used, self.size = agent, limit, used, size


class StoreSealed(StoreUnavailable):
    """The store is read-only, on purpose: its contents are being moved to another store, or have been."""

    code = "store-sealed"


class ItemBusy(StoreUnavailable):
    """Another process, or another thread, is writing the item."""

    code = "item-busy"

    def __init__(self, name: str) -> None:
        super().__init__(f"another process is writing the item {quote_text(name)}: try again later", True)
        self.args = (name,)
        self.name = name


class StoreBehind(StoreUnavailable):
    """The store has lost acknowledged changes, or was replaced by an older copy.

    The error describes them, as far as the marks show.
    """

    code = "store-behind"

    def __init__(self, missing: tuple[str, ...]) -> None:
        super().__init__(
            f"the database has lost acknowledged changes, or is an older copy: {'; '.join(missing)}. "
            "Nothing is served or minted until this is repaired, or the operator accepts the loss"
        )
        self.args = (missing,)
        self.missing = missing


class StoreDamaged(StoreUnavailable):
    """Stored data cannot be read, or is inconsistent."""

    code = "store-damaged"


class ItemDamaged(StoreDamaged):
    """Files of a stored item are missing, changed, or cannot be read."""

    code = "item-damaged"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the item {quote_text(name)} is damaged: {reason}")
        self.args = (name, reason)
        self.name = name
        self.damage = reason


class SchemaChanged(StoreDamaged):
    """The schema of a database, or of a backup, is not the one that this program creates.

    It names each table, index, trigger or other part that is extra, missing or different.
    """

    code = "schema-changed"

    def __init__(self, differences: Sequence[str], of: str = "the database") -> None:
        more = len(differences) - _MOST_DIFFERENCES
        listed = "; ".join(differences[:_MOST_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")
        super().__init__(f"the schema of {of} was changed by another program ({listed}): {_REMEDY}")
        self.differences = tuple(differences)
