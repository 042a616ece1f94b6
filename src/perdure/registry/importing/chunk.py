"""One transaction of an import: new names are gathered, and whatever may touch an existing one goes alone."""

from collections.abc import Sequence

import msgspec

from perdure.errors import ClockBehind, InvalidInput, PerdureError, StoreUnavailable
from perdure.exchange.entry import Edit, Entry, Notice, Put, Refused, Setting, Whole
from perdure.records.plain import Plain
from perdure.registry.authority import require, require_new
from perdure.registry.entities import EVERYWHERE, Action, Agent, Change
from perdure.registry.importing.edits import apply_edit
from perdure.registry.importing.options import Options, Outcome, Tally
from perdure.registry.importing.puts import PreparedPut, creators_in, prepare, put_again
from perdure.registry.importing.settings import apply_setting
from perdure.registry.importing.wholes import PreparedWhole, apply_whole
from perdure.registry.naming import locate
from perdure.registry.parties import actionable
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry

Problem = Refused | Notice
Prepared = PreparedPut | PreparedWhole


class Ready(Plain, frozen=True):
    """An entry, and what could be made of it without the store; None is left to the transaction, which says why."""

    entry: Entry
    prepared: Prepared | None = None
    changes: tuple[Change, ...] = ()
    keys: tuple[str, ...] = ()


class Chunk:
    """What becomes of some entries, in a transaction that may still be undone."""

    def __init__(
        self,
        registry: Registry,
        tx: Transaction,
        by: Agent,
        options: Options,
        parties: dict[str, str],
        before: Tally,
    ) -> None:
        self._registry = registry
        self._tx = tx
        self._by = by
        self._options = options
        self._parties = dict(parties)
        self._tally = msgspec.structs.replace(before)
        self._at = registry.now()
        self._allowed: set[tuple[type[Entry], str]] = set()
        self._fresh: list[Change] = []
        self._known: set[str] = set()
        self._problems: list[Problem] = []

    def apply(self, ready: Sequence[Ready], known: set[str]) -> tuple[Tally, list[Problem]]:
        """`known` are those of the names that exist. NameTaken: there are more, and all of this must be undone."""
        tally, self._known = self._tally, known
        for one in ready:
            entry, prepared, keys = one.entry, one.prepared, one.keys
            tally.entries += 1
            tally.line = max(tally.line, entry.line)
            new = prepared if prepared is not None and known.isdisjoint(keys) else None
            if new is None and not isinstance(entry, Refused | Notice):
                self._flush()
            try:
                if new is not None:
                    self._permit(entry, new.located.prefix.key)
                    self._permit_keys(new)
                    known.update(keys)
                    self._fresh.extend(one.changes)
                    tally.created += 1
                    self._problems.extend(new.notices)
                elif isinstance(entry, Refused | Notice):
                    self._note(entry)
                else:
                    self._alone(entry, prepared)
            except (StoreUnavailable, ClockBehind):
                raise  # the fault is not the entry's
            except PerdureError as problem:
                self._note(Refused(entry.line, str(problem), getattr(entry, "name", None)))
        self._flush()
        tally.notices += sum(isinstance(one, Notice) for one in self._problems)
        tally.refused += sum(isinstance(one, Refused) for one in self._problems)
        return tally, self._problems

    def _alone(self, entry: Entry, prepared: Prepared | None) -> None:
        with self._tx.attempt():  # half an entry is never kept
            outcome = self._one(entry, prepared)
        if isinstance(outcome, Notice):
            self._note(outcome)
        else:
            self._tally.count(outcome)

    @property
    def was_allowed(self) -> bool:
        """Whether anything in this chunk was done by right."""
        return bool(self._allowed)

    def _note(self, problem: Problem) -> None:
        if self._options.strict and isinstance(problem, Refused):
            raise InvalidInput("import", "line", f"line {problem.line}: {problem.reason}")
        self._problems.append(problem)

    def _flush(self) -> None:
        if self._fresh:
            self._tx.insert(self._fresh)
            self._fresh.clear()

    def _permit(self, entry: Entry, scope: str) -> None:
        """Refuse who has no grant. A whole history is written in the names of others: that takes more than `import`."""
        asked = type(entry), scope
        if asked not in self._allowed:
            is_more = isinstance(entry, Whole | Setting)
            action: Action = "admin" if is_more else "import"
            require(self._tx, self._by, action, EVERYWHERE if is_more else scope, self._at)
            self._allowed.add(asked)

    def _permit_keys(self, new: Prepared) -> None:
        """Whoever may bring names may not thereby bring the keys of administrators. For histories, more is asked."""
        if isinstance(new, PreparedPut):
            require_new(self._tx, self._by, new.record.values, new.located.prefix.key, self._at)

    def _one(self, entry: Entry, prepared: Prepared | None) -> Outcome | Notice:
        tx, by, options, at = self._tx, self._by, self._options, self._at
        if isinstance(entry, Whole):
            self._permit(entry, EVERYWHERE)
            return apply_whole(self._registry, tx, entry)
        if isinstance(entry, Setting):
            self._permit(entry, EVERYWHERE)
            return apply_setting(tx, by, entry, options, at)
        if isinstance(entry, Edit):
            self._permit(entry, locate(tx, entry.name).prefix.key)
            return apply_edit(self._registry, tx, by, entry, options, at)
        if not isinstance(entry, Put):
            raise InvalidInput("import", "line", "this cannot be imported")
        if not isinstance(prepared, PreparedPut):
            for text in creators_in([entry], self._registry.settings.type_prefix) - self._parties.keys():
                self._parties[text] = actionable(tx, text, "creator", self._registry.settings.limits)
            prepared = prepare(self._registry, tx, by, entry, options, self._parties, at)
        self._permit(entry, prepared.located.prefix.key)
        self._problems.extend(prepared.notices)
        self._known.add(prepared.located.key)
        if tx.find(prepared.located.key) is None:
            self._permit_keys(prepared)
            tx.insert(prepared.changes)
            return "created"
        return put_again(self._registry, tx, by, prepared, entry, options, at)
