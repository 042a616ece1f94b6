"""Tests of `perdure explain` and `perdure tour`."""

import json
import subprocess
import sys

import pytest
from tests.cli.conftest import Run


def test_a_table_shows_scheme_date_and_host(run: Run) -> None:
    done = run("explain", "8JMKD3MGP8W/34PGRBS")
    assert done.returncode == 0
    for fact in (
        "Internet Based Identifier",
        "150.163.34.243",
        "800",
        "2009-02-16T17:46:00Z",
        "could also be",
        "Handle",
    ):
        assert fact in done.stdout


def test_several_identifiers_each_get_a_table(quick: Run) -> None:
    done = quick("explain", "10.1000/182", "POID-93b0-4476-560e-5ac2")
    assert "https://doi.org/10.1000/182" in done.stdout
    assert "the check digit is 2 and should be 1" in done.stdout
    assert "POID-93b0-4476-560e-5ac1" in done.stdout


def test_json_is_one_object_per_line(quick: Run) -> None:
    done = quick("explain", "--json", "10.1000/日本", "hello")
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["input"] == first["canonical"] == "10.1000/日本"
    assert "日本" in done.stdout
    assert first["details"]["prefix"] == "10.1000"
    assert (second["scheme"], second["valid"], second["canonical"]) == ("unknown", False, None)


def test_standard_input_is_read_when_there_is_no_argument(run: Run) -> None:
    done = run("explain", "--json", stdin="10.1000/1\r\n\n  \nQ42\n")
    assert [json.loads(line)["input"] for line in done.stdout.splitlines()] == ["10.1000/1", "Q42"]


def test_bytes_that_are_not_utf_8_are_explained_as_well(run: Run) -> None:
    done = run("explain", "--json", stdin=b"10.1000/caf\xe9\n")
    assert done.returncode == 0
    assert not json.loads(done.stdout)["valid"]


@pytest.mark.parametrize("text", ["10.1/\x1b[31mred", "1/[bold]x[/bold]", "x\x07y"])
def test_control_sequences_are_escaped(quick: Run, text: str) -> None:
    done = quick("explain", text)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert "[bold]x[/bold]" in done.stdout or "bold" not in text


def test_json_is_safe_for_terminals_too(quick: Run) -> None:
    text = "10.1/\x9b31m\u202e\x7f"
    done = quick("explain", "--json", text)
    assert done.stdout.strip().isprintable()
    assert json.loads(done.stdout)["input"] == text


def test_the_tour_shows_every_family(quick: Run) -> None:
    done = quick("tour")
    assert done.returncode == 0
    for fact in ("Handle", "PILIN", "Internet Based Identifier", "PPID", "did you mean"):
        assert fact in done.stdout


def test_a_slow_pipe_is_answered_line_by_line() -> None:
    command = [sys.executable, "-m", "perdure", "explain", "--json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for text in (b"10.1000/182", b"Q42"):
            process.stdin.write(text + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["canonical"] == text.decode()
        process.stdin.close()
