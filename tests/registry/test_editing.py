"""Changes of an identifier: each one is a version, and no content is ever lost."""

import asyncio

import pytest
from tests.registry_fixture import Office, describe, set_target, set_values

from perdure.errors import Conflict, InvalidInput, NoSuchName, NoSuchPrefix, Withdrawn, WrongState
from perdure.records import record as records
from perdure.records.record import About, Tombstone
from perdure.records.value import Text, Value
from perdure.registry import (
    Statement,
    add_subsystem,
    add_values,
    bind,
    history,
    mint,
    reinstate,
    remove_values,
    resolve,
    show,
    withdraw,
)

URL = "https://example.org/first"
MOVED = "https://example.org/moved"


@pytest.fixture
def sample_office(office: Office) -> Office:
    """12345/a has a target, 12345/r is reserved."""
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["a"], statement=Statement(URL))
    office.do(mint, "12345", suffixes=["r"])
    return office


def desc(index: int, text: str = "a thing") -> Value:
    return Value(index, "DESC", Text(text))


def current_values(office: Office, name: str = "12345/a") -> dict[int, str | None]:
    return {value.index: value.text for value in office.ask(show, name).values}


def test_binding_makes_a_reserved_name_active(sample_office: Office) -> None:
    assert sample_office.do(bind, "12345/r", Statement(URL, values=(desc(5),), about=About(what="A thesis"))) == 2
    view = sample_office.ask(show, "12345/r")
    assert (view.state, view.version, view.target) == ("active", 2, URL)
    assert current_values(sample_office, "12345/r") == {1: URL, 5: "a thing"}
    assert view.about == About(what="A thesis")


def test_binding_keeps_the_description_that_was_reserved_with_the_name(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["b"], statement=Statement(about=About(what="A thesis")))
    sample_office.do(bind, "12345/b", Statement(URL))
    assert sample_office.ask(show, "12345/b").about == About(what="A thesis")


def test_a_name_is_bound_once(sample_office: Office) -> None:
    with pytest.raises(WrongState) as refusal:
        sample_office.do(bind, "12345/a", Statement(MOVED))
    assert (refusal.value.state, refusal.value.needed) == ("active", "reserved")


def test_binding_needs_a_target(sample_office: Office) -> None:
    with pytest.raises(InvalidInput) as refusal:
        sample_office.do(bind, "12345/r", Statement(about=About(what="nothing yet")))
    assert refusal.value.part == "target"


def test_a_target_moves_and_other_values_stay(sample_office: Office) -> None:
    sample_office.do(add_values, "12345/a", [desc(2)])
    sample_office.do(set_target, "12345/a", MOVED)
    assert current_values(sample_office) == {1: MOVED, 2: "a thing"}
    assert sample_office.ask(resolve, "12345/a").target == MOVED


def test_a_first_target_takes_a_free_index(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["b"], statement=Statement(values=(desc(1), desc(2))))
    sample_office.do(set_target, "12345/b", URL)
    assert current_values(sample_office, "12345/b") == {1: "a thing", 2: "a thing", 3: URL}


def test_the_target_is_the_first_url_value_at_any_index(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["b"], statement=Statement(values=(desc(1), Value(9, "URL", Text(URL)))))
    sample_office.do(set_target, "12345/b", MOVED)
    assert current_values(sample_office, "12345/b") == {1: "a thing", 9: MOVED}


def test_set_replaces_and_adds(sample_office: Office) -> None:
    sample_office.do(set_values, "12345/a", [Value(1, "URL", Text(MOVED)), desc(7)])
    assert current_values(sample_office) == {1: MOVED, 7: "a thing"}


def test_only_changed_values_get_a_new_timestamp(sample_office: Office) -> None:
    sample_office.do(add_values, "12345/a", [desc(2)])
    sample_office.clock.step(3600)
    sample_office.do(set_values, "12345/a", [Value(1, "URL", Text(MOVED)), desc(2)])
    stamps = {value.index: value.timestamp for value in sample_office.ask(show, "12345/a").values}
    assert stamps == {1: "2027-01-15T09:00:00Z", 2: "2027-01-15T08:00:00Z"}


def test_add_takes_the_lowest_free_index_and_leaves_administration_alone(sample_office: Office) -> None:
    sample_office.do(add_values, "12345/a", [desc(index) for index in range(2, 99)])
    sample_office.do(add_values, "12345/a", [desc(0), desc(0)])
    assert max(current_values(sample_office)) == 200
    assert 99 in current_values(sample_office)


@pytest.mark.parametrize("values", [[desc(1)], [desc(5), desc(5)], [desc(0), desc(2), desc(2)]])
def test_add_never_overwrites(sample_office: Office, values: list[Value]) -> None:
    before = sample_office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        sample_office.do(add_values, "12345/a", values)
    assert refusal.value.part == "index"
    assert sample_office.snapshot() == before


def test_values_are_removed_all_or_none(sample_office: Office) -> None:
    sample_office.do(add_values, "12345/a", [desc(2), desc(3)])
    before = sample_office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        sample_office.do(remove_values, "12345/a", [2, 9])
    assert refusal.value.part == "index"
    assert sample_office.snapshot() == before
    sample_office.do(remove_values, "12345/a", [2, 3])
    assert current_values(sample_office) == {1: URL}


def test_a_value_that_was_removed_stays_in_the_history(sample_office: Office) -> None:
    sample_office.do(remove_values, "12345/a", [1])
    assert current_values(sample_office) == {}
    assert sample_office.ask(show, "12345/a", version=1).target == URL


def test_a_description_is_filled_in_field_by_field(sample_office: Office) -> None:
    sample_office.do(describe, "12345/a", About(who="Jan", what="A thesis"))
    sample_office.do(describe, "12345/a", About(what="The thesis", where="Leiden"))
    assert sample_office.ask(show, "12345/a").about == About("Jan", "The thesis", None, "Leiden")


def test_a_withdrawn_name_has_agent_time_reason_and_replacement(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["b"], statement=Statement(MOVED))
    sample_office.clock.step(60)
    assert sample_office.do(withdraw, "12345/a", "a duplicate", replaced_by="12345/b") == 2
    with pytest.raises(Withdrawn) as refusal:
        sample_office.ask(resolve, "12345/a")
    assert (refusal.value.reason, refusal.value.replaced_by) == ("a duplicate", "hdl:12345/b")
    view = sample_office.ask(show, "12345/a")
    assert (view.state, view.tombstone, view.target) == ("withdrawn", Tombstone("a duplicate", "hdl:12345/b"), None)
    last = sample_office.ask(history, "12345/a")[-1]
    assert (last.agent, last.action, last.note, last.at) == (
        "admin",
        "withdraw",
        "a duplicate",
        "2027-01-15T08:01:00.000000Z",
    )


def test_a_replacement_must_be_resolvable(sample_office: Office) -> None:
    with pytest.raises(InvalidInput) as refusal:
        sample_office.do(withdraw, "12345/a", "a duplicate", replaced_by="12345/missing")
    assert refusal.value.part == "replaced_by"
    sample_office.do(withdraw, "12345/a", "a duplicate", replaced_by="https://example.org/elsewhere")


def test_a_name_cannot_replace_itself(sample_office: Office) -> None:
    with pytest.raises(InvalidInput) as refusal:
        sample_office.do(withdraw, "12345/a", "a duplicate", replaced_by="hdl:12345/a")
    assert refusal.value.part == "replaced_by"


def test_a_pair_is_not_replaced_by_its_own_other_label(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    minted = office.do(mint, "sid.inpe.br/mtc-m18", statement=Statement(URL))[0]
    with pytest.raises(InvalidInput) as refusal:
        office.do(withdraw, minted.name, "a duplicate", replaced_by=minted.alias)
    assert refusal.value.part == "replaced_by"


@pytest.mark.parametrize("reason", ["", " ", "a\nb", "a\x00b", "x" * 5000, "\ud800"])
def test_a_reason_is_one_line(sample_office: Office, reason: str) -> None:
    before = sample_office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        sample_office.do(withdraw, "12345/a", reason)
    assert refusal.value.part == "reason"
    assert sample_office.snapshot() == before


@pytest.mark.parametrize(
    "act",
    [
        lambda office: office.do(set_target, "12345/a", MOVED),
        lambda office: office.do(set_values, "12345/a", [desc(1)]),
        lambda office: office.do(add_values, "12345/a", [desc(0)]),
        lambda office: office.do(remove_values, "12345/a", [1]),
        lambda office: office.do(describe, "12345/a", About(what="x")),
    ],
    ids=["set target", "set values", "add values", "remove values", "describe"],
)
def test_a_tombstone_is_not_edited(sample_office: Office, act) -> None:
    sample_office.do(withdraw, "12345/a", "gone")
    before = sample_office.snapshot()
    with pytest.raises(Withdrawn):
        act(sample_office)
    assert sample_office.snapshot() == before


@pytest.mark.parametrize("act", [(set_target, MOVED), (add_values, [desc(0)]), (describe, About(what="x"))])
def test_a_reserved_name_is_bound_before_it_is_edited(sample_office: Office, act) -> None:
    with pytest.raises(WrongState) as refusal:
        sample_office.do(act[0], "12345/r", act[1])
    assert refusal.value.state == "reserved"


def test_a_name_can_be_withdrawn_once_and_reinstated_once(sample_office: Office) -> None:
    sample_office.do(withdraw, "12345/a", "gone")
    with pytest.raises(WrongState):
        sample_office.do(withdraw, "12345/a", "gone again")
    sample_office.do(reinstate, "12345/a")
    with pytest.raises(WrongState):
        sample_office.do(reinstate, "12345/a")


def test_a_reinstated_record_has_its_old_content(sample_office: Office) -> None:
    sample_office.do(withdraw, "12345/a", "gone")
    assert sample_office.do(reinstate, "12345/a") == 3
    assert sample_office.ask(resolve, "12345/a") == ("12345/a", URL, 3)
    assert [one.action for one in sample_office.ask(history, "12345/a")] == ["mint", "withdraw", "reinstate"]


def test_a_reinstated_reserved_name_is_reserved(sample_office: Office) -> None:
    sample_office.do(withdraw, "12345/r", "never used")
    sample_office.do(reinstate, "12345/r")
    view = sample_office.ask(show, "12345/r")
    assert (view.state, view.authority.created) == ("reserved", None)


def test_an_outdated_expected_version_is_a_conflict(sample_office: Office) -> None:
    sample_office.do(set_target, "12345/a", MOVED, expected_version=1)
    for act, *arguments in (
        (set_target, URL),
        (add_values, [desc(0)]),
        (set_values, [desc(1)]),
        (remove_values, [1]),
        (describe, About(what="x")),
        (withdraw, "gone"),
    ):
        with pytest.raises(Conflict) as refusal:
            sample_office.do(act, "12345/a", *arguments, expected_version=1)
        assert (refusal.value.expected, refusal.value.found) == ("version 1", "version 2")


def test_only_one_of_many_concurrent_changes_of_a_version_succeeds(sample_office: Office) -> None:
    async def edit_concurrently() -> list[object]:
        return await asyncio.gather(
            *(
                set_target(
                    sample_office.registry,
                    sample_office.admin,
                    "12345/a",
                    f"https://example.org/{number}",
                    expected_version=1,
                )
                for number in range(20)
            ),
            return_exceptions=True,
        )

    answers = sample_office.run(edit_concurrently())
    assert answers.count(2) == 1
    assert sum(isinstance(answer, Conflict) for answer in answers) == 19


def test_concurrent_edits_are_all_stored_one_after_the_other(sample_office: Office) -> None:
    async def edit_concurrently() -> list[int]:
        return await asyncio.gather(
            *(
                add_values(sample_office.registry, sample_office.admin, "12345/a", [desc(0, f"note {n}")])
                for n in range(20)
            )
        )

    assert sorted(sample_office.run(edit_concurrently())) == list(range(2, 22))
    assert len(current_values(sample_office)) == 21
    assert sample_office.contradictions() == []


def test_history_is_complete_and_in_order(sample_office: Office) -> None:
    sample_office.do(set_target, "12345/a", MOVED)
    sample_office.clock.step(-60)
    sample_office.do(add_values, "12345/a", [desc(2)])
    revisions = sample_office.ask(history, "12345/a")
    assert [one.version for one in revisions] == [1, 2, 3]
    assert [one.at for one in revisions] == sorted(one.at for one in revisions)
    assert [len(records.decode(one.record).values) for one in revisions] == [1, 1, 2]


def test_a_missing_name_cannot_be_changed(sample_office: Office) -> None:
    with pytest.raises(NoSuchName):
        sample_office.do(set_target, "12345/missing", MOVED)
    with pytest.raises(NoSuchPrefix):
        sample_office.do(set_target, "999/missing", MOVED)
