"""Tests of `perdure person import`: CSV and NDJSON, line by line, once and again."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.test_registry_commands import Desk

from perdure.cli import person_import
from perdure.folder.registry_folder import make_registry

WHEN = "2025-01-09T10:30:00Z"
TABLE = """Link;Naam;Geboren;Folio
https://example.org/1;Jan de Vries;1895-03~;12
https://example.org/2;"Aaltje ""de"" Boer";;13
"""
COLUMNS = (
    *("--map", "source_url=Link", "--map", "name=Naam", "--map", "birth_date=Geboren", "--map", "page=Folio"),
    *("--set", f"retrieval_timestamp={WHEN}"),
)
BAD = "https://example.org/3;Piet;yesterday;14\n;Kee;1900;15\n"


@pytest.fixture
def desk(quick: Run, tmp_path: Path) -> Desk:
    created = asyncio.run(make_registry(tmp_path, name="The Archive"))
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "bad.csv").write_text(TABLE + BAD)
    return Desk(quick, tmp_path, created.key)


def observation_line(number: int, **more: object) -> str:
    fields = {"source_url": f"https://example.org/{number}", "retrieval_timestamp": WHEN, "content_hash": "0" * 64}
    return json.dumps(fields | more) + "\n"


def import_counts(desk: Desk, *arguments: str, code: int = 0) -> tuple[int, int, int]:
    counts = desk.json("person", "import", *arguments, code=code)
    return counts["created"], counts["unchanged"], counts["refused"]


def find_names(desk: Desk, word: str) -> list[str]:
    return [one.split("\t")[0] for one in desk.run("search", word).stdout.splitlines()]


def test_a_table_is_imported_once(desk: Desk) -> None:
    assert desk.ok("person", "import", "table.csv", *COLUMNS) == "2 created, 0 unchanged, 0 refused\n"
    [name] = find_names(desk, "vries")
    seen = desk.json("person", "show", name)["observation"]
    assert seen["claims"] == [
        {"type": "name", "value": "Jan de Vries", "where": {"page": "12"}},
        {"type": "birth_date", "value": "1895-03~", "where": {"page": "12"}},
    ]
    assert desk.json("person", "history", name)["note"] == "imported from table.csv"
    again = desk.ok("person", "import", "table.csv", *COLUMNS)
    assert again == "All 2 observations exist already; nothing was created.\n"


def test_ndjson_is_imported_from_a_file_or_from_standard_input(desk: Desk) -> None:
    text = observation_line(
        1, claims=[{"type": "name", "value": {"given_name": "Jan", "base_surname": "Vries"}}]
    ) + observation_line(2)
    (desk.folder / "seen.ndjson").write_text(text)
    assert import_counts(desk, "seen.ndjson") == (2, 0, 0)
    assert desk.ok("person", "import", "-", "--format", "ndjson", stdin=text).startswith("All 2")
    assert len(find_names(desk, "vries")) == 1


def test_bad_lines_are_named_and_the_rest_is_imported(desk: Desk) -> None:
    done = desk.run("person", "import", "bad.csv", *COLUMNS)
    assert (done.returncode, done.stdout) == (1, "2 created, 0 unchanged, 2 refused\n")
    first, second = done.stderr.splitlines()
    assert first.startswith("perdure: line 4: claims[2].value (birth_date): 'yesterday' is not an EDTF date")
    assert second == "perdure: line 5: the source_url is missing"


def test_all_problems_go_into_a_file(desk: Desk) -> None:
    assert import_counts(desk, "bad.csv", *COLUMNS, "--problems", "refused.ndjson", code=1) == (2, 0, 2)
    problems = [json.loads(one) for one in (desk.folder / "refused.ndjson").read_text().splitlines()]
    assert [(one["line"], one["part"], one["rule"]) for one in problems] == [
        (4, "claims[2].value", None),
        (5, "source_url", "POID must have source"),
    ]
    assert "is the input file" in desk.refuses("person", "import", "bad.csv", *COLUMNS, "--problems", "bad.csv")


def test_an_invalid_timestamp_is_reported_once_with_its_field(desk: Desk) -> None:
    (desk.folder / "seen.ndjson").write_text(observation_line(1, retrieval_timestamp="2025-01-09"))
    done = desk.run("person", "import", "seen.ndjson")
    assert done.stderr.startswith("perdure: line 1: retrieval_timestamp '2025-01-09' is only a date")
    assert import_counts(desk, "seen.ndjson", "--problems", "refused.ndjson", code=1) == (0, 0, 1)
    assert (
        json.loads((desk.folder / "refused.ndjson").read_text()).items()
        >= {"part": "retrieval_timestamp", "rule": "Valid timestamps"}.items()
    )


def test_a_dry_run_reports_and_writes_nothing(desk: Desk) -> None:
    assert import_counts(desk, "bad.csv", *COLUMNS, "--dry-run", code=1) == (2, 0, 2)
    assert find_names(desk, "vries") == []
    output = desk.ok("person", "import", "table.csv", *COLUMNS, "--dry-run")
    assert output == "2 would be created, 0 would be unchanged, 0 would be refused\n"


def test_strict_stops_at_the_first_line_that_is_refused(desk: Desk) -> None:
    (desk.folder / "late.csv").write_text(TABLE + BAD + "https://example.org/6;Trui;1900;16\n")
    done = desk.run("person", "import", "late.csv", *COLUMNS, "--strict")
    assert (done.returncode, done.stdout) == (2, "")
    assert "line 4" in done.stderr
    assert len(find_names(desk, "vries")) == 1
    assert find_names(desk, "trui") == []
    assert import_counts(desk, "table.csv", *COLUMNS, "--strict", "--dry-run") == (0, 2, 0)


def test_the_size_of_chunks_does_not_change_the_result(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_import, "_CHUNK", 3)
    bad = observation_line(4, claims=[{"type": "birth_date", "value": "x"}])
    text = "".join(
        [observation_line(number) for number in range(4)] + [bad] + [observation_line(number) for number in range(2, 9)]
    )
    (desk.folder / "seen.ndjson").write_text(text)
    assert import_counts(desk, "seen.ndjson", code=1) == (9, 2, 1)
    assert import_counts(desk, "seen.ndjson", code=1) == (0, 11, 1)


# The command with a small page cache, because otherwise the cache would be measured.
MEASURED = """
import sys
from perdure.cli import main
from perdure.store.sqlite import store
store.WRITER_CACHE = 2048
try:
    main()
finally:
    with open("/proc/self/status") as status:
        print(next(line.split()[1] for line in status if line.startswith("VmHWM")), file=sys.stderr)
"""
SLACK = 8192  # kibibytes


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc, which is Linux's")
def test_a_long_table_takes_no_more_memory_than_a_short_one_even_if_repeated(tmp_path: Path) -> None:
    def import_lines(count: int) -> tuple[dict[str, int], int]:
        """Return the result, and the peak memory in kibibytes."""
        where = ("--registry", str(tmp_path / f"registry-{count}"))
        command = [sys.executable, "-c", MEASURED, "person", "import", f"{count}.csv", "--json", *where]
        done = subprocess.run(command, capture_output=True, cwd=tmp_path, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), int(done.stderr.split()[-1])

    peaks: dict[int, list[int]] = {5_000: [], 60_000: []}
    for count, needed in peaks.items():
        asyncio.run(make_registry(tmp_path / f"registry-{count}", name="The Archive"))
        with (tmp_path / f"{count}.csv").open("w") as table:
            table.write("source_url,retrieval_timestamp,name,birth_date,residence\n")
            for number in range(count):
                table.write(f"https://example.org/{number},{WHEN},Jan Jansz {number},1895-03~,Straat {number % 977}\n")
        for created, unchanged in ((count, 0), (0, count)):
            counts, peak = import_lines(count)
            assert counts == {"created": created, "unchanged": unchanged, "refused": 0, "dry_run": False}
            needed.append(peak)
    for short, long in zip(*peaks.values(), strict=True):
        assert long < short * 1.1 + SLACK, peaks


def test_an_observation_with_the_same_inputs_and_other_content_is_refused(desk: Desk) -> None:
    (desk.folder / "a.ndjson").write_text(observation_line(1, claims=[{"type": "age", "value": "9"}]))
    (desk.folder / "b.ndjson").write_text(observation_line(1, claims=[{"type": "age", "value": "10"}]))
    assert import_counts(desk, "a.ndjson") == (1, 0, 0)
    done = desk.run("person", "import", "b.ndjson")
    assert done.returncode == 1
    assert "line 1" in done.stderr
    assert "never changes" in done.stderr


def test_skipped_columns_are_named(desk: Desk) -> None:
    (desk.folder / "plain.csv").write_text(
        f"source_url,retrieval_timestamp,name,Remarks\nhttps://e.org/,{WHEN},Jan,x\n"
    )
    done = desk.run("person", "import", "plain.csv")
    assert done.stdout == "1 created, 0 unchanged, 0 refused\n"
    assert "Remarks" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("missing.csv",), ["missing.csv"]),
        (("table.txt",), ["--format"]),
        (("table.csv",), ["source_url", "--map", "Link, Naam"]),
        (("table.csv", *COLUMNS[:4]), ["retrieval_timestamp", "--set"]),
        (("table.csv", *COLUMNS, "--map", "death_date=Overleden"), ["Overleden", "Link, Naam"]),
        (("table.csv", *COLUMNS, "--map", "shoe=Folio"), ["shoe", "not a field"]),
        (("table.csv", *COLUMNS, "--map", "death_date"), ["FIELD=COLUMN"]),
        (("table.csv", *COLUMNS, "--delimiter", "--"), ["one character"]),
        (("table.csv", *COLUMNS, "--delimiter", ","), ["Link;Naam", "--delimiter"]),
        (("table.csv", "--format", "ndjson", *COLUMNS), ["CSV"]),
    ],
)
def test_a_file_that_cannot_be_read_says_what_to_do(
    desk: Desk, arguments: tuple[str, ...], expected: list[str]
) -> None:
    message = desk.refuses("person", "import", *arguments)
    for word in expected:
        assert word in message


def test_an_agent_without_permission_imports_nothing(desk: Desk) -> None:
    desk.ok("agent", "add", "maria", "--name", "Maria", "--identifier", "https://example.org/maria")
    key = desk.json("agent", "key", "maria")["key"]
    assert "mint" in desk.refuses("person", "import", "table.csv", *COLUMNS, env={"PERDURE_KEY": key})


def test_an_unclosed_quotation_mark_is_named_by_its_line_and_loses_no_other_row(desk: Desk) -> None:
    rows = [f"https://example.org/{number};Jan;;{number}" for number in range(300)]
    (desk.folder / "open.csv").write_text("\n".join(["Link;Naam;Geboren;Folio", 'https://e.org/;"Piet;;1', *rows, ""]))
    assert import_counts(desk, "open.csv", *COLUMNS, "--problems", "refused.ndjson", code=1) == (300, 0, 1)
    [problem] = [json.loads(line) for line in (desk.folder / "refused.ndjson").read_text().splitlines()]
    assert problem["line"] == 2
    assert "quotation mark" in problem["reason"]
