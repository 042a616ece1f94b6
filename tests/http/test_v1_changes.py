"""The feed of changes: a harvester that asks what `next` says misses nothing."""

from tests.http.live import LiveServer

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
        told = page["orderedItems"][1]["object"]
        assert (told["name"], told["version"], told["scheme"]) == (jan, 2, "ppid")
        assert harvester.get(told["id"], headers={"accept": "text/turtle"}).status_code == 200
        assert "alive" not in str(page)
        again = harvester.get(page["next"]).json()
        assert (again["orderedItems"], again["next"]) == ([], page["next"])


def test_what_cannot_be_asked(server: LiveServer) -> None:
    with server.client("") as client:
        for asked in ({"since": "yesterday"}, {"scheme": "doi"}, {"limit": 0}, {"after": "1"}):
            assert client.get(f"{API}/changes", params=asked).status_code in (400, 422), asked
