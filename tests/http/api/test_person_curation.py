"""Curation of persons over HTTP: revise, link, merge, split, undo and restrict, on a running server."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.http.live_server import LiveServer
from tests.http.person_client import (
    ANY,
    API,
    CURATED,
    conclusion,
    create_observation,
    create_reconstruction,
    named_source,
    problem,
    source,
)

LINK = {"relation": "exact", "scheme": "wikidata", "value": "Q42"}


@pytest.fixture(scope="module")
def client(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def anonymous(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client("") as client:
        yield client


def get_person(client: httpx.Client, name: str) -> dict[str, Any]:
    answer = client.get(f"{API}/{name}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def list_actions(client: httpx.Client, name: str) -> list[str]:
    return [one["action"] for one in client.get(f"{API}/{name}/history").json()["revisions"]]


def test_a_revision_is_the_next_version_and_the_old_one_stays(client: httpx.Client, anonymous: httpx.Client) -> None:
    one, two = create_observation(client), create_observation(client)
    name = create_reconstruction(client, one, notes="the first idea")
    revised = client.put(f"{API}/{name}", json=conclusion(one, two, reason="a new deed"), headers={"If-Match": '"1"'})
    assert (revised.status_code, revised.headers["etag"]) == (200, '"2"')
    assert revised.json()["reconstruction"]["observation_ids"] == sorted([one, two])
    assert "notes" not in revised.json()["reconstruction"]
    old = anonymous.get(f"{API}/{name}", params={"version": 1})
    assert (old.json()["version"], old.json()["newest"]) == (1, 2)
    assert old.json()["reconstruction"]["notes"] == "the first idea"
    before = anonymous.get(f"{API}/{name}/observations", params={"version": 1}).json()["observations"]
    assert [seen["ppid"] for seen in before] == [one]
    history = anonymous.get(f"{API}/{name}/history").json()
    assert [(each["version"], each["action"], each.get("note")) for each in history["revisions"]] == [
        (1, "mint", None),
        (2, "revise", "a new deed"),
    ]
    first = anonymous.get(f"{API}/{name}/history", params={"limit": 1}).json()
    assert (len(first["revisions"]), first["next"]) == (1, 1)


@pytest.mark.parametrize(("method", "act", "body"), [
    ("PUT", "", conclusion("POID-93b0-4476-560e-5ac1")),
    ("PUT", "/links", {"links": []}),
    ("PATCH", "/links", {"add": [LINK]}),
    ("POST", "/merge", {**CURATED, "into": "PRID-5ccc-3780-8c9c-5a90", "reason": "x"}),
    ("POST", "/split", {**CURATED, "parts": [["POID-93b0-4476-560e-5ac1"], ["POID-5841-3d40-65d0-5c6X"]], "reason": "x"}),
    ("POST", "/undo", {**CURATED, "reason": "x"}),
    ("POST", "/restrict", {"reason": "x"}),
    ("POST", "/lift-restriction", {"reason": "x"}),
    ("POST", "/redact", {"reason": "x"}),
])  # fmt: skip
def test_an_act_requires_the_expected_version(
    client: httpx.Client, method: str, act: str, body: dict[str, Any]
) -> None:
    assert client.post(f"{API}/poid", json=source(source_url="https://example.org/staff/jan")).status_code in (200, 201)
    other = create_reconstruction(client)
    body = {**body, "into": other} if "into" in body else body
    name = create_reconstruction(client)
    url = f"{API}/{name}{act}"
    assert problem(client.request(method, url, json=body)) == (428, "precondition-needed")
    assert problem(client.request(method, url, json=body, headers={"If-Match": '"7"'})) == (412, "conflict")
    assert problem(client.request(method, url, json={**body, "more": 1}, headers=ANY)) == (422, "invalid-input")
    nowhere = f"{API}/PRID-1b91-673b-631c-5ff5{act}"
    assert problem(client.request(method, nowhere, json=body, headers=ANY)) == (404, "no-such-name")
    assert get_person(client, name)["version"] == 1


def test_single_links_are_added_and_dropped(client: httpx.Client) -> None:
    viaf = {**LINK, "scheme": "viaf", "value": "12345"}
    name = create_reconstruction(client, notes="as it was", links=[viaf])
    added = client.patch(f"{API}/{name}/links", json={"add": [LINK]}, headers={"If-Match": '"1"'})
    assert (added.status_code, added.headers["etag"]) == (200, '"2"')
    assert "dropped" not in added.json()
    body = {"drop": [{"scheme": "viaf", "value": "12345"}], "reason": "another person"}
    dropped = client.patch(f"{API}/{name}/links", json=body, headers={"If-Match": '"2"'})
    assert dropped.json()["dropped"] == [{"part": "links", "item": "exact:viaf:12345"}]
    assert dropped.json()["reconstruction"]["links"] == [LINK]
    assert dropped.json()["reconstruction"]["notes"] == "as it was"
    assert "dropped" not in get_person(client, name)
    again = client.patch(f"{API}/{name}/links", json=body, headers=ANY)
    assert (problem(again), again.json()["part"]) == ((422, "invalid-input"), "drop")
    assert problem(client.patch(f"{API}/{name}/links", json={}, headers=ANY))[0] == 422
    assert problem(client.patch(f"{API}/{name}/links", json=body))[0] == 428


def test_a_revision_says_what_it_dropped(client: httpx.Client) -> None:
    poid = create_observation(client, named_source("Jan"))
    name = create_reconstruction(client, poid, claims=[{"observation_id": poid, "claim": 1}], links=[LINK], notes="why")
    revised = client.put(f"{API}/{name}", json=conclusion(poid), headers=ANY).json()
    assert revised["dropped"] == [
        {"part": "claims", "item": f"{poid}:1 (name: Jan)"},
        {"part": "links", "item": "exact:wikidata:Q42"},
        {"part": "notes", "item": "why"},
    ]
    assert "dropped" not in client.put(f"{API}/{name}", json=conclusion(poid), headers=ANY).json()


def test_a_merge_and_a_split_say_what_they_leave_out(client: httpx.Client) -> None:
    gone, survivor = create_reconstruction(client, notes="lost", links=[LINK]), create_reconstruction(client)
    merged = client.post(f"{API}/{gone}/merge", json={**CURATED, "into": survivor, "reason": "x"}, headers=ANY).json()
    assert merged["dropped"] == [{"part": "notes", "item": "lost"}]
    parts = [[poid] for poid in merged["reconstruction"]["observation_ids"]]
    answer = client.post(f"{API}/{survivor}/split", json={**CURATED, "parts": parts, "reason": "x"}, headers=ANY)
    assert answer.json()["dropped"] == [{"part": "links", "item": "exact:wikidata:Q42"}]


def test_a_restriction_names_the_observations_or_includes_them(client: httpx.Client, anonymous: httpx.Client) -> None:
    poid = create_observation(client, named_source("Zonderling"))
    name = create_reconstruction(client, poid)
    why: dict[str, Any] = {"reason": "a living person"}
    answer = client.post(f"{API}/{name}/restrict", json=why, headers=ANY).json()
    assert answer["public_observations"] == [poid]
    answer = client.post(f"{API}/{name}/restrict", json={**why, "with_observations": True}, headers=ANY).json()
    assert "public_observations" not in answer
    assert "Zonderling" not in anonymous.get(f"{API}/{poid}").text


def test_a_restriction_names_what_was_merged_into_the_person(client: httpx.Client, anonymous: httpx.Client) -> None:
    poid = create_observation(client, named_source("Zonderling"))
    gone, survivor = create_reconstruction(client, poid), create_reconstruction(client)
    client.post(f"{API}/{gone}/merge", json={**CURATED, "into": survivor, "reason": "x"}, headers=ANY)
    why: dict[str, Any] = {"reason": "a living person"}
    answer = client.post(f"{API}/{survivor}/restrict", json=why, headers=ANY).json()
    assert (answer["public_reconstructions"], poid in answer["public_observations"]) == ([gone], True)
    answer = client.post(f"{API}/{survivor}/restrict", json={**why, "with_observations": True}, headers=ANY).json()
    assert "public_reconstructions" not in answer
    assert anonymous.get(f"{API}/{gone}", params={"version": 1}).json().get("reconstruction") is None


@pytest.mark.parametrize("many", [False, True])
def test_the_inputs_of_a_withdrawn_observation_are_answered_with_200(client: httpx.Client, many: bool) -> None:
    given = source()
    poid = create_observation(client, given)
    gone = client.delete(f"{API}/identifiers/{poid}", params={"reason": "read wrongly"}, headers=ANY)
    assert gone.status_code == 200
    if many:
        answer = client.post(f"{API}/observations", json=given, headers={"Content-Type": "application/x-ndjson"})
        line = json.loads(answer.text.splitlines()[0])
        assert (line["ppid"], line["created"], line["state"]) == (poid, False, "withdrawn")
        return
    answer = client.post(f"{API}/poid", json=given)
    assert (answer.status_code, answer.json()["ppid"], answer.json()["state"]) == (200, poid, "withdrawn")
    assert answer.json()["tombstone"] == {"reason": "read wrongly"}


@pytest.mark.parametrize("url", ["urn:isbn:9780000000002", "mailto:jan@example.org"])
def test_a_source_without_a_web_address_is_refused(client: httpx.Client, url: str) -> None:
    answer = client.post(f"{API}/poid", json=source(source_url=url))
    assert problem(answer) == (422, "invalid-input")
    assert (answer.json()["part"], answer.json()["rule"]) == ("source_url", "POID must have source")


def test_links_are_replaced_and_everything_else_stays(client: httpx.Client) -> None:
    name = create_reconstruction(client, notes="as it was", links=[{**LINK, "value": "Q1"}])
    linked = client.put(f"{API}/{name}/links", json={"links": [LINK]}, headers={"If-Match": '"1"'})
    assert (linked.status_code, linked.headers["etag"]) == (200, '"2"')
    assert linked.json()["reconstruction"] == {**get_person(client, name)["reconstruction"], "links": [LINK]}
    assert linked.json()["reconstruction"]["notes"] == "as it was"
    again = client.put(f"{API}/{name}/links", json={"links": [LINK]}, headers=ANY)
    assert again.headers["etag"] == '"2"'
    bad = client.put(f"{API}/{name}/links", json={"links": [LINK, {**LINK, "value": "42"}]}, headers=ANY)
    assert (problem(bad), bad.json()["part"]) == ((422, "invalid-input"), "links[2].value")


def test_a_merge_leads_to_the_survivor_and_can_be_undone(client: httpx.Client, anonymous: httpx.Client) -> None:
    gone, survivor = create_reconstruction(client, links=[LINK]), create_reconstruction(client)
    before = (
        get_person(client, gone)["reconstruction"],
        get_person(client, survivor)["reconstruction"]["observation_ids"],
    )
    merged = client.post(
        f"{API}/{gone}/merge", json={**CURATED, "into": survivor, "reason": "one baptism"}, headers={"If-Match": '"1"'}
    )
    assert (merged.status_code, merged.json()["ppid"], merged.headers["etag"]) == (200, survivor, '"2"')
    assert merged.headers["content-location"] == f"{API}/{survivor}"
    assert merged.json()["reconstruction"]["replaces"] == [gone]
    document = get_person(anonymous, gone)
    assert (document["state"], document["tombstone"]["replaced_by"]) == ("merged", survivor)
    assert problem(client.put(f"{API}/{gone}/links", json={"links": []}, headers=ANY))[0] == 409
    missing = client.post(f"{API}/{gone}/undo", json={"reason": "two persons"}, headers=ANY)
    assert (problem(missing), missing.json()["part"]) == ((422, "invalid-input"), "curator_id")
    undone = client.post(f"{API}/{gone}/undo", json={**CURATED, "reason": "two persons"}, headers={"If-Match": '"2"'})
    assert (undone.status_code, undone.json()["ppid"], undone.json()["state"]) == (200, gone, "active")
    assert (
        undone.json()["reconstruction"],
        get_person(client, survivor)["reconstruction"]["observation_ids"],
    ) == before
    assert list_actions(anonymous, gone) == ["mint", "merge", "undo merge"]
    again = client.post(f"{API}/{gone}/undo", json={**CURATED, "reason": "once more"}, headers=ANY)
    assert problem(again) == (409, "wrong-state")


def test_a_person_cannot_be_merged_into_itself(client: httpx.Client) -> None:
    name = create_reconstruction(client)
    answer = client.post(f"{API}/{name}/merge", json={**CURATED, "into": name, "reason": "x"}, headers=ANY)
    assert (problem(answer), answer.json()["rule"]) == ((422, "invalid-input"), "No circular references")


def test_a_split_names_its_parts_and_can_be_undone(client: httpx.Client, anonymous: httpx.Client) -> None:
    one, two = create_observation(client), create_observation(client)
    name = create_reconstruction(client, one, two)
    body = {**CURATED, "parts": [[one], [two]], "reason": "father and son"}
    unfinished = client.post(f"{API}/{name}/split", json={**body, "parts": [[one], [one]]}, headers=ANY)
    assert (problem(unfinished), unfinished.json()["part"]) == ((422, "invalid-input"), "parts")
    split = client.post(f"{API}/{name}/split", json=body, headers={"If-Match": '"1"'})
    assert split.status_code == 201
    parts = [part["ppid"] for part in split.json()["persons"]]
    assert [get_person(anonymous, part)["reconstruction"]["observation_ids"] for part in parts] == [[one], [two]]
    document = get_person(anonymous, name)
    assert (document["state"], document["tombstone"]["successors"]) == ("withdrawn", parts)
    undone = client.post(f"{API}/{name}/undo", json={"reason": "one person"}, headers={"If-Match": '"2"'})
    assert (undone.status_code, undone.json()["state"], undone.headers["etag"]) == (200, "active", '"3"')
    assert {get_person(anonymous, part)["state"] for part in parts} == {"merged"}


def test_a_restricted_person_shows_only_the_reason(client: httpx.Client, anonymous: httpx.Client) -> None:
    seen = create_observation(client, named_source("Geheimzinnig"))
    name = create_reconstruction(client, seen, claims=[{"observation_id": seen, "claim": 1}])
    revised = conclusion(seen, claims=[{"observation_id": seen, "claim": 1}], reason="Geheimzinnig it is", notes="!")
    assert client.put(f"{API}/{name}", json=revised, headers=ANY).status_code == 200
    for one in (name, seen):
        restricted = client.post(f"{API}/{one}/restrict", json={"reason": "alive"}, headers=ANY)
        assert restricted.status_code == 200
        assert "Geheimzinnig" in restricted.text  # with permission to edit
        document = get_person(anonymous, one)
        assert (document["state"], document["restriction"]["reason"]) == ("active", "alive")
        assert document["restriction"]["since"].endswith("Z")
    for path in (
        f"/{seen}",
        f"/{name}",
        f"/{name}?version=1",
        f"/{name}/observations",
        f"/{name}/history",
        f"/history/{name}",
        "/persons?name=geheimzinnig",
    ):
        answer = anonymous.get(f"{API}{path}")
        assert answer.status_code == 200
        assert "Geheimzinnig" not in answer.text
    assert anonymous.get(f"{API}/{name}/observations").json()["restriction"]["reason"] == "alive"
    assert list_actions(anonymous, name) == ["mint", "revise", "restrict"]
    early = client.post(f"{API}/{name}/lift-restriction", json={"reason": "consent"}, headers=ANY)
    assert problem(early) == (409, "wrong-state")  # before its observations
    client.post(f"{API}/{seen}/lift-restriction", json={"reason": "consent"}, headers=ANY)
    lifted = client.post(f"{API}/{name}/lift-restriction", json={"reason": "consent"}, headers={"If-Match": '"3"'})
    assert (lifted.status_code, "restriction" in lifted.json()) == (200, False)
    assert "Geheimzinnig" in anonymous.get(f"{API}/{name}").text
    again = client.post(f"{API}/{name}/lift-restriction", json={"reason": "consent"}, headers=ANY)
    assert problem(again) == (409, "wrong-state")


def test_an_old_version_is_sent_again_once_the_restriction_is_lifted(
    client: httpx.Client, anonymous: httpx.Client
) -> None:
    name = create_reconstruction(client, notes="kept back")
    client.post(f"{API}/{name}/restrict", json={"reason": "alive"}, headers=ANY)
    hidden = anonymous.get(f"{API}/{name}?version=1")
    assert "kept back" not in hidden.text
    client.post(f"{API}/{name}/lift-restriction", json={"reason": "consent"}, headers=ANY)
    again = anonymous.get(f"{API}/{name}?version=1", headers={"If-None-Match": hidden.headers["etag"]})
    assert (again.status_code, "kept back" in again.text) == (200, True)
    assert anonymous.get(again.url, headers={"If-None-Match": again.headers["etag"]}).status_code == 304


def test_writing_accepts_an_identifier_in_any_spelling(client: httpx.Client) -> None:
    name = create_reconstruction(client)
    answer = client.post(f"{API}/{name.lower()}/restrict", json={"reason": "alive"}, headers={"If-Match": '"1"'})
    assert (answer.status_code, answer.json()["ppid"]) == (200, name)


def test_redacted_content_is_gone_from_every_version(client: httpx.Client) -> None:
    seen = create_observation(client, named_source("Uitgewist"))
    name = create_reconstruction(client, seen, claims=[{"observation_id": seen, "claim": 1}])
    redacted = client.post(f"{API}/{seen}/redact", json={"reason": "a court order"}, headers={"If-Match": '"1"'})
    assert (redacted.status_code, redacted.json()["redaction"]["reason"]) == (200, "a court order")
    for path in (f"/{seen}", f"/{seen}?version=1", f"/{name}", f"/{name}?version=1", f"/{name}/observations"):
        assert "Uitgewist" not in client.get(f"{API}{path}").text
    again = client.post(f"{API}/{seen}/redact", json={"reason": "a court order"}, headers=ANY)
    assert problem(again) == (409, "wrong-state")
