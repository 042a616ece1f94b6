"""The life cycle of identifiers through the API, on a running server."""

from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
from tests.http.live_server import LiveServer

from perdure import ibi

API = "/api/v1"
URL = "https://example.org/thesis.pdf"
ANY = {"If-Match": "*"}


@pytest.fixture(scope="module")
def client(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        for body in (
            {"prefix": "12345"},
            {"prefix": "uuid", "minter": "uuid"},
            {"prefix": "free", "minter": "chosen"},
            {"host": "mtc-m18.sid.inpe.br", "ip": "150.163.34.243", "granularity": "0.01"},
        ):
            assert client.post(f"{API}/prefixes", json=body).status_code == 201
        yield client


def mint_name(client: httpx.Client, prefix: str = "uuid", **fields: object) -> str:
    answer = client.post(f"{API}/identifiers", json={"prefix": prefix, **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["identifiers"][0]["name"])


def api_path(name: str, root: str = "identifiers") -> str:
    return f"{API}/{root}/{quote(name, safe='')}"


def test_one_name_comes_with_the_url_of_its_record(client: httpx.Client) -> None:
    answer = client.post(f"{API}/identifiers", json={"prefix": "12345", "target": URL, "about": {"what": "On lasting"}})
    assert answer.status_code == 201
    [one] = answer.json()["identifiers"]
    assert one["date"].endswith("Z")
    record = client.get(answer.headers["location"])
    assert record.json()["name"] == one["name"]
    assert record.json()["target"] == URL
    assert record.json()["about"] == {"what": "On lasting"}
    assert record.headers["etag"] == answer.headers["etag"] == '"1"'


def test_an_ibi_comes_with_both_its_labels(client: httpx.Client) -> None:
    answer = client.post(f"{API}/identifiers", json={"prefix": "sid.inpe.br/mtc-m18", "target": URL, "count": 2})
    names = answer.json()["identifiers"]
    assert len(names) == 2
    for one in names:
        for label in (one["name"], one["alias"], f"ibi:{one['alias']}"):
            assert client.get(api_path(label)).json()["names"] == [one["name"], one["alias"]]


def test_chosen_names_are_all_minted_or_none(client: httpx.Client) -> None:
    assert mint_name(client, "free", suffix="first") == "free/first"
    refused = client.post(f"{API}/identifiers", json={"prefix": "free", "suffixes": ["second", "first"]})
    assert (refused.status_code, refused.json()["code"]) == (409, "name-taken")
    assert client.get(api_path("free/second")).status_code == 404


def test_a_reserved_name_can_be_bound_once(client: httpx.Client) -> None:
    name = mint_name(client)
    assert client.get(api_path(name)).json()["state"] == "reserved"
    bound = client.post(api_path(name, "bindings"), json={"target": URL}, headers={"If-Match": '"1"'})
    assert (bound.status_code, bound.json()["state"], bound.headers["etag"]) == (200, "active", '"2"')
    again = client.post(api_path(name, "bindings"), json={"target": URL}, headers=ANY)
    assert (again.status_code, again.json()["code"]) == (409, "wrong-state")


@pytest.mark.parametrize(
    "suffix", ["a/b//c/", "..", "../x", "50%", "a?b#c", "é ü", "{name}", "+", "a+b", "identifiers"]
)
def test_names_of_all_characters_are_read_as_one_segment_and_as_the_rest_of_the_path(
    client: httpx.Client, server: LiveServer, suffix: str
) -> None:
    name = mint_name(client, "free", suffix=suffix, target=URL)
    assert client.get(api_path(name)).json()["name"] == name
    if ".." not in suffix:  # which clients take out
        assert client.get(f"{API}/identifiers/{quote(name)}").json()["name"] == name


def test_two_editors_cannot_overwrite_each_other(client: httpx.Client) -> None:
    name = mint_name(client, target=URL)
    seen = client.get(api_path(name)).headers["etag"]
    first = client.patch(api_path(name), json={"target": f"{URL}?1"}, headers={"If-Match": seen})
    second = client.patch(api_path(name), json={"target": f"{URL}?2"}, headers={"If-Match": seen})
    assert (first.status_code, second.status_code) == (200, 412)
    assert second.json()["code"] == "conflict"
    assert second.json()["found"] == "version 2"
    assert client.get(api_path(name)).json()["target"] == f"{URL}?1"


@pytest.mark.parametrize(("method", "root", "more"), [
    ("PATCH", "identifiers", {"json": {"target": URL}}),
    ("DELETE", "identifiers", {"params": {"reason": "gone"}}),
    ("POST", "bindings", {"json": {"target": URL}}),
    ("POST", "values", {"json": {"values": [{"index": 0, "type": "DESC", "data": {"format": "string", "value": "x"}}]}}),
    ("DELETE", "values", {"params": {"index": 1}}),
    ("POST", "reinstatements", {}),
])  # fmt: skip
def test_a_change_requires_the_expected_version(
    client: httpx.Client, method: str, root: str, more: dict[str, object]
) -> None:
    name = mint_name(client, target=URL)
    answer = client.request(method, api_path(name, root), **more)  # type: ignore[arg-type]
    assert (answer.status_code, answer.json()["code"]) == (428, "precondition-needed")
    outdated = client.request(method, api_path(name, root), headers={"If-Match": '"7"'}, **more)  # type: ignore[arg-type]
    assert outdated.status_code == 412
    assert client.get(api_path(name)).json()["version"] == 1


@pytest.mark.parametrize(("tag", "status"), [('"1"', 304), ('W/"1"', 304), ('"0", "1"', 304), ("*", 304), ('"2"', 200)])
def test_an_unchanged_record_is_not_sent_again(client: httpx.Client, tag: str, status: int) -> None:
    name = mint_name(client, target=URL)
    assert client.get(api_path(name), headers={"If-None-Match": tag}).status_code == status


def test_values_are_added_changed_and_removed(client: httpx.Client) -> None:
    name = mint_name(client, target=URL)
    mail = {"index": 0, "type": "EMAIL", "data": {"format": "string", "value": "desk@example.org"}}
    added = client.post(api_path(name, "values"), json={"values": [mail]}, headers=ANY).json()
    assert [(one["index"], one["type"]) for one in added["values"]] == [(1, "URL"), (2, "EMAIL")]
    changed = client.patch(api_path(name), json={"values": [{**mail, "index": 2, "ttl": 60}]}, headers=ANY).json()
    assert changed["values"][1]["ttl"] == 60
    removed = client.delete(api_path(name, "values"), params={"index": [2]}, headers=ANY).json()
    assert [one["index"] for one in removed["values"]] == [1]
    missing = client.delete(api_path(name, "values"), params={"index": 9}, headers=ANY)
    assert missing.status_code in (404, 422)


def test_a_tombstone_has_a_reason_and_can_be_removed(client: httpx.Client) -> None:
    name, other = mint_name(client, target=URL), mint_name(client, target=URL)
    gone = client.delete(api_path(name), params={"reason": "retracted", "replaced_by": other}, headers=ANY)
    assert gone.json()["tombstone"] == {"reason": "retracted", "replaced_by": f"hdl:{other}"}
    assert client.get(api_path(name)).json()["state"] == "withdrawn"
    assert client.patch(api_path(name), json={"target": URL}, headers=ANY).status_code == 410
    assert client.post(api_path(name, "reinstatements"), headers=ANY).json()["state"] == "active"
    acts = [one["action"] for one in client.get(api_path(name, "history")).json()["revisions"]]
    assert acts == ["mint", "withdraw", "reinstate"]


def test_every_version_stays_readable(client: httpx.Client) -> None:
    name = mint_name(client, target=URL)
    client.patch(api_path(name), json={"target": f"{URL}?2"}, headers=ANY)
    assert client.get(api_path(name, "versions"), params={"version": 1}).json()["target"] == URL
    assert client.get(api_path(name, "versions"), params={"version": 3}).status_code == 422
    [one] = client.get(api_path(name, "diff"), params={"from": 1, "to": 2}).json()["differences"]
    assert one["part"] == "value 1"
    assert one["after"]["data"]["value"] == f"{URL}?2"
    pages = [client.get(api_path(name, "history"), params={"after": after, "limit": 1}).json() for after in (0, 1)]
    assert [page["revisions"][0]["version"] for page in pages] == [1, 2]
    assert [page.get("next") for page in pages] == [1, None]


def test_private_values_are_shown_only_to_agents_with_permission_to_edit(
    client: httpx.Client, server: LiveServer
) -> None:
    secret = {"index": 5, "type": "NOTE", "data": {"format": "string", "value": "hush"}, "permissions": "1100"}
    name = mint_name(client, target=URL, values=[secret])
    with server.client("") as anonymous:
        for path in (api_path(name), f"{api_path(name, 'versions')}?version=1"):
            assert "hush" in client.get(path).text
            assert "hush" not in anonymous.get(path).text
        assert anonymous.get(f"{API}/search", params={"q": "hush"}).json() == {"found": []}


def test_identifiers_can_be_transferred(client: httpx.Client, server: LiveServer) -> None:
    server.perdure("agent", "add", "maria", "--name", "Maria", "--identifier", "https://example.org/maria")
    name = mint_name(client, target=URL)
    body = {"to": "maria", "names": [name]}
    assert client.post(f"{API}/transfers", json=body).json() == {"transferred": 1}
    assert client.get(api_path(name)).json()["authority"]["owners"] == ["https://example.org/maria"]
    missing = client.post(f"{API}/transfers", json={"to": "maria", "names": [name, "uuid/none"]})
    assert missing.status_code == 404


def test_names_are_found_by_words_and_by_targets(client: httpx.Client) -> None:
    name = mint_name(client, target="https://example.org/a;b?c=d&e", about={"who": "Zacharias Xylander"})
    assert client.get(f"{API}/search", params={"q": "xylander zach*"}).json()["found"][0]["name"] == name
    found = client.get(f"{API}/reverse", params={"data": "https://example.org/a;b?c=d&e"}).json()["found"]
    assert [one["name"] for one in found] == [name]


def test_lists_have_several_pages(client: httpx.Client) -> None:
    names = [mint_name(client, "free", suffix=f"page {number}") for number in range(5)]
    seen: list[str] = []
    link: str | None = f"{API}/identifiers?prefix=free&limit=3"
    while link is not None:
        answer = client.get(link)
        seen += [one["name"] for one in answer.json()["identifiers"]]
        link = answer.links["next"]["url"] if "next" in answer.links else None
    assert set(names) <= set(seen)
    assert len(seen) == len(set(seen))


def test_persons_can_be_read(client: httpx.Client, server: LiveServer) -> None:
    made = server.perdure(
        "mint", "POID", "--source", "https://example.org/jan", "--at", "2025-01-09T10:30:00Z", "--hash", "a" * 64
    )  # fmt: skip
    shown = client.get(api_path(made.split()[0].lower())).json()
    assert (shown["scheme"], shown["observation"]["source_url"]) == ("ppid", "https://example.org/jan")
    changed = client.patch(api_path(made.split()[0]), json={"about": {"what": "x"}}, headers=ANY)
    assert (changed.status_code, changed.json()["code"]) == (409, "immutable")


def test_a_repeated_request_mints_nothing_new(client: httpx.Client) -> None:
    body = {"prefix": "uuid", "target": URL, "count": 3}
    first, again = (client.post(f"{API}/identifiers", json=body, headers={"Idempotency-Key": "k 1"}) for _ in range(2))
    assert again.json() == first.json()
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    other = client.post(f"{API}/identifiers", json={**body, "count": 2}, headers={"Idempotency-Key": "k 1"})
    assert (other.status_code, other.json()["part"]) == (422, "Idempotency-Key")


def test_prefixes_are_added_changed_and_derived(client: httpx.Client) -> None:
    changed = client.patch(f"{API}/prefixes/12345", json={"policy": "For ever.", "pass_through": True}, headers=ANY)
    assert (changed.json()["policy"], changed.json()["pass_through"]) == ("For ever.", True)
    made = client.post(f"{API}/derived-prefixes", json={"prefix": "12345.7", "minter": "uuid"})
    assert made.status_code == 201
    assert client.get(made.headers["location"]).json()["parent"] == "12345"
    subsystem = client.get(f"{API}/prefixes/sid.inpe.br/mtc-m18").json()
    assert (subsystem["host"], subsystem["granularity"]) == ("mtc-m18.sid.inpe.br", "0.01")
    assert {"12345", "12345.7", "POID"} <= {one["prefix"] for one in client.get(f"{API}/prefixes").json()["prefixes"]}
    assert client.post(f"{API}/prefixes", json={"prefix": "12345"}).json()["code"] == "name-taken"


def test_a_subsystem_moves_to_another_address(client: httpx.Client) -> None:
    added = client.post(f"{API}/prefixes", json={"host": "old.example.net"})
    at, tag = added.headers["location"], added.headers["etag"]
    assert (added.json()["prefix"], added.json().get("ip"), added.json().get("ip_port")) == (
        "example.net/old",
        None,
        None,
    )
    [first] = client.post(f"{API}/identifiers", json={"prefix": "example.net/old", "target": URL}).json()["identifiers"]
    assert "alias" not in first
    address = {"host": "new.example.net", "ip": "150.163.34.249"}
    moved = client.patch(at, json=address, headers={"If-Match": tag})
    assert (moved.status_code, moved.headers["etag"] != tag) == (200, True)
    assert client.patch(at, json=address, headers={"If-Match": tag}).status_code == 412
    body = client.get(f"{API}/prefixes/example.net%2Fnew").json()
    assert body == moved.json() == client.get(at).json()
    assert [(one["label"], one["kind"], "ended" in one) for one in body["periods"]] == [
        ("example.net/old", "name", True),
        ("example.net/new", "name", False),
        (ibi.opaque_prefix("150.163.34.249", 800), "address", False),
    ]
    [second] = client.post(f"{API}/identifiers", json={"prefix": "example.net/old", "target": URL}).json()[
        "identifiers"
    ]
    assert second["name"].startswith("example.net/new/")
    for name in (first["name"], second["name"], second["alias"]):
        assert client.get(f"/{name}").headers["location"] == URL
    taken = client.post(f"{API}/prefixes", json={"host": "old.example.net"}).json()
    assert (taken["code"], taken["owner"], taken["until"]) == (
        "label-prefix-taken", "example.net/old", body["periods"][0]["ended"],
    )  # fmt: skip
    assert client.patch(at, json={"no_host": True}, headers=ANY).json()["ip"] == "150.163.34.249"
    assert client.patch(at, json={"no_ip": True}, headers=ANY).status_code == 422
    assert client.post(f"{API}/prefixes", json={"prefix": "12390", "host": "x.example.net"}).status_code == 422


def test_two_clients_that_change_a_prefix_cannot_overwrite_each_other(client: httpx.Client) -> None:
    made = client.post(f"{API}/prefixes", json={"prefix": "54321", "minter": "uuid"})
    at, seen = made.headers["location"], made.headers["etag"]
    assert client.get(at).headers["etag"] == seen
    assert client.get(at, headers={"If-None-Match": seen}).status_code == 304
    first = client.patch(at, json={"policy": "One."}, headers={"If-Match": seen})
    second = client.patch(at, json={"minter": "chosen"}, headers={"If-Match": seen})
    assert (first.status_code, second.status_code, second.json()["code"]) == (200, 412, "conflict")
    assert client.patch(at, json={"policy": "Two."}).json()["code"] == "precondition-needed"
    now = client.get(at)
    assert (now.json()["policy"], now.json()["minter"]) == ("One.", "uuid")
    assert now.headers["etag"] == first.headers["etag"] != seen
    for change in ({"minter": "sequential"}, {"pattern": "n#"}, {"pass_through": True}, {"policy": ""}):
        tag = now.headers["etag"]
        now = client.patch(at, json=change, headers={"If-Match": tag})
        assert (now.status_code, now.headers["etag"] != tag) == (200, True), change
    coarser = client.patch(f"{API}/prefixes/sid.inpe.br/mtc-m18", json={"granularity": "0.1"}, headers=ANY)
    finer = client.patch(f"{API}/prefixes/sid.inpe.br/mtc-m18", json={"granularity": "0.01"}, headers=ANY)
    assert coarser.headers["etag"] != finer.headers["etag"]


def test_a_condition_on_a_resource_without_an_etag_is_not_ignored(client: httpx.Client) -> None:
    for path, body in (
        ("/identifiers", {"prefix": "uuid"}),
        ("/prefixes", {"prefix": "65432"}),
        ("/transfers", {"to": "admin", "names": []}),
    ):
        answer = client.post(f"{API}{path}", json=body, headers={"If-Match": '"1"'})
        assert (answer.status_code, answer.json()["code"]) == (412, "conflict"), path
    assert client.get(f"{API}/prefixes/65432").status_code == 404
    assert client.post(f"{API}/identifiers", json={"prefix": "uuid"}, headers=ANY).status_code == 201


def test_a_client_can_read_its_own_agent_and_grants(client: httpx.Client) -> None:
    me = client.get(f"{API}/agents/me").json()
    assert me["id"] == "admin"
    assert ("*", "mint", "admin") in {(one["scope"], one["action"], one["given_by"]) for one in me["grants"]}


@pytest.mark.parametrize(
    "path",
    [
        "/identifiers/{}",
        "/history/{}",
        "/versions/{}?version=1",
        "/diff/{}?from=1&to=1",
        "/search?q=thesis",
        "/agents/me",
    ],
)
def test_responses_to_authenticated_callers_are_not_cached(client: httpx.Client, server: LiveServer, path: str) -> None:
    name = quote(mint_name(client, target=URL), safe="")
    answer = client.get(API + path.format(name))
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "private, no-store")
    if path != "/agents/me":
        with server.client("") as anonymous:
            answer = anonymous.get(API + path.format(name))
            assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")
            assert answer.headers["vary"] == "authorization"


def test_an_old_value_is_shown_only_to_agents_with_permission_for_its_index_today(
    server: LiveServer, client: httpx.Client
) -> None:
    note = {"index": 5, "type": "NOTE", "data": {"format": "string", "value": "a secret"}}
    name = mint_name(client, target=URL, values=[note])
    client.patch(api_path(name), json={"values": [note | {"permissions": "1100"}]}, headers={"If-Match": "*"})
    addresses = [f"{api_path(name, 'versions')}?version=1", f"{api_path(name, 'diff')}?from=1&to=2", api_path(name)]
    with server.client("") as anonymous:
        for address in addresses:
            assert anonymous.get(address).status_code == 200
            assert "a secret" not in anonymous.get(address).text
    assert all("a secret" in client.get(address).text for address in addresses)


def test_redacted_values_are_gone_from_every_version(server: LiveServer, client: httpx.Client) -> None:
    note = {"index": 5, "type": "NOTE", "data": {"format": "string", "value": "a secret"}}
    name = mint_name(client, target=URL, values=[note])
    body = {"indexes": [5], "reason": "a court order"}
    assert client.post(api_path(name, "redactions"), json=body).status_code == 428
    assert client.post(api_path(name, "redactions"), json=body, headers={"If-Match": '"7"'}).status_code == 412
    nothing = client.post(api_path(name, "redactions"), json=body | {"indexes": [6]}, headers={"If-Match": "*"})
    assert (nothing.status_code, nothing.json()["code"]) == (404, "no-such-value")
    done = client.post(api_path(name, "redactions"), json=body, headers={"If-Match": '"1"'})
    assert (done.status_code, done.headers["etag"]) == (200, '"2"')
    assert done.json()["redaction"]["indexes"] == [5]
    for address in (f"{api_path(name, 'versions')}?version=1", f"{api_path(name, 'diff')}?from=1&to=2"):
        assert "a secret" not in client.get(address).text
    with server.client("") as anonymous:
        page = anonymous.get(f"/{name}?noredirect", headers={"accept": "text/html"})
    assert "a court order" in page.text
