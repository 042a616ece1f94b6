"""Handing over: a prefix, or identifiers by the thousand."""

import pytest
from tests.registry_fixture import Office, set_target

from perdure.errors import InvalidInput, NoSuchName, NoSuchPrefix, NotAuthorised
from perdure.registry import (
    Statement,
    add_subsystem,
    grant,
    history,
    mint,
    names_under,
    observe,
    show,
    transfer_identifiers,
    transfer_prefix,
    withdraw,
)
from perdure.registry.entities import ACTIONS

URL = "https://example.org/"


@pytest.fixture
def kept(office: Office) -> Office:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["a", "b", "c"], said=Statement(URL))
    return office


def owners(office: Office, name: str) -> tuple[str, ...]:
    return office.ask(show, name).authority.owners


def test_the_new_owner_may_change_what_is_its_own_and_nothing_else(kept: Office) -> None:
    jan = kept.hire("jan")
    assert kept.do(transfer_identifiers, ["12345/a", "12345/b"], "jan") == 2
    assert owners(kept, "12345/a") == (jan.identifier,)
    kept.by(jan, set_target, "12345/a", "https://example.org/jan")
    kept.by(jan, withdraw, "12345/b", "mine to withdraw")
    with pytest.raises(NotAuthorised):
        kept.by(jan, set_target, "12345/c", "https://example.org/jan")
    with pytest.raises(NotAuthorised):
        kept.by(jan, mint, "12345", suffixes=["d"])


def test_the_new_owner_may_hand_it_on_and_loses_it_then(kept: Office) -> None:
    jan, piet = kept.hire("jan"), kept.hire("piet")
    kept.do(transfer_identifiers, ["12345/a"], "jan")
    kept.by(jan, transfer_identifiers, ["12345/a"], "piet")
    kept.by(piet, set_target, "12345/a", "https://example.org/piet")
    with pytest.raises(NotAuthorised):
        kept.by(jan, set_target, "12345/a", "https://example.org/jan")


def test_a_transfer_is_recorded_in_the_history_and_among_the_events(kept: Office) -> None:
    kept.hire("jan")
    kept.do(transfer_identifiers, ["12345/a", "12345/b"], "jan")
    last = kept.ask(history, "12345/a")[-1]
    assert (last.action, last.agent, last.note) == ("transfer", "admin", "to jan")
    event = kept.events()[0]
    assert (event.action, event.subject) == ("transfer", "jan")
    assert event.detail.startswith("2 identifiers")


def test_what_belongs_to_them_already_does_not_change_hands(kept: Office) -> None:
    kept.hire("jan")
    kept.do(transfer_identifiers, ["12345/a"], "jan")
    before = kept.everything()
    assert kept.do(transfer_identifiers, ["12345/a", "12345/a"], "jan") == 0
    assert kept.everything() == before


def test_all_of_them_move_or_none(kept: Office) -> None:
    kept.hire("jan")
    before = kept.everything()
    with pytest.raises(NoSuchName):
        kept.do(transfer_identifiers, ["12345/a", "12345/missing"], "jan")
    with pytest.raises(InvalidInput):
        kept.do(transfer_identifiers, ["12345/a"], "nobody")
    assert kept.everything() == before


def test_a_wider_grant_is_not_narrowed_by_a_transfer(kept: Office) -> None:
    jan = kept.hire("jan", "12345", "edit")
    kept.do(transfer_identifiers, ["12345/a"], "jan")
    kept.by(jan, set_target, "12345/c", "https://example.org/jan")


def test_a_grant_that_lapses_does_not_stand_for_ownership(kept: Office) -> None:
    jan = kept.hire("jan", "12345", "edit", until="2027-01-15T09:00:00Z")
    kept.do(transfer_identifiers, ["12345/a"], "jan")
    kept.clock.step(7200)
    kept.by(jan, set_target, "12345/a", "https://example.org/jan")


def test_a_pair_changes_hands_as_one(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    jan = office.hire("jan")
    pair = office.do(mint, "sid.inpe.br/mtc-m18", said=Statement(URL))[0]
    assert office.do(transfer_identifiers, [pair.alias, pair.name], "jan") == 1
    assert owners(office, pair.name) == owners(office, pair.alias) == (jan.identifier,)
    assert office.contradictions() == []


def test_a_thousand_and_more_in_one_call(office: Office) -> None:
    office.prefix("12345", "sequential")
    names = [one.name for one in office.do(mint, "12345", 1100)]
    office.hire("jan")
    assert office.do(transfer_identifiers, names, "jan") == 1100
    assert [event.action for event in office.events()[:3]] == ["transfer"] * 3


def listed(office: Office, prefix: str) -> list[str]:
    async def work() -> list[str]:
        return [name async for chunk in names_under(office.registry, prefix) for name in chunk]

    return office.run(work())


def test_the_names_under_a_prefix_are_its_own_only(kept: Office) -> None:
    kept.prefix("12345.1", "chosen")
    kept.prefix("1234", "chosen")
    kept.do(mint, "12345.1", suffixes=["x"])
    kept.do(mint, "1234", suffixes=["5/x", "\uffed"])
    assert listed(kept, "12345") == ["12345/a", "12345/b", "12345/c"]
    assert listed(kept, "1234") == ["1234/5/x", "1234/\uffed"]
    person = kept.do(observe, URL, "2025-01-09T10:30:00Z", "0" * 64).name
    assert listed(kept, "POID") == [person]
    assert listed(kept, "PRID") == []
    with pytest.raises(NoSuchPrefix):
        listed(kept, "nowhere")


def test_a_prefix_is_handed_over_with_all_its_authority(kept: Office) -> None:
    jan, piet = kept.hire("jan", "12345", *ACTIONS), kept.hire("piet")
    kept.by(jan, transfer_prefix, "12345", "piet")
    kept.by(piet, mint, "12345", suffixes=["d"])
    kept.by(piet, grant, "jan", "12345", ["mint"])
    kept.by(jan, mint, "12345", suffixes=["e"])
    with pytest.raises(NotAuthorised):
        kept.by(jan, set_target, "12345/a", "https://example.org/jan")
    event = next(event for event in kept.events() if event.action == "prefix transfer")
    assert (event.subject, event.detail) == ("12345", "from jan to piet")


def test_an_administrator_hands_a_prefix_from_one_to_another(kept: Office) -> None:
    jan = kept.hire("jan", "12345", "mint")
    kept.hire("piet")
    kept.do(transfer_prefix, "12345", "piet", giver="jan")
    with pytest.raises(NotAuthorised):
        kept.by(jan, mint, "12345", suffixes=["d"])


def test_handing_a_prefix_to_oneself_loses_nothing(kept: Office) -> None:
    jan = kept.hire("jan", "12345", "transfer", "admin")
    kept.by(jan, transfer_prefix, "12345", "jan")
    kept.by(jan, mint, "12345", suffixes=["d"])


def test_a_prefix_is_handed_to_somebody_who_exists(kept: Office) -> None:
    before = kept.everything()
    with pytest.raises(InvalidInput) as refusal:
        kept.do(transfer_prefix, "12345", "nobody")
    assert refusal.value.part == "agent"
    assert kept.everything() == before
