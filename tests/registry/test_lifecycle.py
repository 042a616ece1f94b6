"""The life of a registry: random operations, with an unreliable clock, against a model in memory."""

import asyncio
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.registry_fixture import Office, locations_on, need_engine, open_office, set_target

from perdure.errors import ClockBehind, ClockJumped, NameTaken, PerdureError, Withdrawn, WrongState
from perdure.records import record as records
from perdure.records.value import Text, Value
from perdure.registry import (
    Statement,
    add_subsystem,
    add_values,
    bind,
    change_prefix,
    find_by_value,
    history,
    mint,
    reinstate,
    remove_values,
    resolve,
    show,
    withdraw,
)

DATED = {"12345": "pilin", "example.org/a": "ibi"}
targets = st.integers(0, 5).map(lambda number: f"https://example.org/{number}")


class Life(RuleBasedStateMachine):
    """The model: for every name its state, its target, and the number of versions."""

    names = Bundle("names")

    def __init__(self, engine: str) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="perdure-life-")
        self.runner = asyncio.Runner()
        self.locations = locations_on(engine, Path(self.folder.name))
        self.store = self.locations.open()
        self.office: Office = open_office(self.runner, self.store)
        self.model: dict[str, dict[str, Any]] = {}
        self.aliases: dict[str, str] = {}
        self.last: dict[str, Fraction] = {}
        self.newest: dict[str, str] = {}

    @initialize()
    def prefixes(self) -> None:
        self.office.prefix("12345")
        self.office.prefix("777", "sequential")
        self.office.prefix("888", "chosen", case_sensitive=False)
        self.office.do(add_subsystem, "a.example.org", "8.8.8.8")

    def _born(self, minted: list, target: str | None) -> str:
        for one in minted:
            assert one.name not in self.model
            assert one.alias is None or one.alias not in self.aliases
            self.model[one.name] = {
                "state": "active" if target else "reserved",
                "target": target,
                "notes": 0,
                "versions": 1,
            }
            if one.alias:
                self.aliases[one.alias] = one.name
        return minted[-1].name

    @rule(target=names, prefix=st.sampled_from([*DATED, "777"]), count=st.integers(1, 3), to=st.none() | targets)
    def mint(self, prefix: str, count: int, to: str | None) -> Any:
        before = self.office.clock.now
        try:
            minted = self.office.do(mint, prefix, count, statement=Statement(to))
        except ClockBehind:
            assert self.last[prefix] > before
            return self._admin_identifier()
        if prefix in DATED:
            for one in minted:
                assert prefix not in self.last or one.date > self.last[prefix]
                self.last[prefix] = one.date
            assert self.office.clock.now >= minted[-1].date
        return self._born(minted, to)

    @rule(target=names, suffix=st.sampled_from(["a", "A", "b", "B", "c"]), to=st.none() | targets)
    def choose(self, suffix: str, to: str | None) -> Any:
        taken = any(name.lower() == f"888/{suffix}".lower() for name in self.model)
        try:
            minted = self.office.do(mint, "888", suffixes=[suffix], statement=Statement(to))
        except NameTaken:
            assert taken
            return self._admin_identifier()
        assert not taken
        return self._born(minted, to)

    def _admin_identifier(self) -> str:
        """Return the identifier of the administrator, which the rules never change."""
        return self.office.admin.identifier

    def _change(self, name: str, needed: tuple[str, ...], act: Callable[[], int], **changes: Any) -> None:
        if name not in self.model:
            return
        stated = self.model[name]
        try:
            version = act()
        except (WrongState, Withdrawn):
            assert stated["state"] not in needed
            return
        assert stated["state"] in needed
        if any(stated[field] != value for field, value in changes.items()):
            stated["versions"] += 1
        stated.update(changes)
        assert version == stated["versions"]

    @rule(name=names, to=targets)
    def bind(self, name: str, to: str) -> None:
        self._change(name, ("reserved",), lambda: self.office.do(bind, name, Statement(to)), state="active", target=to)

    @rule(name=names, to=targets)
    def move(self, name: str, to: str) -> None:
        self._change(name, ("active",), lambda: self.office.do(set_target, self._any_label(name), to), target=to)

    @rule(name=names)
    def add(self, name: str) -> None:
        notes = self.model[name]["notes"] + 1 if name in self.model else 0
        note = Value(1000 + notes, "DESC", Text("a note"))
        self._change(name, ("active",), lambda: self.office.do(add_values, name, [note]), notes=notes)

    @precondition(lambda self: any(stated["notes"] for stated in self.model.values()))
    @rule(name=names)
    def remove(self, name: str) -> None:
        if self.model.get(name, {}).get("notes"):
            notes = self.model[name]["notes"]
            act = lambda: self.office.do(remove_values, name, [1000 + notes])  # noqa: E731
            self._change(name, ("active",), act, notes=notes - 1)

    @rule(name=names)
    def withdraw(self, name: str) -> None:
        before = self.model.get(name, {}).get("state")
        self._change(name, ("active", "reserved"), lambda: self.office.do(withdraw, name, "gone"), state="withdrawn")
        if before != "withdrawn" and name in self.model:
            self.model[name]["before"] = before

    @rule(name=names)
    def reinstate(self, name: str) -> None:
        back = self.model.get(name, {}).get("before", "active")
        self._change(name, ("withdrawn",), lambda: self.office.do(reinstate, name), state=back)

    def _any_label(self, name: str) -> str:
        """Return either label of a pair."""
        return next((alias for alias, subject in self.aliases.items() if subject == name), name)

    @rule(seconds=st.sampled_from([-3600, -5, -1, Fraction(-1, 1000), Fraction(1, 1000), 1, 70, 3600, 86_400]))
    def clock_steps(self, seconds: Fraction) -> None:
        self.office.clock.step(seconds)

    @rule(granularity=st.sampled_from([Fraction(60), Fraction(1), Fraction(1, 10), Fraction(1, 1000)]))
    def grid(self, granularity: Fraction) -> None:
        self.office.do(change_prefix, "example.org/a", granularity=granularity)

    @rule()
    def leap(self) -> None:
        """A clock far ahead is refused wherever something was issued; then it is set right."""
        self.office.clock.step(30 * 366 * 86_400)
        for prefix in self.last:
            try:
                self.office.do(mint, prefix)
            except ClockJumped:
                continue
            raise AssertionError("an age was believed")
        self.office.clock.step(-30 * 366 * 86_400)

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = self.locations.open(create=False)
        self.office = self.office.reopen(self.store)

    @rule(name=consumes(names))
    def look(self, name: str) -> None:
        """All queries of a name agree with the model."""
        if name not in self.model:
            return
        stated = self.model[name]
        view = self.office.ask(show, name)
        assert (view.state, view.version) == (stated["state"], stated["versions"])
        assert (view.authority.created is None) == (not stated.get("target"))
        revisions = self.office.ask(history, name)
        assert [one.version for one in revisions] == list(range(1, stated["versions"] + 1))
        assert [one.at for one in revisions] == sorted(one.at for one in revisions)
        assert records.decode(revisions[-1].record).state == stated["state"]
        if view.authority.updated is not None:
            assert view.authority.created is not None
            assert self.newest.get(name, "") <= view.authority.updated
            self.newest[name] = view.authority.updated
        try:
            answer = self.office.ask(resolve, self._any_label(name)).target
        except (WrongState, Withdrawn):
            answer = None
        assert answer == (stated["target"] if stated["state"] == "active" else None)

    @invariant()
    def reverse_look_up_agrees(self) -> None:
        for number in range(2):
            to = f"https://example.org/{number}"
            found = {one.name for one in self.office.ask(find_by_value, to)}
            assert found == {
                name for name, stated in self.model.items() if stated["state"] == "active" and stated["target"] == to
            }

    def teardown(self) -> None:
        try:
            rows = self.office.read(lambda reader: reader.identifiers_after("", 10_000))
            assert set(self.model) | set(self.aliases) <= {row.name for row in rows}
            assert self.office.contradictions() == []
        except PerdureError:
            pass  # the failure closed the store, and is reported already
        finally:
            self.locations.close()
            self.runner.close()
            self.folder.cleanup()


# A question costs a server more than a file, and what it answers is shown by the first few lives as well.
@pytest.mark.parametrize(("engine", "lives"), [("sqlite", 25), ("postgres", 8)], ids=["sqlite", "postgres"])
def test_the_registry_agrees_with_the_model_after_any_operations(engine: str, lives: int) -> None:
    need_engine(engine)
    run_state_machine_as_test(
        lambda: Life(engine), settings=settings(max_examples=lives, stateful_step_count=25, deadline=None)
    )
