"""`perdure import` and `perdure export` of pairs of IBI labels."""

from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.test_registry_commands import Desk, make_desk

NAME, OPAQUE, OTHER = "sid.inpe.br/mtc-m18/2009/02.16.17.46", "8JMKD3MGP8W/34PGRBS", "8JMKD3MGPGW/2LK2KS5"
TABLE = f"repository_name;ibip;url\n{NAME};{OPAQUE};https://example.org/ü\n;{OTHER};\n{NAME};{OTHER};\n"


@pytest.fixture
def desk(quick: Run, tmp_path: Path) -> Desk:
    desk = make_desk(quick, tmp_path)
    (desk.folder / "pairs.csv").write_text(TABLE, "utf-8")
    return desk


def test_a_table_of_pairs_is_recognised_imported_and_exported(desk: Desk) -> None:
    done = desk.run("import", "pairs.csv", "--new-prefixes", "--problems", "refused.ndjson")
    assert (done.returncode, done.stdout) == (1, "2 created, 0 changed, 0 unchanged, 1 refused\n")
    assert '"code": "different-identifiers"' in (desk.folder / "refused.ndjson").read_text()
    assert desk.ok("resolve", OPAQUE) == desk.ok("resolve", NAME) == "https://example.org/ü\n"
    desk.ok("export", "--format", "labels", "out.csv")
    written = (desk.folder / "out.csv").read_text("utf-8")
    assert written.startswith("repository_name,ibip,target,")
    assert f"\n{NAME},{OPAQUE},https://example.org/ü," in written
    assert desk.ok("import", "out.csv") == "0 created, 0 changed, 2 unchanged, 0 refused\n"
    assert desk.ok("import", "labels", "out.csv", "--again").startswith("0 created, 0 changed, 2 unchanged")


def test_a_stated_format_is_not_replaced(desk: Desk) -> None:
    refused = desk.run("import", "--format", "csv", "pairs.csv")
    assert (refused.returncode, "add --format labels" in refused.stderr) == (2, True)
    refused = desk.run("import", "pairs.csv", "--new-prefixes", "--ignore-case")
    assert "IBI labels have their own rule" in refused.stderr
