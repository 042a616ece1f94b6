"""Expiry: no key or grant outlives the permission by which it was given."""

import asyncio

import pytest
from tests.registry.file_moves import entries, write_export
from tests.registry.handle_identities import admin, pubkey, put_prefix_values, text
from tests.registry_fixture import NOON, ManualClock, Office, StoreFactory, open_office

from perdure.errors import NotAuthorised, OutOfRange
from perdure.formats.import_entries import ImportPut
from perdure.registry import (
    MintRow,
    add_agent,
    add_prefix,
    authenticate,
    derive_prefix,
    grant,
    home_prefix,
    import_entries,
    mint,
    mint_rows,
    new_key,
    put_handle,
    put_values,
    transfer_identifiers,
    transfer_prefix,
    verify,
)
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Grant
from perdure.registry.new_record import Statement

SOON, LATER = "2030-01-01T00:00:00Z", "2031-01-01T00:00:00Z"


@pytest.fixture
def empty(runner: asyncio.Runner, store_factory: StoreFactory) -> Office:
    """Return another registry, whose clock is later: imported content is in its past."""
    return open_office(runner, store_factory("empty"), ManualClock(NOON + 1000))


def describe_prefixes(office: Office) -> None:
    """Create the prefix of the records of prefixes, with the first of them."""
    office.do(add_prefix, "778", minter="chosen")
    put_prefix_values(office, "778", admin(100, "778/first", 300))


@pytest.fixture
def jan(office: Office) -> Agent:
    """Return an agent who administers 777 until SOON."""
    office.do(add_prefix, "777", minter="chosen")
    office.do(add_agent, "piet", "Piet")
    jan = office.do(add_agent, "jan", "Jan")
    actions = ["admin", "mint", "edit", "transfer", "derive"]
    office.do(grant, "jan", "777", actions, until=SOON)
    return jan


def ends(office: Office, agent: str, scope: str) -> set[str | None]:
    return {one.until for one in office.read(lambda reader: reader.grants(agent)) if one.scope == scope}


def test_a_grant_ends_no_later_than_the_grant_of_its_giver(office: Office, jan: Agent) -> None:
    with pytest.raises(OutOfRange, match=SOON):
        office.by(jan, grant, "piet", "777", ["mint"], until=LATER)
    assert ends(office, "piet", "777") == set()
    [given] = office.by(jan, grant, "piet", "777", ["mint"])
    assert given.until == SOON
    with pytest.raises(OutOfRange):
        office.by(jan, grant, "jan", "777", ["admin"], until=LATER)
    assert ends(office, "jan", "777") == {SOON}
    assert office.do(grant, "piet", "777", ["mint"])[0].until is None
    assert office.ask(verify) == []


def test_a_grant_ends_no_later_than_the_key_of_its_giver(office: Office, jan: Agent) -> None:
    _, token = office.do(new_key, "admin", expires=SOON)
    acting = office.ask(authenticate, token)
    with pytest.raises(OutOfRange, match=SOON):
        office.by(acting, grant, "piet", "777", ["mint"], until=LATER)
    [given] = office.by(acting, grant, "piet", "777", ["mint"])
    assert given.until == SOON


def test_grants_on_a_derived_or_transferred_prefix_end_no_later(office: Office, jan: Agent) -> None:
    office.by(jan, derive_prefix, "777.1")
    office.by(jan, home_prefix, "777.2")
    assert ends(office, "jan", "777.1") == ends(office, "jan", "777.2") == {SOON}
    office.by(jan, transfer_prefix, "777", "piet")
    assert ends(office, "piet", "777") == {SOON}


def test_grants_on_a_transferred_identifier_end_no_later(office: Office, jan: Agent) -> None:
    statement = Statement(target="https://example.org/")
    office.by(jan, mint, "777", suffixes=["a"], statement=statement)
    office.by(jan, transfer_identifiers, ["777/a"], "piet")
    assert ends(office, "piet", "777") == {SOON}


def test_a_key_ends_no_later_than_the_key_of_its_creator(office: Office, jan: Agent) -> None:
    _, token = office.do(new_key, "jan", expires=SOON)
    guest = office.ask(authenticate, token)
    assert guest.id == "jan"
    with pytest.raises(OutOfRange, match=SOON):
        office.by(guest, new_key, "jan", expires=LATER)
    key, second = office.by(guest, new_key, "jan")
    assert key.expires == SOON
    with pytest.raises(OutOfRange):
        office.by(office.ask(authenticate, second), new_key, "jan", expires=LATER)


def test_a_key_for_another_agent_ends_with_the_grant_of_its_creator(office: Office, jan: Agent) -> None:
    office.do(grant, "jan", WHOLE_REGISTRY, ["admin"], until=SOON)
    assert office.by(jan, new_key, "piet")[0].expires == SOON
    with pytest.raises(OutOfRange, match=SOON):
        office.by(jan, new_key, "piet", expires=LATER)


def test_a_key_for_oneself_ends_with_the_last_of_the_own_grants(office: Office, jan: Agent) -> None:
    assert office.by(jan, new_key, "jan")[0].expires == SOON
    with pytest.raises(OutOfRange, match=SOON):
        office.by(jan, new_key, "jan", expires=LATER)
    office.do(grant, "jan", "777", ["edit"], until=LATER)
    assert office.by(jan, new_key, "jan")[0].expires == LATER
    office.do(grant, "jan", "777", ["withdraw"])
    assert office.by(jan, new_key, "jan")[0].expires is None


def test_an_agent_whose_grants_have_all_expired_makes_no_keys(office: Office, jan: Agent) -> None:
    office.clock.now = 2_000_000_000
    before = office.snapshot()
    with pytest.raises(NotAuthorised, match="expired"):
        office.by(jan, new_key, "jan")
    assert office.snapshot() == before


def test_a_key_that_ends_makes_no_lasting_key_by_another_way(office: Office, jan: Agent) -> None:
    """The administrator's own key ends: neither another agent, nor a grant to oneself, nor a transfer outlasts it."""
    _, token = office.do(new_key, "admin", expires=SOON)
    acting = office.ask(authenticate, token)
    office.by(acting, add_agent, "new", "A new agent")
    assert office.by(acting, new_key, "new")[0].expires == SOON
    office.by(acting, grant, "new", WHOLE_REGISTRY, ["admin"])
    new = office.ask(authenticate, office.by(acting, new_key, "new")[1])
    with pytest.raises(OutOfRange):
        office.by(new, new_key, "new", expires=LATER)
    office.by(acting, transfer_prefix, "777", "new", giver="jan")
    assert ends(office, "new", WHOLE_REGISTRY) == ends(office, "new", "777") == {SOON}
    assert office.ask(verify) == []


def test_a_key_that_ends_puts_no_keys_into_records(office: Office, jan: Agent) -> None:
    """Not even if the record of the prefix names the agent as one who may."""
    office.do(grant, "jan", "777", ["admin", "mint"])
    put_prefix_values(office, "777", admin(100, jan.identifier.removeprefix("hdl:"), 200))
    office.by(jan, put_handle, "777/lasting", [pubkey(300)])
    temporary = office.ask(authenticate, office.do(new_key, "jan", expires=SOON)[1])
    with pytest.raises(NotAuthorised):
        office.by(temporary, put_handle, "777/key", [pubkey(300)])


def test_no_administrator_of_a_prefix_outlasts_the_one_who_named_it(office: Office, jan: Agent) -> None:
    named = admin(100, "777/somebody", 300)
    temporary = office.ask(authenticate, office.do(new_key, "admin", expires=SOON)[1])
    for actor in (jan, temporary):
        with pytest.raises(NotAuthorised):
            office.by(actor, put_values, "0.NA/777", [named])
    office.do(put_values, "0.NA/777", [named])


def test_a_new_record_of_a_prefix_names_no_administrator_who_outlasts_its_author(office: Office, jan: Agent) -> None:
    temporary = office.ask(authenticate, office.do(new_key, "admin", expires=SOON)[1])
    values = (admin(100, "777/somebody", 300),)
    describe_prefixes(office)
    before = office.snapshot()
    with pytest.raises(NotAuthorised):
        office.by(temporary, mint, "0.NA", suffixes=["777"], statement=Statement(values=values))
    tally = office.by(temporary, import_entries, [ImportPut(line=1, name="0.NA/777", values=values)])
    assert (tally.created, tally.refused) == (0, 1)

    async def mint_row() -> list[object]:
        rows = [MintRow(Statement(values=values), "777")]
        return [one.error async for chunk in mint_rows(office.registry, temporary, "0.NA", rows) for one in chunk]

    assert [type(error) for error in office.run(mint_row())] == [NotAuthorised]
    assert office.snapshot() == before
    office.do(mint, "0.NA", suffixes=["777"], statement=Statement(values=values))


def test_a_history_brings_in_no_keys_and_administrators_that_outlast_its_importer(
    office: Office, empty: Office, jan: Agent
) -> None:
    """A file with the versions of a user, and of a prefix whose newest version names this user."""
    office.do(put_handle, "777/user", [pubkey(300)])
    put_prefix_values(office, "777", admin(100, "777/user", 300))
    lines = [line for line in write_export(office).splitlines() if b'"777/user"' in line]
    assert len(lines) == 2
    describe_prefixes(empty)
    empty.do(add_prefix, "777", minter="chosen")
    temporary = empty.ask(authenticate, empty.do(new_key, "admin", expires=SOON)[1])
    before = empty.snapshot()
    assert empty.by(temporary, import_entries, entries(b"\n".join(lines), "ndjson")).refused == 2
    assert empty.snapshot() == before
    assert empty.do(import_entries, entries(b"\n".join(lines), "ndjson")).created == 2


def test_a_history_does_not_continue_with_a_key_that_outlasts_its_importer(
    office: Office, empty: Office, jan: Agent
) -> None:
    office.do(put_handle, "777/user", [text(1, "URL", "https://example.org/")])
    first = write_export(office, under="777")
    empty.do(add_prefix, "777", minter="chosen")
    temporary = empty.ask(authenticate, empty.do(new_key, "admin", expires=SOON)[1])
    assert empty.by(temporary, import_entries, entries(first, "ndjson")).created == 1
    office.do(put_values, "777/user", [pubkey(300)])
    second = write_export(office, under="777")
    assert empty.by(temporary, import_entries, entries(second, "ndjson")).refused == 1
    assert empty.do(import_entries, entries(second, "ndjson")).changed == 1
    office.do(put_values, "777/user", [text(1, "URL", "https://example.org/new")])
    third = write_export(office, under="777")
    assert empty.by(temporary, import_entries, entries(third, "ndjson")).changed == 1, "it brings in no new key"


def test_keys_in_records_need_an_administrator_without_an_end_date(office: Office, jan: Agent) -> None:
    with pytest.raises(NotAuthorised):
        office.by(jan, put_handle, "777/key", [pubkey(300)])
    office.do(grant, "jan", "777", ["admin", "mint"])
    office.by(jan, put_handle, "777/key", [pubkey(300)])


def test_verify_lists_grants_that_end_too_late(office: Office, jan: Agent) -> None:
    too_long = Grant("piet", "777", "mint", given_by="jan", given_at="2026-01-01T00:00:00.000000Z")
    office.run(office.registry.store.write(lambda tx: tx.put_grant(too_long)))
    [found] = office.ask(verify)
    assert found.startswith("piet may mint on 777 without an end, but jan, who granted it, only until 2030")


def test_permission_to_derive_gives_no_authority_over_the_prefix_itself(office: Office, jan: Agent) -> None:
    """The administrator of 777 has a name under 777.1, which does not exist yet."""
    office.do(grant, "piet", "777", ["derive"])
    piet = office.read(lambda reader: reader.agent("piet"))
    put_prefix_values(office, "777", admin(100, "777.1/ADMIN", 300))
    for act in (derive_prefix, home_prefix):
        with pytest.raises(NotAuthorised, match="under which administrators of 777 are named"):
            office.by(piet, act, "777.1")
    office.by(piet, derive_prefix, "777.2")
    office.by(jan, derive_prefix, "777.1")  # an administrator of 777 may


def test_an_administrator_below_a_derived_prefix_counts_too(office: Office, jan: Agent) -> None:
    office.do(grant, "piet", "777", ["derive"])
    piet = office.read(lambda reader: reader.agent("piet"))
    put_prefix_values(office, "777", admin(100, "777.1.5/ADMIN", 300))
    with pytest.raises(NotAuthorised):
        office.by(piet, derive_prefix, "777.1")
