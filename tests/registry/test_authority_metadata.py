"""The PILIN policy on authority metadata, sentence by sentence, through the registry."""

import asyncio
from fractions import Fraction

import msgspec
import pytest
from tests.registry_fixture import ManualClock, Office, StoreFactory, describe, open_office, set_target, set_values

from perdure.errors import InvalidInput
from perdure.names import instant
from perdure.records.authority_metadata import AuthorityMetadata
from perdure.records.record import About
from perdure.records.value import Admin, Text, Value
from perdure.registry import (
    Statement,
    add_values,
    bind,
    change_prefix,
    mint,
    reinstate,
    remove_values,
    resolve,
    show,
    transfer_identifiers,
    withdraw,
)

TARGET = Statement(target="https://example.org/thing")


@pytest.fixture
def sample_office(office: Office) -> Office:
    office.prefix("12345", "chosen")
    return office


def authority(office: Office, name: str = "12345/a") -> AuthorityMetadata:
    return office.ask(show, name).authority


def at(text: str) -> Fraction:
    return instant.from_iso(text, "test")


def test_a_reserved_name_has_neither_date(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["a"])
    assert authority(sample_office) == AuthorityMetadata(creator=sample_office.admin.identifier)
    assert sample_office.ask(show, "12345/a").handle_record == ()


def test_the_creation_date_is_that_of_the_first_binding(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["a"])
    sample_office.clock.step(86_400)
    sample_office.do(bind, "12345/a", TARGET)
    assert authority(sample_office).created == "2027-01-16T08:00:00Z"


def test_the_creation_date_never_changes(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["a"], statement=TARGET)
    for act, *arguments in (
        (set_target, "https://example.org/moved"),
        (withdraw, "gone"),
        (reinstate,),
        (describe, About(what="a thing")),
    ):
        sample_office.clock.step(3600)
        sample_office.do(act, "12345/a", *arguments)
        assert authority(sample_office).created == "2027-01-15T08:00:00Z"


def test_every_change_updates_the_last_update_even_a_removal(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["a"], statement=TARGET)
    acts = [
        (set_target, "https://example.org/moved"),
        (add_values, [Value(0, "DESC", Text("a thing"))]),
        (set_values, [Value(2, "DESC", Text("the thing"))]),
        (remove_values, [2]),
        (describe, About(what="a thing")),
        (withdraw, "gone"),
        (reinstate,),
    ]
    for hour, (act, *arguments) in enumerate(acts, 9):
        sample_office.clock.step(3600)
        sample_office.do(act, "12345/a", *arguments)
        assert authority(sample_office).updated == f"2027-01-15T{hour:02d}:00:00Z"


def test_a_change_to_the_same_content_is_not_an_update(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["a"], statement=TARGET)
    sample_office.clock.step(3600)
    assert sample_office.do(set_target, "12345/a", "https://example.org/thing") == 1
    assert sample_office.do(set_values, "12345/a", [Value(1, "URL", Text("https://example.org/thing"))]) == 1
    assert authority(sample_office).updated == "2027-01-15T08:00:00Z"


def test_the_last_update_does_not_follow_a_clock_that_steps_back(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["a"], statement=TARGET)
    sample_office.clock.step(-7200)
    sample_office.do(set_target, "12345/a", "https://example.org/moved")
    assert authority(sample_office).updated == "2027-01-15T08:00:00Z"


@pytest.mark.parametrize("way", ["mint", "set", "add"])
def test_a_value_cannot_bring_a_timestamp_from_the_future(sample_office: Office, way: str) -> None:
    """Otherwise the last update would move backwards on the day that the value is removed."""
    future = Value(7, "DESC", Text("a thing"), "2999-01-01T00:00:00Z")
    try:
        if way == "mint":
            sample_office.do(
                mint, "12345", suffixes=["a"], statement=Statement(target="https://example.org/", values=(future,))
            )
        else:
            sample_office.do(mint, "12345", suffixes=["a"], statement=TARGET)
            sample_office.do(set_values if way == "set" else add_values, "12345/a", [future])
    except InvalidInput as refusal:
        assert "timestamp" in refusal.part
        return
    with_value = authority(sample_office).updated
    sample_office.clock.step(60)
    sample_office.do(remove_values, "12345/a", [7])
    assert with_value is not None
    assert authority(sample_office).updated is not None
    assert authority(sample_office).updated >= with_value


def test_a_name_is_not_created_before_it_was_reserved(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["a"])
    sample_office.clock.step(-7200)
    sample_office.do(bind, "12345/a", TARGET)
    metadata = authority(sample_office)
    assert metadata.created == "2027-01-15T08:00:00Z"
    assert metadata.created <= metadata.updated


def test_the_creator_is_the_agent_unless_another_party_is_named(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["a"], statement=TARGET)
    assert authority(sample_office).creator == sample_office.admin.identifier
    sample_office.do(
        mint, "12345", suffixes=["b"], statement=Statement("https://example.org/", creator="https://example.org/me")
    )
    assert authority(sample_office, "12345/b").creator == "https://example.org/me"


def test_the_first_creator_is_actionable_from_the_first_minute(sample_office: Office) -> None:
    assert sample_office.ask(show, sample_office.admin.identifier).values[0].text == "The Library of Tests"


@pytest.mark.parametrize(
    ("creator", "recorded"),
    [
        ("hdl:102.100.272/0N8J991QH", "hdl:102.100.272/0N8J991QH"),
        ("https://hdl.handle.net/102.100.272/0N8J991QH", "hdl:102.100.272/0N8J991QH"),
        ("doi:10.1000/182", "hdl:10.1000/182"),
        ("https://orcid.org/0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097"),
        ("12345/here", "hdl:12345/here"),
        ("hdl:12345/here", "hdl:12345/here"),
    ],
)
def test_a_resolvable_creator_is_accepted(sample_office: Office, creator: str, recorded: str) -> None:
    sample_office.do(mint, "12345", suffixes=["here"], statement=TARGET)
    sample_office.do(mint, "12345", suffixes=["a"], statement=Statement("https://example.org/", creator=creator))
    assert authority(sample_office).creator == recorded


@pytest.mark.parametrize(
    "written",
    [
        "Jan",
        "",
        "http://example.org/me",
        "mailto:jan@example.org",
        "javascript:alert(1)",
        "https://",
        "https:///x",
        "https://exa mple.org/",
        "99999/unknown-prefix",
        "12345/missing",
        "hdl:12345/missing",
        "12345/reserved",
        "12345/withdrawn",
        "POID-93b0-4476-560e-5ac1",
        "https://example.org/\ud800",
        "hdl:",
        "x" * 20_000,
    ],
)
def test_a_party_that_cannot_be_resolved_is_refused(sample_office: Office, written: str) -> None:
    sample_office.do(mint, "12345", suffixes=["reserved"])
    sample_office.do(mint, "12345", suffixes=["withdrawn"], statement=TARGET)
    sample_office.do(withdraw, "12345/withdrawn", "gone")
    before = sample_office.snapshot()
    for field, party in (("creator", written), ("owners", (written,))):
        with pytest.raises(InvalidInput) as refusal:
            sample_office.do(
                mint, "12345", suffixes=["a"], statement=Statement("https://example.org/", **{field: party})
            )
        assert refusal.value.part == field
    assert sample_office.snapshot() == before


def test_an_owner_is_recorded_only_if_different_from_the_creator(sample_office: Office) -> None:
    owners = (
        sample_office.admin.identifier.removeprefix("hdl:").lower(),
        "https://example.org/b",
        "https://example.org/b",
    )
    sample_office.do(mint, "12345", suffixes=["a"], statement=Statement("https://example.org/", owners=owners))
    assert authority(sample_office).owners == ("https://example.org/b",)


def test_owners_can_be_named_when_a_name_is_bound(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["a"])
    owners = (sample_office.admin.identifier, "https://example.org/b")
    sample_office.do(bind, "12345/a", Statement("https://example.org/", owners=owners))
    assert authority(sample_office).owners == ("https://example.org/b",)


def test_another_creator_at_binding_is_stored_or_refused(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["a"])
    try:
        sample_office.do(bind, "12345/a", Statement("https://example.org/", creator="https://example.org/me"))
    except InvalidInput as refusal:
        assert refusal.part == "creator"
    else:
        assert authority(sample_office).creator == "https://example.org/me"


def test_a_transfer_back_to_the_creator_leaves_no_owner(sample_office: Office) -> None:
    sample_office.hire("jan")
    sample_office.do(mint, "12345", suffixes=["a"], statement=TARGET)
    sample_office.do(transfer_identifiers, ["12345/a"], "jan")
    assert authority(sample_office).owners == ("https://example.org/people/jan",)
    sample_office.do(transfer_identifiers, ["12345/a"], "admin")
    assert authority(sample_office).owners == ()


def test_the_example_of_the_policy_is_reproduced_exactly(runner: asyncio.Runner, store_factory: StoreFactory) -> None:
    """The project got its own name in its first minute, and issued the other name when it had an object for it."""
    founding = ManualClock(at("2007-05-30T05:50:34.750Z"))
    office = open_office(runner, store_factory("pilin"), founding, home="102.100.272")
    assert office.admin.identifier == "hdl:102.100.272/0N8J991QH"
    office.do(change_prefix, "102.100.272", minter="chosen")
    office.prefix("102.100.pilin2", "chosen")
    office.do(mint, "102.100.pilin2", suffixes=["XYZZY"], statement=TARGET)
    office.do(mint, "102.100.272", suffixes=["2RDV0T0QH"])

    office.clock.now = at("2007-06-22T02:53:46Z")
    owned = Statement("https://example.org/", owners=("hdl:102.100.pilin2/XYZZY",))
    office.do(bind, "102.100.272/2RDV0T0QH", owned)
    office.clock.now = at("2007-08-10T04:23:11Z")
    office.do(set_target, "102.100.272/2RDV0T0QH", "https://example.org/moved")

    view = office.ask(show, "102.100.272/2RDV0T0QH")
    assert msgspec.to_builtins(view.authority) == {
        "created": "2007-06-22T02:53:46Z",
        "updated": "2007-08-10T04:23:11Z",
        "creator": "hdl:102.100.272/0N8J991QH",
        "owners": ("hdl:102.100.pilin2/XYZZY",),
    }
    record = {value.type: value.data for value in view.handle_record}
    assert record["102.100.TYPE/CREATION_DATE"] == Text("2007-06-22T02:53:46Z")
    assert record["102.100.TYPE/CREATOR"] == Text("102.100.272/0N8J991QH")
    assert isinstance(record["HS_ADMIN"], Admin)
    assert record["HS_ADMIN"].value.handle == "102.100.pilin2/XYZZY"
    assert view.authority.updated == max([*(value.timestamp for value in view.values)])


def test_without_another_owner_the_creator_administers(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["a"], statement=TARGET)
    admin = next(value for value in sample_office.ask(show, "12345/a").handle_record if value.type == "HS_ADMIN")
    assert f"hdl:{admin.data.value.handle}" == sample_office.admin.identifier


def test_the_types_resolve_to_their_description(sample_office: Office) -> None:
    for kind in ("CREATION_DATE", "CREATOR"):
        view = sample_office.ask(show, f"102.100.TYPE/{kind}")
        assert view.state == "active"
        assert view.values[0].text
    assert "first association" in (sample_office.ask(show, "102.100.type/creation_date").values[0].text or "")


def test_only_fields_of_the_policy_are_recorded(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["a"], statement=TARGET)
    shown = msgspec.to_builtins(sample_office.ask(show, "12345/a"))
    assert set(shown["authority"]) <= {"creator", "created", "updated", "owners"}
    assert not {"managers", "minted", "name_created", "namespace", "resource_type"} & set(shown)
    assert {value["type"] for value in shown["handle_record"]} == {
        "URL",
        "HS_ADMIN",
        "102.100.TYPE/CREATION_DATE",
        "102.100.TYPE/CREATOR",
    }


def test_every_reader_can_see_the_authority_metadata(sample_office: Office) -> None:
    """The request is anonymous. A withdrawn identifier also shows its creator."""
    sample_office.do(mint, "12345", suffixes=["a"], statement=TARGET)
    assert sample_office.ask(resolve, "12345/a").target
    sample_office.do(withdraw, "12345/a", "gone")
    assert authority(sample_office).creator == sample_office.admin.identifier


def test_a_description_never_replaces_the_authority_metadata(sample_office: Office) -> None:
    statement = Statement("https://example.org/", about=About(who="Jan", what="A thesis", when="1999", where="Leiden"))
    sample_office.do(mint, "12345", suffixes=["a"], statement=statement)
    view = sample_office.ask(show, "12345/a")
    assert view.authority.creator == sample_office.admin.identifier
    assert view.about == About("Jan", "A thesis", "1999", "Leiden")
