"""The original of an item moves from one server to another, and back: one original and a living target at any time."""

import random
import subprocess
import time
from collections.abc import Iterator

import httpx
import pytest
from tests.collections.judge import judge
from tests.http.items.two_servers import Site, two_servers

from perdure.collections.removal import remove_item
from perdure.errors import BadKey, InvalidInput, ItemDamaged
from perdure.registry import add_agent, new_key

FILES = {"map.pdf": b"%PDF of a map", "data/points.csv": b"x,y\n1,2\n"}
DAMAGE = b"damage"


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Site]]:
    with two_servers(tmp_path_factory.mktemp("sites")) as sites:
        yield sites


@pytest.fixture
def north(sites: tuple[Site, Site]) -> Site:
    return sites[0]


@pytest.fixture
def south(sites: tuple[Site, Site]) -> Site:
    return sites[1]


def release(north: Site, south: Site, label: str, **fields: object) -> httpx.Response:
    """Send the request of the server that takes the original over."""
    listed = list_items(north)[label]
    body = {
        "label": label,
        "collection": "main",
        "server": identity(south),
        "version": listed["version"],
        "digest": listed["digest"],
    }
    with north.server.client() as client:
        return client.post("/api/v1/original-moves", json=body | fields)


def identity(site: Site) -> str:
    with site.server.client("") as client:
        stated: str = client.get("/.well-known/perdure/server").json()["server"]
        return stated


def list_items(site: Site, **parameters: int) -> dict[str, dict[str, object]]:
    """Return all items of the collection over HTTP, page by page."""
    found, after = {}, ""
    with site.server.client("") as client:
        while after is not None:
            page = client.get("/api/v1/collections/main/items", params={"after": after, **parameters}).json()
            found |= {one["label"]: one for one in page["items"]}
            after = page["next"]
    return found


def assert_moved(label: str, origin: Site, to: Site) -> None:
    """Assert that one server has the original of an item that is registered at the other, which has a copy."""
    assert origin.holdings(label) == {to.server.url: "original", "main": "copy"}
    assert to.holdings(label) == {"main": "original"}
    assert origin.target(label).startswith(f"{to.collection_url}/{label}/")
    judge(to.root)


def test_the_original_moves_and_the_identifier_points_to_the_other_server(north: Site, south: Site) -> None:
    label = north.put(FILES, main_file="map.pdf")
    south.migrate(north, label)
    assert_moved(label, north, south)
    assert north.read(label) == FILES["map.pdf"]
    south.migrate(north, label)  # again
    assert_moved(label, north, south)


def test_new_versions_go_to_the_original_and_come_back_with_it(north: Site, south: Site) -> None:
    label = north.put(FILES)
    south.migrate(north, label)
    with pytest.raises(InvalidInput, match=r"the original of .* is on http"):
        north.put({"new.pdf": b"new"}, label)
    south.put({"new.pdf": b"new"}, label)
    north.migrate(south, label)
    assert north.holdings(label) == {"main": "original"}
    assert south.holdings(label) == {"main": "copy"}
    assert north.target(label) == f"{north.collection_url}/{label}/new.pdf"
    stored = north.root.read_item(label)
    assert [sorted(one.files) for one in stored.versions] == [["new.pdf"], sorted(FILES)]
    judge(north.root)


def test_a_move_that_stopped_between_the_servers_continues(north: Site, south: Site) -> None:
    label = north.put(FILES)
    south.install(north, label)
    assert release(north, south, label).status_code == 200
    assert north.holdings(label) == {south.server.url: "original", "main": "copy"}
    assert south.holdings(label) == {"main": "copy"}
    assert north.read(label)
    assert south.read(label)
    assert release(north, south, label).status_code == 200
    south.migrate(north, label)
    assert_moved(label, north, south)


def test_a_move_continues_after_the_other_server_has_removed_its_copy(north: Site, south: Site) -> None:
    label = north.put(FILES)
    south.install(north, label)
    release(north, south, label)
    north.do(remove_item, label, "main")
    south.migrate(north, label)
    assert north.holdings(label) == {south.server.url: "original"}
    assert south.holdings(label) == {"main": "original"}


def test_nothing_moves_to_a_server_that_has_another_version_or_none(north: Site, south: Site) -> None:
    label = north.put(FILES)
    refused = release(north, south, label)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    south.install(north, label)
    north.put({**FILES, "new": b"2"}, label)
    assert release(north, south, label).status_code == 409
    assert release(north, south, label, version=1).status_code == 409
    assert north.holdings(label) == {"main": "original"}


def test_an_old_copy_is_completed_before_the_move(north: Site, south: Site) -> None:
    label = north.put(FILES)
    south.install(north, label)
    north.put({**FILES, "new": b"2"}, label)
    south.migrate(north, label)
    assert_moved(label, north, south)
    assert south.root.read_item(label).newest.number == 2


def test_a_damaged_copy_does_not_become_the_original(north: Site, south: Site) -> None:
    label = north.put(FILES)
    south.install(north, label)
    content, _ = south.root.open_file(label, "map.pdf")
    content.chmod(0o644)
    content.write_bytes(DAMAGE)
    with pytest.raises(ItemDamaged, match=r"map\.pdf is changed"):
        south.migrate(north, label)
    assert north.holdings(label) == {"main": "original"}
    south.do(remove_item, label, "main")


def test_only_a_registered_peer_gets_an_original(north: Site, south: Site) -> None:
    label = north.put(FILES)
    refused = release(north, south, label, server="0" * 32)
    assert refused.status_code == 422
    assert "perdure peer add" in refused.json()["detail"]
    with north.server.client("") as client:
        assert client.post("/api/v1/original-moves", json={}).status_code == 401


def test_the_agent_there_needs_a_grant(north: Site, south: Site) -> None:
    label = north.put(FILES)
    north.do(add_agent, "jan", "Jan de Vries")
    _, key = north.do(new_key, "jan")
    for shown in (key, "perdure_wrong"):
        with pytest.raises(BadKey):
            south.migrate(north, label, key=shown)
    assert north.holdings(label) == {"main": "original"}


def test_a_third_server_is_not_served_past_the_registry_of_the_identifier(north: Site, south: Site) -> None:
    label = north.put(FILES)
    south.migrate(north, label)
    refused = release(south, south, label)
    assert refused.status_code == 422
    assert south.holdings(label) == {"main": "original"}


def test_the_only_original_is_not_removed_like_a_copy(north: Site, south: Site) -> None:
    label = north.put(FILES)
    south.migrate(north, label)
    north.do(remove_item, label, "main")
    with pytest.raises(InvalidInput, match="the only intact copy"):
        south.do(remove_item, label, "main")


def test_a_whole_collection_moves_and_comes_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    with two_servers(tmp_path_factory.mktemp("all")) as (north, south):
        labels = [north.put({"a": b"%d" % number}) for number in range(3)]
        own = south.put(FILES)
        south.install(north, labels[0])
        assert release(north, south, labels[0]).status_code == 200  # as if a move had stopped
        assert [one.problem for one in south.migrate_all(north)] == [None] * 3
        for label in labels:
            assert_moved(label, north, south)
        assert sorted(list_items(south, limit=1)) == sorted([*labels, own])
        assert {one["original"] for one in list_items(north).values()} == {identity(south)}
        assert [one.problem for one in north.migrate_all(south)] == [None] * 4
        assert_moved(own, south, north)
        for label in labels:
            assert north.holdings(label) == {"main": "original"}
            assert south.holdings(label) == {"main": "copy"}
        south.migrate(north, labels[0])
        south.server.stop()
        assert north.read(labels[0]) == b"0"  # its copy, while the server with the original is down


def test_a_killed_move_leaves_one_original_and_continues(north: Site, south: Site) -> None:
    _kill_moves(north, south, times=6)


@pytest.mark.slow
def test_many_killed_moves_leave_one_original(north: Site, south: Site) -> None:
    _kill_moves(north, south, times=80)


def _kill_moves(north: Site, south: Site, times: int) -> None:
    """Move an item to and fro, and kill the moves at random moments."""
    label = north.put({**FILES, "large.bin": random.randbytes(3_000_000)})
    here, there = south, north
    started = time.monotonic()
    _finish(here.start_migration(there, label))
    longest = time.monotonic() - started
    here, there = there, here
    for _ in range(times):
        process = here.start_migration(there, label)
        time.sleep(random.uniform(longest / 4, longest))
        process.kill()
        process.communicate()
        held = north.holdings(label)
        assert list(held.values()).count("original") == 1
        assert north.read(label)
        assert not (held.get("main") == "original" and south.holdings(label).get("main") == "original")
        if random.random() < 0.5:
            here.migrate(there, label)
            here, there = there, here
    here.migrate(there, label)
    judge(north.root)
    judge(south.root)


def _finish(process: "subprocess.Popen[str]") -> None:
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
