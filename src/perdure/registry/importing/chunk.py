"""One transaction of an import. New names are inserted together, and entries for existing names one by one."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext

import msgspec

from perdure.errors import ClockBehind, InvalidInput, PerdureError, StoreUnavailable
from perdure.formats.import_entries import Entry, FullHistory, ImportEdit, ImportPut, Notice, RegistryPart, RejectedLine
from perdure.records.frozen_struct import FrozenStruct
from perdure.registry.entities import WHOLE_REGISTRY, Action, Agent, Change
from perdure.registry.importing.admission import admit_edit, note_of
from perdure.registry.importing.aliases import with_existing_name, without_taken_aliases
from perdure.registry.importing.edits import apply_edit
from perdure.registry.importing.full_histories import PreparedHistory, apply_history, require_history_permission
from perdure.registry.importing.import_options import ImportOptions, Outcome, Tally
from perdure.registry.importing.registry_parts import apply_registry_part
from perdure.registry.importing.source_metadata import absent_party, parties_in
from perdure.registry.importing.upserts import PreparedPut, is_other_spelling, prepare_put, update_existing
from perdure.registry.name_keys import locate
from perdure.registry.permissions.permissions import require_key_permission, require_permission
from perdure.registry.registry import Registry
from perdure.registry.responsible_parties import check_resolvable_party
from perdure.registry.store_interface import Transaction

Problem = RejectedLine | Notice
Prepared = PreparedPut | PreparedHistory


class PreparedEntry(FrozenStruct, frozen=True):
    """An entry, and what could be prepared without the store; None leaves it to the transaction, which reports why."""

    entry: Entry
    prepared: Prepared | None = None
    changes: tuple[Change, ...] = ()
    keys: tuple[str, ...] = ()


class ImportChunk:
    """The processing of some entries in one transaction, which may still be rolled back."""

    def __init__(
        self,
        registry: Registry,
        tx: Transaction,
        by: Agent,
        options: ImportOptions,
        parties: dict[str, str],
        before: Tally,
    ) -> None:
        self._registry = registry
        self._tx = tx
        self._by = by
        self._options = options
        self._parties = dict(parties)
        self._tally = msgspec.structs.replace(before)
        self._at = registry.current_time()
        self._allowed: set[tuple[type[Entry], str]] = set()
        self._new_changes: list[Change] = []
        self._known: set[str] = set()
        self._problems: list[Problem] = []

    def apply(self, ready: Sequence[PreparedEntry], known: set[str]) -> tuple[Tally, list[Problem]]:
        """Apply the entries; `known` are those of the names that exist.

        On NameTaken, the caller must undo all of this.
        """
        tally, self._known = self._tally, known
        for one in ready:
            entry, prepared, keys = one.entry, one.prepared, one.keys
            tally.entries += 1
            tally.line = max(tally.line, entry.line)
            new = prepared if prepared is not None and known.isdisjoint(keys) else None
            if new is None and not isinstance(entry, RejectedLine | Notice):
                self._flush()
            try:
                if new is not None:
                    for scope in new.scopes if isinstance(new, PreparedPut) else (new.located.prefix.key,):
                        self._require_permission(entry, scope)
                    self._require_key_permission(new)
                    known.update(keys)
                    self._new_changes.extend(one.changes)
                    tally.created += 1
                    self._problems.extend(new.notices)
                elif isinstance(entry, RejectedLine | Notice):
                    self._add_problem(entry)
                else:
                    self._apply_alone(entry, prepared)
            except (StoreUnavailable, ClockBehind):
                raise  # not caused by the entry
            except PerdureError as problem:
                name = getattr(entry, "name", None)
                part = problem.part if isinstance(problem, InvalidInput) else None
                self._add_problem(RejectedLine(entry.line, str(problem), name, part, code=problem.code))
        self._flush()
        for found in self._problems:
            if isinstance(found, RejectedLine):
                tally.refused += 1
                continue
            tally.notices += 1
            tally.verbatim += found.kind == "verbatim"
            tally.mended += found.kind == "mended"
            tally.left_out += found.kind == "left-out"
        return tally, self._problems

    def _apply_alone(self, entry: Entry, prepared: Prepared | None) -> None:
        with self._tx.attempt() if _has_several_writes(entry) else nullcontext():
            outcome = self._apply_entry(entry, prepared)
        if isinstance(outcome, Notice):
            self._add_problem(outcome)
        else:
            self._tally.count(outcome)

    @property
    def parties(self) -> Mapping[str, str]:
        """Return the parties that were looked up, in their stored form."""
        return self._parties

    @property
    def has_permitted_entries(self) -> bool:
        """Return whether the agent had permission for anything in this chunk."""
        return bool(self._allowed)

    def _add_problem(self, problem: Problem) -> None:
        if self._options.strict and isinstance(problem, RejectedLine):
            raise InvalidInput("import", "line", f"line {problem.line}: {problem.reason}")
        self._problems.append(problem)

    def _flush(self) -> None:
        if self._new_changes:
            self._tx.insert(self._new_changes)
            self._new_changes.clear()

    def _require_permission(self, entry: Entry, scope: str) -> None:
        """Require a grant. A whole history is written in the names of other agents: that needs more than `import`."""
        permission = type(entry), scope
        if permission not in self._allowed:
            is_more = isinstance(entry, FullHistory | RegistryPart)
            action: Action = "admin" if is_more else "import"
            require_permission(self._tx, self._by, action, WHOLE_REGISTRY if is_more else scope, self._at)
            self._allowed.add(permission)

    def _require_key_permission(self, new: Prepared) -> None:
        """Refuse keys of administrators in new names: permission to import is not enough for them."""
        if isinstance(new, PreparedPut):
            require_key_permission(self._tx, self._by, new.record.values, new.located.prefix.key, self._at)
        else:
            require_history_permission(self._tx, self._by, new, self._at)

    def _apply_entry(self, entry: Entry, prepared: Prepared | None) -> Outcome | Notice:
        tx, by, options, at = self._tx, self._by, self._options, self._at
        if isinstance(entry, FullHistory):
            self._require_permission(entry, WHOLE_REGISTRY)
            outcome, notices = apply_history(self._registry, tx, by, entry)
            self._problems.extend(notices)
            return outcome
        if isinstance(entry, RegistryPart):
            self._require_permission(entry, WHOLE_REGISTRY)
            return apply_registry_part(tx, by, entry, options, at)
        if isinstance(entry, ImportEdit):
            self._require_permission(entry, locate(tx, entry.name).prefix.key)
            entry, notices = admit_edit(entry, self._registry.settings.limits, mend=options.mend)
            outcome = apply_edit(self._registry, tx, by, entry, options, at, note_of(options.note, notices))
            self._problems.extend(notices)
            return outcome
        if not isinstance(entry, ImportPut):
            raise InvalidInput("import", "line", "this kind of entry cannot be imported")
        if not isinstance(prepared, PreparedPut):
            for text in parties_in([entry], self._registry.settings.type_prefix) - self._parties.keys():
                self._parties[text] = self._find_party(text, entry)
            prepared = prepare_put(self._registry, tx, by, entry, options, self._parties, at)
        if entry.joins_names:
            entry = with_existing_name(tx, entry, prepared.located, prepared.aliases)
            prepared = prepare_put(self._registry, tx, by, entry, options, self._parties, at)
        elif entry.is_label:
            entry, taken = without_taken_aliases(tx, entry, prepared.located, prepared.aliases)
            self._problems.extend(taken)
            if taken:
                prepared = prepare_put(self._registry, tx, by, entry, options, self._parties, at)
        located = prepared.located
        for scope in prepared.scopes:
            self._require_permission(entry, scope)
        self._known.update(change.identifier.key for change in prepared.changes)
        existing = tx.find(located.key)
        if existing is None:
            self._require_key_permission(prepared)
            tx.insert(prepared.changes)
            done: Outcome = "created"
        else:
            done = update_existing(self._registry, tx, by, prepared, entry, options, at)
            if is_other_spelling(existing.name, located):
                what = f"{entry.name} is {existing.name}, with equal content: under this prefix, case is ignored"
                self._problems.append(Notice(entry.line, what, entry.name, "case"))
        self._problems.extend(prepared.notices)
        return done

    def _find_party(self, text: str, entry: ImportPut) -> str:
        """Return the stored form of a creator or owner. One that is not here, or not yet, is reported once."""
        limits = self._registry.settings.limits
        try:
            return check_resolvable_party(self._tx, text, "creator", limits)
        except InvalidInput:
            stored = absent_party(self._tx, text, limits)
            if stored is None:
                raise
            self._problems.append(
                Notice(entry.line, f"{stored} does not resolve here, or not yet", entry.name, "party")
            )
            return stored


def _has_several_writes(entry: Entry) -> bool:
    """Return whether an entry may fail between two writes: then it is written in an attempt.

    An entry for one name has a single write, after all its checks. An attempt for each would cost more than the write.
    """
    return not isinstance(entry, ImportPut) or bool(entry.aliases) or entry.joins_names or entry.is_label
