"""Three servers, each in processes of its own: what has a living copy resolves, whichever server is away."""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import httpx
import pytest
from tests.http.federation.network_gate import Mode
from tests.http.federation.peers import header_fields, scripted_peer
from tests.http.federation.three_servers import CACHE_SECONDS, Federation, Site, three_servers

from perdure.federation.peer_table import name_keys
from perdure.records.value import Text, Value
from perdure.registry import Registry, Statement, add_prefix, mint, observe
from perdure.registry.entities import Agent

_PATIENCE = 40.0


class Item(NamedTuple):
    """An item: its labels, its content, and the servers that have its original and a copy."""

    labels: tuple[str, ...]
    content: str
    origin: Site
    copy: Site | None


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with three_servers(tmp_path_factory.mktemp("federation")) as running:
        yield running


@pytest.fixture(scope="module")
def items(federation: Federation) -> list[Item]:
    """Store an item on each server, and copy it to the next one. One more has no copy."""
    found = []
    sites = list(federation.sites.values())
    for site, following in zip(sites, [*sites[1:], sites[0]], strict=True):
        labels = site.put(f"an item of {site.name}")
        following.install(labels[0], site)
        found.append(Item(labels, f"an item of {site.name}", site, following))
    found.append(Item(sites[0].put("without a copy"), "without a copy", sites[0], None))
    federation.read_announcements()
    return found


@pytest.fixture(autouse=True)
def whole(federation: Federation, items: list[Item]) -> Iterator[None]:
    """Bring all servers back after a test, and wait until they know of each other again."""
    yield
    for site in federation.sites.values():
        site.gate.set("open")
        if site.server is None:
            site.start()
    for site in federation.sites.values():
        for item in items:
            wait_until(lambda site=site, item=item: leads_to_original(site, item))
    check_one_original(federation, items)


def wait_until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.2)


def leads_to_original(site: Site, item: Item) -> bool:
    found = site.get(f"/{item.labels[0]}")
    return found.status_code == 302 and found.headers["location"].startswith(item.origin.url)


def check_one_original(federation: Federation, items: list[Item]) -> None:
    originals = federation.count_originals()
    for item in items:
        for label in item.labels:
            assert originals[label.lower()] == (item.origin.server is not None), label


def test_every_server_leads_to_every_item_by_each_of_its_labels(federation: Federation, items: list[Item]) -> None:
    for site in federation.sites.values():
        for item in items:
            for label in item.labels:
                assert site.read(label) == item.content
    check_one_original(federation, items)


def test_the_answer_says_who_gave_it_and_why(federation: Federation, items: list[Item]) -> None:
    item = items[0]
    fields = header_fields(federation.west.get(f"/{item.labels[0]}").headers["perdure-answer"])
    assert (fields["by"], fields["server"], fields["state"], fields["why"]) == (
        "north",
        federation.north.url,
        "original",
        "original",
    )
    preferred = federation.west.get(f"/{item.labels[1]}?site=south")
    assert preferred.headers["location"].startswith(federation.south.url)
    assert header_fields(preferred.headers["perdure-answer"])["why"] == "preferred site"
    explained = federation.west.get(f"/{item.labels[0]}?explain", accept="application/json").json()
    assert {answer["peer"]: answer["state"] for answer in explained["answers"]} == {
        "north": "original",
        "south": "copy",
    }


@pytest.mark.parametrize("gone", ["north", "south", "west"])
@pytest.mark.parametrize("way", ["stopped", "silent"])
def test_a_copy_is_found_while_the_server_of_the_original_is_away(
    federation: Federation, items: list[Item], gone: str, way: Mode
) -> None:
    away = federation.sites[gone]
    if way == "stopped":
        away.stop()
    else:
        away.gate.set(way)
    time.sleep(2 * CACHE_SECONDS)  # the servers have just resolved these names
    others = [site for site in federation.sites.values() if site is not away]
    for site in others:
        for item in items:
            for label in item.labels:
                if item.origin is away and item.copy is None:
                    assert site.get(f"/{label}").status_code == 503, "it may exist: it is not missing"
                else:
                    assert site.read(label) == item.content
    if way == "silent":  # it sees itself, and its own items and copies
        for item in items:
            if away in (item.origin, item.copy):
                assert away.get(f"/{item.labels[0]}").status_code == 302
    for item in items:  # no server has made itself the original meanwhile
        for site in others:
            for label in item.labels:
                assert site.states().get(label.lower()) in (None, "original" if item.origin is site else "copy")


def test_a_server_that_is_cut_off_still_leads_to_its_own_copies(federation: Federation, items: list[Item]) -> None:
    """The other side of a partition: from `south`, no other server can be reached."""
    federation.north.gate.set("silent")
    federation.west.gate.set("silent")
    time.sleep(2 * CACHE_SECONDS)  # the servers have just resolved these names
    for item in items:
        answer = federation.south.get(f"/{item.labels[0]}")
        if federation.south in (item.origin, item.copy):
            assert answer.headers["location"].startswith(federation.south.url)
        else:
            assert answer.status_code == 503


def test_files_versions_and_links_without_a_host_are_found_everywhere(
    federation: Federation, items: list[Item]
) -> None:
    label = items[0].labels[0]
    for site in federation.sites.values():
        for name in (f"{label}/text.txt", f"upn:4CR88AP:{label}/text.txt", f"upn:4CR88AP-:{label}"):
            assert site.read(name) == items[0].content, (site.name, name)
        assert "text.txt" in site.read(f"{label}?versions")
        assert site.read(f"rep/{label}") == items[0].content


def test_a_new_version_reaches_the_copy_and_the_original_still_wins(federation: Federation, items: list[Item]) -> None:
    labels = federation.west.put("first")
    federation.north.install(labels[0], federation.west)
    federation.read_announcements()
    assert federation.north.read(labels[1]) == "first"
    federation.west.put("second", labels[0])
    wait_until(lambda: federation.south.read(labels[0]) == "second")
    assert federation.north.read(labels[0]) == "second", "an older copy leads to the original"
    federation.west.stop()
    wait_until(lambda: federation.south.read(labels[0]) == "first")
    federation.west.start()
    federation.north.install(labels[0], federation.west)
    federation.west.stop()
    wait_until(lambda: federation.south.read(labels[0]) == "second")


def test_a_withdrawn_item_is_withdrawn_everywhere(federation: Federation, items: list[Item]) -> None:
    labels = federation.north.put("to be withdrawn")
    federation.south.install(labels[0], federation.north)
    federation.read_announcements()
    federation.north.live.perdure("withdraw", labels[0], "--reason", "a test")
    for site in federation.sites.values():
        found = site.get(f"/{labels[1]}")
        if site is federation.north:
            assert found.status_code == 410
        else:
            assert found.headers["location"] == f"{federation.north.url}/{labels[1]}"


def test_handles_and_persons_are_sent_on(federation: Federation, items: list[Item]) -> None:
    target = "https://example.org/a"

    async def work(registry: Registry, admin: Agent) -> list[str]:
        await add_prefix(registry, admin, "20.500.77", minter="chosen", pass_through=True)
        statement = Statement(target=target)
        minted = await mint(registry, admin, "20.500.77", statement=statement, suffixes=["map"])
        seen = await observe(registry, admin, "https://example.org/staff", "2025-01-09T10:30:00Z", "a" * 64)
        return [minted[0].name, seen.name]

    handle, person = federation.south.do(work)
    federation.read_announcements()
    for site in (federation.north, federation.west):
        assert site.get(f"/{handle}").headers["location"] == target
        assert site.get(f"/{person}").headers["location"] == f"{federation.south.url}/{person}"
        longer = site.get(f"/{handle}/sheet/2").headers["location"]
        assert longer == f"{federation.south.url}/{handle}/sheet/2"
        assert federation.south.get(httpx.URL(longer).path).headers["location"] == f"{target}/sheet/2"
        assert site.get("/20.500.77/unknown").status_code == 404


def test_a_reader_gets_the_version_in_its_language_from_another_server(
    federation: Federation, items: list[Item]
) -> None:
    versions = "".join(f'<location href="https://example.org/{one}" language="{one}"/>' for one in ("en", "pt-BR"))
    value = Value(2, "10320/loc", Text(f"<locations>{versions}</locations>"))

    async def work(registry: Registry, admin: Agent) -> str:
        await add_prefix(registry, admin, "20.500.78", minter="chosen")
        statement = Statement(target="https://example.org/all", values=(value,))
        return (await mint(registry, admin, "20.500.78", statement=statement, suffixes=["map"]))[0].name

    name = federation.south.do(work)
    federation.read_announcements()
    page = f"{federation.south.url}/{name}"  # which chooses between the locations itself
    at = "https://example.org/"
    for query, to in {"language=en": f"{at}en", "language=PT-br": f"{at}pt-BR", "language=fr": page}.items():
        sent = federation.north.get(f"/{name}?{query}")
        assert sent.headers["location"] == to, query
        assert header_fields(sent.headers["perdure-answer"])["by"] == "south"


def migrate(to: Site, label: str, origin: Site) -> None:
    key = str(origin.live.folder / "admin.key")
    to.live.perdure("collection", "migrate", label, f"{origin.url}/items/main", "main", "--origin-key-file", key)


def test_an_original_that_moves_to_another_server_is_the_only_one_and_its_copies_stand_in_for_it(
    federation: Federation, items: list[Item]
) -> None:
    north, south, west = federation.sites.values()
    labels = north.put("it moves")
    west.install(labels[0], north)
    migrate(south, labels[0], north)
    federation.read_announcements()
    moved = Item(labels, "it moves", south, west)
    for site in federation.sites.values():
        for label in labels:
            assert site.get(f"/{label}").headers["location"].startswith(south.url), (site.name, label)
            assert site.read(label) == moved.content
    check_one_original(federation, [moved])

    south.stop()
    for site in (north, west):
        for label in labels:
            assert site.read(label) == moved.content
    north.live.perdure("collection", "remove", labels[0], "main")
    wait_until(lambda: north.get(f"/{labels[0]}").headers["location"].startswith(west.url))
    assert west.read(labels[1]) == moved.content
    south.start()
    wait_until(lambda: all(leads_to_original(site, moved) for site in federation.sites.values()))
    check_one_original(federation, [moved])


def test_no_server_takes_away_what_another_one_mints_or_holds(federation: Federation, items: list[Item]) -> None:
    north, south, west = federation.sites.values()
    labels = north.put("it moves away")
    migrate(south, labels[0], north)
    federation.read_announcements()
    with scripted_peer(21) as lying:
        lying.announced = [{"prefix": name_keys(label)[0], "role": "original"} for label in labels]
        for site in (north, west):
            with site.live.client() as client:
                added = client.post("/api/v1/peers", json={"url": lying.url, "name": "lying", "private": True})
                assert added.status_code == 201, added.text
        for state in ("withdrawn", "original"):
            claims = {"state": state, "timestamp": "9999-01-01T00:00:00.000000Z", "version": 999}
            lying.respond = lambda one, name, nonce, claims=claims: one.answer(name, nonce, **claims)
            time.sleep(1.2)  # until the table is read again, and no answer is used again
            asked = len(lying.asked)
            for site in (north, west):
                for label in labels:
                    assert site.get(f"/{label}").headers["location"].startswith(south.url), (site.name, label, state)
            assert len(lying.asked) > asked
        for site in (north, west):
            with site.live.client() as client:
                assert client.delete("/api/v1/peers/lying", headers={"If-Match": "*"}).status_code == 200


def test_a_move_that_is_cut_off_is_continued_and_makes_no_second_original(
    federation: Federation, items: list[Item]
) -> None:
    north, south, _ = federation.sites.values()
    labels = south.put("it hesitates")
    south.gate.set("refused")
    with pytest.raises(AssertionError, match="Run the same command again"):
        migrate(north, labels[0], south)
    assert south.get(f"/{labels[0]}").headers["location"].startswith(south.url)
    south.gate.set("open")
    north.gate.set("refused")  # the other server cannot read what this one has
    with pytest.raises(AssertionError):
        migrate(north, labels[0], south)
    assert south.states()[labels[0].lower()] == "original"
    north.gate.set("open")
    time.sleep(2.5)  # for as long a server that failed is left alone
    migrate(north, labels[0], south)
    migrate(north, labels[0], south)
    federation.read_announcements()
    check_one_original(federation, [Item(labels, "it hesitates", north, south)])
    assert [site.read(labels[1]) for site in federation.sites.values()] == ["it hesitates"] * 3
