"""Tests of `perdure check`."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run

GOOD = "POID-93b0-4476-560e-5ac1"
BAD = "POID-93b0-4476-560e-5ac2"


def check_report(run: Run, *arguments: str, stdin: str | bytes = "") -> tuple[int, dict[str, object]]:
    done = run("check", "--json", *arguments, stdin=stdin)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def test_only_valid_lines_give_exit_code_0(run: Run) -> None:
    code, found = check_report(run, "-", stdin=f"{GOOD}\n{GOOD.lower()}\n10.1000/182\n\n")
    assert code == 0
    assert (found["total"], found["valid"], found["invalid"], found["blank_lines"]) == (3, 3, 0, 1)
    assert found["valid_by_scheme"] == {"ppid": 2, "handle": 1}


def test_an_invalid_line_gives_exit_code_1_and_a_suggestion(run: Run) -> None:
    code, found = check_report(run, "-", stdin=f"{GOOD}\n{BAD}\n102.100.272/Y35XYSOQH\n0000-0002-1825-0098\nhello\n")
    assert code == 1
    problems = {p["line"]: p for p in found["problems"]}  # type: ignore[attr-defined]
    assert problems[2]["suggestion"] == GOOD
    assert problems[3]["suggestion"] == "102.100.272/Y35XYS0QH"
    assert problems[4]["suggestion"] == "0000-0002-1825-0097"
    assert problems[5]["suggestion"] is None
    assert {(r["scheme"], r["part"]): r["count"] for r in found["invalid_by_reason"]} == {  # type: ignore[attr-defined]
        ("ppid", "check digit"): 1,
        ("pilin", "letter for a digit"): 1,
        ("orcid", "check digit"): 1,
        ("unknown", "not recognised"): 1,
    }


def test_the_report_for_people_has_counts_and_reasons(quick: Run) -> None:
    done = quick("check", "--show", "1", "-", stdin=f"{BAD}\n{BAD}\n{GOOD}\n")
    assert done.returncode == 1
    assert "the check digit is 2 and should be 1" in done.stdout
    assert "and 1 more" in done.stdout
    assert "1 valid, 2 invalid" in done.stdout


@pytest.mark.parametrize(
    "data",
    [
        b"A\nB\n", b"A\r\nB\r\n", b"A\nB", b"\xef\xbb\xbfA\nB\n",
    ],
    ids=["unix", "windows", "no newline at the end", "byte order mark"],
)  # fmt: skip
def test_all_line_ends_and_byte_order_marks_are_read(quick: Run, data: bytes) -> None:
    text = data.replace(b"A", GOOD.encode()).replace(b"B", BAD.encode())
    _, found = check_report(quick, "-", stdin=text)
    assert (found["valid"], found["invalid"]) == (1, 1)
    assert found["problems"][0]["line"] == 2  # type: ignore[index]


def test_lines_longer_than_any_chunk_are_one_problem(quick: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("long.txt").write_bytes(b"x" * 3_000_000 + b"\n" + GOOD.encode() + b"\n")
    _, found = check_report(quick, "long.txt")
    assert (found["valid"], found["invalid"]) == (1, 1)
    assert found["problems"][0]["part"] == "length"  # type: ignore[index]


def test_an_identifier_of_another_scheme_than_the_expected_one_is_invalid(quick: Run) -> None:
    code, found = check_report(quick, "--scheme", "ppid", "-", stdin=f"{GOOD}\n10.1000/182\n")
    assert code == 1
    assert found["problems"][0]["reason"] == "this is handle, not ppid"  # type: ignore[index]
    code, found = check_report(quick, "--scheme", "handle", "-", stdin="8JMKD3MGP8W/34PGRBS\n")
    assert (code, found["valid_by_scheme"]) == (0, {"handle": 1})


@pytest.mark.parametrize("arguments", [["--column", "id"], ["--column", "2"], ["--column", "ID"]])
def test_a_column_of_a_table(quick: Run, tmp_path: Path, arguments: list[str]) -> None:
    tmp_path.joinpath("t.csv").write_text(f'name,id\n"Jan, the first",{GOOD}\n"two\nlines",{BAD}\nshort\n', "utf-8")
    code, found = check_report(quick, *arguments, "t.csv")
    assert code == 1
    lines = [problem["line"] for problem in found["problems"]]  # type: ignore[attr-defined]
    assert lines == ([1, 4] if arguments[1] == "2" else [4])  # with a number there is no heading
    assert found["valid"] == 1


def test_a_tsv_file_and_other_separators(quick: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("t.tsv").write_text(f"a\tb\n1\t{GOOD}\n", "utf-8")
    assert check_report(quick, "--column", "b", "t.tsv")[0] == 0
    tmp_path.joinpath("t.txt").write_text(f"a;b\n1;{GOOD}\n", "utf-8")
    assert check_report(quick, "--column", "b", "--delimiter", ";", "t.txt")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.txt"], "No such file"),
        (["."], "directory"),
        (["--column", "x", "t.csv"], "column 'x' not found, or not unique; the first line has: a, b"),
        (["--column", "3", "t.csv"], "the first line has 2"),
        (["--column", "0", "t.csv"], "column 0 not found"),
        (["--column", "a", "--delimiter", "::", "t.csv"], "one character"),
        (["--column", "a", "--delimiter", '"', "t.csv"], "not a quotation mark"),
        (["--column", "", "t.csv"], "not unique"),
        (["--problems", "t.csv", "t.csv"], "is the input file"),
        (["--scheme", "isbn", "t.csv"], "isbn"),
    ],
)
def test_an_error_is_reported_with_exit_code_2(quick: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    tmp_path.joinpath("t.csv").write_text(f"a,b\n1,{GOOD}\n", "utf-8")
    done = quick("check", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert tmp_path.joinpath("t.csv").read_text("utf-8").startswith("a,b")


def test_every_problem_goes_to_a_file(run: Run, tmp_path: Path) -> None:
    run(
        "check",
        "--show",
        "0",
        "--problems",
        "p.ndjson",
        "-",
        stdin=(BAD.encode() + b"\n") * 50 + b"caf\xe9\n",
    )
    lines = [json.loads(line) for line in tmp_path.joinpath("p.ndjson").read_text("utf-8").splitlines()]
    assert len(lines) == 51
    assert lines[0]["suggestion"] == GOOD
    assert lines[50]["part"] == "encoding"


MEASURED = """
import sys
from perdure.cli import main
try:
    main()
finally:
    with open("/proc/self/status") as status:
        print(next(line.split()[1] for line in status if line.startswith("VmHWM")), file=sys.stderr)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc, which is Linux's")
def test_a_long_list_takes_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    peaks = []
    for count in (50_000, 1_000_000):
        path = tmp_path / f"{count}.txt"
        path.write_text((f"{GOOD}\n" * 99 + f"{BAD}\n") * (count // 100), "utf-8")
        command = [sys.executable, "-c", MEASURED, "check", "--json", str(path)]
        done = subprocess.run(command, capture_output=True, check=False)
        assert json.loads(done.stdout)["invalid"] == count // 100
        peaks.append(int(done.stderr))
    assert peaks[1] < peaks[0] * 1.2


def test_a_stray_quotation_mark_hides_no_line(quick: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("t.tsv").write_text(f'title\tid\n5" disk\t{GOOD}\nx\t{BAD}\n', "utf-8")
    code, found = check_report(quick, "--column", "id", "t.tsv")
    assert (code, found["valid"], found["invalid"]) == (1, 1, 1)
    tmp_path.joinpath("t.csv").write_text(f'title,id\n"5,{GOOD}\nx,{BAD}\n', "utf-8")
    code, found = check_report(quick, "--column", "id", "t.csv")
    assert (code, found["valid"], found["invalid"]) == (1, 0, 2)
    opened, wrong = found["problems"]  # type: ignore[misc]
    assert (opened["line"], opened["part"]) == (2, "row")
    assert "quotation mark" in opened["reason"]
    assert (wrong["line"], wrong["text"]) == (3, BAD)


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (b"\x1f\x8b\x08", "zcat"),
        (b"PK\x03\x04", "CSV"),
        (GOOD.encode("utf-16-le"), "null bytes"),
        (GOOD.encode("utf-16"), "UTF-8"),
    ],
    ids=["gzip", "xlsx", "utf-16 without a mark", "utf-16"],
)
def test_a_binary_file_is_refused_with_advice(quick: Run, data: bytes, advice: str) -> None:
    done = quick("check", "-", stdin=data)
    assert done.returncode == 2
    assert advice in done.stderr


def test_lines_that_are_not_utf_8_are_named(run: Run) -> None:
    _, found = check_report(run, "-", stdin=b"10.1000/caf\xe9\n10.1000/caf\xc3\xa9\n")
    assert (found["valid"], found["problems"][0]["part"]) == (1, "encoding")  # type: ignore[index]


def test_unlikely_handles_are_counted_as_doubtful(quick: Run) -> None:
    code, found = check_report(quick, "-", stdin="n/a\nand/or\n10.1000/182\n")
    assert (code, found["valid"], found["doubtful"]) == (0, 3, 2)


def test_empty_input_is_reported(quick: Run) -> None:
    done = quick("check", "-", stdin="\n\n")
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing to check" in done.stderr


def test_a_suggestion_is_never_cut(run: Run) -> None:
    done = run("check", "-", stdin=BAD + "\n", env={"COLUMNS": "60"})
    assert GOOD in done.stdout


def _restore_sigint() -> None:
    """Restore the handler of Ctrl-C, which shells disable for background processes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_the_check_with_one_line() -> None:
    command = [sys.executable, "-m", "perdure", "check", "-"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_restore_sigint,
    ) as process:
        assert process.stdin
        assert process.stderr
        process.stdin.write(
            b"2142/1\n" * 20_000
        )  # more than the pipe holds, so the command is running when this returns
        process.stdin.flush()
        process.send_signal(signal.SIGINT)  # while the input is open, so the command cannot have ended
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == b"perdure: interrupted\n"
