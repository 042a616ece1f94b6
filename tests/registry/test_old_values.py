"""Old values: visible to readers who may read that index today, and to agents who may edit. Not to others."""

import msgspec
import pytest
from tests.registry.handle_identities import admin, handle_identity
from tests.registry_fixture import Office, set_values

from perdure.records import record as records
from perdure.records.value import Text, Value
from perdure.registry import Statement, diff, history, identifier_view, mint, remove_values, show, withdraw
from perdure.registry.entities import Agent

SECRET = "the donor's address"
PLAIN = Value(5, "NOTE", Text(SECRET))
HIDDEN = msgspec.structs.replace(PLAIN, permissions="1100")
LOCKED = msgspec.structs.replace(PLAIN, permissions="0000")


@pytest.fixture
def sample_office(office: Office) -> Office:
    office.prefix("12345", "chosen")
    statement = Statement("https://example.org/1", (PLAIN, admin(100, "12345/boss", 300)))
    office.do(mint, "12345", suffixes=["a"], statement=statement)
    return office


def shown_by_each_api(office: Office, by: Agent | None) -> list[str]:
    """Return everything that each API shows a reader of the first version."""
    newest = office.ask(show, "12345/a").version
    return [
        repr(office.ask(show, "12345/a", version=1, by=by)),
        repr(office.ask(diff, "12345/a", 1, newest, by=by)),
        repr(records.decode(office.ask(history, "12345/a", by=by)[0].record)),
    ]


def is_visible(office: Office, by: Agent | None = None) -> bool:
    visible = [SECRET in one for one in shown_by_each_api(office, by)]
    assert len(set(visible)) == 1, visible
    return visible[0]


def test_a_value_made_non_public_is_not_read_in_old_versions(sample_office: Office) -> None:
    reader = sample_office.hire("reader")
    sample_office.do(set_values, "12345/a", [Value(9, "NOTE", Text("else"))])
    assert SECRET in shown_by_each_api(sample_office, None)[0]
    assert SECRET in shown_by_each_api(sample_office, None)[2]
    sample_office.do(set_values, "12345/a", [HIDDEN])
    assert not is_visible(sample_office)
    assert not is_visible(sample_office, reader)
    assert is_visible(sample_office, sample_office.admin)
    assert is_visible(sample_office, sample_office.hire("editor", "12345", "edit"))
    assert is_visible(
        sample_office, handle_identity(300, "12345/boss")
    )  # an administrator by HS_ADMIN, who may read it today
    sample_office.do(set_values, "12345/a", [LOCKED])
    assert not is_visible(sample_office, handle_identity(300, "12345/boss"))
    sample_office.do(set_values, "12345/a", [msgspec.structs.replace(PLAIN, data=Text("other"))])
    assert is_visible(sample_office)  # index 5 is public again


def test_the_last_state_of_an_index_decides_once_it_is_removed(sample_office: Office) -> None:
    sample_office.do(remove_values, "12345/a", [5])
    assert is_visible(sample_office)  # it was public to its end
    sample_office.do(set_values, "12345/a", [HIDDEN])
    sample_office.do(remove_values, "12345/a", [5])
    sample_office.do(set_values, "12345/a", [Value(9, "NOTE", Text("else"))])
    assert not is_visible(sample_office)
    assert is_visible(sample_office, sample_office.admin)


def test_a_withdrawn_record_uses_its_last_values(sample_office: Office) -> None:
    sample_office.do(set_values, "12345/a", [HIDDEN])
    sample_office.do(withdraw, "12345/a", "by mistake")
    assert not is_visible(sample_office)


def test_a_value_that_was_never_public_stays_hidden(sample_office: Office) -> None:
    sample_office.do(set_values, "12345/a", [Value(6, "NOTE", Text("inner"), permissions="1100")])
    sample_office.do(set_values, "12345/a", [Value(6, "NOTE", Text("outer"))])
    view = sample_office.ask(show, "12345/a", version=2)
    assert 6 not in [value.index for value in view.values]


def test_the_search_for_an_old_state_is_limited(sample_office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identifier_view, "_MOST_VERSIONS", 2)
    sample_office.do(remove_values, "12345/a", [5])
    for number in range(2):
        sample_office.do(set_values, "12345/a", [Value(9, "NOTE", Text(str(number)))])
    assert SECRET in repr(sample_office.ask(show, "12345/a", version=1))
    sample_office.do(set_values, "12345/a", [Value(9, "NOTE", Text("last"))])
    assert SECRET not in repr(sample_office.ask(show, "12345/a", version=1))
    assert SECRET in repr(sample_office.ask(show, "12345/a", version=1, by=sample_office.admin))
