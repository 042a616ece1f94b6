"""The PILIN policy on authority metadata, sentence by sentence, through the registry."""

import asyncio
from fractions import Fraction

import msgspec
import pytest
from tests.registry_fixture import ManualClock, Office, StoreFactory, describe, open_office, set_target, set_values

from perdure.errors import InvalidInput
from perdure.names import instant
from perdure.records.authority import AuthorityMetadata
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
def kept(office: Office) -> Office:
    office.prefix("12345", "chosen")
    return office


def authority(office: Office, name: str = "12345/a") -> AuthorityMetadata:
    return office.ask(show, name).authority


def at(text: str) -> Fraction:
    return instant.from_iso(text, "test")


def test_a_reserved_name_has_neither_date(kept: Office) -> None:
    kept.do(mint, "12345", suffixes=["a"])
    assert authority(kept) == AuthorityMetadata(creator=kept.admin.identifier)
    assert kept.ask(show, "12345/a").handle_record == ()


def test_creation_is_the_first_binding_and_not_the_minting(kept: Office) -> None:
    kept.do(mint, "12345", suffixes=["a"])
    kept.clock.step(86_400)
    kept.do(bind, "12345/a", TARGET)
    assert authority(kept).created == "2027-01-16T08:00:00Z"


def test_creation_never_changes_afterwards(kept: Office) -> None:
    kept.do(mint, "12345", suffixes=["a"], said=TARGET)
    for act, *arguments in (
        (set_target, "https://example.org/moved"),
        (withdraw, "gone"),
        (reinstate,),
        (describe, About(what="a thing")),
    ):
        kept.clock.step(3600)
        kept.do(act, "12345/a", *arguments)
        assert authority(kept).created == "2027-01-15T08:00:00Z"


def test_every_change_moves_the_last_update_removal_too(kept: Office) -> None:
    kept.do(mint, "12345", suffixes=["a"], said=TARGET)
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
        kept.clock.step(3600)
        kept.do(act, "12345/a", *arguments)
        assert authority(kept).updated == f"2027-01-15T{hour:02d}:00:00Z"


def test_saying_the_same_again_is_no_update(kept: Office) -> None:
    kept.do(mint, "12345", suffixes=["a"], said=TARGET)
    kept.clock.step(3600)
    assert kept.do(set_target, "12345/a", "https://example.org/thing") == 1
    assert kept.do(set_values, "12345/a", [Value(1, "URL", Text("https://example.org/thing"))]) == 1
    assert authority(kept).updated == "2027-01-15T08:00:00Z"


def test_the_last_update_does_not_follow_a_clock_that_steps_back(kept: Office) -> None:
    kept.do(mint, "12345", suffixes=["a"], said=TARGET)
    kept.clock.step(-7200)
    kept.do(set_target, "12345/a", "https://example.org/moved")
    assert authority(kept).updated == "2027-01-15T08:00:00Z"


@pytest.mark.parametrize("way", ["mint", "set", "add"])
def test_a_value_cannot_bring_a_timestamp_from_the_future(kept: Office, way: str) -> None:
    """Else the last update would move backwards on the day that the value is removed."""
    future = Value(7, "DESC", Text("a thing"), "2999-01-01T00:00:00Z")
    try:
        if way == "mint":
            kept.do(mint, "12345", suffixes=["a"], said=Statement(target="https://example.org/", values=(future,)))
        else:
            kept.do(mint, "12345", suffixes=["a"], said=TARGET)
            kept.do(set_values if way == "set" else add_values, "12345/a", [future])
    except InvalidInput as refusal:
        assert "timestamp" in refusal.part
        return
    with_value = authority(kept).updated
    kept.clock.step(60)
    kept.do(remove_values, "12345/a", [7])
    assert with_value is not None
    assert authority(kept).updated is not None
    assert authority(kept).updated >= with_value


def test_a_name_is_not_created_before_it_was_reserved(kept: Office) -> None:
    kept.do(mint, "12345", suffixes=["a"])
    kept.clock.step(-7200)
    kept.do(bind, "12345/a", TARGET)
    metadata = authority(kept)
    assert metadata.created == "2027-01-15T08:00:00Z"
    assert metadata.created <= metadata.updated


def test_the_creator_is_the_agent_unless_somebody_else_is_named(kept: Office) -> None:
    kept.do(mint, "12345", suffixes=["a"], said=TARGET)
    assert authority(kept).creator == kept.admin.identifier
    kept.do(mint, "12345", suffixes=["b"], said=Statement("https://example.org/", creator="https://example.org/me"))
    assert authority(kept, "12345/b").creator == "https://example.org/me"


def test_the_first_creator_is_actionable_from_the_first_minute(kept: Office) -> None:
    assert kept.ask(show, kept.admin.identifier).values[0].text == "The Library of Tests"


@pytest.mark.parametrize(
    ("said", "recorded"),
    [
        ("hdl:102.100.272/0N8J991QH", "hdl:102.100.272/0N8J991QH"),
        ("https://hdl.handle.net/102.100.272/0N8J991QH", "hdl:102.100.272/0N8J991QH"),
        ("doi:10.1000/182", "hdl:10.1000/182"),
        ("https://orcid.org/0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097"),
        ("12345/here", "hdl:12345/here"),
        ("hdl:12345/here", "hdl:12345/here"),
    ],
)
def test_a_creator_that_leads_somewhere_is_accepted(kept: Office, said: str, recorded: str) -> None:
    kept.do(mint, "12345", suffixes=["here"], said=TARGET)
    kept.do(mint, "12345", suffixes=["a"], said=Statement("https://example.org/", creator=said))
    assert authority(kept).creator == recorded


@pytest.mark.parametrize(
    "said",
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
def test_a_party_that_leads_nowhere_is_refused(kept: Office, said: str) -> None:
    kept.do(mint, "12345", suffixes=["reserved"])
    kept.do(mint, "12345", suffixes=["withdrawn"], said=TARGET)
    kept.do(withdraw, "12345/withdrawn", "gone")
    before = kept.everything()
    for field, party in (("creator", said), ("owners", (said,))):
        with pytest.raises(InvalidInput) as refusal:
            kept.do(mint, "12345", suffixes=["a"], said=Statement("https://example.org/", **{field: party}))
        assert refusal.value.part == field
    assert kept.everything() == before


def test_an_owner_is_recorded_only_where_different_from_the_creator(kept: Office) -> None:
    owners = (kept.admin.identifier.removeprefix("hdl:").lower(), "https://example.org/b", "https://example.org/b")
    kept.do(mint, "12345", suffixes=["a"], said=Statement("https://example.org/", owners=owners))
    assert authority(kept).owners == ("https://example.org/b",)


def test_owners_named_when_a_name_is_bound(kept: Office) -> None:
    kept.do(mint, "12345", suffixes=["a"])
    owners = (kept.admin.identifier, "https://example.org/b")
    kept.do(bind, "12345/a", Statement("https://example.org/", owners=owners))
    assert authority(kept).owners == ("https://example.org/b",)


def test_another_creator_named_when_a_name_is_bound_is_not_passed_over_in_silence(kept: Office) -> None:
    kept.do(mint, "12345", suffixes=["a"])
    try:
        kept.do(bind, "12345/a", Statement("https://example.org/", creator="https://example.org/me"))
    except InvalidInput as refusal:
        assert refusal.part == "creator"
    else:
        assert authority(kept).creator == "https://example.org/me"


def test_a_transfer_back_to_the_creator_leaves_no_owner(kept: Office) -> None:
    kept.hire("jan")
    kept.do(mint, "12345", suffixes=["a"], said=TARGET)
    kept.do(transfer_identifiers, ["12345/a"], "jan")
    assert authority(kept).owners == ("https://example.org/people/jan",)
    kept.do(transfer_identifiers, ["12345/a"], "admin")
    assert authority(kept).owners == ()


def test_the_policys_example_to_the_letter(runner: asyncio.Runner, store_factory: StoreFactory) -> None:
    """The project got its own name at its first minute, and gave the other name out when it had something to name."""
    founding = ManualClock(at("2007-05-30T05:50:34.750Z"))
    office = open_office(runner, store_factory("pilin"), founding, home="102.100.272")
    assert office.admin.identifier == "hdl:102.100.272/0N8J991QH"
    office.do(change_prefix, "102.100.272", minter="chosen")
    office.prefix("102.100.pilin2", "chosen")
    office.do(mint, "102.100.pilin2", suffixes=["XYZZY"], said=TARGET)
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


def test_without_another_owner_the_creator_administers(kept: Office) -> None:
    kept.do(mint, "12345", suffixes=["a"], said=TARGET)
    admin = next(value for value in kept.ask(show, "12345/a").handle_record if value.type == "HS_ADMIN")
    assert f"hdl:{admin.data.value.handle}" == kept.admin.identifier


def test_the_types_resolve_to_their_description(kept: Office) -> None:
    for kind in ("CREATION_DATE", "CREATOR"):
        view = kept.ask(show, f"102.100.TYPE/{kind}")
        assert view.state == "active"
        assert view.values[0].text
    assert "first association" in (kept.ask(show, "102.100.type/creation_date").values[0].text or "")


def test_what_the_policy_does_not_record_appears_nowhere(kept: Office) -> None:
    kept.do(mint, "12345", suffixes=["a"], said=TARGET)
    shown = msgspec.to_builtins(kept.ask(show, "12345/a"))
    assert set(shown["authority"]) <= {"creator", "created", "updated", "owners"}
    assert not {"managers", "minted", "name_created", "namespace", "resource_type"} & set(shown)
    assert {value["type"] for value in shown["handle_record"]} == {
        "URL",
        "HS_ADMIN",
        "102.100.TYPE/CREATION_DATE",
        "102.100.TYPE/CREATOR",
    }


def test_whoever_may_resolve_may_see_it(kept: Office) -> None:
    """Nobody is named here who asks: a withdrawn identifier says whose it was as well."""
    kept.do(mint, "12345", suffixes=["a"], said=TARGET)
    assert kept.ask(resolve, "12345/a").target
    kept.do(withdraw, "12345/a", "gone")
    assert authority(kept).creator == kept.admin.identifier


def test_a_description_stands_beside_the_authority_metadata_and_never_in_its_place(kept: Office) -> None:
    said = Statement("https://example.org/", about=About(who="Jan", what="A thesis", when="1999", where="Leiden"))
    kept.do(mint, "12345", suffixes=["a"], said=said)
    view = kept.ask(show, "12345/a")
    assert view.authority.creator == kept.admin.identifier
    assert view.about == About("Jan", "A thesis", "1999", "Leiden")
