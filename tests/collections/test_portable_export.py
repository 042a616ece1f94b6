"""A collection on a medium: its files, its pages, and its links."""

import csv
import hashlib
import json
from pathlib import Path

import pytest
from tests.collections.item_office import THESIS, ItemOffice

from perdure.collections.portable_export import export_portable
from perdure.collections.portable_pages import PortableItem
from perdure.errors import InvalidInput, NoSuchCollection
from perdure.records.record import About
from perdure.registry import show, withdraw
from perdure.registry.entities import Peer
from perdure.registry.peers.peers import insert_peer

PUBLIC_URL = "https://id.example.org"
ELSEWHERE = "8JMKD3MGP8W/34PGRBS"


def directory_of(label: str) -> str:
    return PortableItem(label, (), About(), None).directory


def page_of(label: str) -> str:
    return PortableItem(label, (), About(), None).page


def test_links_between_items_lead_to_the_files_on_the_medium(items: ItemOffice, tmp_path: Path) -> None:
    thesis = items.put({**THESIS, "a b?.txt": b"x"})
    view = items.office.ask(show, thesis.label)
    opaque = next(name for name in view.names if name != thesis.label)
    page = (
        f'<a href="upn:4CR88AP:{thesis.label}/thesis.pdf#page=2">1</a><a href="upn:4CR88AP:{opaque}">2</a>'
        f'<a href="http://urlib.net/rep/{thesis.label}">3</a><a href="upn:4CR88AP:{ELSEWHERE}/x.pdf">4</a>'
        f'<a href="upn:4CR88AP:{thesis.label}/missing.pdf">5</a><a href="https://example.org/">6</a>'
    ).encode()
    essay = items.put({"text/essay.html": page})
    medium = tmp_path / "stick"
    done = items.office.ask(export_portable, "main", medium, public_url=PUBLIC_URL)
    assert (done.items, done.files, done.links, done.problems) == (2, 4, 5, [])
    written = (medium / directory_of(essay.label) / "text/essay.html").read_text()
    up = "../" * (directory_of(essay.label).count("/") + 1)
    assert f'href="{up}{directory_of(thesis.label)}thesis.pdf#page=2">1<' in written
    assert written.count(f'href="{up}{page_of(thesis.label)}"') == 3
    assert f'href="{PUBLIC_URL}/{ELSEWHERE}/x.pdf">4<' in written
    assert 'href="https://example.org/">6<' in written
    assert (medium / "originals" / directory_of(essay.label) / "text/essay.html").read_bytes() == page
    assert (medium / directory_of(thesis.label) / "a b=u003f.txt").read_bytes() == b"x"
    assert not list(tmp_path.glob(".*"))


def test_every_file_has_its_digest_and_every_name_its_page(items: ItemOffice, tmp_path: Path) -> None:
    thesis = items.put(main_file="thesis.pdf")
    opaque = next(name for name in items.office.ask(show, thesis.label).names if name != thesis.label)
    medium = tmp_path / "stick"
    items.office.ask(export_portable, "main", medium)
    lines = (medium / "manifest-sha512.txt").read_text().splitlines()
    digests = dict(reversed(line.split("  ", 1)) for line in lines)
    assert set(digests) == {directory_of(thesis.label) + path for path in THESIS}
    for path, digest in digests.items():
        assert hashlib.sha512((medium / path).read_bytes()).hexdigest() == digest
    assert "(main file)" in (medium / page_of(thesis.label)).read_text()
    assert 'http-equiv="refresh"' in (medium / page_of(opaque)).read_text()
    names = (medium / "names.js").read_text()
    table = json.loads("{" + names.partition("{")[2].rpartition(",\n}")[0] + "}")
    assert table[thesis.label] == table[opaque.lower()] == [page_of(thesis.label), directory_of(thesis.label)]
    rows = list(csv.reader((medium / "mapping.csv").read_text().splitlines()))
    assert rows[0] == ["prefix", "url"]
    assert ["sid.inpe.br/mtc-m18", "names/"] in rows


def test_links_to_other_items_lead_to_the_servers_of_their_prefixes(items: ItemOffice, tmp_path: Path) -> None:
    peers = [
        Peer(name="a", url="https://a.example.org", prefixes=("upn:4cr88ap",)),
        Peer(name="b", url="https://b.example.org", prefixes=("8jmkd3mgp8w", "10.1000")),
        Peer(name="c", url="http://10.0.0.7", prefixes=("upn:hidden",), private=True),
    ]
    for peer in peers:
        items.office.do(insert_peer, peer)
    links = "".join(f'<a href="upn:{one}:{ELSEWHERE}">' for one in ("4CR88AP", "OTHER", "HIDDEN"))
    page = items.put({"a.html": links.encode()})
    items.office.ask(export_portable, "main", tmp_path / "stick", public_url=PUBLIC_URL)
    written = (tmp_path / "stick" / directory_of(page.label) / "a.html").read_text()
    assert written == "".join(f'<a href="https://{one}.example.org/{ELSEWHERE}">' for one in "abb")
    rows = dict(csv.reader((tmp_path / "stick" / "mapping.csv").read_text().splitlines()))
    assert rows["upn:4cr88ap"] == "https://a.example.org"
    assert rows["*"] == PUBLIC_URL
    assert "upn:hidden" not in rows


def test_damaged_and_withdrawn_items_are_left_out(items: ItemOffice, tmp_path: Path) -> None:
    damaged, gone, fine = items.put(), items.put({"b.txt": b"b"}), items.put({"c.txt": b"<&>"})
    stored = items.root().read_item(damaged.label).newest
    content = stored.content_of(stored.files["thesis.pdf"])
    content.chmod(0o644)
    content.write_bytes(b"changed")
    items.office.do(withdraw, gone.label, "a mistake")
    medium = tmp_path / "stick"
    done = items.office.ask(export_portable, "main", medium)
    assert done.items == 1
    assert len(done.problems) == 2
    index = (medium / "index.html").read_text()
    assert fine.label in index
    assert damaged.label not in index
    assert gone.label not in index
    assert not (medium / directory_of(damaged.label)).exists()


def test_titles_cannot_act_on_a_page(items: ItemOffice, tmp_path: Path) -> None:
    label = items.reserve(title="<script>alert(1)</script> & more")
    items.put({"a.txt": b"a"}, label)
    items.office.ask(export_portable, "main", tmp_path / "stick")
    for page in ("index.html", page_of(label)):
        text = (tmp_path / "stick" / page).read_text()
        assert "&lt;script&gt;alert(1)" in text
        assert "<script>alert" not in text


def test_a_long_list_has_several_pages(items: ItemOffice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.collections.portable_medium.ROWS_ON_PAGE", 2)
    monkeypatch.setattr("perdure.collections.portable_export._CHUNK", 2)
    labels = [items.put({"a.txt": b"a"}).label for _ in range(5)]
    items.office.ask(export_portable, "main", tmp_path / "stick")
    pages = [(tmp_path / "stick" / name).read_text() for name in ("index.html", "index-2.html", "index-3.html")]
    assert [sum(label in page for label in labels) for page in pages] == [2, 2, 1]


def test_nothing_is_overwritten(items: ItemOffice, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="exists already"):
        items.office.ask(export_portable, "main", tmp_path)
    with pytest.raises(NoSuchCollection):
        items.office.ask(export_portable, "missing", tmp_path / "stick")
    assert not (tmp_path / "stick").exists()
