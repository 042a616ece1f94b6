"""Every error that Perdure raises on purpose.

PerdureError                 has a stable `code`, the same in every language and every door
  ├─ InvalidName             the text is not a name of its scheme     (scheme, part, position, reason)
  ├─ InvalidInput            this value cannot be taken               (scheme, part, reason, rule)
  │    └─ OutOfRange         the right kind of value, but too early, too late, too small or too large
  ├─ NameTaken               the name stands for something already    (name)
  │    └─ ValueExists        a value has this index already           (name, index)
  ├─ NoSuchName              nothing is registered under it           (name, suggestions)
  │    ├─ NoSuchPrefix       and the prefix itself is unknown
  │    └─ NoTarget           the name is there, but it leads nowhere
  ├─ NoSuchValue             the record has no value with this index  (name, indexes)
  ├─ Withdrawn               there is a tombstone                     (name, reason, replaced_by)
  ├─ WrongState              not in the state that this needs         (name, state, needed)
  │    ├─ Immutable          it can never be changed                  (name, reason)
  │    └─ CountUnknown       a restore could not tell how far a prefix had counted
  ├─ NotAuthorised           which grant was missing                  (agent, action, scope)
  │    └─ BadKey             the key is wrong, lapsed or revoked
  ├─ Conflict                somebody else was first                  (name, expected, found)
  ├─ ClockBehind             the next date is too far ahead           (timeline, last, now, wait)
  │    └─ ClockJumped        the clock itself cannot be believed
  │         └─ ClockUnconfirmed   it is far from the newest change, and not confirmed by the operator
  └─ StoreUnavailable        nothing was written                      (reason, safe_to_retry)
       ├─ OutcomeUnknown     it may have been written or not: look before trying again
       ├─ StoreFull          the disk, or a quota, is full: there is no room for it
       ├─ StoreSealed        it takes no writes, on purpose
       ├─ StoreBehind        it does not have what it has acknowledged       (missing)
       └─ StoreDamaged       what is stored cannot be read
            └─ SchemaChanged the database has other tables, indexes or triggers than it should   (differences)

Invalid names and inputs are ValueErrors as well, so that code that knows nothing of Perdure catches them as it would
expect.
"""

import errno
from collections.abc import Sequence
from datetime import datetime, timezone
from fractions import Fraction
from typing import ClassVar, Final

_LONGEST_SHOWN: Final = 60
_MOST_DIFFERENCES: Final = 5
_REMEDY: Final = "do not use it; restore a backup from before that change (perdure restore FILE)"
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_full(number: int | None) -> bool:
    """Return whether an error number of the system means that the disk, or a quota, is full."""
    return number in _NO_ROOM


def shown(value: object) -> str:
    """A value as an error may show it: escaped, and not longer than a line."""
    if not isinstance(value, str):
        return type(value).__name__
    return f"{value!a}" if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]!a}…"


class PerdureError(Exception):
    """The root: catch this to catch everything that Perdure refuses."""

    code: ClassVar[str] = "error"


class InvalidName(PerdureError, ValueError):
    """The text is not a name of its scheme.

    `part` says which piece of the name is wrong, and `position` where the trouble starts: an index into the text that
    was given, counted from 0 (in a web address, once it is decoded, into the name), or None when no single place is to
    blame. `suggestion` is the name that was probably meant, where only one can be.
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
    """This value cannot be taken.

    `part` names the field. `rule` is the rule of a specification that it breaks, in the specification's words, where
    there is one.
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
    """The right kind of value, but outside what the scheme can write."""

    code = "out-of-range"


class NameTaken(PerdureError):
    """The name stands for something already, and names are never used twice."""

    code = "name-taken"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"{shown(self.name)} is taken already"


class ValueExists(NameTaken):
    """The record has a value with this index, and it was not to be replaced; or two values claim one index."""

    code = "value-exists"

    def __init__(self, name: str, index: int) -> None:
        super().__init__(name)
        self.args = (name, index)
        self.index = index

    def __str__(self) -> str:
        return f"index {self.index} of {shown(self.name)} is taken already"


class NoSuchName(PerdureError):
    """Nothing is registered under this name.

    `suggestions` are names like it that exist.
    """

    code = "no-such-name"

    def __init__(self, name: str, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(name, suggestions)
        self.name = name
        self.suggestions = suggestions

    def __str__(self) -> str:
        guess = f"; did you mean {' or '.join(self.suggestions)}?" if self.suggestions else ""
        return f"{shown(self.name)} is not registered here{guess}"


class NoSuchPrefix(NoSuchName):
    """The name lies under a prefix that this registry does not keep."""

    code = "no-such-prefix"

    def __str__(self) -> str:
        return f"this registry does not keep a prefix {shown(self.name)}"


class NoTarget(NoSuchName):
    """The name is registered, and says nothing of where it leads."""

    code = "no-target"

    def __str__(self) -> str:
        return f"{shown(self.name)} leads nowhere: it has no URL"


class NoSuchValue(PerdureError):
    """The record is there, and has no values with these indexes."""

    code = "no-such-value"

    def __init__(self, name: str, indexes: tuple[int, ...]) -> None:
        super().__init__(name, indexes)
        self.name = name
        self.indexes = indexes

    def __str__(self) -> str:
        return f"{shown(self.name)} has no value with index {', '.join(map(str, self.indexes))}"


class Withdrawn(PerdureError):
    """The name was withdrawn: there is a tombstone, and a version history behind it."""

    code = "withdrawn"

    def __init__(self, name: str, reason: str, replaced_by: str | None = None) -> None:
        super().__init__(name, reason, replaced_by)
        self.name = name
        self.reason = reason
        self.replaced_by = replaced_by

    def __str__(self) -> str:
        instead = f", replaced by {self.replaced_by}" if self.replaced_by else ""
        return f"{shown(self.name)} was withdrawn ({shown(self.reason)}){instead}"


class WrongState(PerdureError):
    """The identifier is not in the state that this act needs."""

    code = "wrong-state"

    def __init__(self, name: str, state: str, needed: str) -> None:
        super().__init__(name, state, needed)
        self.name = name
        self.state = state
        self.needed = needed

    def __str__(self) -> str:
        return f"{shown(self.name)} is {self.state}; this needs one that is {self.needed}"


class Immutable(WrongState):
    """What this identifier says can never be changed."""

    code = "immutable"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, "immutable", "not")
        self.args = (name, reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"{shown(self.name)} cannot be changed: {self.reason}"


class CountUnknown(WrongState):
    """After a restore nothing tells which numbers of a prefix were issued since the backup."""

    code = "count-unknown"

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix, "restored", "counted")
        self.args = (prefix,)

    def __str__(self) -> str:
        return (
            f"after a restore it is not known how far {shown(self.name)} had counted, and a number could be issued "
            "twice: an administrator must say after which number to go on"
        )


class NotAuthorised(PerdureError):
    """Nobody may do anything that no grant allows."""

    code = "not-authorised"

    def __init__(self, agent: str, action: str, scope: str) -> None:
        super().__init__(agent, action, scope)
        self.agent = agent
        self.action = action
        self.scope = scope

    def __str__(self) -> str:
        where = "the whole registry" if self.scope == "*" else shown(self.scope)
        return f"{shown(self.agent)} has no grant to {self.action} on {where}"


class BadKey(NotAuthorised):
    """The key opens nothing: it is wrong, lapsed or revoked. The key itself is never repeated."""

    code = "bad-key"

    def __init__(self, reason: str) -> None:
        super().__init__("", "authenticate", "*")
        self.args = (reason,)
        self.reason = reason

    def __str__(self) -> str:
        return f"the key was not accepted: {self.reason}"


class Conflict(PerdureError):
    """The record is not, or is no longer, what the caller took it for."""

    code = "conflict"

    def __init__(self, name: str, expected: str, found: str) -> None:
        super().__init__(name, expected, found)
        self.name = name
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"{shown(self.name)}: expected {self.expected}, found {self.found}"


class ClockBehind(PerdureError):
    """The next free date lies further ahead of the clock than a caller is made to wait. All times in POSIX seconds."""

    code = "clock-behind"

    def __init__(self, timeline: str, last: Fraction, now: Fraction, wait: Fraction) -> None:
        super().__init__(timeline, last, now, wait)
        self.timeline = timeline
        self.last = last
        self.now = now
        self.wait = wait

    def __str__(self) -> str:
        return (
            f"the next date for {shown(self.timeline)} comes in {float(self.wait):.1f} s: try again then. "
            "If the clock is wrong, set it right"
        )


class ClockJumped(ClockBehind):
    """The clock shows a time that it cannot have come to; a date issued now would block its timeline for long."""

    code = "clock-jumped"

    def __str__(self) -> str:
        return (
            f"the clock has jumped by {float(self.wait):.0f} s, which cannot be right; nothing was issued. "
            "Set the clock right and start again"
        )


class ClockUnconfirmed(ClockJumped):
    """The clock is far from the newest change, and the operator has not confirmed it yet."""

    code = "clock-unconfirmed"

    def __str__(self) -> str:
        last, now = (datetime.fromtimestamp(int(one), timezone.utc).isoformat() for one in (self.last, self.now))
        return (
            f"the clock says {now}, and the newest change came at {last}: nothing is minted until an administrator has "
            "set the clock right, or said that it is right"
        )


class StoreUnavailable(PerdureError):
    """The store could not do it, and nothing was written.

    `safe_to_retry`: the same call may succeed later.
    """

    code = "store-unavailable"

    def __init__(self, reason: str, safe_to_retry: bool = False) -> None:
        super().__init__(reason, safe_to_retry)
        self.reason = reason
        self.safe_to_retry = safe_to_retry

    def __str__(self) -> str:
        return self.reason


class OutcomeUnknown(StoreUnavailable):
    """The store was lost in the very moment of keeping it, and has not come back: it may have been written or not."""

    code = "outcome-unknown"


class StoreFull(StoreUnavailable):
    """The disk, or a quota, is full. The same call may succeed when there is room."""

    code = "store-full"

    def __init__(self, where: str, outcome: str = "nothing was written") -> None:
        super().__init__(f"{where} is full, or a quota is: {outcome}. Make room and try again", True)


class StoreSealed(StoreUnavailable):
    """The store takes no writes, on purpose: its contents are moving elsewhere, or have."""

    code = "store-sealed"


class StoreBehind(StoreUnavailable):
    """The store does not have what it has acknowledged, as the marks beside it tell.

    It says what is missing, as far as they tell.
    """

    code = "store-behind"

    def __init__(self, missing: tuple[str, ...]) -> None:
        super().__init__(
            f"the database is not the one that was last written here: {'; '.join(missing)}. "
            "Nothing is served or minted until this is repaired, or the operator has said what happened"
        )
        self.args = (missing,)
        self.missing = missing


class StoreDamaged(StoreUnavailable):
    """What is stored cannot be read, or contradicts itself."""

    code = "store-damaged"


class SchemaChanged(StoreDamaged):
    """The schema of a database, or of a backup, is not the one that this program makes.

    It names each table, index, trigger or other part that is extra, missing or different.
    """

    code = "schema-changed"

    def __init__(self, differences: Sequence[str], of: str = "the database") -> None:
        more = len(differences) - _MOST_DIFFERENCES
        listed = "; ".join(differences[:_MOST_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")
        super().__init__(f"the schema of {of} was changed by another program ({listed}): {_REMEDY}")
        self.differences = tuple(differences)
