"""Bulk changes and filtered lists over HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.http.live_server import LiveServer

API = "/api/v1"
OLD, NEW = "http://old.example.org/", "https://new.example.org/"


@pytest.fixture(scope="module")
def prefix(server: LiveServer) -> str:
    server.perdure("prefix", "add", "12346", "--minter", "chosen")
    return "12346"


@pytest.fixture
def client(server: LiveServer, prefix: str) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def import_names(client: httpx.Client, group: str, count: int = 5) -> None:
    lines = "".join(json.dumps({"name": f"12346/{group}{n}", "target": f"{OLD}{n}"}) + "\n" for n in range(count))
    done = client.post(f"{API}/imports", content=lines, headers={"Content-Type": "application/x-ndjson"})
    assert done.status_code == 200, done.text


def change_many(client: httpx.Client, path: str = "", **request: Any) -> list[dict[str, Any]]:
    options: dict[str, Any] = {"params": request} if path else {"json": request}
    answer = client.post(f"{API}/bulk-changes{path}", **options)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson"), answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def retarget(client: httpx.Client, group: str, **options: Any) -> list[dict[str, Any]]:
    fields = {"kind": "retarget", "from": OLD, "to": NEW, "query": {"prefix": f"12346/{group}"}}
    return change_many(client, **fields, **options)


def target_of(client: httpx.Client, name: str) -> str:
    return str(client.get(f"{API}/identifiers/{name}").json()["target"])


def test_a_preview_has_examples_and_counts_and_changes_nothing(client: httpx.Client) -> None:
    import_names(client, "p")
    *examples, result = retarget(client, "p", dry_run=True)
    assert examples[0] == {"name": "12346/p0", "before": f"{OLD}0", "after": f"{NEW}0"}
    assert (result["state"], result["changed"], result["urls"], "id" in result) == ("preview", 5, 5, False)
    assert target_of(client, "12346/p0") == f"{OLD}0"


def test_a_change_is_applied_shown_and_undone(client: httpx.Client) -> None:
    import_names(client, "u")
    result = retarget(client, "u")[-1]
    assert (result["state"], result["changed"]) == ("finished", 5)
    assert result["request"] == {"kind": "retarget", "query": {"prefix": "12346/u"}, "from": OLD, "to": NEW}
    assert target_of(client, "12346/u1") == f"{NEW}1"
    assert client.get(f"{API}/bulk-changes/{result['id']}").json() == result
    assert client.get(f"{API}/bulk-changes").json()["bulk_changes"][0] == result
    assert change_many(client, f"/{result['id']}/undo", dry_run=True)[-1]["undone"] == 5
    assert target_of(client, "12346/u1") == f"{NEW}1"
    undone = change_many(client, f"/{result['id']}/undo", dry_run=False)[-1]
    assert (undone["state"], undone["undone"]) == ("undone", 5)
    assert target_of(client, "12346/u1") == f"{OLD}1"
    assert client.post(f"{API}/bulk-changes/{result['id']}/undo").status_code == 409


def test_names_that_cannot_be_changed_are_reported_by_name(client: httpx.Client) -> None:
    import_names(client, "w")
    names = ["12346/w0", "12346/nope"]
    problem, *_, result = change_many(client, kind="withdraw", names=names, reason="lost")
    assert problem["name"] == "12346/nope"
    assert (result["seen"], result["changed"], result["refused"]) == (2, 1, 1)
    assert client.get("/12346/w0").status_code == 410


@pytest.mark.parametrize(("request_", "status", "part"), [
    ({"kind": "retarget", "from": OLD, "query": {}}, 422, "to"),
    ({"kind": "retarget", "from": "(", "to": "", "regex": True, "query": {}}, 422, "from"),
    ({"kind": "withdraw", "reason": "x", "query": {}}, 422, "query"),
    ({"kind": "withdraw", "reason": "x"}, 422, "names"),
    ({"kind": "withdraw", "reason": "x", "query": {"color": "red"}}, 422, "query.color"),
    ({"kind": "burn"}, 422, "kind"),
    ({"kind": "transfer", "agent": "nobody-here", "query": {"prefix": "12346"}}, 404, "agent"),
    ({"kind": "withdraw", "reason": "x", "query": {"prefix": "99999"}}, 404, None),
])  # fmt: skip
def test_a_wrong_request_is_refused_before_the_response_starts(
    client: httpx.Client, request_: dict[str, Any], status: int, part: str | None
) -> None:
    answer = client.post(f"{API}/bulk-changes", json=request_)
    assert (answer.status_code, answer.json().get("part")) == (status, part), answer.text


def test_credentials_are_required(server: LiveServer, client: httpx.Client) -> None:
    with server.client("") as anonymous:
        assert anonymous.get(f"{API}/bulk-changes").status_code == 401
        assert anonymous.post(f"{API}/bulk-changes", json={"kind": "withdraw"}).status_code == 401
        assert anonymous.get(f"{API}/identifiers").status_code == 401
    assert client.get(f"{API}/bulk-changes/0123456789").json()["code"] == "no-such-bulk-change"
    assert client.get(f"{API}/bulk-changes/0123456789/undo").status_code == 405


def test_the_pages_of_a_filtered_list_follow_each_other(client: httpx.Client) -> None:
    import_names(client, "l")
    client.delete(f"{API}/identifiers/12346/l2", params={"reason": "lost"}, headers={"If-Match": "*"})
    seen: list[str] = []
    path: str | None = f"{API}/identifiers?prefix=12346/l&state=active&target_begins={OLD}&limit=2"
    while path is not None:
        page = client.get(path)
        assert page.status_code == 200, page.text
        seen += [one["name"] for one in page.json()["identifiers"]]
        path = page.links["next"]["url"] if "next" in page.links else None
    assert seen == ["12346/l0", "12346/l1", "12346/l3", "12346/l4"]
