"""Permissions: every write, tried with every kind of grant."""

from collections.abc import Callable

import pytest
from tests.registry_fixture import Office, describe, set_target, set_values

from perdure.errors import NotAuthorised
from perdure.records.record import About
from perdure.records.value import Text, Value
from perdure.registry import (
    Agent,
    Statement,
    add_agent,
    add_prefix,
    add_subsystem,
    add_values,
    bind,
    change_prefix,
    derive_prefix,
    grant,
    mint,
    new_key,
    observe,
    reconstruct,
    reinstate,
    remove_values,
    reset_timeline,
    revise_reconstruction,
    revoke,
    revoke_key,
    transfer_identifiers,
    transfer_prefix,
    withdraw,
)
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY

WHEN = "2025-01-09T10:30:00Z"
URL = "https://example.org/"
POID = "POID-93b0-4476-560e-5ac1"
PRID = "PRID-5ccc-3780-8c9c-5a90"
CURATOR = "https://orcid.org/0000-0002-1825-0097"

# What is done, the prefix that a grant must speak of, the actions that are needed, and whether one's own suffices.
Act = Callable[[Office, Agent], object]
ACTS: dict[str, tuple[Act, str, tuple[str, ...], bool]] = {
    "mint": (lambda o, a: o.by(a, mint, "12345", suffixes=["n"]), "12345", ("mint",), False),
    "bind": (lambda o, a: o.by(a, bind, "12345/r", Statement(URL)), "12345", ("edit",), True),
    "set target": (lambda o, a: o.by(a, set_target, "12345/a", URL), "12345", ("edit",), True),
    "set values": (lambda o, a: o.by(a, set_values, "12345/a", [_value(1, "URL", URL)]), "12345", ("edit",), True),
    "add values": (lambda o, a: o.by(a, add_values, "12345/a", [_value(0)]), "12345", ("edit",), True),
    "remove values": (lambda o, a: o.by(a, remove_values, "12345/a", [1]), "12345", ("edit",), True),
    "describe": (lambda o, a: o.by(a, describe, "12345/a", About(what="x")), "12345", ("edit",), True),
    "withdraw": (lambda o, a: o.by(a, withdraw, "12345/a", "gone"), "12345", ("withdraw",), True),
    "reinstate": (lambda o, a: o.by(a, reinstate, "12345/w"), "12345", ("withdraw",), True),
    "transfer": (lambda o, a: o.by(a, transfer_identifiers, ["12345/a"], "admin"), "12345", ("transfer",), True),
    "transfer prefix": (lambda o, a: o.by(a, transfer_prefix, "12345", "admin"), "12345", ("transfer", "admin"), False),
    "change prefix": (lambda o, a: o.by(a, change_prefix, "12345", policy="ours"), "12345", ("admin",), False),
    "reset timeline": (lambda o, a: o.by(a, reset_timeline, "12345", "wrong clock"), "12345", ("admin",), False),
    "derive": (lambda o, a: o.by(a, derive_prefix, "12345.1"), "12345", ("derive",), False),
    "grant": (lambda o, a: o.by(a, grant, "admin", "12345", ["mint"]), "12345", ("admin",), False),
    "revoke": (lambda o, a: o.by(a, revoke, "other", "12345"), "12345", ("admin",), False),
    "observe": (lambda o, a: o.by(a, observe, URL, WHEN, "1" * 64), "POID", ("mint",), False),
    "reconstruct": (
        lambda o, a: o.by(a, reconstruct, [POID], CURATOR, "2025-02-01T00:00:00Z"),
        "PRID",
        ("mint",),
        False,
    ),
    "revise": (
        lambda o, a: o.by(a, revise_reconstruction, PRID, [POID], CURATOR, "2025-02-01T00:00:00Z"),
        "PRID",
        ("edit",),
        True,
    ),
    "add prefix": (lambda o, a: o.by(a, add_prefix, "777"), WHOLE_REGISTRY, ("admin",), False),
    "add subsystem": (lambda o, a: o.by(a, add_subsystem, "a.b.org", "8.8.8.8"), WHOLE_REGISTRY, ("admin",), False),
    "add agent": (lambda o, a: o.by(a, add_agent, "new", "New", identifier=URL), WHOLE_REGISTRY, ("admin",), False),
    "another's key": (lambda o, a: o.by(a, new_key, "other"), WHOLE_REGISTRY, ("admin",), False),
    "revoke another's key": (lambda o, a: o.by(a, revoke_key, _key_of(o, "other")), WHOLE_REGISTRY, ("admin",), False),
    "grant everywhere": (
        lambda o, a: o.by(a, grant, "other", WHOLE_REGISTRY, ["mint"]),
        WHOLE_REGISTRY,
        ("admin",),
        False,
    ),
    "revoke everywhere": (lambda o, a: o.by(a, revoke, "other", WHOLE_REGISTRY), WHOLE_REGISTRY, ("admin",), False),
}
everything_that_writes = pytest.mark.parametrize(
    ("act", "scope", "needed"), [row[:3] for row in ACTS.values()], ids=ACTS.keys()
)


def _value(index: int, type: str = "DESC", text: str = "x") -> Value:
    return Value(index, type, Text(text))


def _key_of(office: Office, agent: str) -> str:
    return office.read(lambda reader: reader.keys(agent))[0].id


@pytest.fixture
def staffed_office(office: Office) -> Office:
    """Names of every kind that belong to the administrator, a second prefix, and an agent with a key."""
    office.prefix("12345", "chosen")
    office.prefix("99999", "chosen")
    office.hire("other", "12345", "import")
    office.do(new_key, "other")
    office.do(mint, "12345", suffixes=["r"])
    office.do(mint, "12345", suffixes=["a", "w"], statement=Statement("https://example.org/first"))
    office.do(withdraw, "12345/w", "gone")
    office.do(observe, "https://example.org/staff/jan", WHEN, "0" * 64)
    office.do(reconstruct, [POID], CURATOR, WHEN)
    return office


def require_refusal(office: Office, agent: Agent, act: Act) -> NotAuthorised:
    before = office.snapshot()
    with pytest.raises(NotAuthorised) as refusal:
        act(office, agent)
    assert office.snapshot() == before
    assert refusal.value.agent == agent.id
    return refusal.value


@everything_that_writes
def test_every_write_is_refused_without_the_right_grant(
    staffed_office: Office, act: Act, scope: str, needed: tuple[str, ...]
) -> None:
    """No grant; all but the right one; the right one elsewhere, for own identifiers only, revoked, or expired."""
    elsewhere = "99999" if scope != WHOLE_REGISTRY else "12345"
    problem = require_refusal(staffed_office, staffed_office.hire("without"), act)
    assert problem.action in needed
    assert problem.scope == scope.lower()
    for missing in needed:
        others = [action for action in ACTIONS if action != missing]
        assert (
            require_refusal(staffed_office, staffed_office.hire(f"without-{missing}", scope, *others), act).action
            == missing
        )
    require_refusal(staffed_office, staffed_office.hire("elsewhere", elsewhere, *ACTIONS), act)
    require_refusal(staffed_office, staffed_office.hire("own-only", scope, *ACTIONS, own=True), act)
    former = staffed_office.hire("former", scope, *ACTIONS)
    staffed_office.do(revoke, "former", scope)
    require_refusal(staffed_office, former, act)
    lapsed = staffed_office.hire("lapsed", scope, *ACTIONS, until="2027-01-15T09:00:00Z")
    staffed_office.clock.step(3601)
    require_refusal(staffed_office, lapsed, act)


@everything_that_writes
def test_the_right_grant_is_enough(staffed_office: Office, act: Act, scope: str, needed: tuple[str, ...]) -> None:
    act(staffed_office, staffed_office.hire("jan", scope, *needed, until="2027-01-15T09:00:00Z"))
    assert staffed_office.contradictions() == []


@everything_that_writes
def test_the_right_grant_everywhere_is_enough(
    staffed_office: Office, act: Act, scope: str, needed: tuple[str, ...]
) -> None:
    act(staffed_office, staffed_office.hire("jan", WHOLE_REGISTRY, *needed))


@pytest.mark.parametrize(("act", "scope", "needed"), [row[:3] for row in ACTS.values() if row[3]])
def test_a_grant_for_own_names_is_enough_for_own_names(
    staffed_office: Office, act: Act, scope: str, needed: tuple[str, ...]
) -> None:
    agent = staffed_office.hire("jan", scope, *needed, own=True)
    staffed_office.do(transfer_identifiers, ["12345/a", "12345/r", "12345/w", PRID], "jan")
    staffed_office.do(
        revoke, "jan", "12345", [action for action in ("edit", "withdraw", "transfer") if action not in needed]
    )
    act(staffed_office, agent)


def test_a_grant_expires_exactly_at_its_instant(staffed_office: Office) -> None:
    agent = staffed_office.hire("jan", "12345", "edit", until="2027-01-15T09:00:00Z")
    staffed_office.clock.step(3599)
    staffed_office.by(agent, set_target, "12345/a", URL)
    staffed_office.clock.step(1)
    with pytest.raises(NotAuthorised):
        staffed_office.by(agent, set_target, "12345/a", "https://example.org/late")


def test_a_grant_on_a_prefix_does_not_cover_derived_prefixes(staffed_office: Office) -> None:
    staffed_office.do(derive_prefix, "12345.1", minter="chosen")
    agent = staffed_office.hire("jan", "12345", *ACTIONS)
    with pytest.raises(NotAuthorised):
        staffed_office.by(agent, mint, "12345.1", suffixes=["a"])


def test_the_agent_that_derives_a_prefix_administers_it(staffed_office: Office) -> None:
    agent = staffed_office.hire("jan", "12345", "derive")
    staffed_office.by(agent, derive_prefix, "12345.1", minter="chosen")
    staffed_office.by(agent, mint, "12345.1", suffixes=["a"], statement=Statement(URL))
    staffed_office.by(agent, grant, "other", "12345.1", ["mint"])
    with pytest.raises(NotAuthorised):
        staffed_office.by(agent, mint, "12345", suffixes=["n"])


def test_an_administrator_of_a_prefix_can_grant_on_that_prefix_only(staffed_office: Office) -> None:
    agent = staffed_office.hire("jan", "12345", "admin")
    staffed_office.by(agent, grant, "other", "12345", ["mint"])
    for scope in ("99999", WHOLE_REGISTRY):
        with pytest.raises(NotAuthorised):
            staffed_office.by(agent, grant, "jan", scope, ["mint"])


def test_a_grant_covers_both_prefixes_of_a_subsystem(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    agent = office.hire("jan", "8JMKD3MGP8W", "mint", "edit")
    minted = office.by(agent, mint, "sid.inpe.br/mtc-m18", statement=Statement(URL))[0]
    office.by(agent, set_target, minted.alias, "https://example.org/moved")


def test_permission_is_checked_before_the_state_of_a_record_is_revealed(staffed_office: Office) -> None:
    jan = staffed_office.hire("jan")
    for act in (
        lambda: staffed_office.by(jan, set_target, "12345/w", URL),
        lambda: staffed_office.by(jan, reinstate, "12345/a"),
        lambda: staffed_office.by(jan, bind, "12345/a", Statement(URL)),
    ):
        with pytest.raises(NotAuthorised):
            act()
