"""Transfers of a prefix, or of many identifiers."""

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
def sample_office(office: Office) -> Office:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["a", "b", "c"], statement=Statement(URL))
    return office


def owners(office: Office, name: str) -> tuple[str, ...]:
    return office.ask(show, name).authority.owners


def test_the_new_owner_may_change_only_its_own_names(sample_office: Office) -> None:
    jan = sample_office.hire("jan")
    assert sample_office.do(transfer_identifiers, ["12345/a", "12345/b"], "jan") == 2
    assert owners(sample_office, "12345/a") == (jan.identifier,)
    sample_office.by(jan, set_target, "12345/a", "https://example.org/jan")
    sample_office.by(jan, withdraw, "12345/b", "mine to withdraw")
    with pytest.raises(NotAuthorised):
        sample_office.by(jan, set_target, "12345/c", "https://example.org/jan")
    with pytest.raises(NotAuthorised):
        sample_office.by(jan, mint, "12345", suffixes=["d"])


def test_the_new_owner_may_transfer_the_name_and_loses_it_then(sample_office: Office) -> None:
    jan, piet = sample_office.hire("jan"), sample_office.hire("piet")
    sample_office.do(transfer_identifiers, ["12345/a"], "jan")
    sample_office.by(jan, transfer_identifiers, ["12345/a"], "piet")
    sample_office.by(piet, set_target, "12345/a", "https://example.org/piet")
    with pytest.raises(NotAuthorised):
        sample_office.by(jan, set_target, "12345/a", "https://example.org/jan")


def test_a_transfer_is_recorded_in_the_history_and_among_the_events(sample_office: Office) -> None:
    sample_office.hire("jan")
    sample_office.do(transfer_identifiers, ["12345/a", "12345/b"], "jan")
    last = sample_office.ask(history, "12345/a")[-1]
    assert (last.action, last.agent, last.note) == ("transfer", "admin", "to jan")
    event = sample_office.events()[0]
    assert (event.action, event.subject) == ("transfer", "jan")
    assert event.detail.startswith("2 identifiers")


def test_a_transfer_to_the_current_owner_changes_nothing(sample_office: Office) -> None:
    sample_office.hire("jan")
    sample_office.do(transfer_identifiers, ["12345/a"], "jan")
    before = sample_office.snapshot()
    assert sample_office.do(transfer_identifiers, ["12345/a", "12345/a"], "jan") == 0
    assert sample_office.snapshot() == before


def test_all_names_are_transferred_or_none(sample_office: Office) -> None:
    sample_office.hire("jan")
    before = sample_office.snapshot()
    with pytest.raises(NoSuchName):
        sample_office.do(transfer_identifiers, ["12345/a", "12345/missing"], "jan")
    with pytest.raises(InvalidInput):
        sample_office.do(transfer_identifiers, ["12345/a"], "nobody")
    assert sample_office.snapshot() == before


def test_a_wider_grant_is_not_narrowed_by_a_transfer(sample_office: Office) -> None:
    jan = sample_office.hire("jan", "12345", "edit")
    sample_office.do(transfer_identifiers, ["12345/a"], "jan")
    sample_office.by(jan, set_target, "12345/c", "https://example.org/jan")


def test_an_expiring_grant_does_not_replace_ownership(sample_office: Office) -> None:
    jan = sample_office.hire("jan", "12345", "edit", until="2027-01-15T09:00:00Z")
    sample_office.do(transfer_identifiers, ["12345/a"], "jan")
    sample_office.clock.step(7200)
    sample_office.by(jan, set_target, "12345/a", "https://example.org/jan")


def test_both_labels_of_a_pair_are_transferred_together(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    jan = office.hire("jan")
    pair = office.do(mint, "sid.inpe.br/mtc-m18", statement=Statement(URL))[0]
    assert office.do(transfer_identifiers, [pair.alias, pair.name], "jan") == 1
    assert owners(office, pair.name) == owners(office, pair.alias) == (jan.identifier,)
    assert office.contradictions() == []


def test_more_than_a_thousand_names_are_transferred_in_one_call(office: Office) -> None:
    office.prefix("12345", "sequential")
    names = [one.name for one in office.do(mint, "12345", 1100)]
    office.hire("jan")
    assert office.do(transfer_identifiers, names, "jan") == 1100
    assert [event.action for event in office.events()[:3]] == ["transfer"] * 3


def list_names(office: Office, prefix: str) -> list[str]:
    async def work() -> list[str]:
        return [name async for chunk in names_under(office.registry, prefix) for name in chunk]

    return office.run(work())


def test_the_names_under_a_prefix_are_its_own_only(sample_office: Office) -> None:
    sample_office.prefix("12345.1", "chosen")
    sample_office.prefix("1234", "chosen")
    sample_office.do(mint, "12345.1", suffixes=["x"])
    sample_office.do(mint, "1234", suffixes=["5/x", "\uffed"])
    assert list_names(sample_office, "12345") == ["12345/a", "12345/b", "12345/c"]
    assert list_names(sample_office, "1234") == ["1234/5/x", "1234/\uffed"]
    person = sample_office.do(observe, URL, "2025-01-09T10:30:00Z", "0" * 64).name
    assert list_names(sample_office, "POID") == [person]
    assert list_names(sample_office, "PRID") == []
    with pytest.raises(NoSuchPrefix):
        list_names(sample_office, "nowhere")


def test_a_prefix_is_transferred_with_all_its_grants(sample_office: Office) -> None:
    jan, piet = sample_office.hire("jan", "12345", *ACTIONS), sample_office.hire("piet")
    sample_office.by(jan, transfer_prefix, "12345", "piet")
    sample_office.by(piet, mint, "12345", suffixes=["d"])
    sample_office.by(piet, grant, "jan", "12345", ["mint"])
    sample_office.by(jan, mint, "12345", suffixes=["e"])
    with pytest.raises(NotAuthorised):
        sample_office.by(jan, set_target, "12345/a", "https://example.org/jan")
    event = next(event for event in sample_office.events() if event.action == "prefix transfer")
    assert (event.subject, event.detail) == ("12345", "from jan to piet")


def test_an_administrator_transfers_a_prefix_from_one_agent_to_another(sample_office: Office) -> None:
    jan = sample_office.hire("jan", "12345", "mint")
    sample_office.hire("piet")
    sample_office.do(transfer_prefix, "12345", "piet", giver="jan")
    with pytest.raises(NotAuthorised):
        sample_office.by(jan, mint, "12345", suffixes=["d"])


def test_transferring_a_prefix_to_oneself_loses_nothing(sample_office: Office) -> None:
    jan = sample_office.hire("jan", "12345", "transfer", "admin")
    sample_office.by(jan, transfer_prefix, "12345", "jan")
    sample_office.by(jan, mint, "12345", suffixes=["d"])


def test_a_prefix_is_transferred_to_an_existing_agent(sample_office: Office) -> None:
    before = sample_office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        sample_office.do(transfer_prefix, "12345", "nobody")
    assert refusal.value.part == "agent"
    assert sample_office.snapshot() == before
