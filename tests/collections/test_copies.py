"""Copies in other collections, and the move of an original: one original at every moment."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.collections.item_office import PREFIX, PUBLIC, THESIS, ItemOffice

from perdure.collections.collection_admin import create_collection
from perdure.collections.copies import Migration, copy_item, migrate_all, migrate_item
from perdure.collections.deposit import put_item
from perdure.collections.removal import remove_item
from perdure.collections.source_files import list_directory
from perdure.collections.work_progress import CHECK, Step
from perdure.errors import Conflict, InvalidInput, ItemDamaged, NoSuchCollection, NoSuchItem, NotAuthorised
from perdure.registry import withdraw
from perdure.registry.holdings import Holding

NEXT = {**THESIS, "errata.txt": b"p. 3"}


async def collect(steps: AsyncIterator[Migration]) -> list[Migration]:
    return [step async for step in steps]


def copy(items: ItemOffice, holding: Holding) -> Holding:
    return items.office.do(copy_item, holding.label, "main", "second")


def test_a_copy_has_all_versions_and_says_where_it_came_from(items: ItemOffice) -> None:
    holding = items.put()
    items.put(NEXT, holding.label)
    copied = copy(items, holding)
    assert (copied.role, copied.version, copied.source) == ("copy", 2, "collection main")
    assert items.read_files("second", holding.label, 1) == THESIS
    assert items.read_files("second", holding.label) == NEXT
    ours, theirs = (items.root(one).read_item(holding.label) for one in ("main", "second"))
    assert [(one.created, one.agent, one.message) for one in ours.versions] == [
        (one.created, one.agent, one.message) for one in theirs.versions
    ]
    assert items.target(holding.subject) == f"{PUBLIC}/main/{holding.label}/"


def test_a_copy_gets_the_versions_that_it_lacks(items: ItemOffice) -> None:
    holding = items.put()
    first = copy(items, holding)
    items.office.clock.step(60)
    assert copy(items, holding) == first
    newer = items.put(NEXT, holding.label)
    again = copy(items, holding)
    assert (again.version, again.digest, again.role_since) == (2, newer.digest, first.role_since)
    assert again.put_at > first.put_at


def test_a_file_that_was_changed_on_disk_is_not_copied(items: ItemOffice) -> None:
    holding = items.put()
    stored = items.root().read_item(holding.label).newest
    content = stored.content_of(stored.files["thesis.pdf"])
    content.chmod(0o644)
    content.write_bytes(b"%PDF of a thesos")
    with pytest.raises((ItemDamaged, InvalidInput)):
        copy(items, holding)
    assert items.originals(holding.subject) == ["main"]
    assert not items.root("second").has_item(holding.label)


def test_an_original_moves_and_stays_as_a_copy(items: ItemOffice) -> None:
    holding = items.put(main_file="thesis.pdf")
    moved = items.office.do(migrate_item, holding.label, "main", "second")
    assert moved.collection == "second"
    assert items.target(holding.subject) == f"{PUBLIC}/second/{holding.label}/thesis.pdf"
    assert [(one.collection, one.role) for one in items.holdings(holding.subject)] == [
        ("second", "original"),
        ("main", "copy"),
    ]
    assert items.office.do(migrate_item, holding.label, "main", "second") == moved  # again: nothing to do


def test_an_original_moves_back(items: ItemOffice) -> None:
    holding = items.put()
    items.office.do(migrate_item, holding.label, "main", "second")
    items.put(NEXT, holding.label, collection="second")
    items.office.do(migrate_item, holding.label, "second", "main")
    assert items.originals(holding.subject) == ["main"]
    assert items.read_files("main", holding.label) == NEXT


def test_a_move_with_removal_leaves_nothing_behind(items: ItemOffice) -> None:
    holding = items.put()
    items.office.do(migrate_item, holding.label, "main", "second", remove_source=True)
    assert [one.collection for one in items.holdings(holding.subject)] == ["second"]
    assert not items.root().has_item(holding.label)
    items.office.do(migrate_item, holding.label, "main", "second")


def test_a_version_that_is_put_during_a_move_moves_too(items: ItemOffice) -> None:
    holding = items.put()
    later = items.write_files(NEXT)
    put: list[Step] = []
    loops: list[asyncio.AbstractEventLoop] = []

    def put_meanwhile(step: Step) -> None:
        if step.phase == CHECK and not put:
            put.append(step)
            act = put_item(items.office.registry, items.office.admin, "main", holding.label, list_directory(later))
            asyncio.run_coroutine_threadsafe(act, loops[0]).result(30)

    async def move() -> Holding:
        loops.append(asyncio.get_running_loop())
        registry, admin = items.office.registry, items.office.admin
        return await migrate_item(registry, admin, holding.label, "main", "second", report=put_meanwhile)

    assert items.office.run(move()).version == 2
    assert items.originals(holding.subject) == ["second"]
    assert items.read_files("second", holding.label) == NEXT


def test_a_damaged_copy_does_not_become_the_original(items: ItemOffice) -> None:
    holding = items.put()
    copy(items, holding)
    stored = items.root("second").read_item(holding.label).newest
    content = stored.content_of(stored.files["thesis.pdf"])
    content.chmod(0o644)
    content.write_bytes(b"%PDF of a thesos")
    with pytest.raises(ItemDamaged, match="is changed"):
        items.office.do(migrate_item, holding.label, "main", "second")
    assert items.originals(holding.subject) == ["main"]


def test_all_originals_of_a_collection_move(items: ItemOffice) -> None:
    held = [items.put({"n.txt": str(number).encode()}) for number in range(4)]
    items.office.do(copy_item, held[0].label, "main", "second")
    items.office.clock.step(60)
    items.office.do(withdraw, held[1].label, "empty")
    moved: list[Migration] = items.office.run(
        collect(migrate_all(items.office.registry, items.office.admin, "main", "second"))
    )
    assert [one.name for one in moved] == [one.label for one in held]
    assert [one.problem is None for one in moved] == [True, False, True, True]
    assert [items.originals(one.subject) for one in held] == [["second"], ["main"], ["second"], ["second"]]
    again = items.office.run(
        collect(migrate_all(items.office.registry, items.office.admin, "main", "second", remove_source=True))
    )
    assert [one.problem is None for one in again] == [True, False, True, True]
    assert [items.root().has_item(one.label) for one in held] == [False, True, False, False]


def test_only_an_original_moves(items: ItemOffice) -> None:
    holding = items.put()
    copy(items, holding)
    items.office.do(create_collection, "third", items.folder / "third", f"{PUBLIC}/third")
    with pytest.raises(Conflict, match="the original in second"):
        items.office.do(migrate_item, holding.label, "second", "third")
    assert items.originals(holding.subject) == ["main"]


def test_the_only_copy_is_removed_for_a_reason_only(items: ItemOffice) -> None:
    holding = items.put()
    with pytest.raises(InvalidInput, match="only intact copy"):
        items.office.do(remove_item, holding.label, "main")
    with pytest.raises(InvalidInput, match="reason"):
        items.office.do(remove_item, holding.label, "main", last=True)
    items.office.do(remove_item, holding.label, "main", last=True, reason="on request of the author")
    assert items.holdings(holding.subject) == []
    assert not items.root().has_item(holding.label)
    event = items.office.events()[0]
    assert (event.action, event.subject) == ("collection remove", "main")
    assert "on request of the author" in event.detail


def test_files_of_an_interrupted_put_are_not_removed_by_chance(items: ItemOffice) -> None:
    name = items.reserve()
    with pytest.raises(InvalidInput):
        items.put(name=name, main_file="nothing.pdf")
    with pytest.raises(InvalidInput, match="only intact copy"):
        items.office.do(remove_item, name, "main")
    assert items.root().has_item(name)


def test_an_original_is_not_removed_while_there_are_copies(items: ItemOffice) -> None:
    holding = items.put()
    copy(items, holding)
    with pytest.raises(InvalidInput, match="has the original"):
        items.office.do(remove_item, holding.label, "main")
    items.office.do(remove_item, holding.label, "second")
    assert not items.root("second").has_item(holding.label)
    with pytest.raises(InvalidInput, match="only intact copy"):
        items.office.do(remove_item, holding.label, "main")


def test_a_withdrawn_item_is_removed_without_more(items: ItemOffice) -> None:
    holding = items.put()
    items.office.clock.step(60)
    items.office.do(withdraw, holding.label, "court order")
    items.office.do(remove_item, holding.label, "main")
    assert items.holdings(holding.subject) == []
    with pytest.raises(NoSuchItem):
        items.office.do(remove_item, holding.label, "main")


def test_copies_need_permission_and_collections(items: ItemOffice) -> None:
    holding = items.put()
    maria = items.office.hire("maria", PREFIX, "mint", "withdraw")
    before = items.office.snapshot()
    for use_case in (copy_item, migrate_item):
        with pytest.raises(NotAuthorised):
            items.office.by(maria, use_case, holding.label, "main", "second")
    with pytest.raises(NotAuthorised):
        items.office.by(maria, remove_item, holding.label, "main", last=True, reason="x")
    with pytest.raises(NoSuchCollection, match="no collection 'third'"):
        items.office.do(copy_item, holding.label, "main", "third")
    with pytest.raises(InvalidInput, match="same collection"):
        items.office.do(copy_item, holding.label, "main", "main")
    with pytest.raises(NoSuchItem):
        items.office.do(copy_item, holding.label, "second", "main")
    assert items.office.snapshot() == before
