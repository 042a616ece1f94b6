"""Redaction of values: they are permanently removed from every version, and the redaction is visible."""

import asyncio
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from tests.registry.handle_identities import admin, pubkey, seckey
from tests.registry_fixture import Office, StoreFactory, open_office, set_target, set_values

from perdure.errors import Conflict, InvalidInput, NoSuchValue, NoTarget, NotAuthorised
from perdure.formats import ndjson
from perdure.records import record as records
from perdure.records.value import Text, Value
from perdure.registry import (
    Statement,
    export,
    find_by_value,
    find_key_material,
    history,
    import_entries,
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
from perdure.registry.change_feed import changes_since
from perdure.store.postgres import reader as postgres
from perdure.store.sqlite import SqliteStore

SECRET = "zwanenburg"
URL = f"https://example.org/{SECRET}"
NOTE = Value(5, "NOTE", Text(f"{SECRET} gave it"))
HIDDEN = Value(6, "NOTE", Text(f"inner {SECRET}"), permissions="1100")
OTHER = Value(7, "NOTE", Text("plain"))


@pytest.fixture
def sample_office(office: Office) -> Office:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["a"], statement=Statement(URL, (NOTE, HIDDEN, OTHER)))
    return office


def stored_bytes(office: Office, key: str = "12345/a") -> bytes:
    """Return everything that the store has of a name."""
    [one] = [one for one in office.read(lambda reader: reader.histories("", 1000)) if one.identifier.key == key]
    return msgspec.msgpack.encode((one.identifier, one.revisions))


def test_redacted_values_are_gone_from_every_version(sample_office: Office) -> None:
    sample_office.do(remove_values, "12345/a", [5])
    sample_office.do(set_values, "12345/a", [Value(8, "EMAIL", Text(f"{SECRET}@example.org"))])
    before = [sha256(one.record).hexdigest() for one in sample_office.ask(history, "12345/a", by=sample_office.admin)]
    assert sample_office.do(redact_values, "12345/a", [8, 5, 1, 6, 5], "a court order") == 4
    assert SECRET.encode() not in stored_bytes(sample_office)
    view = sample_office.ask(show, "12345/a", by=sample_office.admin)
    assert [value.index for value in view.values] == [7]
    assert (view.redaction.reason, view.redaction.indexes) == ("a court order", (1, 5, 6, 8))
    past = sample_office.ask(history, "12345/a", by=sample_office.admin)
    assert [one.action for one in past] == ["mint", "remove value", "set", "redact"]
    assert past[3].note == "a court order"
    assert [records.decode(one.record).redaction.sha256 for one in past] == [*before, before[-1]]
    assert sample_office.ask(show, "12345/a").redaction.sha256 == ""  # short content could be guessed from it
    assert sample_office.ask(search, [SECRET]) == []
    assert (
        sample_office.ask(find_by_value, URL)
        == sample_office.ask(find_by_value, f"{SECRET}@example.org", type="EMAIL")
        == []
    )
    with pytest.raises(NoTarget):
        sample_office.ask(resolve, "12345/a")
    assert sample_office.ask(verify) == []


def test_versions_that_never_held_the_value_stay_as_they_are(sample_office: Office) -> None:
    first = sample_office.ask(history, "12345/a", by=sample_office.admin)[0]
    sample_office.do(set_values, "12345/a", [Value(9, "NOTE", Text("later"))])
    sample_office.do(redact_values, "12345/a", [9], "by law")
    assert sample_office.ask(history, "12345/a", by=sample_office.admin)[0] == first
    assert sample_office.ask(resolve, "12345/a").target == URL
    sample_office.do(set_values, "12345/a", [Value(9, "NOTE", Text("something else"))])  # the index is free
    sample_office.do(redact_values, "12345/a", [9], "by law again")
    acts = sample_office.ask(show, "12345/a").redaction.acts
    assert [(act.reason, act.indexes) for act in acts] == [("by law", (9,)), ("by law again", (9,))]
    assert b"something else" not in stored_bytes(sample_office)
    assert sample_office.ask(verify) == []


def test_values_of_a_withdrawn_identifier_are_redacted(sample_office: Office) -> None:
    sample_office.do(withdraw, "12345/a", "by mistake")
    sample_office.do(redact_values, "12345/a", [1, 5, 6], "by law")
    assert SECRET.encode() not in stored_bytes(sample_office)
    assert sample_office.ask(show, "12345/a").tombstone.reason == "by mistake"


def test_redacting_values_needs_an_administrator(sample_office: Office) -> None:
    clerk = sample_office.hire("clerk", "12345", "mint", "edit", "withdraw", "transfer", "import", "derive")
    with pytest.raises(NotAuthorised):
        sample_office.by(clerk, redact_values, "12345/a", [5], "by law")
    with pytest.raises(NoSuchValue):
        sample_office.do(redact_values, "12345/a", [5, 55], "by law")
    with pytest.raises(InvalidInput):
        sample_office.do(redact_values, "12345/a", [], "by law")
    with pytest.raises(Conflict):
        sample_office.do(redact_values, "12345/a", [5], "by law", expected_version=7)
    assert sample_office.ask(history, "12345/a")[-1].version == 1
    sample_office.by(sample_office.hire("head", "12345", "admin"), redact_values, "12345/a", [5], "by law")


def test_an_administrator_of_own_names_cannot_redact_keys(sample_office: Office) -> None:
    mine = sample_office.hire("mine", "12345", "admin", own=True)
    statement = Statement("https://example.org/k", (pubkey(300), NOTE), owners=(mine.identifier,))
    sample_office.do(mint, "12345", suffixes=["k"], statement=statement)
    with pytest.raises(NotAuthorised):
        sample_office.by(mine, redact_values, "12345/k", [300], "by law")
    sample_office.by(mine, redact_values, "12345/k", [5], "by law")


def test_a_secret_is_removed_only_with_its_own_value(sample_office: Office) -> None:
    sample_office.do(put_values, "12345/a", [seckey(300, "sesame"), admin(100, "12345/a", 300)])

    def secret() -> bytes | None:
        return sample_office.read(lambda reader: reader.secret("12345/a", 300))

    sample_office.do(redact_values, "12345/a", [5], "by law")
    assert secret() is not None
    assert sample_office.ask(find_key_material, 300, "12345/a").secret == b"sesame"
    sample_office.do(redact_values, "12345/a", [300], "by law")
    assert secret() is None


def test_a_redaction_of_values_is_an_update_in_the_change_feed(
    sample_office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_SETTLING_MICROSECONDS", -60_000_000)
    since = sample_office.ask(changes_since, limit=1000).next
    sample_office.do(redact_values, "12345/a", [5], "by law")
    page = sample_office.ask(changes_since, since)
    assert [(one.name, one.action) for one in page.changes] == [("12345/a", "redact")]
    assert not page.redacted


def write_export(office: Office) -> bytes:
    async def collect() -> bytes:
        return b"".join([part async for _, part in export(office.registry, office.admin, under="12345")])

    return office.run(collect())


def import_lines(office: Office, text: bytes) -> list[str]:
    """Import the lines. Return the problems."""
    problems: list[str] = []
    entries = ndjson.read(enumerate(text.splitlines(), 1))
    office.do(import_entries, entries, report=lambda problem: problems.append(str(problem)))
    return problems


def test_redactions_are_not_imported_and_redacted_values_do_not_return(
    sample_office: Office, runner: asyncio.Runner, store_factory: StoreFactory
) -> None:
    whole = write_export(sample_office)
    sample_office.do(redact_values, "12345/a", [5, 6], "by law")
    redacted = write_export(sample_office)
    assert SECRET.encode() in redacted  # of the target, which was not redacted
    assert b"gave it" not in redacted
    [problem] = import_lines(sample_office, whole)
    assert "is not restored" in problem
    assert b"gave it" not in stored_bytes(sample_office)

    other = open_office(runner, store_factory("other"))
    other.prefix("12345", "chosen")
    assert import_lines(other, redacted) == []
    assert write_export(other) == redacted
    assert other.ask(verify) == []

    third = open_office(runner, store_factory("third"))
    third.prefix("12345", "chosen")
    import_lines(third, whole)
    [problem] = import_lines(third, redacted)
    assert "perdure redact 12345/a --index 5 --index 6" in problem
    third.do(redact_values, "12345/a", [5, 6], "by our law")
    sample_office.clock.step(60)
    sample_office.do(set_target, "12345/a", "https://example.org/2")
    assert (
        import_lines(third, write_export(sample_office)) == []
    )  # each registry has its own redaction; the rest is one history
    assert third.ask(resolve, "12345/a").target == "https://example.org/2"
    assert third.ask(verify) == []


def test_the_files_of_the_database_contain_no_redacted_content(runner: asyncio.Runner, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "perdure.db", create=True)
    office = open_office(runner, store)
    office.prefix("12345", "chosen")
    for number in range(60):
        word = "quetzal" if number % 12 == 5 else "plain"
        filler = "x" * (10, 300, 3000)[number % 3]
        statement = Statement(f"https://example.org/{word}/{number}", (Value(5, "NOTE", Text(f"{word} {filler}")),))
        office.do(mint, "12345", suffixes=[str(number)], statement=statement)
        office.do(set_values, f"12345/{number}", [Value(6, "EMAIL", Text(f"{word}@example.org"))])
    for number in range(5, 60, 12):
        office.do(remove_values, f"12345/{number}", [5])
        office.do(redact_values, f"12345/{number}", [1, 5, 6], "by law")
    store.close()
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"plain@example.org" in written
    assert b"quetzal" not in written
    assert b"uetzal" not in written  # as the index of words shortens what begins alike
