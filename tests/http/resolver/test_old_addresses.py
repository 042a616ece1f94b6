"""Addresses of archives of URLib, and links without a host, at a server that has taken over their names."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from tests.formats.urlib_samples import ITEM, LEGACY, METADATA, THESIS, XML
from tests.http.items.item_server import ItemServer, item_server
from tests.http.live_server import LiveServer, run_server

from perdure.formats.ris import read_ris

PUBLIC = "https://id.example.org"
OLD = "mtc-m16c.sid.inpe.br"
TARGET = f"http://{OLD}/col/{ITEM}/doc/publica%C3%A7%C3%A3o%20final.pdf"


def wait_until(is_true: Callable[[], bool]) -> None:
    """Wait for a worker to read a table that another process has changed."""
    end = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.1)


class Archive(NamedTuple):
    """A server with imported items, and a client that uses the server's own address."""

    server: LiveServer
    client: httpx.Client

    def ask(self, path: str, host: str = "") -> httpx.Response:
        return self.client.get(path, headers={"host": host} if host else {})

    def location(self, path: str, host: str = "") -> str:
        answer = self.ask(path, host)
        assert answer.status_code in (301, 302), answer.text
        return answer.headers["location"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    folder = tmp_path_factory.mktemp("old") / "registry"
    settings = f'public_url = "{PUBLIC}"\nold_hosts = ["{OLD}", "sid.inpe.br"]\n'
    with run_server(folder, settings=settings) as server, server.client("") as client:
        export = folder / "export.xml"
        export.write_text(XML.replace("thesis 1", "thesis"), "latin-1")
        server.perdure("import", "urlib", str(export), "--new-prefixes")
        yield Archive(server, client)


@pytest.mark.parametrize(
    "path",
    [
        f"/rep/{THESIS}",
        "/rep/8JMKD3MGP8W/34PGRBS",
        f"/ibi/{THESIS}/",
        f"/col/{THESIS}/doc/",
        f"/col/{THESIS}/doc/thisInformationItemHomePage.html",
        f"/col/{THESIS}/doc/not-stored-here.pdf",
        f"/archive.cgi/{THESIS}",
        f"/attachment.cgi/{THESIS}/doc/not-stored-here.pdf",
        f"/col/sid.inpe.br/bibdigital@80/2006/04.07.15.50.13/doc/archive.cgi/{THESIS}",
        f"/displaydoccontent.cgi/{THESIS}/goto/{METADATA}",
        f"/upn:4CR88AP:{THESIS}",
        "/upn:4CR88AP-:8JMKD3MGP8W/34PGRBS",
    ],
)
def test_an_old_address_leads_to_the_target_of_the_item(archive: Archive, path: str) -> None:
    name = "8JMKD3MGP8W/34PGRBS" if "34PGRBS" in path else THESIS
    assert archive.location(path) == f"/{name}"
    assert archive.location(f"/{name}") == "http://example.org/thesis"


def test_an_old_host_leads_to_the_public_address(archive: Archive) -> None:
    for host in (OLD, f"{OLD.upper()}:80"):
        assert archive.location(f"/rep/{THESIS}", host) == f"{PUBLIC}/{THESIS}"
    assert archive.location("/mtc-m18@80/2009/02.16.17.46/doc/a.pdf", "sid.inpe.br") == f"{PUBLIC}/{THESIS}"
    assert archive.ask("/mtc-m18@80/2009/02.16.17.46", OLD).status_code == 404


def test_an_item_whose_target_is_its_old_address_is_shown(archive: Archive) -> None:
    path = TARGET.removeprefix(f"http://{OLD}")
    assert archive.location(f"/{ITEM}") == TARGET
    assert archive.location(path, OLD) == f"{PUBLIC}/{ITEM}?noredirect"
    assert archive.location(f"{path}?ibiurl.language=en", OLD).endswith("&noredirect")
    assert archive.ask(f"/{ITEM}?noredirect").status_code == 200
    assert archive.location(path) == f"/{ITEM}", "another host leads to the old one, which has the file"


@pytest.mark.parametrize(
    ("choice", "content_type"),
    [
        ("fullXML", "application/rdf+xml"),
        ("full", "text/html; charset=utf-8"),
        ("BibTeX", "application/x-bibtex; charset=utf-8"),
        ("fullBibINPE", "application/x-bibtex; charset=utf-8"),
        ("fullRefer", "application/x-research-info-systems; charset=utf-8"),
    ],
)
def test_a_record_is_given_in_the_format_that_was_chosen(archive: Archive, choice: str, content_type: str) -> None:
    query = f"metadatarepository={METADATA}&choice={choice}&languagebutton=en"
    on = archive.location(f"/col/sid.inpe.br/bibdigital@80/2006/04.07.15.50.13/doc/mirrorget.cgi?{query}")
    answer = archive.ask(on)
    assert (answer.status_code, answer.headers["content-type"]) == (200, content_type)
    assert archive.location(f"/mirrorget.cgi?{query}") == on
    record = archive.location(f"/col/{ITEM}/.reserved/@")
    assert archive.ask(record).text.startswith("@misc{Banon:1999:InMo,")


def test_the_language_of_an_old_address_is_passed_on(archive: Archive) -> None:
    location = archive.location(f"/rep/{THESIS}?ibiurl.language=pt-BR")
    assert location == f"/{THESIS}?language=pt-BR&locatt=language%3Apt-BR"
    assert archive.location(f"/rep/{THESIS}?noredirect&ibiurl.language=%3Cx%3E") == f"/{THESIS}?noredirect"


def test_a_legacy_label_is_compared_with_its_case(archive: Archive) -> None:
    assert archive.location(f"/ibi/{LEGACY}") == f"/{LEGACY}"
    assert archive.ask(f"/{LEGACY.swapcase()}").status_code == 404


@pytest.mark.parametrize(
    "path", ["/rep/", "/rep/nothing", "/col/a/b/doc/c", "/mirrorget.cgi", "/mirrorget.cgi?choice=full"]
)
def test_a_path_without_a_label_is_not_an_old_address(archive: Archive, path: str) -> None:
    assert archive.ask(path).status_code in (400, 404)


def test_a_link_without_a_label_is_refused(archive: Archive) -> None:
    answer = archive.ask("/upn:4CR88AP:12345")
    assert (answer.status_code, "IBI label" in answer.text) == (400, True)


def test_the_file_of_a_link_stays_in_its_path(archive: Archive) -> None:
    assert archive.location(f"/upn:4CR88AP:{THESIS}/doc/a%20b.pdf?x=1") == f"/{THESIS}/doc/a%20b.pdf?x=1"


def test_registered_names_win(tmp_path: Path) -> None:
    with run_server(tmp_path / "registry") as server, server.client("") as client:
        server.perdure("prefix", "add", "rep", "--minter", "chosen")
        server.perdure("mint", "rep", "--suffix", "8JMKD3MGP8W/34PGRBS", "https://example.org/own")
        assert client.get("/rep/8JMKD3MGP8W/34PGRBS").headers["location"] == "https://example.org/own"
        assert client.get(f"/rep/{THESIS}").status_code == 404


def test_commands_and_the_home_page_understand_old_addresses(archive: Archive) -> None:
    for text in (
        f"upn:4CR88AP:{THESIS}/doc/a.pdf",
        f"http://{OLD}/rep/{THESIS}?ibiurl.language=en",
        f"http://{OLD}/{THESIS}",
        f"http://elsewhere.example.net/col/{THESIS}/doc/a.pdf",
        f"{PUBLIC}/archive.cgi/{THESIS}",
    ):
        assert archive.server.perdure("resolve", text) == "http://example.org/thesis\n"
        on = archive.client.get("/", params={"name": text})
        assert on.headers["location"].endswith(THESIS), text


@pytest.fixture(scope="module")
def item(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ItemServer]:
    with item_server(tmp_path_factory.mktemp("stored") / "registry") as one:
        yield one


def test_an_old_address_leads_to_the_file_of_a_stored_item(item: ItemServer) -> None:
    path = "maps/amazon%20basin.tif"
    for name in (item.label, item.alias):
        for old in (f"/col/{name}/doc/{path}", f"/attachment.cgi/{name}/doc/{path}", f"/upn:4CR88AP:{name}/{path}"):
            answer = item.get(old)
            assert answer.headers["location"] == f"/{name}/{path}", old
        on = item.get(f"/{name}/{path}")
        assert on.headers["location"].endswith(f"{item.item}{path}")
    assert item.get(f"/col/{item.label}/doc/").headers["location"] == f"/{item.label}"


def test_the_citation_of_a_stored_item_leads_to_it(item: ItemServer) -> None:
    lines = read_ris(item.get(f"/{item.label}.ris").content)
    assert [text for tag, text in lines if tag == "L1"] == [f"http://id.example.org{item.item}"]


def test_a_link_to_another_server_is_sent_there(tmp_path: Path) -> None:
    link = "/upn:4CR88AP:J8LNKAN8PW/36CT2G2/a%20b.pdf"
    with (
        run_server(tmp_path / "registry", settings='upstream = "https://resolver.example.net"') as server,
        server.client("") as client,
    ):
        assert client.get(link).headers["location"] == f"https://resolver.example.net{link}"
        server.perdure("peer", "add", "https://archive.example.net", "--plain", "--prefix", "upn:4CR88AP")
        wait_until(lambda: client.get(link).headers["location"] == f"https://archive.example.net{link}")
