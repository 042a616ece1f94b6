"""Items are pulled from other servers, with all versions, and every byte is compared."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.collections.item_office import THESIS, ItemOffice
from tests.collections.item_server import COLLECTION, ItemServer, run_item_server

from perdure.collections import item_client
from perdure.collections.copies import copy_item
from perdure.collections.held_items import find_item
from perdure.collections.installation import install_item
from perdure.collections.item import Agent
from perdure.collections.source_files import list_directory
from perdure.collections.storage_root import StorageRoot
from perdure.collections.verification import verify_collection
from perdure.errors import (
    Conflict,
    InvalidInput,
    ItemDamaged,
    NoSuchItem,
    NotAuthorised,
    PerdureError,
    StoreUnavailable,
)

LABEL = "urlib.net/www/2023/11.16.13.37"
LARGE = {**THESIS, "a b/ü.bin": bytes(range(256)) * 12_000}


@pytest.fixture
def server(items: ItemOffice, tmp_path: Path) -> Iterator[ItemServer]:
    root = StorageRoot.create(tmp_path / "elsewhere")
    for number, files in enumerate((THESIS, LARGE), 1):
        sources = list_directory(items.write_files(files))
        root.put_version(LABEL, sources, agent=Agent("jan", "https://example.net/jan"), message=f"number {number}")
    with run_item_server(root) as server:
        yield server


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_client, "_PAUSE", 0.001)


def install(items: ItemOffice, server: ItemServer, label: str = LABEL, path: str = ""):
    return items.office.do(install_item, label, "main", server.address + path)


@pytest.mark.parametrize("path", ["", "/", COLLECTION, COLLECTION[:-1]])
def test_an_item_is_installed_with_all_versions(items: ItemOffice, server: ItemServer, path: str) -> None:
    holding = install(items, server, path=path)
    assert (holding.role, holding.version, holding.label) == ("copy", 2, LABEL)
    assert holding.source == f"{server.address}{COLLECTION}{LABEL}/"
    assert items.read_files("main", LABEL, 1) == THESIS
    assert items.read_files("main", LABEL) == LARGE
    here, there = items.root().read_item(LABEL), server.root.read_item(LABEL)
    assert [(one.agent, one.message) for one in here.versions] == [(one.agent, one.message) for one in there.versions]


def test_the_other_labels_of_the_item_find_it_too(items: ItemOffice, server: ItemServer) -> None:
    opaque = "8JMKD3MGP6W/4GQP3HQW47"
    server.description = {"names": [LABEL, opaque, "12345/a-handle"]}
    holding = install(items, server)
    assert holding.names == (LABEL, opaque.lower())
    found = items.office.read(lambda reader: find_item(reader, opaque))
    assert (found.name, found.holdings) == (LABEL, [holding])
    copied = items.office.do(copy_item, opaque, "main", "second")
    assert (copied.collection, copied.names) == ("second", holding.names)


def test_labels_that_the_server_states_later_are_added(items: ItemOffice, server: ItemServer) -> None:
    install(items, server)
    server.description = {"names": [LABEL, "8JMKD3MGP6W/4GQP3HQW47"]}
    assert install(items, server).names == (LABEL, "8jmkd3mgp6w/4gqp3hqw47")


def test_an_item_is_found_by_a_label_under_which_it_does_not_lie(items: ItemOffice, server: ItemServer) -> None:
    opaque = "8JMKD3MGP6W/4GQP3HQW47"
    server.description, server.leads_to = {"names": [LABEL, opaque]}, LABEL
    assert install(items, server, opaque).label == LABEL


def test_a_server_on_the_internet_leads_to_no_private_address(
    items: ItemOffice, server: ItemServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_client, "is_private", lambda address: address != "127.0.0.1")
    with socket.create_server(("127.0.0.2", 0)) as inside:
        server.elsewhere = f"http://127.0.0.2:{inside.getsockname()[1]}"
        with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.2, an address of a private network"):
            install(items, server)
        connection, _ = inside.accept()
        with connection:
            assert connection.recv(1000) == b"", "no request was sent"
    server.elsewhere = server.address
    assert install(items, server).version == 2


def test_a_second_installation_gets_what_is_new(items: ItemOffice, server: ItemServer) -> None:
    first = install(items, server)
    server.requests.clear()
    assert install(items, server) == first
    assert [one for one in server.requests if "version=" in one] == []
    server.root.put_version(LABEL, list_directory(items.write_files({**LARGE, "c": b"3"})), agent=Agent("jan"))
    assert install(items, server).version == 3
    assert [one for one in server.requests if "version=" in one] == [f"{COLLECTION}{LABEL}/c?version=3"]


def test_a_broken_download_continues_where_it_stopped(items: ItemOffice, server: ItemServer) -> None:
    server.longest_answer = 1_000_000
    install(items, server)
    assert items.read_files("main", LABEL) == LARGE
    assert sum("bin" in one for one in server.requests) == 4
    assert list((items.folder / "main").rglob("*.part")) == []


def test_a_server_without_ranges_is_read_again(items: ItemOffice, server: ItemServer) -> None:
    server.longest_answer, server.has_ranges = 1_000_000, False
    with pytest.raises(StoreUnavailable, match="Run the same command again"):
        install(items, server)
    assert items.holdings(LABEL) == []
    server.longest_answer = None
    assert install(items, server).version == 2


def test_a_changed_byte_is_not_installed(items: ItemOffice, server: ItemServer) -> None:
    server.changed_byte = True
    with pytest.raises(ItemDamaged, match="differs from the digest"):
        install(items, server)
    assert not items.root().has_item(LABEL)
    assert items.holdings(LABEL) == []
    server.changed_byte = False
    assert install(items, server).version == 2


WRONG: dict[str, dict[str, object]] = {
    "no versions": {"versions": []},
    "no label": {"label": "not a label"},
    "a path": {"label": "../../etc/passwd"},
    "a role": {"role": "master"},
    "files": {"versions": [{"version": 1, "created": "x", "message": "", "agent": None, "files": [{"path": "a"}]}]},
    "a gap": {
        "versions": [{"version": 2, "created": "2026-01-01T00:00:00Z", "message": "", "agent": None, "files": []}]
    },
    "a date": {"versions": [{"version": 1, "created": "yesterday", "message": "", "agent": None, "files": []}]},
    "an escape": {
        "versions": [
            {
                "version": 1,
                "created": "2026-01-01T00:00:00Z",
                "message": "",
                "agent": None,
                "files": [{"path": "../../x", "size": 0, "sha512": "0" * 128, "media_type": "text/plain"}],
            }
        ]
    },
    "another item": {"label": "urlib.net/www/2024/01.01.01.01", "names": []},
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_description_is_refused(items: ItemOffice, server: ItemServer, fault: str) -> None:
    server.description = WRONG[fault]
    before = items.office.snapshot()
    with pytest.raises(PerdureError):
        install(items, server)
    assert list(items.root().items()) == []
    assert items.office.snapshot() == before


def test_another_history_is_refused(items: ItemOffice, server: ItemServer) -> None:
    install(items, server)
    server.root.remove_item(LABEL)
    server.root.put_version(LABEL, list_directory(items.write_files({"x": b"y"})), agent=Agent("jan"))
    with pytest.raises(Conflict, match="version 1"):
        install(items, server)
    assert items.read_files("main", LABEL) == LARGE


def test_what_a_server_does_not_have_is_an_error(items: ItemOffice, server: ItemServer) -> None:
    with pytest.raises(NoSuchItem):
        install(items, server, "urlib.net/www/2024/01.01.01.01")
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        items.office.do(install_item, LABEL, "main", "http://127.0.0.1:1")
    with pytest.raises(InvalidInput):
        install(items, server, "12345/not-ibi")


def test_an_item_of_another_server_needs_a_right_to_import(items: ItemOffice, server: ItemServer) -> None:
    maria = items.office.hire("maria", "sid.inpe.br/mtc-m18", "edit", "mint", "import")
    with pytest.raises(NotAuthorised):
        items.office.by(maria, install_item, LABEL, "main", server.address)
    assert server.requests == []
    jan = items.office.hire("jan", "*", "import")
    assert items.office.by(jan, install_item, LABEL, "main", server.address).version == 2


def test_an_installed_item_is_verified_as_every_other(items: ItemOffice, server: ItemServer) -> None:
    install(items, server)

    async def verify() -> list[tuple[str, str | None, tuple[str, ...]]]:
        steps = verify_collection(items.office.registry, items.office.admin, "main")
        return [(one.label, one.outcome, one.problems) async for one in steps]

    assert items.office.run(verify()) == [(LABEL, "valid", ())]


def test_a_copy_of_ones_own_item_comes_back(items: ItemOffice, server: ItemServer) -> None:
    holding = items.put()
    server.root.copy_item(holding.label, items.root())
    copied = items.office.do(install_item, holding.label, "second", server.address)
    assert (copied.role, copied.digest) == ("copy", holding.digest)
    assert items.originals(holding.subject) == ["main"]


def test_other_files_than_those_of_the_original_are_no_copy(items: ItemOffice, server: ItemServer) -> None:
    holding = items.put()
    server.root.put_version(holding.label, list_directory(items.write_files({"x": b"y"})), agent=Agent("jan"))
    with pytest.raises(Conflict, match="as in main"):
        items.office.do(install_item, holding.label, "second", server.address)
    assert [one.collection for one in items.holdings(holding.subject)] == ["main"]
