"""Imports: the entries of a file become identifiers once, even if the import is repeated or interrupted."""

import asyncio
import threading
import tracemalloc
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import msgspec
import pytest
from tests.registry_fixture import NOON, Office, open_office

from perdure.errors import InvalidInput
from perdure.formats import batch_file, handles_table
from perdure.formats.csv_rows import read_rows
from perdure.formats.import_entries import (
    Entry,
    FullHistory,
    ImportEdit,
    ImportPut,
    Notice,
    PastRevision,
    RegistryPart,
    RejectedLine,
)
from perdure.names import instant, pilin, ppid
from perdure.records.record import About, Observation, Reconstruction, Record
from perdure.records.value import Admin, AdminRights, Text, Value
from perdure.registry import (
    ImportOptions,
    Statement,
    Tally,
    add_prefix,
    add_subsystem,
    find_by_value,
    forget_checkpoint,
    grant,
    history,
    import_entries,
    mint,
    resolve,
    revoke,
    show,
    verify,
    withdraw,
)

PREFIX = "12345"
URL = "https://example.org/"
CHUNK = 2000  # entries in one transaction
EARLIER = "2020-01-02T03:04:05.000000Z"


@pytest.fixture
def library(office: Office) -> Office:
    office.prefix(PREFIX, "chosen")
    return office


def run_import(office: Office, entries: Iterable[Entry], **settings: Any) -> tuple[Tally, list[RejectedLine | Notice]]:
    problems: list[RejectedLine | Notice] = []
    checkpoint = settings.pop("checkpoint", None)
    agent = settings.pop("by", office.admin)
    options = ImportOptions(**settings)
    tally = office.by(agent, import_entries, entries, options, checkpoint=checkpoint, report=problems.append)
    return tally, problems


def counts(tally: Tally) -> tuple[int, int, int, int]:
    return tally.created, tally.changed, tally.unchanged, tally.refused


def puts(count: int, start: int = 1) -> Iterator[ImportPut]:
    for number in range(start, start + count):
        yield ImportPut(line=number, name=f"{PREFIX}/{number}", target=f"{URL}{number}")


def whole(name: str, record: Record, scheme: str = "handle", uuid_raw: str | None = None) -> FullHistory:
    revision = PastRevision(1, EARLIER, "somebody", "mint", record)
    return FullHistory(line=1, name=name, scheme=scheme, revisions=(revision,), uuid_raw=uuid_raw)


def active(office: Office, target: str = URL, **fields: Any) -> Record:
    value = Value(1, "URL", Text(target), "2020-01-02T03:04:05Z")
    return Record(
        state="active", creator=office.admin.identifier, created="2020-01-02T03:04:05Z", values=(value,), **fields
    )


def exists(office: Office, name: str) -> bool:
    return office.read(lambda reader: reader.find(name)) is not None


# What comes of an entry


def test_a_name_and_a_target_make_an_identifier_that_resolves(library: Office) -> None:
    tally, problems = run_import(library, [ImportPut(line=1, name=f"{PREFIX}/a", target=URL)])
    assert (counts(tally), problems, tally.finished) == ((1, 0, 0, 0), [], True)
    assert library.ask(resolve, f"{PREFIX}/a").target == URL
    [first] = library.ask(history, f"{PREFIX}/a")
    assert (first.action, first.agent, first.note) == ("import", "admin", "imported from a file")


def test_time_and_creator_of_the_source_are_stored(library: Office) -> None:
    values = (
        Value(1, "URL", Text(URL), "2007-06-22T02:53:46Z"),
        Value(2, "EMAIL", Text("a@example.org"), "2010-01-01T00:00:00Z"),
    )
    run_import(library, [ImportPut(line=1, name=f"{PREFIX}/a", values=values, creator="https://example.org/maria")])
    view = library.ask(show, f"{PREFIX}/a")
    assert view.values == values
    assert view.authority.creator == "https://example.org/maria"
    assert view.authority.created == "2007-06-22T02:53:46Z"
    assert view.authority.updated == "2010-01-01T00:00:00Z"


def test_authority_metadata_among_the_values_becomes_fields_of_the_record(library: Office) -> None:
    text = f"""CREATE {PREFIX}/a
1 URL 86400 1110 UTF8 {URL}
101 102.100.TYPE/CREATION_DATE 86400 1110 UTF8 2007-06-22T12:53:46+10:00
102 102.100.TYPE/CREATOR 86400 1110 UTF8 {library.admin.identifier.removeprefix("hdl:")}
"""
    run_import(library, batch_file.read(enumerate(text.splitlines(), 1)))
    view = library.ask(show, f"{PREFIX}/a")
    assert [value.index for value in view.values] == [1]
    assert view.authority.created == "2007-06-22T02:53:46Z"
    assert view.authority.creator == library.admin.identifier


def test_a_secret_is_omitted_with_a_notice(library: Office) -> None:
    values = (Value(1, "URL", Text(URL)), Value(300, "HS_SECKEY", Text("correct-horse"), "", 86_400, "1100"))
    tally, problems = run_import(library, [ImportPut(line=7, name=f"{PREFIX}/a", values=values)])
    assert counts(tally) == (1, 0, 0, 0)
    assert tally.notices == 1
    [notice] = problems
    assert isinstance(notice, Notice)
    assert notice.line == 7
    assert "correct-horse" not in repr(library.snapshot()) + repr(problems)


def test_a_name_without_a_target_is_reserved(library: Office) -> None:
    run_import(library, [ImportPut(line=1, name=f"{PREFIX}/a", about=About(what="Later"))])
    view = library.ask(show, f"{PREFIX}/a")
    assert (view.state, view.authority.created) == ("reserved", None)


def test_a_reserved_name_does_not_resolve(library: Office) -> None:
    tally, _ = run_import(library, [ImportPut(line=1, name=f"{PREFIX}/a", target=URL, state="reserved")])
    if tally.created:  # refusing it would do as well
        assert library.ask(show, f"{PREFIX}/a").values == ()


def test_a_creator_may_come_with_the_same_file(library: Office) -> None:
    me = f"{PREFIX}/me"
    entries = [
        ImportPut(line=1, name=me, values=(Value(1, "DESC", Text("Maria")),)),
        ImportPut(line=2, name=f"{PREFIX}/a", target=URL, creator=f"hdl:{me}", owners=("https://example.org/jan",)),
    ]
    tally, problems = run_import(library, entries)
    assert (counts(tally), problems) == ((2, 0, 0, 0), [])
    assert library.ask(show, f"{PREFIX}/a").authority.creator == f"hdl:{me}"


def test_a_creator_of_any_scheme_survives_the_batch_language(library: Office) -> None:
    person = "POID-93b0-4476-560e-5ac1"
    text = f"CREATE {PREFIX}/a\n1 URL 86400 1110 UTF8 {URL}\n102 102.100.TYPE/CREATOR 86400 1110 UTF8 {person}"
    observation = Observation("https://example.org/staff/jan", "2025-01-09T10:30:00Z", "0" * 64)
    record = Record(
        state="active", creator=library.admin.identifier, created="2025-01-09T10:30:00Z", observation=observation
    )
    raw = str(ppid.poid_uuid(observation.source_url, observation.retrieval_timestamp, observation.content_hash))
    run_import(library, [whole(person, record, "ppid", raw)])
    _, problems = run_import(library, batch_file.read(enumerate(text.splitlines(), 1)))
    assert problems == []
    assert library.ask(show, f"{PREFIX}/a").authority.creator == person


# Again, and again


def test_an_import_run_twice_changes_nothing(library: Office) -> None:
    values = (Value(3, "URL", Text(URL), "2007-06-22T02:53:46Z"), Value(4, "EMAIL", Text("a@example.org")))
    entries: list[Entry] = [
        *puts(20),
        ImportPut(
            line=21, name=f"{PREFIX}/v", values=values, about=About(what="On lasting"), created="2007-06-22T00:00:00Z"
        ),
        ImportPut(line=22, name=f"{PREFIX}/r"),
        ImportEdit(line=23, name=f"{PREFIX}/v", act="add", values=(Value(5, "DESC", Text("more")),)),
        ImportEdit(line=24, name=f"{PREFIX}/v", act="modify", values=(Value(5, "DESC", Text("more still")),)),
        ImportEdit(line=25, name=f"{PREFIX}/1", act="delete"),
    ]
    assert counts(run_import(library, entries)[0]) == (22, 3, 0, 0)
    before = library.snapshot()
    library.clock.step(100)
    tally, _ = run_import(library, entries[:22] + entries[24:])
    assert counts(tally) == (0, 0, 23, 0)
    assert library.snapshot() == before


def test_update_run_twice_changes_nothing_the_second_time(library: Office) -> None:
    run_import(library, puts(3))
    changed = [ImportPut(line=1, name=f"{PREFIX}/1", target="https://example.org/new")]
    assert counts(run_import(library, changed, update=True)[0]) == (0, 1, 0, 0)
    library.clock.step(60)
    assert counts(run_import(library, changed, update=True)[0]) == (0, 0, 1, 0)
    assert library.ask(resolve, f"{PREFIX}/1").target == "https://example.org/new"
    assert len(library.ask(history, f"{PREFIX}/1")) == 2


def test_changes_of_existing_names_share_one_savepoint(library: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    run_import(library, puts(50))
    library.do(withdraw, f"{PREFIX}/26", "burnt")
    transaction = library.run(library.registry.store.write(type))
    attempt, begun = transaction.attempt, []
    monkeypatch.setattr(transaction, "attempt", lambda tx: (begun.append(1), attempt(tx))[1])
    changes = [ImportPut(line=number, name=f"{PREFIX}/{number}", target=f"{URL}new") for number in range(1, 51)]
    tally, problems = run_import(library, changes, update=True)
    assert counts(tally) == (0, 49, 0, 1)
    assert [problem.line for problem in problems] == [26]
    assert len(begun) <= 2  # each one writes the search index to disk
    assert len(library.ask(history, f"{PREFIX}/26")) == 2


def test_without_update_an_existing_name_with_other_content_is_refused(library: Office) -> None:
    run_import(library, puts(1))
    before = library.snapshot()
    tally, [refused] = run_import(library, [ImportPut(line=9, name=f"{PREFIX}/1", target="https://example.org/other")])
    assert counts(tally) == (0, 0, 0, 1)
    assert isinstance(refused, RejectedLine)
    assert (refused.line, refused.name) == (9, f"{PREFIX}/1")
    assert "only with --update" in refused.reason
    assert library.snapshot() == before


def test_update_does_not_change_fields_that_the_file_omits(library: Office) -> None:
    values = (Value(1, "URL", Text(URL)), Value(2, "EMAIL", Text("a@example.org")))
    run_import(library, [ImportPut(line=1, name=f"{PREFIX}/a", values=values, about=About(what="On lasting"))])
    run_import(library, [ImportPut(line=1, name=f"{PREFIX}/a", target="https://example.org/new")], update=True)
    view = library.ask(show, f"{PREFIX}/a")
    assert [value.text for value in view.values] == ["https://example.org/new", "a@example.org"]
    assert view.about == About(what="On lasting")


def test_update_binds_a_reserved_name(library: Office) -> None:
    library.do(mint, PREFIX, suffixes=["later"])
    run_import(library, [ImportPut(line=1, name=f"{PREFIX}/later", target=URL)], update=True)
    view = library.ask(show, f"{PREFIX}/later")
    assert (view.state, view.target) == ("active", URL)
    assert view.authority.created is not None


def test_a_withdrawn_name_is_not_brought_back_by_an_update(library: Office) -> None:
    run_import(library, puts(1))
    library.do(withdraw, f"{PREFIX}/1", "wrong")
    tally, _ = run_import(
        library, [ImportPut(line=1, name=f"{PREFIX}/1", target="https://example.org/new")], update=True
    )
    assert counts(tally) == (0, 0, 0, 1)
    assert library.ask(show, f"{PREFIX}/1").state == "withdrawn"


def test_a_repeated_name_in_a_file_is_one_name(library: Office) -> None:
    tally, _ = run_import(library, [*puts(2), *puts(2)])
    assert counts(tally) == (2, 0, 2, 0)


@pytest.mark.parametrize("again", [1, CHUNK, CHUNK + 1, 2 * CHUNK])
def test_a_name_repeated_much_later_in_a_file_is_one_name(library: Office, again: int) -> None:
    """By then the import expects new names only."""
    name = f"{PREFIX}/{again}"
    entries = [*puts(3 * CHUNK), ImportPut(line=3 * CHUNK + 1, name=name, target=f"{URL}{again}"), *puts(5, 10_000)]
    tally, problems = run_import(library, entries)
    assert (counts(tally), problems) == ((3 * CHUNK + 5, 0, 1, 0), [])
    assert len(library.ask(history, name)) == 1
    assert library.ask(verify) == []


def test_existing_names_after_thousands_of_new_ones_are_found(library: Office) -> None:
    run_import(library, puts(3, CHUNK + 7))
    entries = [
        *puts(CHUNK + 8),
        ImportPut(line=9, name=f"{PREFIX}/{CHUNK + 9}", target="https://example.org/elsewhere"),
    ]
    expected = CHUNK + 6, 0, 2, 1
    tally, problems = run_import(library, entries, dry_run=True)
    assert (counts(tally), [problem.line for problem in problems]) == (expected, [9])
    tally, problems = run_import(library, entries)
    assert (counts(tally), [problem.line for problem in problems]) == (expected, [9])
    tally, _ = run_import(library, entries, update=True)
    assert counts(tally) == (0, 1, CHUNK + 8, 0)
    assert library.ask(verify) == []


def test_a_name_that_another_agent_creates_meanwhile_is_not_overwritten(library: Office) -> None:
    number = 2 * CHUNK + 5
    theirs = partial(mint, statement=Statement("https://example.org/theirs"), suffixes=[str(number)])

    def entries() -> Iterator[Entry]:
        for entry in puts(3 * CHUNK):
            if entry.line == number:
                _run_in_thread(library, theirs, PREFIX)
            yield entry

    tally, [problem] = run_import(library, entries())
    assert counts(tally) == (3 * CHUNK - 1, 0, 0, 1)
    assert problem.line == number
    assert library.ask(resolve, f"{PREFIX}/{number}").target == "https://example.org/theirs"


def test_a_name_with_its_history_and_repeated_without_it_is_one_name(library: Office) -> None:
    """The two lines may have different origins: the rest of the file must be imported."""
    entries = [whole(f"{PREFIX}/a", active(library)), ImportPut(line=2, name=f"{PREFIX}/a", target=URL), *puts(3, 3)]
    tally, _ = run_import(library, entries)
    assert (tally.created, tally.unchanged + tally.refused) == (4, 1)


def test_a_repeated_name_whose_creator_is_in_the_same_file_is_one_name(library: Office) -> None:
    me = f"{PREFIX}/me"
    entries = [
        ImportPut(line=1, name=me, values=(Value(1, "DESC", Text("Maria")),)),
        ImportPut(line=2, name=f"{PREFIX}/a", target=URL, creator=f"hdl:{me}"),
        ImportPut(line=3, name=f"{PREFIX}/a", target=URL),
        *puts(3, 4),
    ]
    tally, _ = run_import(library, entries)
    assert counts(tally) == (5, 0, 1, 0)


# Interruptions


class _PowerCut(Exception):
    pass


def cut_after(entries: Iterable[Entry], count: int) -> Iterator[Entry]:
    for number, entry in enumerate(entries):
        if number == count:
            raise _PowerCut
        yield entry


@pytest.mark.parametrize("count", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 500])
def test_an_interrupted_import_is_continued(library: Office, count: int) -> None:
    total = 2 * CHUNK + 700
    with pytest.raises(_PowerCut):
        run_import(library, cut_after(puts(total), count), checkpoint="file")
    imported = library.read(lambda reader: len(reader.identifiers_after("", 10_000, f"{PREFIX}/")))
    assert imported == count // CHUNK * CHUNK
    tally, problems = run_import(library, puts(total), checkpoint="file")
    assert (counts(tally), tally.entries, problems) == ((total, 0, 0, 0), total, [])
    names = library.read(lambda reader: {row.name for row in reader.identifiers_after("", 10_000, f"{PREFIX}/")})
    assert names == {f"{PREFIX}/{number}" for number in range(1, total + 1)}
    assert library.contradictions() == []


def test_a_continued_import_does_not_repeat_changes(library: Office) -> None:
    library.do(mint, PREFIX, statement=Statement(URL), suffixes=["a"])
    entries: list[Entry] = [
        *puts(CHUNK - 1),
        ImportEdit(line=CHUNK, name=f"{PREFIX}/a", act="add", values=(Value(2, "DESC", Text("more")),)),
        ImportEdit(line=CHUNK + 1, name=f"{PREFIX}/a", act="modify", values=(Value(2, "DESC", Text("other")),)),
        *puts(CHUNK, CHUNK + 2),
    ]
    with pytest.raises(_PowerCut):
        run_import(library, cut_after(entries, CHUNK + 5), checkpoint="file")
    run_import(library, entries, checkpoint="file")
    assert [one.version for one in library.ask(history, f"{PREFIX}/a")] == [1, 2, 3]


def test_a_finished_import_is_not_repeated(library: Office) -> None:
    run_import(library, puts(3), checkpoint="file")
    before = library.snapshot()

    def never() -> Iterator[Entry]:
        raise AssertionError
        yield

    tally, _ = run_import(library, never(), checkpoint="file")
    assert tally.finished
    assert library.snapshot() == before


def test_without_its_checkpoint_a_file_is_imported_from_the_start(library: Office) -> None:
    run_import(library, puts(3), checkpoint="file")
    library.do(forget_checkpoint, "file")
    assert counts(run_import(library, puts(4), checkpoint="file")[0]) == (1, 0, 3, 0)


def test_a_refused_line_is_imported_in_the_next_run_after_its_cause_is_fixed(library: Office) -> None:
    """An operator forgets to add a prefix, reads the error, adds it, and runs the same file again."""
    entries = [ImportPut(line=1, name="777/a", target=URL), *puts(3, 2)]
    assert counts(run_import(library, entries, checkpoint="file")[0]) == (3, 0, 0, 1)
    library.prefix("777", "chosen")
    run_import(library, entries, checkpoint="file")
    assert exists(library, "777/a")


# Bad entries


def test_bad_entries_are_reported_by_line_and_the_rest_is_imported(library: Office) -> None:
    bad: list[Entry] = [
        ImportPut(line=2, name="no slash", target=URL),
        ImportPut(line=3, name="777/a", target=URL),
        ImportPut(line=4, name=f"{PREFIX}/a", target=URL, state="reserved"),
        ImportPut(line=7, name=f"{PREFIX}/d", target=URL, created="yesterday"),
        ImportPut(line=8, name=f"{PREFIX}/e", target=URL, creator="Jan de Vries"),
        ImportPut(line=9, name=f"{PREFIX}/f", target=URL, reason="it has no state"),
        ImportPut(line=10, name=f"{PREFIX}/g\x07h", target=URL),
        ImportPut(line=11, name="POID-93b0-4476-560e-5ac1", target=URL),
        ImportEdit(line=13, name=f"{PREFIX}/nothing", act="delete"),
        RejectedLine(14, "unreadable"),
    ]
    mixed = [entry for one, good in zip(bad, puts(len(bad), 100), strict=True) for entry in (one, good)]
    tally, problems = run_import(library, mixed)
    assert [problem.line for problem in problems] == [entry.line for entry in bad]
    assert counts(tally) == (len(bad), 0, 0, len(bad))
    assert library.ask(verify) == []
    assert len(library.read(lambda reader: reader.identifiers_after("", 1000, f"{PREFIX}/"))) == len(bad)


def test_a_record_that_is_too_long_to_mint_comes_in_without_its_longest_values(library: Office) -> None:
    most = library.registry.settings.limits.record_bytes
    values = tuple(Value(index, "DESC", Text("x" * 60_000)) for index in range(2, 3 + most // 60_000))
    tally, _ = run_import(library, [ImportPut(line=1, name=f"{PREFIX}/long", values=values)])
    assert counts(tally) == (1, 0, 0, 0)
    assert 0 < tally.left_out == len(values) - len(library.ask(show, f"{PREFIX}/long").values) < 3


def test_an_administrator_index_beyond_the_protocol_is_left_out(library: Office) -> None:
    admin = Admin(AdminRights("0.NA/12345", 2**40, "1" * 12))
    tally, _ = run_import(library, [ImportPut(line=1, name=f"{PREFIX}/a", values=(Value(100, "HS_ADMIN", admin),))])
    assert (counts(tally), tally.left_out) == ((1, 0, 0, 0), 1)
    assert library.ask(show, f"{PREFIX}/a").state == "reserved"


def test_a_person_that_is_refused_leaves_nothing_behind(library: Office) -> None:
    observed = Reconstruction(
        ("POID-93b0-4476-560e-5ac1",), "https://orcid.org/0000-0002-1825-0097", "2025-01-09T10:30:00Z"
    )
    record = Record(
        state="active", creator=library.admin.identifier, created="2025-01-09T10:30:00Z", reconstruction=observed
    )
    before = library.snapshot()
    tally, _ = run_import(library, [whole("PRID-5ccc-3780-8c9c-5a90", record, "ppid", "not its own")])
    assert counts(tally) == (0, 0, 0, 1)
    assert library.snapshot() == before
    assert library.ask(verify) == []


def test_a_missing_observation_refuses_only_its_reconstruction(library: Office) -> None:
    made = Reconstruction(
        ("POID-93b0-4476-560e-5ac1",), "https://orcid.org/0000-0002-1825-0097", "2025-01-09T10:30:00Z"
    )
    raw = ppid.prid_uuid(made.observation_ids, made.curator_id, made.timestamp)
    record = Record(
        state="active", creator=library.admin.identifier, created="2025-01-09T10:30:00Z", reconstruction=made
    )
    tally, [refused] = run_import(library, [whole(ppid.uuid_to_ppid(raw, "PRID"), record, "ppid", str(raw))])
    assert counts(tally) == (0, 0, 0, 1)
    assert "POID-93b0-4476-560e-5ac1" in refused.reason
    assert library.ask(verify) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "prefix", "key": "777", "name": "777", "scheme": "handle", "minter": "pilin", "last": "soon"},
        {"kind": "prefix", "key": "777", "name": "777", "scheme": "handle", "minter": "pilin", "last": "1/0"},
        {"kind": "prefix", "key": "777", "name": "888", "scheme": "handle", "minter": "pilin"},
        {"kind": "prefix", "key": "777\x1b", "name": "777\x1b", "scheme": "handle", "minter": "pilin"},
        {"kind": "prefix", "key": "777", "name": "777", "scheme": "handle", "minter": "magic"},
        {"kind": "prefix", "key": "777", "name": "777", "scheme": "handle", "minter": "pilin", "pass_through": "yes"},
        {"kind": "prefix", "key": "poid", "name": "POID", "scheme": "ppid", "minter": "ppid", "pass_through": True},
        {"kind": "prefix", "key": "777"},
        {"kind": "agent", "id": "x", "name": "\x1b[31m", "identifier": "https://example.org/x", "created": EARLIER},
        {"kind": "agent", "id": "x", "name": "X", "identifier": "javascript:alert(1)", "created": EARLIER},
        {"kind": "grant", "agent": "admin", "scope": "777", "action": "mint"},
        {"kind": "registry", "ppid_namespace": "00000000-0000-0000-0000-000000000000"},
    ],
)
def test_an_invalid_entry_of_a_registry_is_refused_and_the_rest_is_imported(
    library: Office, fields: dict[str, Any]
) -> None:
    before = library.snapshot()
    setting = RegistryPart(
        line=1, kind=fields["kind"], fields={name: fields[name] for name in fields if name != "kind"}
    )
    tally, _ = run_import(library, [setting])
    assert counts(tally) == (0, 0, 0, 1)
    assert library.snapshot() == before
    assert counts(run_import(library, [setting, *puts(2, 2)])[0]) == (2, 0, 0, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"record": {"creator": "javascript:alert(1)"}},
        {"record": {"created": "never"}},
        {"record": {"alias": "nonsense"}},
        {"record": {"alias": "12345/other"}},
        {"record": {"state": "withdrawn"}},
        {"record": {"created": None}},
        {"at": "AAAA-01-02T03:04:05.000000Z"},
        {"at": "2020-01-02T03:04:05Z"},
        {"version": 2},
        {"action": "\x1b[31m"},
    ],
)
def test_an_impossible_history_is_refused(library: Office, change: dict[str, Any]) -> None:
    record = msgspec.structs.replace(active(library), **change.get("record", {}))
    others = {name: change[name] for name in change if name != "record"}
    revision = msgspec.structs.replace(PastRevision(1, EARLIER, "somebody", "mint", record), **others)
    before = library.snapshot()
    tally, _ = run_import(library, [FullHistory(line=1, name=f"{PREFIX}/a", scheme="handle", revisions=(revision,))])
    assert counts(tally) == (0, 0, 0, 1)
    assert library.snapshot() == before


def test_strict_stops_at_the_first_bad_line_and_says_which(library: Office) -> None:
    entries = [*puts(CHUNK), ImportPut(line=4711, name="777/a", target=URL), *puts(5, 5000)]
    with pytest.raises(InvalidInput, match=r"line 4711: .*777"):
        run_import(library, entries, strict=True)
    names = library.read(lambda reader: {row.name for row in reader.identifiers_after("", 10_000, f"{PREFIX}/")})
    assert names <= {f"{PREFIX}/{number}" for number in range(1, CHUNK + 1)}
    assert library.contradictions() == []


def test_strict_continues_after_the_line_is_corrected(library: Office) -> None:
    entries: list[Entry] = [*puts(CHUNK + 10), ImportPut(line=CHUNK + 11, name="777/a", target=URL)]
    with pytest.raises(InvalidInput):
        run_import(library, entries, strict=True, checkpoint="file")
    library.prefix("777", "chosen")
    tally, _ = run_import(library, entries, strict=True, checkpoint="file")
    assert counts(tally) == (CHUNK + 11, 0, 0, 0)


def test_a_dry_run_counts_the_same_and_writes_nothing(library: Office) -> None:
    run_import(library, puts(5))
    entries: list[Entry] = [
        *puts(10),
        ImportPut(line=11, name=f"{PREFIX}/3", target="https://example.org/other"),
        ImportEdit(line=12, name=f"{PREFIX}/4", act="delete"),
        ImportPut(line=13, name="777/a", target=URL),
        RegistryPart(
            line=14, kind="prefix", fields={"key": "778", "name": "778", "scheme": "handle", "minter": "uuid"}
        ),
    ]
    before = library.snapshot()
    dry, problems = run_import(library, entries, dry_run=True, checkpoint="file")
    assert library.snapshot() == before
    wet, problems_then = run_import(library, entries, checkpoint="file")
    assert counts(dry) == counts(wet) == (6, 1, 5, 2)
    assert problems == problems_then


def test_a_dry_run_of_a_long_file_counts_the_same(library: Office) -> None:
    """A chunk depends on what the chunk before it would import."""
    prefix = {"key": "777", "name": "777", "scheme": "handle", "minter": "chosen"}
    entries: list[Entry] = [
        RegistryPart(line=1, kind="prefix", fields=prefix),
        *(ImportPut(line=number, name=f"777/{number}", target=URL) for number in range(2, CHUNK + 100)),
    ]
    dry, _ = run_import(library, entries, dry_run=True)
    assert not exists(library, "777/2")
    assert counts(dry) == counts(run_import(library, entries)[0])


# Prefixes whose minter makes names


def test_names_under_a_pilin_prefix_need_an_option(office: Office) -> None:
    office.prefix("12346")
    entries = [
        ImportPut(line=1, name="12346/thesis-1", target=URL),
        ImportPut(line=2, name="12346/Y35XYS0QH", target=URL),
    ]
    tally, problems = run_import(office, entries)
    assert counts(tally) == (0, 0, 0, 2)
    assert all("any suffix" in problem.reason for problem in problems)
    assert counts(run_import(office, entries, any_suffix=True)[0]) == (2, 0, 0, 0)
    assert office.ask(resolve, "12346/thesis-1").target == URL
    assert office.ask(verify) == []


def test_an_imported_suffix_is_not_minted_again(office: Office) -> None:
    office.prefix("12346")
    milliseconds = int((NOON - pilin.EPOCH_POSIX) * 1000)
    coming = [pilin.encode(milliseconds + step) for step in range(3)]
    run_import(office, [ImportPut(line=1, name=f"12346/{suffix}", target=URL) for suffix in coming], any_suffix=True)
    minted = [one.name.partition("/")[2] for one in office.do(mint, "12346", 3)]
    assert not set(minted) & set(coming)


def test_the_sequential_minter_skips_imported_numbers(office: Office) -> None:
    office.prefix("777", "sequential")
    [first] = office.do(mint, "777")
    number = int(first.name.partition("/")[2])
    run_import(office, [ImportPut(line=1, name=f"777/{number + 1}", target=URL)])
    assert [one.name for one in office.do(mint, "777", 2)] == [f"777/{number + 2}", f"777/{number + 3}"]


# Authority


def test_an_import_needs_the_grant_to_import_under_each_prefix(library: Office) -> None:
    library.prefix("777", "chosen")
    loader = library.hire("loader", PREFIX, "import")
    entries = [ImportPut(line=1, name=f"{PREFIX}/a", target=URL), ImportPut(line=2, name="777/a", target=URL)]
    tally, [refused] = run_import(library, entries, by=loader)
    assert counts(tally) == (1, 0, 0, 1)
    assert refused.line == 2
    assert not exists(library, "777/a")


@pytest.mark.parametrize("action", ["mint", "edit", "withdraw"])
def test_other_grants_do_not_allow_an_import(library: Office, action: str) -> None:
    library.do(mint, PREFIX, statement=Statement(URL), suffixes=["old"])
    helper = library.hire("helper", PREFIX, action)
    before = library.snapshot()
    entries = [
        ImportPut(line=1, name=f"{PREFIX}/a", target=URL),
        ImportPut(line=2, name=f"{PREFIX}/old", target="https://example.org/mine"),
        ImportEdit(line=3, name=f"{PREFIX}/old", act="delete"),
    ]
    assert counts(run_import(library, entries, by=helper, update=True)[0]) == (0, 0, 0, 3)
    assert library.snapshot() == before


def test_a_line_with_history_needs_an_administrator_of_everything(library: Office) -> None:
    loader = library.hire("loader", "*", "import", "mint", "edit")
    library.do(grant, "loader", PREFIX, ["admin"])
    prefix = {"key": "777", "name": "777", "scheme": "handle", "minter": "chosen"}
    entries = [whole(f"{PREFIX}/a", active(library)), RegistryPart(line=2, kind="prefix", fields=prefix)]
    before = library.snapshot()
    assert counts(run_import(library, entries, by=loader)[0]) == (0, 0, 0, 2)
    assert library.snapshot() == before
    library.do(grant, "loader", "*", ["admin"])
    assert counts(run_import(library, entries, by=loader)[0]) == (2, 0, 0, 0)


def test_a_revoked_grant_stops_a_running_import(library: Office) -> None:
    loader = library.hire("loader", PREFIX, "import")

    def entries() -> Iterator[Entry]:
        for number, entry in enumerate(puts(3 * CHUNK)):
            if number == 2 * CHUNK + 1:
                # Another thread's loop: the import waits for its entries on this one.
                _run_in_thread(library, revoke, "loader", PREFIX)
            yield entry

    tally, _ = run_import(library, entries(), by=loader)
    assert tally.refused >= CHUNK - 1


def _run_in_thread(office: Office, use_case: Any, *arguments: Any) -> None:
    thread = threading.Thread(target=lambda: asyncio.run(use_case(office.registry, office.admin, *arguments)))
    thread.start()
    thread.join()


# Batch files and tables


def test_edits_of_a_batch_file_are_applied(library: Office) -> None:
    library.do(mint, PREFIX, statement=Statement(URL, (Value(2, "EMAIL", Text("a@example.org")),)), suffixes=["a"])
    text = f"""ADD {PREFIX}/a
3 DESC 86400 1110 UTF8 added

MODIFY {PREFIX}/a
1 URL 86400 1110 UTF8 https://example.org/new

REMOVE 2:{PREFIX}/a

DELETE {PREFIX}/a
"""
    tally, problems = run_import(library, batch_file.read(enumerate(text.splitlines(), 1)))
    assert (counts(tally), problems) == ((0, 4, 0, 0), [])
    view = library.ask(show, f"{PREFIX}/a")
    assert (view.state, [value.index for value in view.values]) == ("withdrawn", [1, 3])
    assert library.ask(find_by_value, URL) == []


def test_a_modification_of_a_missing_value_is_refused(library: Office) -> None:
    library.do(mint, PREFIX, statement=Statement(URL), suffixes=["a"])
    edits = [
        ImportEdit(line=1, name=f"{PREFIX}/a", act="modify", values=(Value(9, "DESC", Text("x")),)),
        ImportEdit(line=2, name=f"{PREFIX}/a", act="add", values=(Value(1, "URL", Text("https://example.org/new")),)),
    ]
    assert counts(run_import(library, edits)[0]) == (0, 0, 0, 2)
    assert len(library.ask(history, f"{PREFIX}/a")) == 1


def test_a_table_of_handles_is_imported_with_its_timestamps(library: Office) -> None:
    header = ",".join(handles_table.HANDLE_COLUMNS)
    admin = r"\x07f30000000a302e4e412f3132333435000000c8"
    text = f"""{header}
{PREFIX}/a,1,URL,{URL},0,86400,1182480826,,1,1,1,0
{PREFIX}/a,100,HS_ADMIN,{admin},1,1893456000,1182480827,,1,1,0,0
"""
    run_import(library, handles_table.read_handles(read_rows(text.splitlines(keepends=True))))
    view = library.ask(show, f"{PREFIX}/a", by=library.admin)
    assert view.authority.created == instant.to_iso(1182480826)
    assert view.authority.updated == instant.to_iso(1182480827)
    assert view.values[1] == Value(
        100,
        "HS_ADMIN",
        Admin(AdminRights("0.NA/12345", 200, "011111110011")),
        instant.to_iso(1182480827),
        "2030-01-01T00:00:00Z",
        "1100",
    )


# Size


def test_memory_does_not_grow_with_the_file(library: Office) -> None:
    """Most of these lines are rejected, so that a long file takes little time; none of them may stay in memory."""
    total = 200_000
    peaks: list[int] = []

    def entries() -> Iterator[Entry]:
        for number in range(total):
            if number in (20_000, total - 1):
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.reset_peak()
            yield RejectedLine(number, "no")

    seen = 0

    def count(problem: RejectedLine | Notice) -> None:
        nonlocal seen
        seen += 1

    tracemalloc.start()
    try:
        tally = library.do(import_entries, entries(), report=count)
    finally:
        tracemalloc.stop()
    assert (tally.refused, seen) == (total, total)
    early, late = peaks
    assert late < early + 2_000_000


def test_an_import_into_another_registry_does_not_share_its_checkpoint(
    library: Office, store_factory: Any, runner: Any
) -> None:
    run_import(library, puts(3), checkpoint="file")
    other = open_office(runner, store_factory("other"))
    other.do(add_prefix, PREFIX, minter="chosen")
    assert counts(run_import(other, puts(3), checkpoint="file")[0]) == (3, 0, 0, 0)


def test_another_agent_with_the_same_id_gets_nothing(library: Office) -> None:
    """Every registry has an `admin`: that of another registry must not pass its grants to ours."""
    library.prefix("555", "chosen")
    maria = library.hire("maria")
    fields = {"id": "maria", "name": "Another", "identifier": "https://example.org/another", "created": EARLIER}
    given = {"agent": "maria", "scope": "555", "action": "admin", "identifier": "https://example.org/another"}
    tally, problems = run_import(
        library, [RegistryPart(line=1, kind="agent", fields=fields), RegistryPart(line=2, kind="grant", fields=given)]
    )
    assert (counts(tally), tally.notices) == ((0, 0, 0, 0), 2)
    assert [type(one) for one in problems] == [Notice, Notice]
    assert library.read(lambda reader: reader.grants(maria.id)) == []


def test_the_grant_to_import_allows_neither_changes_nor_withdrawals(library: Office) -> None:
    run_import(library, puts(2))
    jan = library.hire("jan", PREFIX, "import")
    edits: list[Entry] = [
        ImportEdit(line=1, name=f"{PREFIX}/1", act="delete"),
        ImportEdit(line=2, name=f"{PREFIX}/2", act="add", values=(Value(5, "EMAIL", Text("a@example.org")),)),
        ImportPut(line=3, name=f"{PREFIX}/2", target="https://example.org/other"),
    ]
    problems: list[RejectedLine | Notice] = []
    tally = library.by(jan, import_entries, edits, ImportOptions(update=True), report=problems.append)
    assert counts(tally) == (0, 0, 0, 3)
    assert all("no grant" in one.reason for one in problems)


def test_a_pair_whose_other_label_is_taken_leaves_nothing_behind(library: Office) -> None:
    library.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    minted = library.do(mint, "sid.inpe.br/mtc-m18", statement=Statement(URL))[0]
    record = msgspec.structs.replace(active(library), alias=minted.alias)
    other = "sid.inpe.br/mtc-m18/2009/02.16.17.46"
    before = library.snapshot()
    tally, _ = run_import(library, [whole(other, record, "ibi")])
    assert counts(tally) == (0, 0, 0, 1)
    assert library.snapshot() == before
    assert library.ask(verify) == []
