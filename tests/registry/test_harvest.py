"""Harvesting: every identifier once, by its newest change, on both engines, while others write."""

import pytest
from tests.registry_fixture import Office, set_target

from perdure.errors import NoSuchName
from perdure.registry import Statement, add_prefix, bind, harvest, mint, observe, withdraw
from perdure.registry.harvest import (
    HarvestedIdentifier,
    HarvestSelection,
    change_date,
    first_number_of,
    harvest_one,
    harvest_page,
)
from perdure.registry.store_interface import Reader
from perdure.store.postgres import reader as postgres
from perdure.store.postgres.reader import PostgresReader
from perdure.store.sqlite import reader as sqlite
from perdure.store.sqlite.reader import SqliteReader

ALL = HarvestSelection()
WHEN = "2025-01-09T10:30:00Z"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for nothing: with several writing processes, new changes appear only when no earlier one can follow."""
    monkeypatch.setattr(postgres, "_SETTLING_MICROSECONDS", -60_000_000)


def page(
    office: Office, selection: HarvestSelection = ALL, after: int = 0, before: int | None = None, limit: int = 100
) -> tuple[list[HarvestedIdentifier], int | None]:
    found = office.ask(harvest_page, selection, after, before, limit, 5.0)
    return found.identifiers, found.next


def names(found: list[HarvestedIdentifier]) -> list[str]:
    return [one.view.name for one in found]


def last_number(office: Office) -> int:
    return page(office, limit=10_000)[0][-1].number


def test_an_identifier_is_listed_at_its_newest_change(office: Office) -> None:
    office.do(add_prefix, "12345", minter="chosen")
    start = last_number(office)
    for suffix in ("a", "b", "c"):
        office.do(mint, "12345", statement=Statement("https://example.org/"), suffixes=[suffix])
    office.do(set_target, "12345/a", "https://example.org/2")
    office.do(withdraw, "12345/b", "a mistake")
    office.do(mint, "12345", suffixes=["kept"])
    found, following = page(office, after=start)
    assert (names(found), following) == (["12345/c", "12345/a", "12345/b"], None)
    assert [one.is_deleted for one in found] == [False, False, True]
    office.do(bind, "12345/kept", Statement("https://example.org/kept"))
    assert names(page(office, after=start)[0])[-1] == "12345/kept"


def test_pages_follow_each_other_while_names_change(office: Office) -> None:
    office.do(add_prefix, "12345", minter="chosen")
    start = last_number(office)
    suffixes = [f"n{number}" for number in range(25)]
    office.do(mint, "12345", statement=Statement("https://example.org/"), suffixes=suffixes)
    found, position = page(office, after=start, limit=10)
    assert len(found) == 10
    moved = next(suffix for suffix in suffixes if f"12345/{suffix}" not in names(found))
    office.do(set_target, f"12345/{moved}", "https://example.org/2")
    harvested = names(found)
    while position is not None:
        found, position = page(office, after=position, limit=10)
        harvested += names(found)
    assert sorted(harvested) == sorted(f"12345/{suffix}" for suffix in suffixes)
    assert harvested[-1] == f"12345/{moved}"


def test_a_list_ends_before_a_number(office: Office) -> None:
    everything, _ = page(office, limit=10_000)
    middle = everything[len(everything) // 2].number
    first, following = page(office, before=middle, limit=10_000)
    second, _ = page(office, after=middle - 1, limit=10_000)
    assert following is None
    assert names(first) + names(second) == names(everything)


def test_a_selection_has_one_scheme_or_one_prefix(office: Office) -> None:
    office.do(add_prefix, "12345", minter="chosen")
    office.do(mint, "12345", suffixes=["a"], statement=Statement("https://example.org/"))
    jan = office.do(observe, "https://example.org/jan", WHEN, "0" * 64).name
    assert names(page(office, HarvestSelection("ppid"))[0]) == [jan]
    assert names(page(office, HarvestSelection("ppid", "POID"))[0]) == [jan]
    assert page(office, HarvestSelection("ppid", "PRID")) == ([], None)
    assert names(page(office, HarvestSelection("handle", "12345"))[0]) == ["12345/a"]
    assert page(office, HarvestSelection(collection="")) == ([], None)


def test_a_rare_set_is_found_behind_many_other_changes(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.do(add_prefix, "12345", minter="chosen")
    office.do(mint, "12345", statement=Statement("https://example.org/"), suffixes=[f"n{n}" for n in range(40)])
    jan = office.do(observe, "https://example.org/jan", WHEN, "0" * 64).name
    monkeypatch.setattr(harvest, "_CHUNK", 5)
    monkeypatch.setattr(harvest, "_MOST_SCANNED", 10)
    assert names(page(office, HarvestSelection("ppid"))[0]) == [jan]
    cut = office.ask(harvest_page, HarvestSelection("ppid"), 0, None, 10, 0.0)
    assert cut.identifiers == []
    assert cut.next is not None, "the next request continues"


def test_one_identifier_has_the_same_number_as_in_the_list(office: Office) -> None:
    office.do(add_prefix, "12345", minter="chosen", case_sensitive=False)
    office.do(mint, "12345", statement=Statement("https://example.org/"), suffixes=["a", "b"])
    office.do(set_target, "12345/a", "https://example.org/2")
    listed = {one.view.name: one for one in page(office, limit=10_000)[0]}
    for name in ("12345/a", "12345/B"):
        one = office.ask(harvest_one, name)
        assert one == listed[name.lower()]
    office.do(mint, "12345", suffixes=["kept"])
    for name in ("12345/kept", "12345/missing"):
        with pytest.raises(NoSuchName):
            office.ask(harvest_one, name)


def test_no_change_is_older_than_its_date() -> None:
    assert change_date(first_number_of(1_800_000_000)) == "2027-01-15T08:00:00Z"
    assert change_date(first_number_of(1_800_000_000) - 1) == "2027-01-15T07:59:59Z"


def test_a_page_reads_ranges_of_indexes_alone(office: Office) -> None:
    """No query of a page reads or sorts a whole table, however many names there are."""

    def work(reader: Reader) -> list[str]:
        if isinstance(reader, PostgresReader):
            reader.connection.execute("SET LOCAL enable_seqscan = off")  # with a million rows, the planner would not
            rows = reader.connection.execute(f"EXPLAIN {postgres._KEY_CHANGES}", (0, 0, 10)).fetchall()
            return [row[0] for row in rows]
        assert isinstance(reader, SqliteReader)
        statements = [
            (sqlite._KEY_CHANGES, (0, 10)),
            (sqlite._NEWEST_HISTORIES_OF, ("[]",)),
            (sqlite._HOLDINGS_OF, ("[]",)),
        ]
        return [row[3] for sql, arguments in statements for row in reader._rows(f"EXPLAIN QUERY PLAN {sql}", arguments)]

    plan = office.read(work)
    assert not [step for step in plan if step.startswith("SCAN") and "json_each" not in step], plan
    assert not [step for step in plan if "Seq Scan" in step], plan
    assert any("PRIMARY KEY" in step or "added" in step for step in plan), plan
