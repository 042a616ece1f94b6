"""Agents and their keys."""

import asyncio
import contextlib
import traceback

import pytest
from tests.registry_fixture import Office, StoreFactory, open_office

from perdure.errors import BadKey, Conflict, InvalidInput, NameTaken, NotAuthorised
from perdure.registry import (
    add_agent,
    add_prefix,
    authenticate,
    grant,
    mint,
    new_key,
    recover_access,
    revoke,
    revoke_key,
    show,
)
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY
from perdure.registry.permissions.keys import MACHINE_AGENT


def test_the_first_key_authenticates_the_administrator(office: Office) -> None:
    assert office.ask(authenticate, office.key) == office.admin
    assert office.ask(authenticate, f" {office.key}\n") == office.admin


def test_an_agent_without_an_identifier_gets_one_that_resolves(office: Office) -> None:
    jan = office.do(add_agent, "jan", "Jan de Vries")
    view = office.ask(show, jan.identifier)
    assert view.state == "active"
    assert view.values[0].text == "Jan de Vries"
    assert view.name.startswith(f"{office.registry.home}/")


def test_a_refused_agent_uses_no_name(office: Office) -> None:
    office.do(add_agent, "jan", "Jan")
    before = office.snapshot()
    with pytest.raises(NameTaken):
        office.do(add_agent, "jan", "Another Jan")
    with pytest.raises(NotAuthorised):
        office.by(office.read(lambda reader: reader.agent("jan")), add_agent, "piet", "Piet")
    assert office.snapshot() == before


def test_two_agents_never_share_an_identifier(office: Office) -> None:
    office.do(add_agent, "jan", "Jan", identifier="https://example.org/jan")
    with pytest.raises(InvalidInput) as refusal:
        office.do(add_agent, "piet", "Piet", identifier="https://example.org/jan")
    assert refusal.value.part == "identifier"


@pytest.mark.parametrize("id", ["", "Jan", "a b", "-jan", "jan-", "x" * 65, "jan\n", "jän", "../etc"])
def test_short_names_are_short_and_plain(office: Office, id: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        office.do(add_agent, id, "Somebody")
    assert refusal.value.part == "agent"


@pytest.mark.parametrize("name", ["", "  ", "a\x07b", "a\nb", "x" * 501])
def test_the_name_of_an_agent_is_one_line(office: Office, name: str) -> None:
    before = office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        office.do(add_agent, "jan", name)
    assert refusal.value.part == "name"
    assert office.snapshot() == before


def test_an_expired_key_is_refused(office: Office) -> None:
    _, token = office.do(new_key, "admin", expires="2027-01-15T09:00:00Z")
    office.clock.step(3599)
    office.ask(authenticate, token)
    office.clock.step(1)
    with pytest.raises(BadKey, match="expired"):
        office.ask(authenticate, token)


def test_a_key_cannot_expire_before_it_is_created(office: Office) -> None:
    for expires in ("2027-01-15T08:00:00Z", "2026-01-01T00:00:00Z"):
        with pytest.raises(InvalidInput) as refusal:
            office.do(new_key, "admin", expires=expires)
        assert refusal.value.part == "expires"


@pytest.mark.parametrize("expires", ["tomorrow", "2027-02-31T00:00:00Z", "2028-01-01", "2028-01-01T00:00:00", ""])
def test_expiry_is_iso_8601(office: Office, expires: str) -> None:
    before = office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        office.do(new_key, "admin", expires=expires)
    assert refusal.value.part == "expires"
    with pytest.raises(InvalidInput) as refusal:
        office.do(grant, "admin", WHOLE_REGISTRY, ["mint"], until=expires)
    assert refusal.value.part == "until"
    assert office.snapshot() == before


@pytest.mark.parametrize("label", ["a\x1b[2Jb", "a\nb", "\ud800", "x" * 100_000])
def test_the_label_of_a_key_is_one_line(office: Office, label: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        office.do(new_key, "admin", label=label)
    assert refusal.value.part == "label"


def test_an_old_key_is_valid_until_the_new_one_exists(office: Office) -> None:
    jan = office.hire("jan")
    old, old_token = office.do(new_key, "jan")
    _, token = office.by(jan, new_key, "jan")
    assert office.ask(authenticate, old_token) == office.ask(authenticate, token) == jan
    office.by(jan, revoke_key, old.id)
    assert office.ask(authenticate, token) == jan
    with pytest.raises(BadKey, match="revoked"):
        office.ask(authenticate, old_token)


def test_a_key_is_revoked_once(office: Office) -> None:
    key, _ = office.do(new_key, "admin")
    first = office.do(revoke_key, key.id)
    office.clock.step(60)
    assert office.do(revoke_key, key.id) == first
    assert [event.action for event in office.events()].count("key revoke") == 1


def test_a_key_that_does_not_exist_cannot_be_revoked(office: Office) -> None:
    with pytest.raises(InvalidInput) as refusal:
        office.do(revoke_key, "0" * 12)
    assert refusal.value.part == "key"


def test_a_key_of_another_registry_is_recognised(
    office: Office, runner: asyncio.Runner, store_factory: StoreFactory
) -> None:
    other = open_office(runner, store_factory("other"))
    with pytest.raises(BadKey, match="another registry"):
        office.ask(authenticate, other.key)


def forge(token: str) -> str:
    return token[:-1] + ("A" if token[-1] != "A" else "B")


@pytest.mark.parametrize(
    "change",
    [forge, str.upper, lambda token: token[:-1], lambda token: token + "A", lambda token: "", lambda token: "secret"],
    ids=["one character", "upper case", "cut", "longer", "empty", "nonsense"],
)
def test_a_changed_key_is_refused(office: Office, change) -> None:
    with pytest.raises(BadKey):
        office.ask(authenticate, change(office.key))


@pytest.mark.parametrize("how", ["wrong", "revoked", "lapsed", "elsewhere"])
def test_no_error_repeats_a_key(office: Office, how: str) -> None:
    key, token = office.do(new_key, "admin", expires="2027-01-15T09:00:00Z")
    registry = office.registry
    if how == "wrong":
        token = forge(token)
    elif how == "revoked":
        office.do(revoke_key, key.id)
    elif how == "lapsed":
        office.clock.step(7200)
    else:
        registry = registry._replace(id="0" * 32)
    with pytest.raises(BadKey) as refusal:
        office.run(authenticate(registry, token))
    secret = token.rpartition("_")[2] if token.count("_") == 3 else token.split("_", 3)[3]
    output = "".join(traceback.format_exception(refusal.value)) + repr(refusal.value) + repr(refusal.value.args)
    assert secret not in output


def test_a_key_is_never_stored(office: Office) -> None:
    key, token = office.do(new_key, "admin", label="laptop")
    secret = token.split("_", 3)[3]
    assert secret not in repr(office.snapshot())
    assert token.encode() not in key.digest
    assert key.label == "laptop"


def test_keys_differ(office: Office) -> None:
    assert len({office.do(new_key, "admin")[1] for _ in range(5)}) == 5


def test_an_agent_makes_keys_for_itself_only(office: Office) -> None:
    jan = office.hire("jan")
    office.by(jan, new_key, "jan")
    with pytest.raises(NotAuthorised):
        office.by(jan, new_key, "admin")


def test_recovery_gives_a_new_key_and_is_recorded(office: Office) -> None:
    for key in office.read(lambda reader: reader.keys("admin")):
        office.do(revoke_key, key.id)
    with pytest.raises(BadKey):
        office.ask(authenticate, office.key)
    _, token = office.ask(recover_access, "admin", "the laptop was lost")
    agent = office.ask(authenticate, token)
    office.by(agent, add_prefix, "12345")
    event = office.events()[1]
    assert (event.agent, event.action, event.subject) == (MACHINE_AGENT, "recovery", "admin")
    assert event.detail == "the laptop was lost"
    assert token not in repr(office.events())


def test_recovery_gives_every_grant(office: Office) -> None:
    office.hire("jan")
    office.ask(recover_access, "jan", "the administrator has left")
    grants = office.read(lambda reader: reader.grants("jan"))
    assert {(one.scope, one.action) for one in grants} == {(WHOLE_REGISTRY, action) for action in ACTIONS}


@pytest.mark.parametrize(("id", "reason", "part"), [("admin", "", "reason"), ("nobody", "lost", "agent")])
def test_a_recovery_that_is_refused_changes_nothing(office: Office, id: str, reason: str, part: str) -> None:
    before = office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        office.ask(recover_access, id, reason)
    assert refusal.value.part == part
    assert office.snapshot() == before


def test_the_last_administrator_cannot_be_removed(office: Office) -> None:
    before = office.snapshot()
    with pytest.raises(Conflict):
        office.do(revoke, "admin", WHOLE_REGISTRY)
    assert office.snapshot() == before
    office.hire("jan", WHOLE_REGISTRY, "admin")
    assert office.do(revoke, "admin", WHOLE_REGISTRY) == len(ACTIONS)


@pytest.mark.parametrize("lesser", [{"own": True}, {"until": "2001-01-01T00:00:00Z"}])
def test_the_last_administrator_cannot_get_a_narrower_grant(office: Office, lesser: dict[str, object]) -> None:
    with contextlib.suppress(Conflict, InvalidInput):
        office.do(grant, "admin", WHOLE_REGISTRY, ["admin"], **lesser)
    office.clock.step(60)
    office.do(add_prefix, "12345")


def test_changes_of_agents_are_events(office: Office) -> None:
    office.prefix("12345")
    office.hire("jan", "12345", "mint", "edit", own=True, until="2028-01-01T00:00:00Z")
    office.do(new_key, "jan")
    office.do(revoke, "jan", "12345", ["edit"])
    acts = [(event.action, event.subject) for event in office.events()]
    assert acts[:4] == [("revoke", "jan"), ("key add", "jan"), ("grant", "jan"), ("agent add", "jan")]
    assert office.events()[2].detail == "mint, edit (own only) until 2028-01-01T00:00:00Z on 12345"


def test_revoking_a_missing_grant_changes_nothing(office: Office) -> None:
    office.prefix("12345")
    office.hire("jan")
    assert office.do(revoke, "jan", "12345") == 0
    assert office.events()[0].action != "revoke"


@pytest.mark.parametrize("actions", [["fly"], ["mint", ""], ["MINT"]])
def test_only_known_actions_are_granted(office: Office, actions: list[str]) -> None:
    before = office.snapshot()
    for act in (grant, revoke):
        with pytest.raises(InvalidInput) as refusal:
            office.do(act, "admin", WHOLE_REGISTRY, actions)
        assert refusal.value.part == "action"
    assert office.snapshot() == before


def test_a_program_is_an_agent_too(office: Office) -> None:
    office.prefix("12345", "uuid")
    robot = office.do(add_agent, "harvester", "The harvester", kind="program")
    office.do(grant, "harvester", "12345", ["mint"])
    assert office.by(robot, mint, "12345", 2)
    assert office.read(lambda reader: reader.agent("harvester")) == robot
