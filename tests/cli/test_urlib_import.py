"""`perdure import urlib`: the file as it comes from an archive of URLib."""

from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.test_registry_commands import Desk, make_desk
from tests.formats.urlib_samples import BIBTEX, ITEM, LEGACY, METADATA, XML


@pytest.fixture
def desk(quick: Run, tmp_path: Path) -> Desk:
    desk = make_desk(quick, tmp_path)
    (desk.folder / "export.xml").write_bytes(XML.encode("latin-1"))
    (desk.folder / "export.bib").write_bytes(BIBTEX.encode("latin-1"))
    return desk


def test_xml_in_latin_1_comes_in_and_a_second_time_changes_nothing(desk: Desk) -> None:
    hint = desk.run("import", "urlib", "export.xml")
    assert (hint.returncode, "with --new-prefixes" in hint.stderr) == (1, True)
    done = desk.run("import", "urlib", "export.xml", "--new-prefixes")
    assert done.stdout.startswith("2 created, 0 changed, 0 unchanged, 0 refused\n1 address is not valid")
    assert "added the prefix 83LX3pFwXQZ5Jpy (case-sensitive; for these labels only, it mints none)" in done.stderr
    assert desk.json("show", METADATA)["names"] == [ITEM, LEGACY, METADATA]
    assert desk.json("show", LEGACY)["about"]["what"] == "Introdução à morfologia"
    assert desk.ok("import", "--format", "urlib", "export.xml", "--again").startswith("0 created, 0 changed, 2 unch")
    pattern = ("--target-pattern", "https://files.example.org/{site}/{targetfile}")
    tally = desk.json("import", "urlib", "export.xml", "--update", *pattern)
    assert (tally["changed"], tally["unchanged"]) == (1, 1)
    assert desk.ok("resolve", LEGACY).startswith("https://files.example.org/mtc-m16c.sid.inpe.br/publica%C3%A7")
    assert desk.ok("verify") == "No problems found.\n"


def test_bibtex_comes_in_and_each_entry_that_cannot_is_reported(desk: Desk) -> None:
    done = desk.run("import", "urlib", "export.bib", "--new-prefixes")
    assert (done.returncode, done.stdout) == (1, "2 created, 0 changed, 0 unchanged, 2 refused\n")
    assert "line 14: the entry is not closed" in done.stderr
    assert "line 15: the record has no label" in done.stderr
    assert desk.ok("resolve", "APM77Z/KFQ6T") == "http://example.org/~banon\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("marc", "export.xml"), "is not a format: use ndjson, csv, batch, handles, dspace, urlib"),
        (("urlib", "export.xml", "--format", "csv"), "the format is given twice"),
        (("urlib", "csv", "export.xml"), "one file at a time"),
        (("urlib", "export.xml", "--new-prefixes", "--ignore-case"), "IBI labels have their own rule"),
        (("urlib", "export.xml", "--map", "name=x"), "--map requires the format csv"),
        (("urlib", "export.xml", "--target-pattern", "https://x.org/{author}"), "the columns are repository"),
        (("urlib", "latin.xml"), "add --encoding latin-1"),
        (("urlib", "latin.bib"), "add --encoding latin-1"),
        (("urlib", "type.xml"), "declares a document type"),
        (("urlib", "table.csv"), "neither the full XML of URLib nor BibTeX"),
    ],
)
def test_what_cannot_be_right_is_refused_before_anything_is_written(
    desk: Desk, words: tuple[str, ...], expected: str
) -> None:
    (desk.folder / "latin.xml").write_bytes(XML.partition("\n")[2].encode("latin-1"))
    (desk.folder / "latin.bib").write_bytes("@Book{a, title = {ação}}\n".encode("latin-1"))
    (desk.folder / "type.xml").write_text('<!DOCTYPE a [<!ENTITY x "y">]><metadatalist/>')
    (desk.folder / "table.csv").write_text("name,target\n12345/b,https://example.org/\n")
    assert expected in desk.refuses("import", *words)


def test_an_encoding_is_accepted_for_both_forms(desk: Desk) -> None:
    (desk.folder / "latin.xml").write_bytes(XML.partition("\n")[2].encode("cp1252"))
    tally = desk.json("import", "urlib", "latin.xml", "--new-prefixes", "--encoding", "cp1252")
    assert (tally["created"], desk.json("show", ITEM)["about"]["what"]) == (2, "Introdução à morfologia")
