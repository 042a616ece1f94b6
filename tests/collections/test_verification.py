"""The check of a collection: what is missing, changed, foreign or unrecorded, and what the registry remembers of it."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.collections.item_office import THESIS, ItemOffice

from perdure.collections import storage_root
from perdure.collections.item import Agent
from perdure.collections.read_rate import ReadRate
from perdure.collections.source_files import list_directory
from perdure.collections.verification import CheckedItem, verify_collection, verify_rolling
from perdure.collections.work_progress import Step
from perdure.errors import InvalidInput, NoSuchCollection, NotAuthorised
from perdure.registry.holdings import Holding

DAY = timedelta(days=1)


def verify(items: ItemOffice, name: str = "main") -> list[CheckedItem]:
    return items.office.run(_collect(verify_collection(items.office.registry, items.office.admin, name)))


def verify_due(items: ItemOffice, period: timedelta = DAY, rate: float | None = None) -> list[str]:
    steps = verify_rolling(items.office.registry, items.office.admin, "main", period, rate=rate)
    return [one.label for one in items.office.run(_collect(steps))]


async def _collect(steps: AsyncIterator[CheckedItem]) -> list[CheckedItem]:
    return [step async for step in steps]


def content_of(items: ItemOffice, holding: Holding, path: str = "thesis.pdf") -> Path:
    stored = items.root(holding.collection).read_item(holding.label).newest
    content = stored.content_of(stored.files[path])
    content.chmod(0o644)
    return content


def outcome(items: ItemOffice, holding: Holding) -> str | None:
    return items.holdings(holding.subject)[0].outcome


def test_an_intact_collection_has_no_problems(items: ItemOffice) -> None:
    held = [items.put(), items.put({"a": b"1"})]
    items.office.clock.step(60)
    checked = verify(items)
    assert sorted(one.label for one in checked if one.label) == sorted(one.label for one in held)
    assert all(not one.problems for one in checked)
    assert [outcome(items, one) for one in held] == ["valid", "valid"]
    assert items.office.events()[0].action == "collection verify"
    assert items.office.events()[1].action == "collection create"


def test_a_changed_file_is_found_and_remembered(items: ItemOffice) -> None:
    holding = items.put()
    content_of(items, holding).write_bytes(b"%PDF of a thesos")
    [checked] = verify(items)
    assert checked.outcome == "damaged"
    assert checked.problems[0].startswith("changed: v1/content/thesis.pdf")
    assert outcome(items, holding) == "damaged"
    event = items.office.events()[1]
    assert (event.action, event.subject) == ("collection verify", "main")
    assert f"{holding.label}, version 1: damaged" in event.detail
    assert items.office.read(lambda reader: reader.collection_totals("main")).problems == 1


def test_the_end_of_a_problem_is_an_event_too(items: ItemOffice) -> None:
    holding = items.put()
    content = content_of(items, holding)
    before = content.read_bytes()
    content.write_bytes(b"x")
    verify(items)
    content.write_bytes(before)
    items.office.clock.step(60)
    assert not verify(items)[0].problems
    assert "valid" in items.office.events()[1].detail
    items.office.clock.step(60)
    verify(items)
    assert len([one for one in items.office.events() if holding.label in one.detail]) == 2


def test_missing_foreign_and_misplaced_files_are_found(items: ItemOffice) -> None:
    holding = items.put()
    content = content_of(items, holding)
    content.rename(content.with_name("renamed.pdf"))
    content.with_name("note.txt").write_text("what is this?")
    [checked] = verify(items)
    kinds = sorted(problem.partition(":")[0] for problem in checked.problems)
    assert kinds == ["foreign", "misplaced"]
    content.with_name("renamed.pdf").unlink()
    items.office.clock.step(60)
    [again] = verify(items)
    assert sorted(problem.partition(":")[0] for problem in again.problems) == ["foreign", "missing"]


def test_a_missing_item_is_found(items: ItemOffice) -> None:
    kept, gone = items.put(), items.put({"a": b"1"})
    items.root().remove_item(gone.label)
    items.office.clock.step(60)
    checked = {one.label: one for one in verify(items)}
    assert checked[gone.label].outcome == "missing"
    assert not checked[kept.label].problems
    assert outcome(items, gone) == "missing"


def test_an_item_without_a_record_is_found(items: ItemOffice) -> None:
    name = items.reserve()
    items.root().put_version(name, list_directory(items.write_files(THESIS)), agent=Agent("x"))
    [checked] = verify(items)
    assert checked.label == name
    assert "unrecorded" in checked.problems[0]
    assert items.holdings(name) == []


def test_an_item_of_an_unknown_server_without_a_record_is_found(items: ItemOffice) -> None:
    label = "urlib.net/www/2023/11.16.13.37"
    items.root().put_version(label, list_directory(items.write_files(THESIS)), agent=Agent("x"))
    [checked] = verify(items)
    assert (checked.label, checked.outcome) == (label, None)
    assert "unrecorded" in checked.problems[0]


def test_a_version_that_was_not_published_is_found(items: ItemOffice) -> None:
    holding = items.put()
    items.root().put_version(holding.label, list_directory(items.write_files({"b": b"2"})), agent=Agent("x"))
    [checked] = verify(items)
    assert checked.outcome == "valid"
    assert checked.problems == ("unrecorded: version 2 was stored and not published; put it again",)


def test_an_item_that_was_replaced_as_a_whole_is_found(items: ItemOffice) -> None:
    holding = items.put()
    items.root().remove_item(holding.label)
    items.root().put_version(holding.label, list_directory(items.write_files({"b": b"2"})), agent=Agent("x"))
    [checked] = verify(items)
    assert checked.outcome == "damaged"
    assert "not those that were recorded" in checked.problems[0]


def test_a_foreign_file_between_the_items_is_found(items: ItemOffice) -> None:
    holding = items.put()
    (items.folder / "main" / "sid.inpe.br" / "note.txt").write_text("x")
    checked = verify(items)
    assert [one.label for one in checked if one.problems] == [""]
    [problem] = [problem for one in checked for problem in one.problems]
    assert problem == "foreign: sid.inpe.br/note.txt: it belongs to no item"
    assert outcome(items, holding) == "valid"


def test_only_what_is_due_is_checked_the_oldest_first(items: ItemOffice) -> None:
    first = items.put({"a": b"1"})
    assert verify_due(items) == [first.label]
    items.office.clock.step(3600)
    second, third = items.put({"a": b"2"}), items.put({"a": b"3"})
    assert sorted(verify_due(items)) == sorted([second.label, third.label])
    assert verify_due(items) == []
    items.office.clock.step(23 * 3600 + 1800)
    assert verify_due(items) == [first.label]
    items.office.clock.step(3600)
    assert sorted(verify_due(items)) == sorted([second.label, third.label])


def test_a_damaged_item_is_not_checked_again_before_it_is_due(items: ItemOffice) -> None:
    holding = items.put()
    content_of(items, holding).write_bytes(b"x")
    assert verify_due(items) == [holding.label]
    assert verify_due(items) == []
    assert outcome(items, holding) == "damaged"


def test_the_bytes_of_all_items_are_counted_together(items: ItemOffice) -> None:
    size = sum(items.put({"a": b"12345", "b": content}).size for content in (b"1", b"22"))
    at = items.office.registry, items.office.admin, "main"
    whole: list[Step] = []
    due: list[Step] = []
    items.office.clock.step(60)
    items.office.run(_collect(verify_collection(*at, report=whole.append)))
    items.office.clock.step(2 * 86_400)
    items.office.run(_collect(verify_rolling(*at, DAY, report=due.append)))
    assert (whole[-1].files, whole[-1].bytes) == (due[-1].files, due[-1].bytes) == (4, size)


def test_the_rate_limits_all_items_together(items: ItemOffice, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []

    def record_limit(limit: float | None) -> ReadRate:
        limits.append(limit)
        return ReadRate(limit)

    for content in (b"1", b"22"):
        items.put({"a": content})
    items.office.clock.step(1)
    monkeypatch.setattr(storage_root, "ReadRate", record_limit)
    assert len(verify_due(items, rate=1e9)) == 2
    assert limits == [1e9]


def test_an_item_that_was_moved_is_to_be_moved_back_not_put_again(items: ItemOffice) -> None:
    holding = items.put()
    directory = items.root().read_item(holding.label).directory
    directory.rename(directory.with_name("01.02.03.04"))
    items.office.clock.step(60)
    misplaced, missing = verify(items)
    assert misplaced.problems == (f"misplaced: its inventory says that it is {holding.label}",)
    assert (missing.label, missing.outcome) == (holding.label, "missing")


def test_a_missing_item_is_found_in_turn(items: ItemOffice) -> None:
    holding = items.put()
    items.root().remove_item(holding.label)
    assert verify_due(items) == [holding.label]
    assert outcome(items, holding) == "missing"


def test_a_check_needs_an_administrator_and_a_collection(items: ItemOffice) -> None:
    items.put()
    maria = items.office.hire("maria", "sid.inpe.br/mtc-m18", "edit", "admin")
    before = items.office.snapshot()
    with pytest.raises(NotAuthorised):
        items.office.run(_collect(verify_collection(items.office.registry, maria, "main")))
    with pytest.raises(NotAuthorised):
        items.office.run(_collect(verify_rolling(items.office.registry, maria, "main", DAY)))
    with pytest.raises(NoSuchCollection):
        verify(items, "nothing")
    with pytest.raises(InvalidInput):
        verify_due(items, timedelta())
    assert items.office.snapshot() == before
