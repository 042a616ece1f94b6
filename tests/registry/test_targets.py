"""A target without a host is refused by every API; a stored one is preserved and shown."""

from collections.abc import Callable

import msgspec
import pytest
from tests.registry_fixture import Office, write_unchecked

from perdure.errors import InvalidInput
from perdure.formats import batch_file, handles_table, identifiers_csv, ndjson
from perdure.formats.csv_rows import read_rows
from perdure.formats.import_entries import Entry, FullHistory, Notice, PastRevision
from perdure.records.locations import read_locations
from perdure.records.person import Claim
from perdure.records.record import Record
from perdure.records.validation import Limits
from perdure.records.value import Text, Value
from perdure.registry import (
    ImportOptions,
    Statement,
    add_agent,
    add_values,
    bind,
    export,
    import_entries,
    mint,
    observe,
    put_handle,
    put_values,
    reconstruct,
    resolve,
    show,
    update,
    verify,
    withdraw,
)

BAD = ["https://#", "https://\\x", "http://%00/", "https://a:65536/"]
RIGHT = "https://bücher.example/ä"
AT = "2025-01-09T10:30:00Z"
HASH = "a" * 64
POID = "POID-2829-94a2-2268-5679"


@pytest.fixture
def library(office: Office) -> Office:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["a"], statement=Statement("https://example.org/"))
    office.do(mint, "12345", suffixes=["reserved"])
    assert office.do(observe, "https://example.org/", AT, HASH).name == POID
    return office


def _url(target: str, index: int = 1) -> Value:
    return Value(index, "URL", Text(target))


def _locations(*targets: str) -> Value:
    """Return a list of locations, of which the last may be invalid."""
    hrefs = "".join(f'<location href="{target}"/>' for target in targets)
    return Value(6, "10320/loc", Text(f"<locations>{hrefs}</locations>"))


WRITES: dict[str, Callable[[Office, str], object]] = {
    "mint": lambda office, target: office.do(mint, "12345", suffixes=["n"], statement=Statement(target)),
    "mint a value": lambda office, target: office.do(mint, "12345", suffixes=["n"], statement=Statement(values=(_url(target),))),
    "bind": lambda office, target: office.do(bind, "12345/reserved", Statement(target)),
    "update": lambda office, target: office.do(update, "12345/a", Statement(target)),
    "add a value": lambda office, target: office.do(add_values, "12345/a", [_url(target, 5)]),
    "add a location": lambda office, target: office.do(add_values, "12345/a", [_locations("https://example.org/", target)]),
    "put a handle": lambda office, target: office.do(put_handle, "12345/n", [_url(target)]),
    "put a value": lambda office, target: office.do(put_values, "12345/a", [_url(target)]),
    "observe": lambda office, target: office.do(observe, target, AT, HASH),
    "holding archive": lambda office, target: office.do(observe, "https://example.org/page", AT, HASH, holding_archive=target),
    "type of a claim": lambda office, target: office.do(observe, "https://example.org/page", AT, HASH, claims=[Claim(type=target, value="x")]),
    "curator": lambda office, target: office.do(reconstruct, [POID], target, AT),
}  # fmt: skip
PARTIES: dict[str, Callable[[Office, str], object]] = {
    "owner": lambda office, target: office.do(update, "12345/a", Statement(owners=(target,))),
    "creator": lambda office, target: office.do(mint, "12345", suffixes=["n"], statement=Statement(creator=target)),
    "replacement": lambda office, target: office.do(withdraw, "12345/a", "a test", replaced_by=target),
    "agent": lambda office, target: office.do(add_agent, "eve", "Eve", identifier=target),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=list(WRITES))
def test_every_write_refuses_a_target_without_a_host_and_accepts_one_in_another_script(
    library: Office, write: Callable[[Office, str], object]
) -> None:
    before = library.snapshot()
    for target in BAD:
        with pytest.raises(InvalidInput):
            write(library, target)
    assert library.snapshot() == before
    write(library, RIGHT)


@pytest.mark.parametrize("write", PARTIES.values(), ids=list(PARTIES))
def test_parties_without_a_host_are_refused_as_well(library: Office, write: Callable[[Office, str], object]) -> None:
    before = library.snapshot()
    for target in (one for one in BAD if one.startswith("https:")):
        with pytest.raises(InvalidInput):
            write(library, target)
    assert library.snapshot() == before
    write(library, RIGHT)


def _batch(target: str) -> list[Entry]:
    lines = f"CREATE 12345/n\n1 URL 86400 1110 UTF8 {target}\n\nMODIFY 12345/a\n1 URL 86400 1110 UTF8 {target}\n"
    return list(batch_file.read(enumerate(lines.splitlines(), 1)))


def _ndjson(target: str) -> list[Entry]:
    named = {"name": "12345/n", "target": target}
    value = {"index": 1, "type": "URL", "data": {"format": "string", "value": target}}
    lines = [named, {"name": "12345/m", "values": [value]}]
    return list(ndjson.read((number, msgspec.json.encode(line)) for number, line in enumerate(lines, 1)))


def _whole(target: str) -> list[Entry]:
    """Return a history with the target in its first version only."""
    records = [
        Record(state="active", creator="hdl:12345/a", created=AT, values=(_url(one),))
        for one in (target, "https://example.org/")
    ]
    past = [PastRevision(n, "2025-01-09T10:30:00.000000Z", "x", "set", one) for n, one in enumerate(records, 1)]
    return [FullHistory(line=1, name="12345/n", scheme="handle", revisions=tuple(past))]


FILES: dict[str, Callable[[str], list[Entry]]] = {
    "csv": lambda target: list(identifiers_csv.read_identifiers(read_rows(["name,target\n", f"12345/n,{target}\n"]))),
    "column": lambda target: list(identifiers_csv.read_identifiers(read_rows(["name,URL\n", f"12345/n,{target}\n"]))),
    "handles": lambda target: list(handles_table.read_handles(read_rows(["handle,idx,type,data\n", f"12345/n,1,URL,{target}\n"]))),
    "batch": _batch,
    "ndjson": _ndjson,
    "whole": _whole,
}  # fmt: skip


@pytest.mark.parametrize("entries", FILES.values(), ids=list(FILES))
@pytest.mark.parametrize("dry_run", [False, True], ids=["", "dry run"])
def test_a_target_in_a_file_is_imported_verbatim_line_by_line(
    library: Office, entries: Callable[[str], list[Entry]], dry_run: bool
) -> None:
    before = library.snapshot()
    problems: list[object] = []
    lines = entries(BAD[0])
    tally = library.do(import_entries, lines, ImportOptions(dry_run=dry_run, update=True), report=problems.append)
    assert (tally.refused, tally.created + tally.changed, tally.verbatim) == (0, len(lines), len(lines))
    assert len(problems) == len(lines)
    assert all(isinstance(one, Notice) and "is not a valid address" in one.reason for one in problems)
    assert (library.snapshot() == before) == dry_run
    assert library.ask(verify) == []
    assert library.do(import_entries, entries(RIGHT), ImportOptions(dry_run=True)).verbatim == 0


def test_a_list_of_locations_leads_only_to_hosts() -> None:
    found = read_locations(_locations(*BAD, RIGHT), Limits())
    assert found is not None
    assert [one.href for one in found.all] == [RIGHT]


def test_an_invalid_target_from_before_is_read_exported_reported_and_replaced(library: Office) -> None:
    for target in BAD:
        dated = msgspec.structs.replace(_url(target), timestamp=AT)
        library.run(write_unchecked(library.registry, library.admin, "12345/a", dated))
        assert library.ask(resolve, "12345/a").target == target
        assert library.ask(show, "12345/a").target == target
        for form in ("ndjson", "csv", "batch", "handles"):
            written = msgspec.json.encode(target).strip(b'"') if form == "ndjson" else target.encode()
            assert written in _write_export(library, form)
        (problem,) = library.ask(verify)
        assert "12345/a: one of its values is not valid any more" in problem
        library.do(update, "12345/a", Statement("https://example.org/"))
        assert library.ask(verify) == []


def _write_export(office: Office, format: str) -> bytes:
    async def collect() -> bytes:
        return b"".join([data async for _, data in export(office.registry, office.admin, format)])  # type: ignore[arg-type]

    return office.run(collect())
