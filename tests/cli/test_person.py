"""Tests of `perdure person`: invalid input first, then from a source to a person and back."""

import asyncio
import json
import shutil
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.test_registry_commands import Desk

from perdure.folder.registry_folder import make_registry, open_registry
from perdure.records.person import Claim
from perdure.registry import observe

WHEN = "2025-01-09T10:30:00Z"
JAN = ("https://example.org/staff/jan", "--at", WHEN, "--hash", "0" * 64)
PIET = ("https://example.org/staff/piet", "--at", WHEN, "--hash", "0" * 64)
CURATOR = ("--curator", "https://orcid.org/0000-0002-1825-0097", "--at", "2025-01-10T09:00:00Z")
LATER = ("--curator", "https://orcid.org/0000-0001-5109-3700", "--at", "2025-02-01T09:00:00Z")
POID = "POID-93b0-4476-560e-5ac1"  # the POID of JAN


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A registry with one observation of two claims, and its key."""
    folder = tmp_path_factory.mktemp("archive")

    async def fill() -> str:
        created = await make_registry(folder, name="The Archive")
        async with open_registry(folder) as registry:
            seen = (Claim(type="name", value="Jan de Vries"), Claim(type="birth_date", value="1895-03~"))
            made = await observe(registry, created.admin, JAN[0], JAN[2], JAN[4], claims=seen)
        assert made.name == POID
        return created.key

    return folder, asyncio.run(fill())


@pytest.fixture
def desk(quick: Run, tmp_path: Path, archive: tuple[Path, str]) -> Desk:
    """The command in a copy of that registry."""
    folder, key = archive
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return Desk(quick, tmp_path, key)


def reconstruct_person(desk: Desk, *options: str) -> str:
    return desk.ok("person", "reconstruct", "--observation", POID, *CURATOR, *options).strip()


def reconstruct_two_persons(desk: Desk) -> tuple[str, str, str]:
    """Jan, Piet, and the observation of Piet."""
    other = desk.ok("person", "observe", *PIET, "--claim", "name=Piet de Vries").strip()
    piet = desk.ok("person", "reconstruct", "--observation", other, *CURATOR, "--claim", f"{other}:1").strip()
    return reconstruct_person(desk, "--claim", f"{POID}:1"), piet, other


# Invalid input


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("observe", JAN[0], "--at", WHEN), ["--content", "--hash"]),
        (("observe", *JAN, "--content", "page.html"), ["--content, --hash", "only one"]),
        (("observe", *JAN, "--fetch"), ["--hash, --fetch", "only one"]),
        (("observe", "nowhere", *JAN[1:]), ["source_url", "absolute URL"]),
        (("observe", *PIET, "--claim", "Jan"), ["FIELD=VALUE"]),
        (("observe", *PIET, "--claim", "shoe=44"), ["shoe", "birth_date"]),
        (("observe", *PIET, "--claim", "name=Piet", "--claim", "birth_date=spring"), ["claims[2]", "birth_date", "EDTF"]),
        (("observe", *PIET, "--archive", "Rijksmuseum"), ["holding_archive", "GHCID"]),
        (("observe", *PIET, "--claims", "missing.json"), ["missing.json"]),
        (("observe", *JAN, "--claim", "name=Piet"), [POID, "never changes"]),
        (("reconstruct", "--observation", POID, "--claim", POID, *CURATOR), ["--claim", "number", f"{POID[:5]}…:1"]),
        (("reconstruct", "--observation", POID, "--claim", f"{POID}:3", *CURATOR), ["claims are 1 to 2", "no claim 3"]),
        (("reconstruct", "--observation", POID, "--claim", "POID-1:3", *CURATOR), ["--claim", "POID-1"]),
        (("reconstruct", "--observation", POID, "--link", "viaf:12", *CURATOR), ["exact", "close"]),
        (("reconstruct", "--observation", POID, "--link", "exact:isbn:12", *CURATOR), ["isbn", "wikidata"]),
        (("reconstruct", "--observation", POID, "--link", "exact:wikidata:42", *CURATOR), ["Wikidata item"]),
        (("reconstruct", "--observation", POID, "--employment", "NL-NH-AMS-M-RM;job=x", *CURATOR), ["role=", "start="]),
        (("reconstruct", "--observation", POID, "--employment", "RM", *CURATOR), ["GHCID"]),
        (("reconstruct", "--observation", POID, "--curator", "jan", "--at", WHEN), ["ORCID", "algorithm"]),
        (("reconstruct", "--observation", "POID-5841-3d40-65d0-5c6X", *CURATOR), ["observe it first"]),
        (("revise", POID, "--notes", "x"), ["observation", "never change"]),
        (("show", "POID-5841-3d40-65d0-5c6X"), ["not registered"]),
        (("show", POID, "--version", "2"), ["versions 1 to 1"]),
        (("undo", POID, "--reason", "x"), ["merged or split"]),
        (("lift", POID, "--reason", "x"), ["restricted"]),
        (("redact", POID, "--reason", "x"), ["--for-good", "restrict"]),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line_that_says_what_to_write(
    desk: Desk, arguments: tuple[str, ...], expected: list[str]
) -> None:
    message = desk.refuses("person", *arguments)
    for word in expected:
        assert word in message


def test_an_agent_without_a_grant_is_refused(desk: Desk) -> None:
    desk.ok("agent", "add", "maria", "--name", "Maria", "--identifier", "https://example.org/maria")
    key = desk.json("agent", "key", "maria")["key"]
    assert "mint" in desk.refuses("person", "observe", *PIET, env={"PERDURE_KEY": key})


# Observe


def test_content_is_hashed_from_a_file_or_from_standard_input(desk: Desk) -> None:
    (desk.folder / "page.html").write_text("<p>Jan</p>")
    from_file = desk.json("person", "observe", PIET[0], "--at", WHEN, "--content", "page.html")
    piped = desk.json("person", "observe", PIET[0], "--at", WHEN, "--content", "-", stdin="<p>Jan</p>")
    assert from_file["created"]
    assert piped == from_file | {"created": False}
    shown = desk.json("person", "show", from_file["name"])
    assert shown["observation"]["content_hash"] == sha256(b"<p>Jan</p>").hexdigest()
    assert shown["uuid_raw"] == from_file["uuid_raw"]


def test_claims_come_from_options_and_from_a_file(desk: Desk) -> None:
    birth_place = [{"type": "birth_place", "value": "Breda", "confidence": 0.8, "where": {"page": "12"}}]
    (desk.folder / "claims.json").write_text(json.dumps(birth_place))
    parts = ("--claim", "name.given_name=Piet", "--claim", "name.base_surname=Vries")
    name = desk.ok("person", "observe", *PIET, *parts, "--claims", "claims.json").strip()
    claims = desk.json("person", "show", name)["observation"]["claims"]
    assert claims == [{"type": "name", "value": {"given_name": "Piet", "base_surname": "Vries"}}, *birth_place]
    shown = desk.ok("person", "show", name)
    assert "1\tname\tPiet Vries\tverified\t\n" in shown
    assert "2\tbirth_place\tBreda\tverified 0.8\tpage 12\n" in shown


def test_a_repeated_observation_creates_nothing(desk: Desk) -> None:
    done = desk.run("person", "observe", *JAN)
    assert (done.returncode, done.stdout) == (0, f"{POID}\n")
    assert "nothing was created" in done.stderr


# Reconstruct and revise


def test_a_reconstruction_shows_its_observations(desk: Desk) -> None:
    name = reconstruct_person(
        desk,
        *("--claim", f"{POID.lower()}:2,1"),
        *("--link", "exact:orcid:https://orcid.org/0000-0001-5109-3700", "--link", "close:wikidata:q42"),
        *("--employment", "NL-NH-AMS-M-RM;role=Senior Archivist;start=2015;end=2020", "--employment", "NL-NH-HAA-A-NHA"),
        *("--notes", "See the letters", "--curator-name", "M. Silva"),
    )  # fmt: skip
    shown = desk.ok("person", "show", name)
    for line in (
        "state          reconstruction, active",
        "person name    Jan de Vries",
        "born           1895-03~",
        "reconstructed  2025-01-10T09:00:00Z by https://orcid.org/0000-0002-1825-0097 (M. Silva)",
        "exact match    https://orcid.org/0000-0001-5109-3700",
        "close match    http://www.wikidata.org/entity/Q42",
        "employment     NL-NH-AMS-M-RM, Senior Archivist, 2015 – 2020",
        "employment     NL-NH-HAA-A-NHA",
        "notes          See the letters",
        f"observation    {POID} · {JAN[0]} · {WHEN}",
        f"{POID}:1\tname\tJan de Vries\tverified\t",
    ):
        assert line in shown.splitlines(), shown


def test_fields_that_are_not_revised_stay_the_same(desk: Desk) -> None:
    name = reconstruct_person(desk, "--claim", f"{POID}:1", "--link", "exact:viaf:12345", "--notes", "old")
    before = desk.json("person", "show", name)["reconstruction"]
    assert desk.ok("person", "revise", name, "--notes", "new", "--at", LATER[3]) == f"Saved {name} as version 2.\n"
    after = desk.json("person", "show", name)["reconstruction"]
    assert after == before | {"notes": "new", "timestamp": LATER[3]}
    desk.ok("person", "revise", name, "--clear", "links", "--clear", "notes", "--at", LATER[3])
    cleared = desk.json("person", "show", name)["reconstruction"]
    assert cleared == {field: message for field, message in after.items() if field not in ("links", "notes")}
    assert desk.json("person", "show", name, "--version", "1")["reconstruction"] == before


def test_a_revision_is_dated_now_by_default(desk: Desk) -> None:
    name = reconstruct_person(desk)
    desk.ok("person", "revise", name, "--notes", "new")
    shown = desk.json("person", "show", name)
    assert shown["reconstruction"]["timestamp"] == shown["at"][:19] + "Z"


def test_another_curator_does_not_take_over_the_name_and_version_of_the_first(desk: Desk) -> None:
    linker = ("--curator", "linker", "--algorithm-version", "2.1", "--curator-name", "The Linker", "--at", WHEN)
    name = desk.ok("person", "reconstruct", "--observation", POID, *linker).strip()
    desk.ok("person", "revise", name, *LATER)
    made = desk.json("person", "show", name)["reconstruction"]
    assert made == {"observation_ids": [POID], "curator_id": LATER[1], "timestamp": LATER[3]}


def test_claims_are_removed_with_their_observation(desk: Desk) -> None:
    jan, _, other = reconstruct_two_persons(desk)
    done = desk.run("person", "revise", jan, "--observation", other)
    assert done.returncode == 0
    assert f"dropped (claims): {POID}:1 (name: Jan de Vries)" in done.stderr
    made = desk.json("person", "show", jan)["reconstruction"]
    assert made["observation_ids"] == [other]
    assert "claims" not in made


def test_single_links_are_added_and_dropped(desk: Desk) -> None:
    name = reconstruct_person(desk, "--link", "exact:viaf:12345", "--notes", "stays")
    desk.ok("person", "revise", name, "--add-link", "close:wikidata:Q42")
    done = desk.run(
        "person", "revise", name, "--drop-link", "viaf:12345", "--add-link", "exact:isni:0000 0001 2103 2683"
    )
    assert done.stderr == "perdure: dropped (links): exact:viaf:12345\n"
    made = desk.json("person", "show", name)["reconstruction"]
    assert [(link["relation"], link["scheme"]) for link in made["links"]] == [("close", "wikidata"), ("exact", "isni")]
    assert made["notes"] == "stays"
    version = desk.json("person", "show", name)["version"]
    assert "unchanged" in desk.ok("person", "revise", name, "--add-link", "close:wikidata:Q42")
    assert desk.json("person", "show", name)["version"] == version
    assert "exact:isni" in desk.refuses("person", "revise", name, "--drop-link", "exact:wikidata:Q42")
    assert "--add-link" in desk.refuses(
        "person", "revise", name, "--link", "exact:viaf:1", "--add-link", "exact:viaf:2"
    )
    assert "write it as" in desk.refuses("person", "revise", name, "--drop-link", "viaf")


def test_what_a_revision_replaces_is_named(desk: Desk) -> None:
    name = reconstruct_person(desk, "--claim", f"{POID}:1,2", "--link", "exact:viaf:12345", "--notes", "a note")
    revised = desk.json("person", "revise", name, "--link", "exact:viaf:777", "--claim", f"{POID}:1")
    assert revised["dropped"] == [
        {"part": "claims", "item": f"{POID}:2 (birth_date: 1895-03~)"},
        {"part": "links", "item": "exact:viaf:12345"},
    ]
    done = desk.run("set", name, "--observation", POID, *LATER)
    for item in (f"(claims): {POID}:1", "(links): exact:viaf:777", "(notes): a note"):
        assert f"dropped {item}" in done.stderr


def test_a_merge_and_a_split_name_what_they_leave_out(desk: Desk) -> None:
    jan, piet, other = reconstruct_two_persons(desk)
    desk.ok("person", "revise", jan, "--notes", "the notes of Jan", "--link", "exact:viaf:12345")
    merged = desk.run("person", "merge", jan, "--into", piet, "--reason", "one man", *CURATOR)
    assert merged.stderr == f"perdure: {piet} has not taken over (notes): the notes of Jan\n"
    parts = ("--part", POID, "--part", other)
    split = desk.run("person", "split", piet, *parts, "--reason", "two men", *LATER)
    assert split.stderr == "perdure: no part has taken over (links): exact:viaf:12345\n"


def test_a_restriction_names_the_observations_that_still_show_the_person(desk: Desk) -> None:
    name = reconstruct_person(desk, "--claim", f"{POID}:1")
    done = desk.run("person", "restrict", name, "--reason", "a living person")
    assert f"still shown by {POID}" in done.stderr
    assert "--with-observations" in done.stderr
    written = desk.ok("person", "restrict", name, "--reason", "a living person", "--with-observations")
    assert f"Restricted {POID}, too." in written
    assert desk.json("person", "show", POID)["restriction"]["reason"] == "a living person"


def test_a_restriction_names_what_was_merged_into_the_person(desk: Desk) -> None:
    jan, piet, other = reconstruct_two_persons(desk)
    desk.ok("person", "merge", jan, "--into", piet, "--reason", "one man", *CURATOR)
    done = desk.run("person", "restrict", piet, "--reason", "a living person")
    assert f", {jan}: restrict these too" in done.stderr
    fields = desk.json("person", "restrict", piet, "--reason", "a living person")
    assert fields["public_reconstructions"] == [jan]
    assert fields["public_observations"] == sorted([POID, other])
    written = desk.ok("person", "restrict", piet, "--reason", "a living person", "--with-observations")
    assert f"Restricted {jan}, too." in written
    assert desk.json("person", "show", jan)["restriction"]["reason"] == "a living person"


def test_the_inputs_of_a_withdrawn_observation_are_answered_with_its_state(desk: Desk) -> None:
    desk.ok("withdraw", POID, "--reason", "read wrongly")
    done = desk.run("person", "observe", *JAN)
    assert (done.returncode, done.stdout) == (0, f"{POID}\n")
    assert "is withdrawn: read wrongly" in done.stderr
    again = desk.json("person", "observe", *JAN)
    assert (again["created"], again["state"], again["tombstone"]) == (False, "withdrawn", {"reason": "read wrongly"})
    table = desk.folder / "again.csv"
    table.write_text(f"source_url,retrieval_timestamp,content_hash,name\n{JAN[0]},{JAN[2]},{JAN[4]},\n")
    imported = desk.run("person", "import", str(table))
    assert "1 of these observations are withdrawn" in imported.stderr


def test_two_curators_never_overwrite_each_other(desk: Desk) -> None:
    name = reconstruct_person(desk)
    desk.ok("person", "revise", name, "--notes", "one")
    assert "version 2" in desk.refuses("person", "revise", name, "--notes", "two", "--if-version", "1")


def test_an_empty_revision_is_refused(desk: Desk) -> None:
    name = reconstruct_person(desk)
    assert "--help" in desk.refuses("person", "revise", name)
    assert "both" in desk.refuses("person", "revise", name, "--notes", "x", "--clear", "notes")


# Actions that can be undone


def test_a_merge_can_be_undone(desk: Desk) -> None:
    jan, piet, other = reconstruct_two_persons(desk)
    message = desk.ok("person", "merge", piet, "--into", jan, *LATER, "--reason", "one baptism")
    assert message == f"Merged {piet} into {jan}, now version 2.\n"
    assert desk.json("person", "show", jan)["reconstruction"]["observation_ids"] == sorted([POID, other])
    shown = desk.ok("person", "show", piet)
    assert "reconstruction, merged" in shown
    assert jan in shown
    assert "--curator" in desk.refuses("person", "undo", piet, "--reason", "two baptisms")
    assert (
        desk.ok("person", "undo", piet, *LATER, "--reason", "two baptisms") == f"Reactivated {piet}, now version 3.\n"
    )
    assert desk.json("person", "show", jan)["reconstruction"]["observation_ids"] == [POID]
    rows = [line.split("\t") for line in desk.ok("person", "history", jan).splitlines()]
    assert [row[3] for row in rows] == ["mint", "merge", "undo merge"]
    assert [row[4] for row in rows] == [CURATOR[1], LATER[1], LATER[1]]
    assert "one baptism" in rows[1][5]


def test_a_split_can_be_undone(desk: Desk) -> None:
    jan, _, other = reconstruct_two_persons(desk)
    desk.ok("person", "revise", jan, "--observation", POID, "--observation", other)
    parts = ("--part", POID, "--part", f" {other}, ")
    lines = desk.ok("person", "split", jan, *parts, *LATER, "--reason", "father and son").splitlines()
    successors = [line.split("\t")[0] for line in lines]
    assert [line.split("\t")[1] for line in lines] == [POID, other]
    shown = desk.json("person", "show", jan)
    assert shown["tombstone"]["successors"] == successors
    assert desk.ok("person", "undo", jan, "--reason", "one person") == f"Reactivated {jan}, now version 4.\n"
    assert desk.json("person", "show", successors[0])["tombstone"]["replaced_by"] == jan
    assert jan in desk.refuses("person", "undo", successors[0], *LATER, "--reason", "two after all")


def test_a_decision_is_dated_now_by_default(desk: Desk) -> None:
    jan, piet, other = reconstruct_two_persons(desk)
    desk.ok("person", "merge", piet, "--into", jan, *LATER[:2], "--reason", "one baptism")
    made = [desk.json("person", "show", jan)]
    desk.ok("person", "undo", piet, *LATER[:2], "--reason", "two baptisms")
    made.append(desk.json("person", "show", jan))
    desk.ok("person", "revise", jan, "--observation", POID, "--observation", other)
    parts = ("--part", POID, "--part", other)
    lines = desk.ok("person", "split", jan, *parts, *LATER[:2], "--reason", "father and son").splitlines()
    made += [desk.json("person", "show", line.split("\t")[0]) for line in lines]
    for one in made:
        concluded, stored = (datetime.fromisoformat(text) for text in (one["reconstruction"]["timestamp"], one["at"]))
        assert timedelta() <= stored - concluded < timedelta(seconds=30)


def test_json_names_the_identifier_as_the_api_does(desk: Desk) -> None:
    jan, piet, other = reconstruct_two_persons(desk)
    why = ("--reason", "x")
    outputs = {
        "observe": (POID, desk.json("person", "observe", *JAN)),
        "show": (jan, desk.json("person", "show", jan.lower())),
        "find": (piet, desk.json("person", "find", "piet", "--limit", "1")),
        "revise": (jan, desk.json("person", "revise", jan, "--notes", "x")),
        "merge": (jan, desk.json("person", "merge", piet, "--into", jan.lower(), *LATER, *why)),
        "undo": (piet, desk.json("person", "undo", piet, *LATER, *why)),
        "restrict": (jan, desk.json("person", "restrict", jan.lower(), *why)),
        "lift": (jan, desk.json("person", "lift", jan, *why)),
        "redact": (other, desk.json("person", "redact", other, *why, "--for-good")),
    }
    for command, (name, output) in outputs.items():
        assert output["ppid"] == name, command
        assert output["name"].lower() == name.lower(), command


def test_a_restricted_person_is_hidden_without_a_key(desk: Desk) -> None:
    name = reconstruct_person(desk, "--claim", f"{POID}:1")
    assert "Restricted" in desk.ok("person", "restrict", name, "--reason", "a living person")
    assert "Jan de Vries" in desk.ok("person", "show", name)
    key = desk.folder / "admin.key"
    key_text = key.read_text()
    key.unlink()
    shown = desk.ok("person", "show", name)
    assert "a living person" in shown
    assert "Jan de Vries" not in shown + desk.ok("person", "show", name, "--json") + desk.ok("person", "history", name)
    key.write_text(key_text)
    desk.ok("person", "lift", name, "--reason", "died")
    key.unlink()
    assert "Jan de Vries" in desk.ok("person", "show", name)


def test_redacted_content_is_gone_from_every_version(desk: Desk) -> None:
    jan = reconstruct_person(desk, "--claim", f"{POID}:1")
    output = desk.ok("person", "redact", POID, "--reason", "court order", "--for-good")
    assert output.splitlines()[0] == f"Redacted {POID}, now version 2."
    assert jan in output
    shown = [
        desk.ok("person", "show", name, "--version", "1", *json) for name in (POID, jan) for json in ((), ("--json",))
    ]
    assert not any("Jan de Vries" in one for one in shown)
    assert all("court order" in one for one in shown)
    assert f"{POID}:1\t\t\tredacted\t" in shown[2]
    assert "redacted" in desk.refuses("person", "redact", POID, "--reason", "again", "--for-good")


def test_persons_are_found_by_their_names_and_by_their_links(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    jan, piet, other = reconstruct_two_persons(desk)
    names = {jan: "Jan", piet: "Piet", other: "Piet", POID: "Jan"}
    found = [f"{name}\tactive\t{given} de Vries" for name, given in names.items()]
    assert desk.ok("person", "find", "vries", "de").splitlines() == found
    monkeypatch.setattr("perdure.registry.persons.person_search._MOST_SCANNED", 1)
    assert desk.ok("person", "find", "vries", "de").splitlines() == found
    cut = desk.run("person", "find", "vrie*", "--limit", "3")
    assert (cut.stdout.splitlines(), "More than 3" in cut.stderr, cut.returncode) == (found[:3], True, 0)
    assert desk.run("person", "find", "vries", "--limit", "4").stderr == ""
    assert json.loads(desk.ok("person", "find", "jan", "--json").splitlines()[1])["names"] == ["Jan de Vries"]
    desk.ok("person", "revise", jan, "--link", "exact:wikidata:Q42")
    assert desk.ok("person", "find", "--link", "wikidata:https://www.wikidata.org/wiki/Q42") == f"{found[0]}\n"


@pytest.mark.parametrize(("arguments", "expected"), [
    ((), "words of a name, or --link"),
    (("jan", "--link", "wikidata:Q42"), "words of a name, or --link"),
    (("jan", "--limit", "0"), "limit"),
    (("--link", "Q42"), "Q42"),
    (("unknown",), "No persons found"),
])  # fmt: skip
def test_an_empty_search_says_why(desk: Desk, arguments: tuple[str, ...], expected: str) -> None:
    done = desk.run("person", "find", *arguments)
    assert done.returncode != 0
    assert expected in done.stderr
