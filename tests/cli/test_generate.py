"""Tests of `perdure generate`."""

import hashlib
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from perdure import ibi, pilin

CURATOR = "https://orcid.org/0000-0002-1825-0097"


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["pilin", "--at", "2007-05-25T03:49:52.865Z"], "Y35XYS0QH"),
        (["pilin", "--at", "2007-05-25T05:49:52.865999+02:00", "--prefix", "102.100.272"], "102.100.272/Y35XYS0QH"),
        (["ibi", "--host", "mtc-m18.sid.inpe.br", "--at", "1234806360"], "sid.inpe.br/mtc-m18/2009/02.16.17.46"),
        (["ibi", "--ip", "150.163.34.243", "--at", "2009-02-16T17:46:00Z"], "8JMKD3MGP8W/34PGRBS"),
        (["ibi", "--ip", "150.163.34.243", "--ip-port", "802", "--at", "1234806360.05"], "8JMKD3MGP8W34M/34PGRBSW27"),
        (["ibi", "--host", "a.example.org", "--port", "8080", "--ip", "127.0.0.1", "--at", "1234806360"],
         "example.org/a.8080/2009/02.16.17.46\nLK47B6W/34PGRBS"),
        (["poid", "https://example.org/staff/jan", "--at", "2025-01-09T10:30:00Z", "--hash", "0" * 64], "POID-93b0-4476-560e-5ac1"),
        (["prid", "poid-93b0-4476-560e-5ac1", "--curator", CURATOR, "--at", "2025-01-09T11:30:00+01:00"], "PRID-5ccc-3780-8c9c-5a90"),
    ],
)  # fmt: skip
def test_labels(quick: Run, arguments: list[str], printed: str) -> None:
    done = quick("generate", *arguments)
    assert (done.returncode, done.stdout) == (0, printed + "\n")


def test_the_default_instant_is_now(run: Run) -> None:
    first, second = (run("generate", "pilin").stdout.strip() for _ in range(2))
    assert pilin.decode(first) < pilin.decode(second)
    label = ibi.parse(run("generate", "ibi", "--ip", "127.0.0.1").stdout.strip())
    assert label.date.denominator == 1


def test_content_is_hashed(run: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("page.html").write_bytes(b"<p>Jan</p>")
    at = ("--at", "2025-01-09T10:30:00Z")
    by_file = run("generate", "poid", "https://example.org/", *at, "--content", "page.html", "--json")
    digest = hashlib.sha256(b"<p>Jan</p>").hexdigest()
    by_hash = run("generate", "poid", "https://example.org/", *at, "--hash", digest, "--json")
    assert by_file.stdout == by_hash.stdout
    assert json.loads(by_file.stdout)["content_hash"] == digest
    assert json.loads(by_file.stdout)["uuid"][14] == "5"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pilin", "--at", "2007-05-25"], "only a date"),
        (["pilin", "--at", "3000-01-01T00:00:00Z"], "after 2420"),
        (["ibi"], "--host"),
        (["ibi", "--host", "localhost"], "one word"),
        (["ibi", "--ip", "1.2.3"], "not an IP address"),
        (["ibi", "--ip", "1.2.3.4", "--at", "1994-01-01T00:00:00Z"], "before 1995-08-01"),
        (["poid", "https://example.org/", "--at", "2025-01-09T10:30:00Z"], "--hash and --content"),
        (["poid", "https://example.org/", "--at", "2025-01-09T10:30:00Z", "--hash", ""], "64 lower-case"),
        (["pilin", "--prefix", ""], "the prefix, before the first slash, is empty"),
        (["poid", "https://example.org/", "--at", "2025-01-09T10:30:00Z", "--content", "missing"], "No such file"),
        (["poid", "not a url", "--at", "2025-01-09T10:30:00Z", "--hash", "0" * 64], "absolute URL"),
        (["prid", "POID-93b0-4476-560e-5ac2", "--curator", CURATOR, "--at", "2025-01-09T10:30:00Z"], "should be 1"),
        (["prid", "POID-93b0-4476-560e-5ac1", "--curator", "a|b", "--at", "2025-01-09T10:30:00Z"], "without |"),
    ],
)
def test_an_error_is_reported_with_exit_code_2(quick: Run, arguments: list[str], message: str) -> None:
    done = quick("generate", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
