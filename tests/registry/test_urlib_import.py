"""Records of URLib in the registry: several names of one identifier, and prefixes that only hold labels."""

from typing import Any

import pytest
from tests.formats.urlib_samples import ITEM, LEGACY, METADATA, THESIS, XML
from tests.registry.file_moves import entries as export_entries
from tests.registry.file_moves import write_export
from tests.registry_fixture import NOON, ManualClock, Office, StoreFactory, open_office, set_target

from perdure.errors import InvalidInput, NoSuchName, NoSuchPrefix, NotAuthorised
from perdure.formats import urlib_record, urlib_xml
from perdure.formats.import_entries import Entry, ImportPut, Notice, RegistryPart, RejectedLine
from perdure.records.value import UNSTATED_TTL, Text, Value
from perdure.registry import (
    BulkRequest,
    ImportOptions,
    NameSource,
    Statement,
    Tally,
    add_prefix,
    add_resolutions,
    add_subsystem,
    grant,
    history,
    import_entries,
    mint,
    name_statistics,
    resolve,
    run_bulk_change,
    search,
    show,
    verify,
    withdraw,
)
from perdure.registry.entities import Agent, ResolutionCount

MOVED = "https://example.org/moved"
NAMES = (ITEM, LEGACY, METADATA)


def samples() -> list[Entry]:
    records = urlib_xml.read_records([XML.encode("latin-1")])
    return [entry for one in records if not isinstance(one, RejectedLine) for entry in urlib_record.to_entries(one)]


def put(name: str, *aliases: str, url: str = "https://example.org/1", line: int = 1) -> ImportPut:
    value = Value(1, "URL", Text(url), "", UNSTATED_TTL)
    return ImportPut(line=line, name=name, aliases=aliases, is_label=True, values=(value,))


def run_import(office: Office, entries: list[Entry], **settings: Any) -> tuple[Tally, list[RejectedLine | Notice]]:
    problems: list[RejectedLine | Notice] = []
    agent = settings.pop("by", office.admin)
    options = ImportOptions(**{"new_prefixes": "labels"} | settings)
    return office.by(agent, import_entries, entries, options, report=problems.append), problems


def counts(tally: Tally) -> tuple[int, int, int, int]:
    return tally.created, tally.changed, tally.unchanged, tally.refused


@pytest.fixture
def archive(office: Office) -> Office:
    """A registry with the two samples."""
    tally, _ = run_import(office, samples())
    assert counts(tally) == (2, 0, 0, 0)
    return office


# Names


def test_all_names_of_a_record_lead_to_one_identifier(archive: Office) -> None:
    for name in (*NAMES, ITEM.upper(), f"http://urlib.net/ibi/{ITEM}"):
        assert archive.ask(show, name).names == NAMES
    archive.do(set_target, METADATA, MOVED)
    for name in NAMES:
        assert archive.ask(resolve, name).target == MOVED
        assert [one.action for one in archive.ask(history, name)] == ["import", "set"]
    assert {hit.name for hit in archive.ask(search, ["morfologia"])} == set(NAMES)
    archive.do(withdraw, LEGACY, "gone")
    assert [archive.ask(show, name).state for name in NAMES] == ["withdrawn"] * 3
    assert archive.ask(verify) == []


def test_the_time_of_the_last_change_is_that_of_the_source(archive: Office) -> None:
    assert [one.at for one in archive.ask(history, ITEM)] == ["2018-06-05T01:22:10.000000Z"]
    assert archive.ask(show, ITEM).authority.created == "2017-04-09T14:30:33Z"


def test_labels_are_compared_by_case_folding_and_those_in_base_53_exactly(archive: Office) -> None:
    without_port = THESIS.replace("@80", "")
    assert archive.ask(show, without_port).name == THESIS  # until the other label is registered, it means this one
    run_import(archive, [put(without_port, url=MOVED)])
    assert archive.ask(show, without_port).names == (without_port,)
    assert archive.ask(show, THESIS).target != MOVED
    for other in (LEGACY.lower(), LEGACY.replace("Jpy/", "JpY/")):
        with pytest.raises(NoSuchPrefix):
            archive.ask(show, other)
    with pytest.raises(NoSuchName):
        archive.ask(show, LEGACY.swapcase().replace(LEGACY.swapcase().partition("/")[0], LEGACY.partition("/")[0]))
    run_import(archive, [put(LEGACY.replace("Jpy/", "JpY/"), url=MOVED)])
    assert archive.ask(resolve, LEGACY.replace("Jpy/", "JpY/")).target == MOVED
    assert archive.ask(resolve, LEGACY).target != MOVED
    assert archive.ask(verify) == []


def test_resolutions_under_all_names_are_added_up(archive: Office) -> None:
    keys = (ITEM, LEGACY, METADATA)
    archive.ask(add_resolutions, [ResolutionCount(key, "2026-11-01", "browser", 1) for key in keys])
    for name in NAMES:
        assert [one.total for one in archive.do(name_statistics, name).periods] == [3]


# Import again


def test_an_import_changes_nothing_twice_and_a_dry_run_nothing_at_all(office: Office) -> None:
    before = office.snapshot()
    tally, problems = run_import(office, samples(), dry_run=True)
    assert (counts(tally), office.snapshot()) == ((2, 0, 0, 0), before)
    assert [one.kind for one in problems if isinstance(one, Notice)] == ["prefix"] * 4 + ["verbatim"]
    run_import(office, samples())
    after = office.snapshot()
    assert counts(run_import(office, samples())[0]) == (0, 0, 2, 0)
    assert office.snapshot() == after


def test_an_update_adds_a_name_that_the_first_file_did_not_have(office: Office) -> None:
    run_import(office, [put(ITEM)])
    assert counts(run_import(office, [put(ITEM, LEGACY)])[0]) == (0, 0, 0, 1)
    with pytest.raises(NoSuchName):
        office.ask(show, LEGACY)
    assert counts(run_import(office, [put(ITEM, LEGACY)], update=True)[0]) == (0, 1, 0, 0)
    assert counts(run_import(office, [put(ITEM, METADATA, LEGACY)], update=True)[0]) == (0, 1, 0, 0)
    assert office.ask(show, METADATA).names == NAMES
    office.do(set_target, METADATA, MOVED)
    assert office.ask(resolve, LEGACY).target == MOVED
    assert office.ask(verify) == []


@pytest.mark.parametrize("together", [True, False])
def test_a_name_of_something_else_is_left_to_it_and_reported(office: Office, together: bool) -> None:
    first, second = put(ITEM, METADATA), put(THESIS, METADATA, LEGACY, url=MOVED, line=2)
    if not together:
        run_import(office, [first])
    tally, problems = run_import(office, [first, second])
    assert tally.refused == 0
    notices = [one for one in problems if isinstance(one, Notice) and one.kind == "alias"]
    assert [(one.line, one.name, METADATA in one.reason) for one in notices] == [(2, THESIS, True)]
    assert office.ask(show, THESIS).names == (THESIS, LEGACY)
    assert office.ask(show, METADATA).names == (ITEM, METADATA)
    assert office.ask(verify) == []


def test_a_record_does_not_change_an_identifier_that_has_its_name_as_an_alias(office: Office) -> None:
    run_import(office, [put(ITEM, METADATA)])
    for entry in (put(METADATA, url=MOVED), put(METADATA, LEGACY, url=MOVED)):
        tally, problems = run_import(office, [entry], update=True)
        assert counts(tally) == (0, 0, 0, 1)
        assert f"another name of {ITEM}" in problems[-1].reason
    assert office.ask(show, METADATA).version == 1


# Prefixes


def test_prefixes_of_abandoned_hosts_are_added_without_an_address_and_mint_nothing(archive: Office) -> None:
    prefixes = {one.name: one for one in archive.read(lambda reader: reader.prefixes()) if one.scheme == "ibi"}
    assert {name: one.case_sensitive for name, one in prefixes.items()} == {
        "dpi.inpe.br/banon": False,
        "83LX3pFwXQZ5Jpy": True,
        "sid.inpe.br/mtc-m18": False,
        "8JMKD3MGP8W": False,
    }
    for name, one in prefixes.items():
        assert (one.subsystem, one.opaque) == (None, None)
        with pytest.raises(InvalidInput, match="only holds labels that were imported"):
            archive.do(mint, name, statement=Statement(MOVED))


def test_a_subsystem_that_exists_takes_the_labels_of_its_host_and_of_its_address(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    _, problems = run_import(office, samples())
    added = [one.reason.split()[3] for one in problems if isinstance(one, Notice) and one.kind == "prefix"]
    assert sorted(added) == ["83LX3pFwXQZ5Jpy", "dpi.inpe.br/banon"]
    assert office.do(mint, "sid.inpe.br/mtc-m18")[0].alias is not None


@pytest.mark.parametrize(
    ("host", "ip"), [("mtc-m18.sid.inpe.br", "150.163.34.250"), ("new.sid.inpe.br", "150.163.34.243")]
)
def test_a_prefix_of_labels_cannot_become_a_subsystem(archive: Office, host: str, ip: str) -> None:
    with pytest.raises(InvalidInput, match="holds imported labels, and cannot become a subsystem"):
        archive.do(add_subsystem, host, ip)
    assert archive.do(add_subsystem, "new.sid.inpe.br", "150.163.34.250").subsystem is not None


def test_without_their_prefixes_records_are_refused_whole(office: Office) -> None:
    before = office.snapshot()
    tally, problems = run_import(office, samples(), new_prefixes=None)
    assert counts(tally) == (0, 0, 0, 2)
    assert [one.code for one in problems if isinstance(one, RejectedLine)] == ["no-such-prefix"] * 2
    assert office.snapshot() == before


def test_labels_under_a_handle_prefix_of_an_older_registry_stay_there(office: Office) -> None:
    office.do(add_prefix, "83LX3pFwXQZ5Jpy", minter="chosen")
    tally, _ = run_import(office, samples())
    assert counts(tally) == (2, 0, 0, 0)
    assert office.ask(show, LEGACY).names == NAMES
    assert office.ask(verify) == []


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"name": "a/b/c"}, "not the prefix of an IBI label"),
        ({"key": "83lx3pfwxqz5jpy"}, "is looked up as 83LX3pFwXQZ5Jpy"),
        ({"case_sensitive": False}, "the other rule of case"),
    ],
)
def test_a_prefix_of_labels_in_an_export_is_checked(office: Office, changed: dict[str, Any], reason: str) -> None:
    name = "83LX3pFwXQZ5Jpy"
    fields = {"key": name, "name": name, "scheme": "ibi", "minter": "ibi"} | changed
    _, problems = run_import(office, [RegistryPart(line=1, kind="prefix", fields=fields)])
    assert [reason in one.reason for one in problems] == [True]


# Permissions


def test_an_import_needs_a_grant_under_the_prefix_of_every_name(archive: Office) -> None:
    jan = archive.hire("jan", "dpi.inpe.br/banon", "import")
    entry = put("dpi.inpe.br/banon/2000/01.01.00.00", "83LX3pFwXQZ5Jpy/Bkjze")
    tally, problems = run_import(archive, [entry], by=jan, new_prefixes=None)
    assert counts(tally) == (0, 0, 0, 1)
    assert "no grant" in problems[0].reason
    archive.do(grant, "jan", "83LX3pFwXQZ5Jpy", ["import"])
    assert counts(run_import(archive, [entry], by=jan, new_prefixes=None)[0]) == (1, 0, 0, 0)


def test_the_grants_under_the_prefix_of_the_first_name_decide_about_all_names(archive: Office) -> None:
    owner = archive.hire("owner", "dpi.inpe.br/banon", "edit")
    other = archive.hire("other", "83LX3pFwXQZ5Jpy", "edit", "withdraw", "admin")
    archive.by(owner, set_target, LEGACY, MOVED)
    for name in NAMES:
        with pytest.raises(NotAuthorised):
            archive.by(other, set_target, name, "https://example.org/stolen")
    assert archive.ask(resolve, ITEM).target == MOVED


@pytest.mark.parametrize("name", NAMES)
def test_a_bulk_change_finds_an_identifier_by_any_name_and_asks_for_the_grant_of_the_first(
    archive: Office, name: str
) -> None:
    other = archive.hire("other", "83LX3pFwXQZ5Jpy", "edit", "admin")
    request = BulkRequest(
        kind="retarget", names="the list", old="http://mtc-m16c.sid.inpe.br/", new="https://example.org/"
    )

    def run(by: Agent) -> tuple[int, int]:
        async def work() -> tuple[int, int]:
            steps = run_bulk_change(archive.registry, by, request, NameSource(lambda: [name]))
            last = [step async for step in steps][-1].change
            return last.changed, last.refused

        return archive.run(work())

    assert run(other) == (0, 1)
    assert run(archive.admin) == (1, 0)
    assert {archive.ask(resolve, one).target for one in NAMES} == {
        f"https://example.org/col/{ITEM}/doc/publica%C3%A7%C3%A3o%20final.pdf"
    }
    assert archive.ask(verify) == []


# Exports


def test_an_export_moves_all_names_and_a_later_one_the_new_names(archive: Office, store_factory: StoreFactory) -> None:
    copy = open_office(archive.runner, store_factory("copy"), ManualClock(NOON))
    for _ in range(2):
        tally, _ = run_import(copy, list(export_entries(write_export(archive), "ndjson")), new_prefixes=None)
        assert tally.refused == 0
        assert copy.ask(show, METADATA).names == archive.ask(show, METADATA).names
        assert copy.ask(verify) == []
        run_import(archive, [put(ITEM, "APM77Z/KFQ6T", url=MOVED)], update=True)
    copy.do(set_target, LEGACY, MOVED)
    assert copy.ask(resolve, METADATA).target == MOVED
