"""Random calls of Handle clients: nothing succeeds without a right, and nothing is refused with one.

A small model holds the values of each record and decides independently, from twelve letters and a table, who may do
what.
"""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from tests.registry.handle_identities import admin, handle_identity, pubkey, text
from tests.registry_fixture import ENGINES, locations_on, need_engine, open_office

from perdure.errors import NoSuchName, NoSuchValue, NotAuthorised, PerdureError, Withdrawn
from perdure.records import record as records
from perdure.records.value import Value
from perdure.registry import (
    Agent,
    add_agent,
    delete_handle,
    delete_values,
    grant,
    put_handle,
    put_values,
    revoke,
    verify,
)

NAMES = ["12345/a", "12345/b"]
ACTORS = ["300:12345/x", "301:12345/x", "300:12345/y", "jan", "piet"]
GRANTS = ["mint", "edit", "withdraw", "transfer", "admin"]
BITS = {"read": 0x400, "+admin": 0x200, "-admin": 0x100, "~admin": 0x80, "+value": 0x40, "-value": 0x20, "~value": 0x10, "delete": 2, "create": 1}  # fmt: skip
OF_GRANT = {
    "mint": {"create"},
    "edit": {"+value", "-value", "~value", "read"},
    "withdraw": {"delete"},
    "transfer": {"+admin", "-admin", "~admin"},
    "admin": {"keys"},
}
ADMINS = {"+admin", "-admin", "~admin"}

actors = st.sampled_from(ACTORS)
names = st.sampled_from(NAMES)
permissions = st.sets(st.sampled_from(list(BITS)), max_size=2).map(lambda few: frozenset(BITS) - few) | st.sets(
    st.sampled_from(list(BITS)), min_size=1
).map(frozenset)
statements = st.one_of(
    st.tuples(st.just("text"), st.sampled_from(["one", "two"])),
    st.tuples(st.just("admin"), st.sampled_from(ACTORS[:4]), permissions),
    st.tuples(st.just("key"), st.sampled_from(["k", "l"])),
)
contents = st.dictionaries(st.sampled_from([1, 2, 100, 300]), statements, max_size=3)


def value(index: int, data: tuple) -> Value:
    if data[0] == "text":
        return text(index, "DESC", data[1])
    if data[0] == "key":
        return pubkey(index, data[1].encode())
    at, _, name = ("0:77.T/jan" if data[1] == "jan" else data[1]).partition(":")
    return admin(index, name, int(at), f"{sum(BITS[one] for one in data[2]):012b}")


def kind(data: tuple) -> str:
    return {"text": "value", "admin": "admin", "key": "keys"}[data[0]]


class HandleClients(RuleBasedStateMachine):
    engine = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.locations = locations_on(self.engine, Path(self.folder.name))
        self.runner = asyncio.Runner()
        self.grants: dict[str, set[str]] = {"jan": set(), "piet": set()}
        self.records: dict[str, dict[int, tuple]] = {"0.NA/12345": {}}  # what each states
        self.gone: dict[str, dict[int, tuple]] = {}

    @initialize()
    def create_office(self) -> None:
        self.office = open_office(self.runner, self.locations.open())
        self.office.prefix("12345", "chosen", case_sensitive=False)
        self.agents = {
            "jan": self.office.do(add_agent, "jan", "Jan", identifier="hdl:77.T/jan"),
            "piet": self.office.hire("piet"),
        }
        for name in ("12345/x", "12345/y"):  # the actors with a record and a key
            self.office.do(put_handle, name, [text(1, "DESC", "a person")])
        self.administer("jan", "mint", True)
        self.administer("piet", "edit", True)
        everything = frozenset(BITS)
        self.write_as_administrator(
            "12345/a", {1: ("text", "one"), 100: ("admin", ACTORS[0], everything), 300: ("key", "k")}
        )
        self.write_as_administrator("0.NA/12345", {300: ("admin", ACTORS[1], everything)})

    def teardown(self) -> None:
        self.locations.close()
        self.runner.close()
        self.folder.cleanup()

    def actor(self, name: str) -> Agent:
        return (
            self.agents[name]
            if name in self.agents
            else handle_identity(int(name.partition(":")[0]), name.partition(":")[2])
        )

    # The model

    def stated_rights(self, actor: str, record: dict[int, tuple]) -> set[str]:
        found = set()
        for data in record.values():
            if data[0] == "admin" and data[1] == actor:
                found |= data[2]
        return found

    def is_trusted(self, actor: str) -> bool:
        """Return whether the record of the prefix lets an actor set the keys of others."""
        return {"create", *ADMINS} <= self.stated_rights(actor, self.records["0.NA/12345"])

    def may(self, actor: str, name: str) -> set[str]:
        """Return what an actor may do to an existing record."""
        held = self.grants.get(actor, set())
        rights = self.stated_rights(actor, self.records[name])
        if rights >= ADMINS and self.is_trusted(actor):
            rights.add("keys")
        if name.startswith("0.NA/"):
            return rights | ({*BITS, "keys"} if "admin" in held else set())
        return rights.union(*(OF_GRANT[one] for one in held))

    def may_create(self, actor: str, new: dict[int, tuple]) -> bool:
        held = self.grants.get(actor, set())
        by_prefix = self.stated_rights(actor, self.records["0.NA/12345"])
        if "mint" not in held and "create" not in by_prefix:
            return False
        has_keys = any(data[0] == "key" for data in new.values())
        return not has_keys or "admin" in held or self.is_trusted(actor)

    def may_create_again(self, actor: str, name: str, new: dict[int, tuple]) -> bool:
        held = self.grants.get(actor, set())
        if "create" in self.stated_rights(actor, self.records["0.NA/12345"]):
            return self.may_create(actor, new)
        rights = set().union(*(OF_GRANT[one] for one in held))
        return {"mint", "withdraw"} <= held and self.needed_rights(self.gone[name], new) <= rights

    def needed_rights(self, old: dict[int, tuple], new: dict[int, tuple]) -> set[str]:
        found = set()
        for index in old.keys() | new.keys():
            before, after = old.get(index), new.get(index)
            if before == after:
                continue
            if before and after and kind(before) == kind(after):
                found.add(f"~{kind(after)}")
            else:
                found |= {f"-{kind(before)}"} if before else set()
                found |= {f"+{kind(after)}"} if after else set()
        return {"keys" if one.endswith("keys") else one for one in found}

    def may_change(self, actor: str, name: str, new: dict[int, tuple]) -> bool:
        rights = self.may(actor, name)
        return bool(rights & {*ADMINS, "+value", "-value", "~value", "keys"}) and (
            self.needed_rights(self.records[name], new) <= rights
        )

    def outcome(self, act: object, *arguments: object) -> type[PerdureError] | None:
        try:
            self.office.by(*arguments[:1], act, *arguments[1:])
        except PerdureError as problem:
            return type(problem)
        return None

    def with_administrators(self, actor: str, new: dict[int, tuple], old: dict[int, tuple]) -> dict[int, tuple]:
        """Return a whole record that a client writes: it never loses its last administrator by that."""
        if ":" not in actor or any(kind(data) == "admin" for data in new.values()):
            return new
        staying = {index: data for index, data in old.items() if kind(data) == "admin"}
        found = dict(new)
        for at, data in (staying or {100: ("admin", actor, frozenset(BITS))}).items():
            found[next(index for index in range(at, at + 9) if index not in found)] = data
        return found

    # The calls

    @rule(agent=st.sampled_from(["jan", "piet"]), action=st.sampled_from(GRANTS), give=st.booleans())
    def administer(self, agent: str, action: str, give: bool) -> None:
        self.office.do(grant if give else revoke, agent, "12345", [action])
        (self.grants[agent].add if give else self.grants[agent].discard)(action)

    @rule(name=st.sampled_from([*NAMES, "0.NA/12345"]), content=contents)
    def write_as_administrator(self, name: str, content: dict[int, tuple]) -> None:
        """Write as the administrator of the whole registry, so that there is something to be allowed or refused."""
        self.office.do(put_handle, name, [value(*one) for one in content.items()])
        self.gone.pop(name, None)
        self.records[name] = dict(content)

    @rule(actor=actors, name=names, content=contents)
    def put_whole(self, actor: str, name: str, content: dict[int, tuple]) -> None:
        result = self.outcome(put_handle, self.actor(actor), name, [value(*one) for one in content.items()])
        content = self.with_administrators(actor, content, self.records.get(name, {}))
        if name in self.records:
            is_right = self.may_change(actor, name, content)
        elif name in self.gone:
            is_right = self.may_create_again(actor, name, content)
        else:
            is_right = self.may_create(actor, content)
        assert result is (None if is_right else NotAuthorised)
        if is_right:
            self.gone.pop(name, None)
            self.records[name] = dict(content)

    @rule(actor=actors, name=st.sampled_from([*NAMES, "0.NA/12345"]), content=contents)
    def put_some(self, actor: str, name: str, content: dict[int, tuple]) -> None:
        result = self.outcome(put_values, self.actor(actor), name, [value(*one) for one in content.items()])
        if name not in self.records:
            assert result is (Withdrawn if name in self.gone else NoSuchName)
            return
        after = self.records[name] | content
        is_right = self.may_change(actor, name, after)
        assert result is (None if is_right else NotAuthorised)
        if is_right:
            self.records[name] = after

    @rule(actor=actors, name=names, indexes=st.sets(st.sampled_from([1, 2, 100, 300]), min_size=1))
    def remove(self, actor: str, name: str, indexes: set[int]) -> None:
        result = self.outcome(delete_values, self.actor(actor), name, sorted(indexes))
        if name not in self.records:
            assert result is (Withdrawn if name in self.gone else NoSuchName)
            return
        old = self.records[name]
        after = {index: data for index, data in old.items() if index not in indexes}
        if not self.needed_rights(old, after) <= self.may(actor, name):
            assert result is NotAuthorised
        elif indexes - old.keys():
            assert result is NoSuchValue
        else:
            assert result is None
            self.records[name] = after

    @rule(actor=actors, name=names)
    def delete(self, actor: str, name: str) -> None:
        result = self.outcome(delete_handle, self.actor(actor), name)
        if name not in self.records:
            assert result is (Withdrawn if name in self.gone else NoSuchName)
        elif "delete" in self.may(actor, name):
            assert result is None
            self.gone[name] = self.records.pop(name)
        else:
            assert result is NotAuthorised

    @rule()
    def look_it_over(self) -> None:
        assert self.office.ask(verify) == []

    @invariant()
    def stored_records_match_the_model(self) -> None:
        if not hasattr(self, "office"):
            return
        for name, stated in self.records.items():
            row = self.office.read(lambda reader, name=name: reader.find(name.lower()))
            values = () if row is None else records.decode(row.record).values
            assert [(one.index, one.data) for one in values] == [
                (index, value(index, data).data) for index, data in sorted(stated.items())
            ]


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_succeeds_without_a_right(engine: str) -> None:
    need_engine(engine)
    machine = type("On", (HandleClients,), {"engine": engine})
    examples = 30 if engine == "sqlite" else 4
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    chosen = settings(max_examples=examples, stateful_step_count=40, deadline=None, suppress_health_check=checks)
    run_state_machine_as_test(machine, settings=chosen)
