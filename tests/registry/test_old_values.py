"""Old values: who may read an index today may read what it said before, and so may who edits. No other reader."""

import msgspec
import pytest
from tests.registry.handle_people import admin, who
from tests.registry_fixture import Office, set_values

from perdure.records import record as records
from perdure.records.value import Text, Value
from perdure.registry import Statement, diff, history, looking, mint, remove_values, show, withdraw
from perdure.registry.entities import Agent

SECRET = "the donor's address"
PLAIN = Value(5, "NOTE", Text(SECRET))
HIDDEN = msgspec.structs.replace(PLAIN, permissions="1100")
LOCKED = msgspec.structs.replace(PLAIN, permissions="0000")


@pytest.fixture
def kept(office: Office) -> Office:
    office.prefix("12345", "chosen")
    said = Statement("https://example.org/1", (PLAIN, admin(100, "12345/boss", 300)))
    office.do(mint, "12345", suffixes=["a"], said=said)
    return office


def doors(office: Office, by: Agent | None) -> list[str]:
    """Everything that a reader is shown of the first version, at each door."""
    newest = office.ask(show, "12345/a").version
    return [
        repr(office.ask(show, "12345/a", version=1, by=by)),
        repr(office.ask(diff, "12345/a", 1, newest, by=by)),
        repr(records.decode(office.ask(history, "12345/a", by=by)[0].record)),
    ]


def are_told(office: Office, by: Agent | None = None) -> bool:
    told = [SECRET in one for one in doors(office, by)]
    assert len(set(told)) == 1, told
    return told[0]


def test_a_value_made_non_public_is_not_read_in_old_versions(kept: Office) -> None:
    reader = kept.hire("reader")
    kept.do(set_values, "12345/a", [Value(9, "NOTE", Text("else"))])
    assert SECRET in doors(kept, None)[0]
    assert SECRET in doors(kept, None)[2]
    kept.do(set_values, "12345/a", [HIDDEN])
    assert not are_told(kept)
    assert not are_told(kept, reader)
    assert are_told(kept, kept.admin)
    assert are_told(kept, kept.hire("editor", "12345", "edit"))
    assert are_told(kept, who(300, "12345/boss"))  # an administrator by HS_ADMIN, who may read it today
    kept.do(set_values, "12345/a", [LOCKED])
    assert not are_told(kept, who(300, "12345/boss"))
    kept.do(set_values, "12345/a", [msgspec.structs.replace(PLAIN, data=Text("other"))])
    assert are_told(kept)  # everybody may read index 5 again


def test_the_last_state_of_an_index_decides_once_it_is_removed(kept: Office) -> None:
    kept.do(remove_values, "12345/a", [5])
    assert are_told(kept)  # it was public to its end
    kept.do(set_values, "12345/a", [HIDDEN])
    kept.do(remove_values, "12345/a", [5])
    kept.do(set_values, "12345/a", [Value(9, "NOTE", Text("else"))])
    assert not are_told(kept)
    assert are_told(kept, kept.admin)


def test_a_withdrawn_record_goes_by_the_values_that_it_had_last(kept: Office) -> None:
    kept.do(set_values, "12345/a", [HIDDEN])
    kept.do(withdraw, "12345/a", "by mistake")
    assert not are_told(kept)


def test_a_value_that_was_never_public_stays_hidden(kept: Office) -> None:
    kept.do(set_values, "12345/a", [Value(6, "NOTE", Text("inner"), permissions="1100")])
    kept.do(set_values, "12345/a", [Value(6, "NOTE", Text("outer"))])
    view = kept.ask(show, "12345/a", version=2)
    assert 6 not in [value.index for value in view.values]


def test_a_state_that_lies_too_far_back_is_not_looked_for(kept: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_MOST_VERSIONS", 2)
    kept.do(remove_values, "12345/a", [5])
    for number in range(2):
        kept.do(set_values, "12345/a", [Value(9, "NOTE", Text(str(number)))])
    assert SECRET in repr(kept.ask(show, "12345/a", version=1))
    kept.do(set_values, "12345/a", [Value(9, "NOTE", Text("last"))])
    assert SECRET not in repr(kept.ask(show, "12345/a", version=1))
    assert SECRET in repr(kept.ask(show, "12345/a", version=1, by=kept.admin))
