"""Items are put into collections, and their identifiers point to them."""

import asyncio

import pytest
from tests.collections.item_office import PREFIX, PUBLIC, THESIS, ItemOffice

from perdure.collections.deposit import check_new_files, put_item, reserve_name
from perdure.collections.source_files import list_directory
from perdure.collections.work_progress import PUBLISH, Step
from perdure.errors import InvalidInput, NotAuthorised, RefusedFile, Withdrawn
from perdure.registry import add_pool, add_prefix, mint, show, withdraw


def test_an_item_is_stored_and_its_identifier_points_to_it(items: ItemOffice) -> None:
    holding = items.put()
    assert items.target(holding.subject) == f"{PUBLIC}/main/{holding.label}/"
    assert items.holdings(holding.subject) == [holding]
    assert (holding.role, holding.version, holding.files, holding.main_file) == ("original", 1, 2, None)
    assert holding.size == sum(map(len, THESIS.values()))
    assert items.read_files("main", holding.label) == THESIS


def test_the_identifier_points_to_the_only_file(items: ItemOffice) -> None:
    holding = items.put({"a b.pdf": b"x"})
    assert items.target(holding.subject) == f"{PUBLIC}/main/{holding.label}/a%20b.pdf"


def test_a_main_file_is_chosen_and_stays_in_the_next_version(items: ItemOffice) -> None:
    holding = items.put(main_file="thesis.pdf")
    assert items.target(holding.subject) == f"{PUBLIC}/main/{holding.label}/thesis.pdf"
    next_one = items.put({**THESIS, "errata.txt": b"p. 3"}, holding.label)
    assert (next_one.version, next_one.main_file) == (2, "thesis.pdf")
    page = items.put({**THESIS, "errata.txt": b"p. 3"}, holding.label, main_file="/")
    assert (page.version, page.main_file) == (2, None)
    assert items.target(page.subject) == f"{PUBLIC}/main/{holding.label}/"
    items.put({**THESIS, "errata.txt": b"p. 3"}, holding.label, main_file="thesis.pdf")
    last = items.put({"new.txt": b"1", "other.txt": b"2"}, holding.label)
    assert items.target(last.subject) == f"{PUBLIC}/main/{holding.label}/"
    assert items.read_files("main", holding.label, 1) == THESIS


def test_a_main_file_must_be_in_the_item(items: ItemOffice) -> None:
    with pytest.raises(InvalidInput, match="not its main file"):
        items.put(main_file="nothing.pdf")


def test_the_same_files_again_are_no_version(items: ItemOffice) -> None:
    holding = items.put()
    before = items.office.snapshot()
    assert items.put(THESIS, holding.label) == holding
    assert items.office.snapshot() == before


def test_a_put_that_stopped_after_the_files_were_stored_continues(items: ItemOffice) -> None:
    name = items.reserve()
    with pytest.raises(InvalidInput):
        items.put(name=name, main_file="nothing.pdf")  # after its files were stored
    assert items.holdings(name) == []
    holding = items.put(name=name)
    assert holding.version == 1
    assert items.target(name) == f"{PUBLIC}/main/{name}/"


def test_the_same_token_reserves_the_same_name(items: ItemOffice) -> None:
    assert items.reserve(token="t1") == items.reserve(token="t1")
    with pytest.raises(InvalidInput):
        items.reserve(token="t1", title="another request")


def test_a_pool_names_an_item(items: ItemOffice) -> None:
    items.office.do(add_pool, "main", [PREFIX])
    items.office.clock.step(2)
    minted = items.office.do(reserve_name, "main", "main")
    assert items.put(name=minted.name).label.startswith(PREFIX)


def test_a_name_of_a_handle_prefix_is_not_reserved_for_an_item(items: ItemOffice) -> None:
    items.office.do(add_prefix, "12345")
    before = items.office.snapshot()
    with pytest.raises(InvalidInput, match="not an IBI subsystem"):
        items.office.do(reserve_name, "main", "12345")
    assert items.office.snapshot() == before


def test_files_that_the_next_version_cannot_have_are_refused_before_they_are_read(items: ItemOffice) -> None:
    holding = items.put(THESIS)
    root = items.folder / "main"
    check_new_files(root, holding.label, ["thesis.pdf", "data/new.csv"], main_file="data/table.csv")
    for path in ("Thesis.pdf", "data", "thesis.pdf/x", "../x"):
        with pytest.raises(RefusedFile, match=path):
            check_new_files(root, holding.label, [path])
        assert path == "../x" or check_new_files(root, None, [path]) is None
    with pytest.raises(InvalidInput, match="not its main file"):
        check_new_files(root, holding.label, ["a"], main_file="b")


def test_the_title_is_recorded(items: ItemOffice) -> None:
    name = items.reserve(title="On lasting")
    items.put(name=name)
    about = items.office.ask(show, name).about
    assert about is not None
    assert about.what == "On lasting"


def test_an_item_is_found_by_its_opaque_label(items: ItemOffice) -> None:
    [pair] = items.office.do(mint, "sid.inpe.br/mtc-m18")
    holding = items.put(name=pair.alias)
    assert holding.label == pair.name


def test_the_original_stays_in_one_collection(items: ItemOffice) -> None:
    holding = items.put()
    with pytest.raises(InvalidInput, match=r"the original .* is in main"):
        items.put({"x": b"x"}, holding.label, collection="second")
    assert not items.root("second").has_item(holding.label)


def test_only_labels_of_ibi_are_stored(items: ItemOffice) -> None:
    items.office.prefix("12345", "chosen")
    [handle] = items.office.do(mint, "12345", suffixes=["a"])
    with pytest.raises(InvalidInput, match="IBI labels only"):
        items.put(name=handle.name)


def test_a_withdrawn_item_gets_no_version(items: ItemOffice) -> None:
    holding = items.put()
    items.office.clock.step(5)
    items.office.do(withdraw, holding.label, "retracted")
    with pytest.raises(Withdrawn):
        items.put({"x": b"x"}, holding.label)


def test_an_item_that_is_withdrawn_while_it_is_stored_is_not_published(items: ItemOffice) -> None:
    name = items.reserve()

    def withdraw_meanwhile(step: Step) -> None:
        if step.phase == PUBLISH:
            act = withdraw(items.office.registry, items.office.admin, name, "a mistake")
            asyncio.run_coroutine_threadsafe(act, loop).result(30)

    async def put() -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        sources = list_directory(items.write_files(THESIS))
        await put_item(items.office.registry, items.office.admin, "main", name, sources, report=withdraw_meanwhile)

    loop = asyncio.new_event_loop()
    loop.close()
    with pytest.raises(Withdrawn):
        items.office.run(put())
    assert items.holdings(name) == []
    assert items.target(name) is None


def test_an_agent_without_a_grant_stores_nothing(items: ItemOffice) -> None:
    name = items.reserve()
    maria = items.office.hire("maria", "sid.inpe.br/mtc-m18", "mint")
    with pytest.raises(NotAuthorised):
        items.office.by(maria, put_item, "main", name, [])
    assert not items.root().has_item(name)
