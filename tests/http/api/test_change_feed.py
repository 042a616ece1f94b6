"""The change feed: a harvester that follows `next` misses nothing."""

from typing import Any

import httpx
from tests.http.live_server import LiveServer
from tests.http.person_client import ANY, create_observation, create_reconstruction

API = "/api/v1"
SEEN = {
    "source_url": "https://example.org/jan",
    "retrieval_timestamp": "2025-01-09T10:30:00Z",
    "content_hash": "0" * 64,
}


def test_a_harvester_misses_nothing(server: LiveServer) -> None:
    with server.client() as desk, server.client("") as harvester:
        page = harvester.get(f"{API}/changes", params={"limit": 1000}).json()
        assert page["@context"] == "https://www.w3.org/ns/activitystreams"
        assert page["type"] == "OrderedCollectionPage"
        assert page["orderedItems"]
        jan = desk.post(f"{API}/poid", json=SEEN).json()["ppid"]
        tag = desk.get(f"{API}/{jan}").headers["etag"]
        desk.post(f"{API}/{jan}/restrict", json={"reason": "alive"}, headers={"if-match": tag})
        page = harvester.get(page["next"]).json()
        assert [(one["type"], one["summary"]) for one in page["orderedItems"]] == [
            ("Create", "mint"),
            ("Update", "restrict"),
        ]
        change = page["orderedItems"][1]["object"]
        assert (change["name"], change["version"], change["scheme"]) == (jan, 2, "ppid")
        assert harvester.get(change["id"], headers={"accept": "text/turtle"}).status_code == 200
        assert "alive" not in str(page)
        again = harvester.get(page["next"]).json()
        assert (again["orderedItems"], again["next"]) == ([], page["next"])


def test_only_fully_redacted_records_are_listed_as_deleted(server: LiveServer) -> None:
    with server.client() as desk, server.client("") as harvester:
        one, two = create_observation(desk), create_observation(desk)
        prid = create_reconstruction(desk, one, two)
        last = to_the_end(harvester, f"{API}/changes?limit=1000")["next"]
        desk.post(f"{API}/{one}/redact", json={"reason": "an order"}, headers=ANY)
        desk.post(f"{API}/{prid}/redact", json={"reason": "an order"}, headers=ANY)
        items = harvester.get(last).json()["orderedItems"]
        assert [(change["type"], change["object"]["name"], change["summary"]) for change in items] == [
            ("Delete", one, "redact"),
            ("Delete", prid, "redact"),  # because all of its content is gone now
            ("Delete", prid, "redact"),
        ]
        three, four = create_observation(desk), create_observation(desk)
        prid = create_reconstruction(desk, three, four)
        last = to_the_end(harvester, last)["next"]
        desk.post(f"{API}/{three}/redact", json={"reason": "an order"}, headers=ANY)
        items = harvester.get(last).json()["orderedItems"]
        assert [(change["type"], change["object"]["name"]) for change in items] == [("Delete", three), ("Update", prid)]


def test_the_last_page_names_itself_as_the_next(server: LiveServer) -> None:
    with server.client() as desk, server.client("") as harvester:
        last = to_the_end(harvester, f"{API}/changes?limit=2&scheme=ppid")
        assert (last["orderedItems"], last["id"]) == ([], last["next"])
        seen = [create_observation(desk) for _ in range(3)]
        desk.post(f"{API}/{seen[0]}/restrict", json={"reason": "alive"}, headers=ANY)
        first = harvester.get(last["next"]).json()
        assert [one["object"]["name"] for one in first["orderedItems"]] == seen[:2]
        assert first["id"] == last["next"] != first["next"]
        second = harvester.get(first["next"]).json()
        assert [one["object"]["name"] for one in second["orderedItems"]] == [seen[2], seen[0]]


def to_the_end(harvester: httpx.Client, address: str) -> dict[str, Any]:
    page: dict[str, Any] = harvester.get(address).json()
    while page["next"] != page["id"]:
        page = harvester.get(page["next"]).json()
    return page


def test_invalid_parameters_are_rejected(server: LiveServer) -> None:
    with server.client("") as client:
        for parameters in ({"since": "yesterday"}, {"scheme": "doi"}, {"limit": 0}, {"after": "1"}):
            assert client.get(f"{API}/changes", params=parameters).status_code in (400, 422), parameters


def test_readers_without_credentials_learn_neither_reserved_names_nor_agents(server: LiveServer) -> None:
    with server.client() as desk, server.client("") as harvester:
        desk.post(f"{API}/prefixes", json={"prefix": "777"})
        since = to_the_end(harvester, f"{API}/changes?limit=1000")["next"]
        reserved = desk.post(f"{API}/identifiers", json={"prefix": "777"}).json()["identifiers"][0]["name"]
        jan = create_observation(desk)
        page, all_of_it = harvester.get(since), desk.get(since)
        assert [one["object"]["name"] for one in page.json()["orderedItems"]] == [jan]
        assert "actor" not in page.text
        assert {one["object"]["name"] for one in all_of_it.json()["orderedItems"]} == {reserved, jan}
        assert {one["actor"] for one in all_of_it.json()["orderedItems"]} == {"admin"}
        assert "no-store" in all_of_it.headers["cache-control"]
