"""Redaction of values: they are gone from every version, for good, and what is told is that they are."""

import asyncio
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from tests.registry.handle_people import admin, pubkey, seckey
from tests.registry_fixture import Office, StoreFactory, open_office, set_target, set_values

from perdure.errors import Conflict, InvalidInput, NoSuchValue, NoTarget, NotAuthorised
from perdure.exchange import ndjson
from perdure.records import record as records
from perdure.records.value import Text, Value
from perdure.registry import (
    Statement,
    export,
    find_by_value,
    history,
    import_entries,
    key_material,
    mint,
    put_values,
    redact_values,
    remove_values,
    resolve,
    search,
    show,
    verify,
    withdraw,
)
from perdure.registry.following import changes_since
from perdure.store.postgres import reading as postgres
from perdure.store.sqlite import SqliteStore

SECRET = "zwanenburg"
URL = f"https://example.org/{SECRET}"
NOTE = Value(5, "NOTE", Text(f"{SECRET} gave it"))
HIDDEN = Value(6, "NOTE", Text(f"inner {SECRET}"), permissions="1100")
OTHER = Value(7, "NOTE", Text("plain"))


@pytest.fixture
def kept(office: Office) -> Office:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["a"], said=Statement(URL, (NOTE, HIDDEN, OTHER)))
    return office


def everything(office: Office, key: str = "12345/a") -> bytes:
    """All that the store keeps of a name."""
    [one] = [one for one in office.read(lambda reader: reader.histories("", 1000)) if one.identifier.key == key]
    return msgspec.msgpack.encode((one.identifier, one.revisions))


def test_nothing_is_left_of_redacted_values_in_any_version(kept: Office) -> None:
    kept.do(remove_values, "12345/a", [5])
    kept.do(set_values, "12345/a", [Value(8, "EMAIL", Text(f"{SECRET}@example.org"))])
    before = [sha256(one.record).hexdigest() for one in kept.ask(history, "12345/a", by=kept.admin)]
    assert kept.do(redact_values, "12345/a", [8, 5, 1, 6, 5], "a court order") == 4
    assert SECRET.encode() not in everything(kept)
    view = kept.ask(show, "12345/a", by=kept.admin)
    assert [value.index for value in view.values] == [7]
    assert (view.redaction.reason, view.redaction.indexes) == ("a court order", (1, 5, 6, 8))
    past = kept.ask(history, "12345/a", by=kept.admin)
    assert [one.action for one in past] == ["mint", "remove value", "set", "redact"]
    assert past[3].note == "a court order"
    assert [records.decode(one.record).redaction.sha256 for one in past] == [*before, before[-1]]
    assert kept.ask(show, "12345/a").redaction.sha256 == ""  # little that was said could be guessed from it
    assert kept.ask(search, [SECRET]) == []
    assert kept.ask(find_by_value, URL) == kept.ask(find_by_value, f"{SECRET}@example.org", type="EMAIL") == []
    with pytest.raises(NoTarget):
        kept.ask(resolve, "12345/a")
    assert kept.ask(verify) == []


def test_versions_that_never_held_the_value_stay_as_they_are(kept: Office) -> None:
    first = kept.ask(history, "12345/a", by=kept.admin)[0]
    kept.do(set_values, "12345/a", [Value(9, "NOTE", Text("later"))])
    kept.do(redact_values, "12345/a", [9], "by law")
    assert kept.ask(history, "12345/a", by=kept.admin)[0] == first
    assert kept.ask(resolve, "12345/a").target == URL
    kept.do(set_values, "12345/a", [Value(9, "NOTE", Text("something else"))])  # the index is free
    kept.do(redact_values, "12345/a", [9], "by law again")
    acts = kept.ask(show, "12345/a").redaction.acts
    assert [(act.reason, act.indexes) for act in acts] == [("by law", (9,)), ("by law again", (9,))]
    assert b"something else" not in everything(kept)
    assert kept.ask(verify) == []


def test_values_of_a_withdrawn_identifier_are_redacted(kept: Office) -> None:
    kept.do(withdraw, "12345/a", "by mistake")
    kept.do(redact_values, "12345/a", [1, 5, 6], "by law")
    assert SECRET.encode() not in everything(kept)
    assert kept.ask(show, "12345/a").tombstone.reason == "by mistake"


def test_values_are_redacted_by_who_administers(kept: Office) -> None:
    clerk = kept.hire("clerk", "12345", "mint", "edit", "withdraw", "transfer", "import", "derive")
    with pytest.raises(NotAuthorised):
        kept.by(clerk, redact_values, "12345/a", [5], "by law")
    with pytest.raises(NoSuchValue):
        kept.do(redact_values, "12345/a", [5, 55], "by law")
    with pytest.raises(InvalidInput):
        kept.do(redact_values, "12345/a", [], "by law")
    with pytest.raises(Conflict):
        kept.do(redact_values, "12345/a", [5], "by law", expected_version=7)
    assert kept.ask(history, "12345/a")[-1].version == 1
    kept.by(kept.hire("head", "12345", "admin"), redact_values, "12345/a", [5], "by law")


def test_keys_are_not_redacted_by_who_administers_only_their_own(kept: Office) -> None:
    mine = kept.hire("mine", "12345", "admin", own=True)
    said = Statement("https://example.org/k", (pubkey(300), NOTE), owners=(mine.identifier,))
    kept.do(mint, "12345", suffixes=["k"], said=said)
    with pytest.raises(NotAuthorised):
        kept.by(mine, redact_values, "12345/k", [300], "by law")
    kept.by(mine, redact_values, "12345/k", [5], "by law")


def test_a_secret_goes_with_its_value_alone(kept: Office) -> None:
    kept.do(put_values, "12345/a", [seckey(300, "sesame"), admin(100, "12345/a", 300)])

    def secret() -> bytes | None:
        return kept.read(lambda reader: reader.secret("12345/a", 300))

    kept.do(redact_values, "12345/a", [5], "by law")
    assert secret() is not None
    assert kept.ask(key_material, 300, "12345/a").secret == b"sesame"
    kept.do(redact_values, "12345/a", [300], "by law")
    assert secret() is None


def test_a_redaction_is_an_update_of_what_is_followed(kept: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_SETTLED", -60_000_000)
    since = kept.ask(changes_since, limit=1000).next
    kept.do(redact_values, "12345/a", [5], "by law")
    told = kept.ask(changes_since, since)
    assert [(one.name, one.action) for one in told.changes] == [("12345/a", "redact")]
    assert not told.redacted


def exported(office: Office) -> bytes:
    async def collect() -> bytes:
        return b"".join([part async for _, part in export(office.registry, office.admin, under="12345")])

    return office.run(collect())


def imported(office: Office, text: bytes) -> list[str]:
    """What was wrong with the lines."""
    problems: list[str] = []
    entries = ndjson.read(enumerate(text.splitlines(), 1))
    office.do(import_entries, entries, report=lambda problem: problems.append(str(problem)))
    return problems


def test_redactions_do_not_travel_and_nothing_redacted_comes_back(
    kept: Office, runner: asyncio.Runner, store_factory: StoreFactory
) -> None:
    whole = exported(kept)
    kept.do(redact_values, "12345/a", [5, 6], "by law")
    redacted = exported(kept)
    assert SECRET.encode() in redacted  # of the target, which was not redacted
    assert b"gave it" not in redacted
    [problem] = imported(kept, whole)
    assert "is not brought back" in problem
    assert b"gave it" not in everything(kept)

    other = open_office(runner, store_factory("other"))
    other.prefix("12345", "chosen")
    assert imported(other, redacted) == []
    assert exported(other) == redacted
    assert other.ask(verify) == []

    third = open_office(runner, store_factory("third"))
    third.prefix("12345", "chosen")
    imported(third, whole)
    [problem] = imported(third, redacted)
    assert "perdure redact 12345/a --index 5 --index 6" in problem
    third.do(redact_values, "12345/a", [5, 6], "by our law")
    kept.clock.step(60)
    kept.do(set_target, "12345/a", "https://example.org/2")
    assert imported(third, exported(kept)) == []  # each registry has its own redaction; the rest is one history
    assert third.ask(resolve, "12345/a").target == "https://example.org/2"
    assert third.ask(verify) == []


def test_the_embedded_database_keeps_nothing_of_it_in_its_corners(runner: asyncio.Runner, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "perdure.db", create=True)
    office = open_office(runner, store)
    office.prefix("12345", "chosen")
    for number in range(60):
        word = "quetzal" if number % 12 == 5 else "plain"
        filler = "x" * (10, 300, 3000)[number % 3]
        said = Statement(f"https://example.org/{word}/{number}", (Value(5, "NOTE", Text(f"{word} {filler}")),))
        office.do(mint, "12345", suffixes=[str(number)], said=said)
        office.do(set_values, f"12345/{number}", [Value(6, "EMAIL", Text(f"{word}@example.org"))])
    for number in range(5, 60, 12):
        office.do(remove_values, f"12345/{number}", [5])
        office.do(redact_values, f"12345/{number}", [1, 5, 6], "by law")
    store.close()
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"plain@example.org" in written
    assert b"quetzal" not in written
    assert b"uetzal" not in written  # as the index of words shortens what begins alike
