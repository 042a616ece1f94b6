"""Collections are created with an address, and keep their items reachable when it changes."""

from collections.abc import AsyncIterator

import pytest
from tests.collections.item_office import PREFIX, PUBLIC, ItemOffice

from perdure.collections.collection_admin import (
    change_address,
    change_path,
    create_collection,
    find_collection,
    list_collections,
)
from perdure.collections.copies import copy_item
from perdure.errors import Conflict, InvalidInput, NoSuchCollection, NotACollection, NotAuthorised
from perdure.registry.bulk_changes import BulkStep

NEW = "https://items.example.org/archive"


def change(items: ItemOffice, url: str = NEW, name: str = "main") -> list[BulkStep]:
    async def collect(steps: AsyncIterator[BulkStep]) -> list[BulkStep]:
        return [step async for step in steps]

    return items.office.run(collect(change_address(items.office.registry, items.office.admin, name, url)))


def test_a_collection_shows_what_it_holds(items: ItemOffice) -> None:
    holding = items.put()
    items.office.do(copy_item, holding.label, "main", "second")
    main, second = items.office.ask(list_collections)
    assert (main.collection.name, main.totals.items, main.totals.originals) == ("main", 1, 1)
    assert (second.collection.name, second.totals.items, second.totals.originals) == ("second", 1, 0)
    assert items.office.ask(find_collection, "second").totals.size == holding.size


@pytest.mark.parametrize("name", ["", "Main", "a/b", "-a", "a-", "x" * 64, "ü", ".."])
def test_a_name_is_safe_in_addresses(items: ItemOffice, name: str) -> None:
    with pytest.raises(InvalidInput, match="lower-case"):
        items.office.do(create_collection, name, items.folder / "third", NEW)
    assert not (items.folder / "third").exists()


@pytest.mark.parametrize(
    "url", ["", "ftp://example.org/x", "https://example.org/?x=1", "https://example.org/#x", "https://a@example.org/x"]
)
def test_an_address_is_one_of_the_web(items: ItemOffice, url: str) -> None:
    with pytest.raises(InvalidInput):
        items.office.do(create_collection, "third", items.folder / "third", url)
    assert not (items.folder / "third").exists()


def test_collections_are_apart(items: ItemOffice) -> None:
    with pytest.raises(Conflict):
        items.office.do(create_collection, "main", items.folder / "third", NEW)
    with pytest.raises(InvalidInput, match="not apart"):
        items.office.do(create_collection, "third", items.folder / "main" / "below", NEW)
    with pytest.raises(InvalidInput, match="not apart"):
        items.office.do(create_collection, "third", items.folder, NEW)
    with pytest.raises(InvalidInput, match="the address of the collection main"):
        items.office.do(create_collection, "third", items.folder / "third", f"{PUBLIC}/main/")


def test_a_directory_with_other_files_is_refused(items: ItemOffice) -> None:
    (items.folder / "third").mkdir()
    (items.folder / "third" / "file").write_text("x")
    with pytest.raises(NotACollection):
        items.office.do(create_collection, "third", items.folder / "third", NEW)


def test_only_an_administrator_of_the_registry_creates_and_changes(items: ItemOffice) -> None:
    maria = items.office.hire("maria", PREFIX, "admin", "edit", "mint")
    with pytest.raises(NotAuthorised):
        items.office.by(maria, create_collection, "third", items.folder / "third", NEW)
    assert not (items.folder / "third").exists()
    with pytest.raises(NotAuthorised):
        items.office.by(maria, change_path, "main", items.folder / "main")


def test_a_new_address_changes_the_targets_of_originals(items: ItemOffice) -> None:
    held = [items.put({"a b.txt": str(number).encode()}) for number in range(3)]
    elsewhere = items.put(collection="second")
    items.office.do(copy_item, elsewhere.label, "second", "main")
    items.office.clock.step(60)
    steps = change(items, f"{NEW}/")
    assert steps[-1].change.changed == 3
    assert [items.target(one.subject) for one in held] == [f"{NEW}/{one.label}/a%20b.txt" for one in held]
    assert items.target(elsewhere.subject) == f"{PUBLIC}/second/{elsewhere.label}/"
    assert change(items) == []


def test_new_items_get_the_new_address(items: ItemOffice) -> None:
    change(items)
    holding = items.put()
    assert items.target(holding.subject) == f"{NEW}/{holding.label}/"


def test_an_interrupted_change_of_address_continues(items: ItemOffice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.collections.address_change.CHUNK", 2)
    monkeypatch.setattr("perdure.registry.bulk_changes.bulk_run.CHUNK", 2)
    held = [items.put({"a": str(number).encode()}) for number in range(7)]
    items.office.clock.step(60)

    async def interrupt() -> None:
        async for _ in change_address(items.office.registry, items.office.admin, "main", NEW):
            return

    items.office.run(interrupt())
    done = [str(items.target(one.subject)).startswith(NEW) for one in held]
    assert any(done)
    assert not all(done)
    with pytest.raises(InvalidInput, match="finish that first"):
        change(items, "https://third.example.org")
    change(items)
    assert all(str(items.target(one.subject)).startswith(NEW) for one in held)
    change(items, "https://third.example.org")
    assert all(str(items.target(one.subject)).startswith("https://third.example.org/") for one in held)


def test_a_directory_that_was_moved_is_recorded(items: ItemOffice) -> None:
    holding = items.put()
    (items.folder / "main").rename(items.folder / "other-disk")
    items.office.do(change_path, "main", items.folder / "other-disk")
    assert items.office.ask(find_collection, "main").collection.path == str(items.folder / "other-disk")
    (items.folder / "empty").mkdir()
    with pytest.raises(NotACollection):
        items.office.do(change_path, "main", items.folder / "empty")
    with pytest.raises(NoSuchCollection):
        items.office.do(change_path, "nothing", items.folder / "other-disk")
    assert items.put({"b": b"2"}, holding.label).version == 2
