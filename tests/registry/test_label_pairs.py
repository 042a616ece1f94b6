"""Tables of label pairs: imports that add labels to existing items, and exports that are imported again."""

import asyncio
from typing import Any

import pytest
from tests.registry.file_moves import write_export
from tests.registry_fixture import NOON, ManualClock, Office, StoreFactory, open_office

from perdure.errors import DifferentIdentifiers
from perdure.formats.csv_rows import read_rows
from perdure.formats.import_entries import RejectedLine
from perdure.formats.label_table import read_labels
from perdure.registry import (
    ImportOptions,
    Statement,
    Tally,
    add_subsystem,
    grant,
    history,
    import_entries,
    mint,
    resolve,
    show,
    verify,
    withdraw,
)

URL = "https://example.org/thing"
NAME, OPAQUE = "sid.inpe.br/mtc-m18/2009/02.16.17.46", "8JMKD3MGP8W/34PGRBS"
OTHER_NAME, OTHER, LEGACY = "sid.inpe.br/mtc-m18/2010/01.01.00.00", "8JMKD3MGPGW/2LK2KS5", "83LX3pFwXQZ5Jpy/Bkjzd"


def run_import(office: Office, *lines: str, **options: Any) -> tuple[Tally, list[Any]]:
    """Import rows of a repository name, an IBIp and a target."""
    problems: list[Any] = []
    by = options.pop("by", office.admin)
    chosen = ImportOptions(**({"new_prefixes": "labels"} | options))
    entries = read_labels(read_rows([f"{line}\n" for line in ("repository_name,ibip,target", *lines)]))
    return office.by(by, import_entries, entries, chosen, report=problems.append), problems


def counts(tally: Tally) -> tuple[int, int, int, int]:
    return tally.created, tally.changed, tally.unchanged, tally.refused


def names_of(office: Office, label: str) -> tuple[str, ...]:
    return office.ask(show, label).names


def codes(problems: list[Any]) -> list[str | None]:
    return [one.code for one in problems if isinstance(one, RejectedLine)]


def test_both_labels_of_a_row_resolve_alike(office: Office) -> None:
    tally, _ = run_import(office, f"{NAME},{OPAQUE},{URL}", f",{LEGACY},{URL}2", f"{OTHER_NAME},,{URL}3")
    assert counts(tally) == (3, 0, 0, 0)
    for label in (NAME, OPAQUE, OPAQUE.lower(), NAME.upper()):
        assert office.ask(resolve, label).target == URL
    assert office.ask(resolve, LEGACY).target == f"{URL}2"
    assert names_of(office, OPAQUE) == (NAME, OPAQUE)
    assert office.ask(verify) == []


def test_a_row_that_is_registered_adds_nothing(office: Office) -> None:
    lines = (f"{NAME},{OPAQUE},{URL}", f"{NAME},{OPAQUE},", f"{NAME},,", f",{OPAQUE},{URL}")
    run_import(office, lines[0])
    before = office.snapshot()
    tally, problems = run_import(office, *lines)
    assert (counts(tally), codes(problems)) == ((0, 0, 4, 0), [])
    assert office.snapshot() == before


def test_several_ibips_of_one_item_resolve_alike(office: Office) -> None:
    lines = (f"{NAME},{OPAQUE},{URL}", f"{NAME},{OTHER},", f"{NAME},{LEGACY},{URL}")
    tally, _ = run_import(office, *lines)
    assert counts(tally) == (1, 2, 0, 0)
    for label in (NAME, OPAQUE, OTHER, LEGACY):
        assert office.ask(resolve, label).target == URL
        assert names_of(office, label) == (NAME, OPAQUE, OTHER, LEGACY)
    assert len(office.ask(history, NAME)) == 3
    assert counts(run_import(office, *lines)[0]) == (0, 0, 3, 0)
    assert office.ask(verify) == []


@pytest.mark.parametrize("first", [f"{NAME},,{URL}", f",{OPAQUE},{URL}"])
def test_a_row_with_one_existing_label_adds_the_other(office: Office, first: str) -> None:
    run_import(office, first)
    tally, _ = run_import(office, f"{NAME},{OPAQUE},")
    assert counts(tally) == (0, 1, 0, 0)
    for label in (NAME, OPAQUE):
        assert office.ask(resolve, label).target == URL
    assert set(names_of(office, NAME)) == {NAME, OPAQUE}
    assert office.ask(verify) == []


def test_a_row_with_an_alias_of_an_item_adds_to_that_item(office: Office) -> None:
    run_import(office, f"{NAME},{OPAQUE},{URL}")
    assert counts(run_import(office, f"{OTHER_NAME},{OPAQUE},")[0]) == (0, 1, 0, 0)
    assert names_of(office, OTHER_NAME) == (NAME, OPAQUE, OTHER_NAME)


def test_a_row_never_joins_two_items(office: Office) -> None:
    run_import(office, f"{NAME},,{URL}", f",{OPAQUE},{URL}", f"{OTHER_NAME},{OTHER},{URL}")
    before = office.snapshot()
    tally, problems = run_import(office, f"{NAME},{OPAQUE},{URL}", f"{NAME},{OTHER},", update=True)
    assert counts(tally) == (0, 0, 0, 2)
    assert codes(problems) == [DifferentIdentifiers.code] * 2
    assert all(part in problems[0].reason for part in (NAME, OPAQUE, "--replaced-by"))
    assert office.snapshot() == before


def test_another_target_needs_an_update(office: Office) -> None:
    run_import(office, f"{NAME},{OPAQUE},{URL}")
    tally, problems = run_import(office, f"{NAME},{OPAQUE},{URL}2", f"{NAME},{OTHER},{URL}2")
    assert (counts(tally), codes(problems)) == ((0, 0, 0, 2), ["conflict"] * 2)
    assert counts(run_import(office, f"{NAME},{OTHER},{URL}2", update=True)[0]) == (0, 1, 0, 0)
    assert office.ask(resolve, OTHER).target == f"{URL}2"


def test_labels_of_a_subsystem_join_its_items(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    [minted] = office.do(mint, "sid.inpe.br/mtc-m18", statement=Statement(URL))
    tally, _ = run_import(office, f"{minted.name},{OTHER},", f",{OPAQUE},{URL}2")
    assert counts(tally) == (1, 1, 0, 0)
    assert names_of(office, OTHER) == (minted.name, minted.alias, OTHER)
    assert office.ask(verify) == []


def test_a_withdrawn_item_gets_no_label(office: Office) -> None:
    run_import(office, f"{NAME},,{URL}")
    office.do(withdraw, NAME, "gone")
    tally, problems = run_import(office, f"{NAME},{OPAQUE},")
    assert (counts(tally), codes(problems)) == ((0, 0, 0, 1), ["withdrawn"])


def test_a_label_is_added_with_permission_on_both_prefixes(office: Office) -> None:
    run_import(office, f"{NAME},,{URL}")
    office.do(add_subsystem, None, "150.163.34.243")
    jan = office.hire("jan", "sid.inpe.br/mtc-m18", "import")

    def attempt() -> list[str | None]:
        return codes(run_import(office, f"{NAME},{OPAQUE},", by=jan, new_prefixes=None)[1])

    assert attempt() == ["not-authorised"]
    office.do(grant, "jan", "8JMKD3MGP8W", ["import"])
    assert attempt() == ["not-authorised"], "a new version of the item needs the permission to edit it"
    office.do(grant, "jan", "sid.inpe.br/mtc-m18", ["edit"])
    assert attempt() == []
    assert names_of(office, OPAQUE) == (NAME, OPAQUE)


def test_a_dry_run_writes_nothing(office: Office) -> None:
    run_import(office, f"{NAME},{OPAQUE},{URL}")
    before = office.snapshot()
    tally, _ = run_import(office, f"{NAME},{OTHER},", f",{LEGACY},{URL}", dry_run=True)
    assert counts(tally) == (1, 1, 0, 0)
    assert office.snapshot() == before


def test_an_export_is_imported_again_with_all_labels(
    office: Office, runner: asyncio.Runner, store_factory: StoreFactory
) -> None:
    office.prefix("12345")
    office.do(mint, "12345", statement=Statement(URL))
    run_import(office, f"{NAME},{OPAQUE},{URL}", f"{NAME},{OTHER},", f",{LEGACY},{URL}2", f"{OTHER_NAME},,{URL}3")
    office.do(withdraw, OTHER_NAME, "gone, for good")
    left_out: list[str] = []
    data = write_export(office, "labels", left_out=left_out.append).decode()
    assert any("12345/" in what for what in left_out)
    header, *rows = data.splitlines()
    assert header.startswith("repository_name,ibip,target,who,")
    assert len(rows) == 3
    assert any(row.startswith(f"{NAME},{OPAQUE},{URL},") and row.endswith(f",{OTHER}") for row in rows)
    elsewhere = open_office(runner, store_factory("elsewhere"), ManualClock(NOON + 1000))
    problems: list[Any] = []
    entries = read_labels(read_rows(data.splitlines(keepends=True)))
    tally = elsewhere.do(import_entries, entries, ImportOptions(new_prefixes="labels"), report=problems.append)
    assert (tally.created, codes(problems)) == (3, [])
    assert names_of(elsewhere, OTHER) == names_of(office, OTHER)
    assert [elsewhere.ask(resolve, label).target for label in (NAME, OTHER, LEGACY)] == [URL, URL, f"{URL}2"]
    assert elsewhere.ask(show, OTHER_NAME).state == "withdrawn"
