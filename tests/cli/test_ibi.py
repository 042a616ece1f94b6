"""Tests of `perdure ibi simulate`, and of `perdure explain --steps`."""

import json

from tests.cli.conftest import Run

from perdure.names import ibi


def test_the_example_of_the_standard_is_the_default(quick: Run) -> None:
    done = quick("ibi", "simulate")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert len(rows) == 7
    assert rows[0] == ["1287587646.394023", "1287587646", "1287587645", "1", "1287587646", "2010/10.20.15.14.06", "0"]
    assert rows[5] == ["1287588116.72", "1287588117", "1287588116", "1", "1287588117", "2010/10.20.15.21.57", "0.28"]


def test_steps_show_every_line_with_its_value(quick: Run) -> None:
    done = quick("ibi", "simulate", "--steps", "1287588115.186234", "--last", "2010-10-20T15:20:00Z")
    assert " 5  creation-date ← MAX(last-date-for-suffix + r, rounded-date)" in done.stdout
    assert "17  last-date-for-suffix ← t" in done.stdout
    lines = json.loads(quick("ibi", "simulate", "--steps", "--json", "1287588115.186234").stdout)["steps"]
    assert [one["line"] for one in lines][-2:] == [16, 17]


def test_dates_and_granularity_that_make_no_sense_are_refused(quick: Run) -> None:
    assert "granularity" in quick("ibi", "simulate", "1", "--granularity", "7").stderr
    assert quick("ibi", "simulate", "yesterday").returncode == 2


def test_a_label_is_decoded_without_a_registry(quick: Run) -> None:
    done = quick("explain", "--steps", "8JMKD3MGP8W/34PGRBS")
    assert "Algorithm 5" in done.stdout
    assert "427571160" in done.stdout
    assert "In this registry" not in done.stdout
    assert "No steps" in quick("explain", "--steps", "10.1000/182").stdout
    assert json.loads(quick("explain", "--steps", "--json", "10.1000/182").stdout)["steps"] is None


def test_a_registry_shows_how_the_date_was_issued(quick: Run) -> None:
    quick("init", ".", "--name", "Test")
    quick("prefix", "add", "--host", "a.example.org", "--ip", "150.163.34.243", "--granularity", "0.001")
    minted = [line.split("\t") for line in quick("mint", "example.org/a", "--count", "3").stdout.splitlines()]
    for number, (name, opaque) in enumerate(minted):
        for label in (name, opaque):
            found = json.loads(quick("explain", "--steps", "--json", label).stdout)["timeline"]
            assert found["previous"] == (minted[number - 1][0] if number else None)
            assert found["following"] == (minted[number + 1][0] if number < 2 else None)
            if number == 0 or "distributor" in found:
                assert found["distributor"]["suffix"] == name.split("/", 2)[2]
    text = quick("explain", "--steps", minted[0][1]).stdout
    assert f"after it             {minted[1][0]}" in text
    assert "date-for-suffix ← t" in text
    assert ibi.parse(minted[1][1]).date > ibi.parse(minted[0][1]).date
