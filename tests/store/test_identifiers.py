"""Identifiers in every store: rows, revisions, search and reverse look-up."""

import pytest
from tests.store.record_strategies import AT, Desk, change, identifier, revise

from perdure.errors import NameTaken, PerdureError
from perdure.registry.entities import Act, Change, Revision, SearchHit
from perdure.registry.store_interface import Transaction


def test_an_inserted_identifier_is_read_back(desk: Desk) -> None:
    one = change("1/a", target=None, created=None, state="reserved", record=b'{"x":"\xc3\xa9"}')
    desk.insert(one)
    assert desk.read(lambda reader: reader.find("1/a")) == one.identifier
    assert desk.lookup("1/a") == one.identifier


def test_a_missing_identifier_is_not_found(desk: Desk) -> None:
    assert desk.read(lambda reader: reader.find("1/a")) is None
    assert desk.lookup("1/a") is None
    assert desk.read(lambda reader: (reader.find_many(["1/a", "1/b"]), reader.find_many([]))) == ({}, {})


def test_keys_are_compared_by_their_bytes(desk: Desk) -> None:
    desk.insert(change("1/a"), change("1/A"), change("1/a "), change("1/\u00e4"), change("1/a\u0308"))
    assert len(desk.names()) == 5
    assert desk.lookup("1/A").name == "1/A"
    assert desk.lookup("1/B") is None


def test_several_names_are_found_at_once(desk: Desk) -> None:
    desk.insert(*(change(f"1/{number}") for number in range(50)))
    found = desk.read(lambda reader: reader.find_many(["1/7", "1/missing", "1/'\"", "1/49", "1/7"]))
    assert {key: row.key for key, row in found.items()} == {"1/7": "1/7", "1/49": "1/49"}
    assert list(desk.read(lambda reader: reader.find_many(("1/3",)))) == ["1/3"]


@pytest.mark.parametrize("batch", [["1/a"], ["1/b", "1/a"], ["1/b", "1/b"]])
def test_a_name_is_inserted_once(desk: Desk, batch: list[str]) -> None:
    desk.insert(change("1/a", record=b"first"))
    with pytest.raises(NameTaken) as refusal:
        desk.insert(*(change(key, record=b"second") for key in batch))
    assert refusal.value.name in ("1/A", "1/B")
    assert desk.names() == ["1/a"]
    assert desk.lookup("1/a").record == b"first"
    assert desk.contradictions() == []


def test_names_come_in_the_order_of_their_keys(desk: Desk) -> None:
    keys = ["1/b", "1/a", "1/B", "1/\uffed", "1/\u00e9", "2/a", "1"]
    desk.insert(*map(change, keys))
    assert desk.names() == sorted(keys)


def test_names_are_iterated_in_batches(desk: Desk) -> None:
    desk.insert(*(change(f"{prefix}/{number:03d}") for prefix in ("1", "1.2", "2") for number in range(25)))
    walked: list[str] = []
    key = ""
    while piece := desk.read(lambda reader, key=key: reader.identifiers_after(key, 10, "1/")):
        assert len(piece) <= 10
        walked += [row.key for row in piece]
        key = piece[-1].key
    assert walked == [f"1/{number:03d}" for number in range(25)]
    assert desk.read(lambda reader: reader.identifiers_after("1/010", 1, "1/"))[0].key == "1/011"
    assert desk.read(lambda reader: reader.identifiers_after("3", 10)) == []


def test_the_first_revision_comes_with_the_name(desk: Desk) -> None:
    desk.insert(change("1/a", record=b"first"))
    assert desk.read(lambda reader: reader.revisions("1/a")) == [Revision(1, AT, "jan", "mint", b"first")]
    assert desk.read(lambda reader: reader.revisions("1/b")) == []
    assert desk.read(lambda reader: reader.newest_revision("1/b")) is None


def test_an_update_moves_the_row_and_adds_a_revision(desk: Desk) -> None:
    desk.insert(change("1/a", record=b"first"))
    later = revise("1/a", 2, b"second", state="withdrawn", target=None)
    desk.update(later)
    assert desk.lookup("1/a") == later.identifier
    assert [one.record for one in desk.read(lambda reader: reader.revisions("1/a"))] == [b"first", b"second"]
    assert desk.read(lambda reader: reader.newest_revision("1/a")) == later.revisions[0]


def test_a_history_can_be_inserted_whole(desk: Desk) -> None:
    row = identifier("1/a", version=3, record=b"third")
    history = tuple(
        Revision(version, AT, "jan", "import", record, None)
        for version, record in ((1, b"first"), (2, b"second"), (3, b"third"))
    )
    desk.insert(Change(row, history, "words"))
    assert desk.read(lambda reader: reader.revisions("1/a")) == list(history)
    assert desk.read(lambda reader: reader.newest_revision("1/a")) == history[2]


@pytest.mark.parametrize("version", [1, 2])
def test_a_revision_is_never_overwritten(desk: Desk, version: int) -> None:
    desk.insert(change("1/a", record=b"first"))
    desk.update(revise("1/a", 2, b"second"))
    before = desk.read(lambda reader: reader.revisions("1/a"))
    with pytest.raises(PerdureError):
        desk.update(revise("1/a", version, b"forged"))
    assert desk.read(lambda reader: reader.revisions("1/a")) == before
    assert desk.lookup("1/a").record == b"second"


def test_a_missing_name_cannot_be_updated(desk: Desk) -> None:
    with pytest.raises(PerdureError):
        desk.update(revise("1/missing", 2, b"x"))
    assert desk.names() == []


def test_an_alias_has_a_row_and_the_subjects_history(desk: Desk) -> None:
    subject = change("a.b/c/2009/02.16.17.46", scheme="ibi")
    desk.insert(subject, Change(identifier("8jm/34p", scheme="ibi", subject=subject.identifier.key), (), "words"))
    row = desk.lookup("8jm/34p")
    assert row is not None
    assert row.subject == "a.b/c/2009/02.16.17.46"
    assert desk.contradictions() == []


def test_an_alias_that_differs_from_its_subject_is_a_contradiction(desk: Desk) -> None:
    desk.insert(change("1/a", record=b"{}"), Change(identifier("1/b", subject="1/a", record=b"other"), (), "words"))
    assert any("1/b" in found for found in desk.contradictions())


@pytest.mark.parametrize(
    "row",
    [
        Change(identifier("1/a", version=2), (Revision(1, AT, "jan", "mint", b"{}"),), "words"),
        Change(identifier("1/a", record=b"other"), (Revision(1, AT, "jan", "mint", b"{}"),), "words"),
        Change(identifier("1/a"), (), "words"),
    ],
    ids=["a revision is missing", "another record", "no history"],
)
def test_a_row_that_differs_from_its_history_is_a_contradiction(desk: Desk, row: Change) -> None:
    desk.insert(row)
    assert any("1/a" in found for found in desk.contradictions())


def test_words_are_found_without_case_and_accents(desk: Desk) -> None:
    desk.insert(change("1/a", words="1/a\nÜber die Handles"), change("1/b", words="other handles"))

    def find(*words: str) -> list[str]:
        return [one.name for one in desk.read(lambda reader: reader.search(words, 10))]

    assert find("uber") == ["1/A"]
    assert find("HANDLES") == ["1/B", "1/A"]
    assert find("handles", "other") == ["1/B"]
    assert find("hand*") == ["1/B", "1/A"]
    assert find("hand") == []
    assert find('"; DROP TABLE words') == []
    assert desk.read(lambda reader: reader.search(["handles"], 1)) == [
        SearchHit("1/B", "active", "https://example.org/")
    ]


def test_a_search_continues_after_a_name_that_has_changed(desk: Desk) -> None:
    for number in range(5):
        desk.insert(change(f"1/{number}"))
    desk.insert(*(change(f"1/{letter}") for letter in "ab"), change("1/c", words="other"))

    def find(behind: str | None, limit: int = 10) -> list[str]:
        return [one.name for one in desk.read(lambda reader: reader.search(["words"], limit, behind))]

    assert find(None) == ["1/B", "1/A", "1/4", "1/3", "1/2", "1/1", "1/0"]
    desk.update(revise("1/3", 2, b"x", words="other"))
    assert find("1/3") == ["1/2", "1/1", "1/0"]
    assert find("1/b", 2) == ["1/A", "1/4"]
    assert find("1/c", 1) == ["1/B"]
    assert find("1/0") == find("1/nothing") == []
    assert desk.write(lambda tx: [tx.insert([change("1/d")]), len(tx.search(["words"], 10, "1/d"))][1]) == 6


def test_words_follow_an_update(desk: Desk) -> None:
    desk.insert(change("1/a", words="old"))
    desk.update(revise("1/a", 2, b"x", words="new"))
    assert desk.read(lambda reader: reader.search(["old"], 10)) == []
    assert len(desk.read(lambda reader: reader.search(["new"], 10))) == 1


def test_reverse_look_up_is_by_data_and_type(desk: Desk) -> None:
    desk.insert(
        change("1/a", reverse=(("URL", "https://example.org/"), ("EMAIL", "jan@example.org"))),
        change("1/b", reverse=(("URL", "https://example.org/"),)),
    )

    def find(data: str, type: str | None, limit: int = 10) -> list[str]:
        return [one.name for one in desk.read(lambda reader: reader.find_by_value(data, type, limit))]

    assert find("https://example.org/", "URL") == ["1/B", "1/A"]
    assert find("https://example.org/", "URL", 1) == ["1/B"]
    assert find("https://EXAMPLE.org/", "URL") == []
    assert find("jan@example.org", "URL") == []
    assert find("jan@example.org", None) == ["1/A"]


def test_reverse_look_up_follows_an_update(desk: Desk) -> None:
    old, same, new = ("URL", "https://old.org/"), ("URL", "https://kept.org/"), ("URL", "https://new.org/")
    desk.insert(change("1/a", reverse=(old, same)))
    desk.update(revise("1/a", 2, b"x", reverse=(same, new), reverse_before=(old, same)))
    found = desk.read(lambda reader: [len(reader.find_by_value(data, kind, 10)) for kind, data in (old, same, new)])
    assert found == [0, 1, 1]


def test_identifiers_are_counted_by_state_and_scheme(desk: Desk) -> None:
    desk.insert(
        change("1/a"),
        change("1/b", state="reserved"),
        change("1/c", state="withdrawn"),
        change("POID-x", scheme="ppid"),
        change("a.b/c", scheme="ibi"),
    )
    counts = desk.read(lambda reader: reader.counts())
    expected = {"identifiers": 5, "reserved": 1, "active": 3, "withdrawn": 1, "handle": 3, "ibi": 1, "ppid": 1}
    assert {name: counts[name] for name in expected} == expected
    assert counts["revisions"] == 5
    assert counts["bytes"] > 0


def test_one_version_can_be_read_alone(desk: Desk) -> None:
    desk.insert(change("1/a", record=b"first"), change("1/b"))
    later = revise("1/a", 2, b"second")
    desk.update(later)
    assert desk.read(lambda reader: reader.revision("1/a", 1)) == Revision(1, AT, "jan", "mint", b"first")
    assert desk.read(lambda reader: reader.revision("1/a", 2)) == later.revisions[0]
    for key, version in (("1/a", 3), ("1/a", 0), ("1/b", 2), ("1/missing", 1), ("1/a", 2**31 - 1)):
        assert desk.read(lambda reader, key=key, version=version: reader.revision(key, version)) is None


def test_acts_are_listed_page_by_page_without_the_records(desk: Desk) -> None:
    desk.insert(change("1/a", record=b"first"), change("1/b"))
    for version in range(2, 6):
        desk.update(revise("1/a", version, b"next"))
    acts = desk.read(lambda reader: reader.acts("1/a", 0, 2) + reader.acts("1/a", 2, 2) + reader.acts("1/a", 4, 2))
    assert [one.version for one in acts] == [1, 2, 3, 4, 5]
    assert acts[:2] == [Act(1, AT, "jan", "mint"), Act(2, AT, "jan", "set", "a note")]
    assert desk.read(lambda reader: reader.acts("1/a", 5, 2) + reader.acts("1/missing", 0, 2)) == []


def test_the_last_act_of_a_kind_is_found(desk: Desk) -> None:
    row = identifier("1/a", version=4)
    done = tuple(Revision(n, AT, "jan", act, b"x") for n, act in enumerate(("mint", "withdraw", "set", "set"), 1))
    desk.insert(Change(row, done, "words"), change("1/b"))
    newest = [
        desk.read(lambda reader, arguments=arguments: reader.newest_act(*arguments))
        for arguments in (("1/a",), ("1/a", ("withdraw", "merge")), ("1/a", ("merge",)), ("1/missing",))
    ]
    assert newest == [Act(4, AT, "jan", "set"), Act(2, AT, "jan", "withdraw"), None, None]


def test_a_transaction_sees_the_versions_that_it_wrote_itself(desk: Desk) -> None:
    desk.insert(change("1/a", record=b"first"))

    def work(tx: Transaction) -> tuple[Revision | None, list[Act], Act | None]:
        tx.update([revise("1/a", 2, b"second")])
        return tx.revision("1/a", 2), tx.acts("1/a", 1, 9), tx.newest_act("1/a", ["set"])

    act = Act(2, AT, "jan", "set", "a note")
    assert desk.write(work) == (Revision(2, AT, "jan", "set", b"second", "a note"), [act], act)
