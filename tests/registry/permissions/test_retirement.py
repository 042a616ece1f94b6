"""Names and retirement of agents."""

import msgspec
import pytest
from tests.registry_fixture import Office

from perdure.errors import BadKey, Conflict, InvalidInput, NameTaken, NoSuchAgent, NotAuthorised, WrongState
from perdure.records.value import Text, Value
from perdure.registry import (
    Statement,
    add_agent,
    authenticate,
    grant,
    mint,
    new_key,
    recover_access,
    reinstate_agent,
    rename_agent,
    retire_agent,
    revoke,
    show,
    transfer_identifiers,
    transfer_prefix,
    update,
    verify,
)
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY, Agent
from perdure.registry.permissions.agent_etag import agent_digest
from perdure.registry.permissions.retirement import count_responsibilities

AGAIN = "She has left."


@pytest.fixture
def maria(office: Office) -> Agent:
    """Return an agent with a key, who owns one identifier under 777."""
    office.prefix("777", "chosen")
    maria = office.do(add_agent, "maria", "Maria Silva")
    office.do(grant, "maria", "777", ["mint", "edit"])
    office.by(maria, mint, "777", suffixes=["a"], statement=Statement(target="https://example.org/"))
    return maria


def find_agent(office: Office, id: str) -> Agent:
    agent = office.read(lambda reader: reader.agent(id))
    assert agent is not None
    return agent


def test_a_new_name_reaches_the_description(office: Office, maria: Agent) -> None:
    renamed, version = office.do(rename_agent, "maria", "Maria Costa")
    assert renamed == find_agent(office, "maria") == msgspec.structs.replace(maria, name="Maria Costa")
    view = office.ask(show, maria.identifier)
    assert (view.values[0].text, view.version, version) == ("Maria Costa", 2, 2)
    event = office.events()[0]
    assert (event.action, event.subject, event.detail) == ("agent rename", "maria", "from Maria Silva to Maria Costa")
    assert office.ask(verify) == []


def test_a_description_that_shows_something_else_stays(office: Office, maria: Agent) -> None:
    office.do(update, maria.identifier, Statement(values=(Value(1, "DESC", Text("The map room")),)))
    assert office.do(rename_agent, "maria", "Maria Costa").version is None
    assert office.ask(show, maria.identifier).values[0].text == "The map room"


@pytest.mark.parametrize("identifier", ["https://orcid.org/0000-0002-1825-0097", "hdl:20.500.12345/elsewhere"])
def test_an_agent_described_elsewhere_is_renamed_too(office: Office, identifier: str) -> None:
    office.do(add_agent, "jan", "Jan", identifier=identifier)
    assert office.do(rename_agent, "jan", "Jan de Vries").version is None
    assert find_agent(office, "jan").name == "Jan de Vries"


def test_an_equal_name_is_not_a_change(office: Office, maria: Agent) -> None:
    before = office.snapshot()
    office.do(rename_agent, "maria", "Maria Silva")
    assert office.snapshot() == before


def test_a_rename_that_is_refused_changes_nothing(office: Office, maria: Agent) -> None:
    before = office.snapshot()
    with pytest.raises(NotAuthorised):
        office.by(maria, rename_agent, "maria", "Maria Costa")
    with pytest.raises(NoSuchAgent):
        office.do(rename_agent, "unknown", "Maria Costa")
    with pytest.raises(InvalidInput):
        office.do(rename_agent, "maria", "two\nlines")
    with pytest.raises(Conflict):
        office.do(rename_agent, "maria", "Maria Costa", expected="0" * 16)
    assert office.snapshot() == before


def test_the_digest_of_an_agent_changes_with_its_name_its_grants_and_its_retirement(
    office: Office, maria: Agent
) -> None:
    def digest() -> str:
        return office.read(lambda reader: agent_digest(reader.agent("maria"), reader.grants("maria")))  # type: ignore[arg-type]

    seen = [digest()]
    office.do(rename_agent, "maria", "Maria Costa", expected=seen[-1])
    seen.append(digest())
    office.do(grant, "maria", "777", ["withdraw"])
    seen.append(digest())
    office.do(retire_agent, "maria", AGAIN, expected=seen[-1])
    seen.append(digest())
    office.do(reinstate_agent, "maria", expected=seen[-1])
    seen.append(digest())
    assert len(set(seen)) == len(seen)


def test_a_retired_agent_has_no_keys_and_no_grants(office: Office, maria: Agent) -> None:
    tokens = [office.do(new_key, "maria")[1] for _ in range(2)]
    retired = office.do(retire_agent, "maria", AGAIN)
    assert (retired.keys, retired.grants) == (2, 2)
    assert retired.agent.retired is not None
    assert retired.agent == find_agent(office, "maria")
    for token in tokens:
        with pytest.raises(BadKey):
            office.ask(authenticate, token)
    with pytest.raises(NotAuthorised):
        office.by(maria, mint, "777", suffixes=["b"])
    event = office.events()[0]
    assert (event.action, event.subject) == ("agent retire", "maria")
    assert event.detail == f"{AGAIN} (keys revoked: 2, grants: 2)"
    assert office.ask(verify) == []


def test_a_retired_agent_gets_nothing(office: Office, maria: Agent) -> None:
    office.do(retire_agent, "maria", AGAIN)
    before = office.snapshot()
    for attempt in (
        lambda: office.do(new_key, "maria"),
        lambda: office.do(grant, "maria", "777", ["mint"]),
        lambda: office.ask(recover_access, "maria", "lost"),
        lambda: office.do(transfer_identifiers, ["777/a"], "maria"),
        lambda: office.do(transfer_prefix, "777", "maria"),
    ):
        with pytest.raises(InvalidInput, match="retired") as refusal:
            attempt()
        assert refusal.value.part == "agent"
    with pytest.raises(NameTaken):
        office.do(add_agent, "maria", "Another Maria")
    with pytest.raises(WrongState):
        office.do(retire_agent, "maria", AGAIN)
    assert office.snapshot() == before


def test_the_key_of_an_agent_that_is_marked_as_retired_alone_is_refused(office: Office, maria: Agent) -> None:
    """A restored or foreign store may have such a key. The report of verify names it."""
    _, token = office.do(new_key, "maria")
    marked = msgspec.structs.replace(maria, retired="2026-01-01T00:00:00.000000Z")
    office.run(office.registry.store.write(lambda tx: tx.put_agent(marked)))
    with pytest.raises(BadKey, match="retired"):
        office.ask(authenticate, token)
    assert len([line for line in office.ask(verify) if "was retired" in line]) == 3


def test_a_reinstated_agent_starts_without_keys_and_grants(office: Office, maria: Agent) -> None:
    _, token = office.do(new_key, "maria")
    office.do(retire_agent, "maria", AGAIN)
    assert office.do(reinstate_agent, "maria") == maria == find_agent(office, "maria")
    with pytest.raises(BadKey):
        office.ask(authenticate, token)
    assert office.read(lambda reader: reader.grants("maria")) == []
    office.do(new_key, "maria")
    with pytest.raises(WrongState):
        office.do(reinstate_agent, "maria")
    assert office.events()[1].action == "agent reinstate"


def test_the_last_administrator_cannot_be_retired(office: Office, maria: Agent) -> None:
    before = office.snapshot()
    with pytest.raises(Conflict, match="administrator"):
        office.do(retire_agent, "admin", AGAIN)
    assert office.snapshot() == before
    office.do(grant, "maria", WHOLE_REGISTRY, ACTIONS)
    office.do(retire_agent, "admin", AGAIN)
    with pytest.raises(Conflict):
        office.by(maria, retire_agent, "maria", AGAIN)
    with pytest.raises(Conflict):
        office.by(maria, revoke, "maria", WHOLE_REGISTRY)


def test_only_an_administrator_of_everything_retires_and_reinstates(office: Office, maria: Agent) -> None:
    office.do(grant, "maria", "777", ACTIONS)
    before = office.snapshot()
    with pytest.raises(NotAuthorised):
        office.by(maria, retire_agent, "maria", AGAIN)
    with pytest.raises(NotAuthorised):
        office.by(maria, reinstate_agent, "admin")
    with pytest.raises(InvalidInput):
        office.do(retire_agent, "maria", "")
    assert office.snapshot() == before


def test_identifiers_of_a_retired_agent_are_counted(office: Office, maria: Agent) -> None:
    office.do(mint, "777", suffixes=["b"], statement=Statement(owners=(maria.identifier,)))
    office.do(mint, "777", suffixes=["c"])
    office.do(retire_agent, "maria", AGAIN)
    assert office.ask(count_responsibilities, maria.identifier) == (2, "777/a", True)
    office.do(transfer_identifiers, ["777/a", "777/b"], "admin")
    assert office.ask(count_responsibilities, maria.identifier) == (0, None, True)


def test_a_count_says_when_it_is_not_complete(office: Office, maria: Agent) -> None:
    office.do(mint, "777", suffixes=[f"n{number}" for number in range(600)])
    found = office.ask(count_responsibilities, office.admin.identifier, 500)
    assert not found.is_complete
    assert found.found >= 400
