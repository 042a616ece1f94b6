"""Prefixes: unique, with settings that are fixed and settings that can change."""

import asyncio

import pytest
from tests.registry_fixture import Office

from perdure.errors import InvalidInput, InvalidName, NameTaken, NoSuchPrefix, OutOfRange
from perdure.registry import (
    Statement,
    add_prefix,
    add_subsystem,
    change_prefix,
    derive_prefix,
    mint,
    observe,
    resolve,
    show,
)
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY
from perdure.registry.prefixes.prefix_etag import settings_digest


def test_a_prefix_is_stored_as_it_was_given(office: Office) -> None:
    stored = office.do(
        add_prefix, "10.ABC", minter="sequential", case_sensitive=False, policy="For theses.\n", pattern="t-##"
    )
    assert office.read(lambda reader: reader.prefix("10.abc")) == stored
    assert (stored.name, stored.minter, stored.case_sensitive, stored.pattern) == (
        "10.ABC",
        "sequential",
        False,
        "t-##",
    )
    assert stored.policy == "For theses.\n"


def test_a_prefix_is_unique_in_any_case(office: Office) -> None:
    office.do(add_prefix, "10.ABC")
    for name in ("10.ABC", "10.abc"):
        with pytest.raises(NameTaken):
            office.do(add_prefix, name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " 1",
        "1 ",
        "1..2",
        ".1",
        "1.",
        "a/b",
        "a\x00",
        "a\u200b",
        "hdl:1",
        "doi:10",
        "https:",
        "\ud800",
        "a\U0001f600",
    ],
)
def test_an_invalid_prefix_is_refused(office: Office, name: str) -> None:
    before = office.snapshot()
    with pytest.raises(InvalidName) as refusal:
        office.do(add_prefix, name)
    assert refusal.value.part == "prefix"
    assert office.snapshot() == before


def test_a_prefix_cannot_have_the_name_of_the_whole_registry(office: Office) -> None:
    """Otherwise a grant on that prefix would be a grant on the whole registry."""
    with pytest.raises((InvalidInput, InvalidName)):
        office.do(add_prefix, WHOLE_REGISTRY)


def test_a_prefix_too_long_to_be_looked_up_is_refused(office: Office) -> None:
    with pytest.raises((OutOfRange, InvalidName)):
        office.do(add_prefix, "1" * 3000)


@pytest.mark.parametrize("minter", ["ibi", "ppid", "random", ""])
def test_a_handle_prefix_has_a_handle_minter(office: Office, minter: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        office.do(add_prefix, "12345", minter=minter)
    assert refusal.value.part == "minter"


@pytest.mark.parametrize("pattern", ["", "no number", "#-#"])
def test_a_pattern_has_one_number(office: Office, pattern: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        office.do(add_prefix, "12345", minter="sequential", pattern=pattern)
    assert refusal.value.part == "pattern"


def test_a_pattern_needs_a_minter_that_counts(office: Office) -> None:
    with pytest.raises(InvalidInput) as refusal:
        office.do(add_prefix, "12345", pattern="#")
    assert refusal.value.part == "pattern"


@pytest.mark.parametrize("policy", ["a\x00b", "a\x1b[2Jb", "a\x7fb", "a\x85b", "\ud800", "x" * 100_001])
def test_a_policy_is_plain_text(office: Office, policy: str) -> None:
    before = office.snapshot()
    for use_case in (add_prefix, derive_prefix):
        with pytest.raises(InvalidInput) as refusal:
            office.do(use_case, "102.100.TYPE.1", policy=policy)
        assert refusal.value.part == "policy"
    with pytest.raises(InvalidInput) as refusal:
        office.do(change_prefix, "102.100.TYPE", policy=policy)
    assert refusal.value.part == "policy"
    assert office.snapshot() == before


def test_a_derived_prefix_knows_its_parent(office: Office) -> None:
    office.prefix("12345")
    assert office.do(derive_prefix, "12345.1").parent == "12345"
    assert office.do(derive_prefix, "12345.1.7").parent == "12345.1"
    assert office.do(add_prefix, "12345.2").parent == "12345"


def test_a_prefix_is_derived_from_an_existing_one(office: Office) -> None:
    with pytest.raises(NoSuchPrefix):
        office.do(derive_prefix, "777.1")
    with pytest.raises(InvalidInput) as refusal:
        office.do(derive_prefix, "777")
    assert refusal.value.part == "prefix"


def test_only_a_handle_prefix_can_be_derived_from(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    for name in ("POID.1", "8JMKD3MGP8W.1"):
        with pytest.raises(InvalidInput) as refusal:
            office.do(derive_prefix, name)
        assert refusal.value.part == "prefix"


def test_deriving_gives_every_grant_on_the_new_prefix(office: Office) -> None:
    office.prefix("12345")
    jan = office.hire("jan", "12345", "derive")
    office.by(jan, derive_prefix, "12345.1")
    grants = office.read(lambda reader: reader.grants("jan"))
    assert {one.action for one in grants if one.scope == "12345.1"} == set(ACTIONS)


def test_only_one_of_two_concurrent_changes_of_a_prefix_succeeds(office: Office) -> None:
    seen = settings_digest(office.do(add_prefix, "12345", minter="uuid"))

    async def both() -> list[object]:
        acts = [change_prefix(office.registry, office.admin, "12345", policy=text, expected=seen) for text in "ab"]
        return await asyncio.gather(*acts, return_exceptions=True)

    outcomes = office.run(both())
    assert sorted(type(one).__name__ for one in outcomes) == ["Conflict", "Prefix"]
    stored = office.read(lambda reader: reader.prefix("12345"))
    assert stored in outcomes
    office.do(change_prefix, "12345", policy="c")


def test_policy_and_minter_may_change(office: Office) -> None:
    office.prefix("12345")
    office.do(change_prefix, "12345", policy="New.")
    office.do(change_prefix, "12345", minter="sequential", pattern="n#")
    stored = office.read(lambda reader: reader.prefix("12345"))
    assert stored is not None
    assert (stored.policy, stored.minter, stored.pattern) == ("New.", "sequential", "n#")
    office.do(change_prefix, "12345", minter="uuid")
    stored = office.read(lambda reader: reader.prefix("12345"))
    assert stored is not None
    assert stored.pattern is None
    assert [event.action for event in office.events()[:3]] == ["prefix change"] * 3


def test_longer_names_pass_through_if_the_prefix_allows_it(office: Office) -> None:
    assert not office.do(add_prefix, "12345").pass_through
    assert office.do(add_prefix, "777", pass_through=True).pass_through
    assert office.do(derive_prefix, "777.1", pass_through=True).pass_through
    assert office.do(change_prefix, "12345", pass_through=True).pass_through
    assert office.events()[0].detail.endswith("longer names pass through")
    assert office.do(change_prefix, "12345", policy="New.").pass_through
    assert not office.do(change_prefix, "777", pass_through=False).pass_through
    assert "pass through" not in office.events()[0].detail
    passing = {one.key for one in office.read(lambda reader: reader.prefixes()) if one.pass_through}
    assert passing == {"12345", "777.1"}


def test_only_handles_pass_through(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    before = office.snapshot()
    for name in ("sid.inpe.br/mtc-m18", "POID"):
        with pytest.raises(InvalidInput) as refusal:
            office.do(change_prefix, name, pass_through=True)
        assert refusal.value.part == "pass_through"
    assert office.snapshot() == before


def test_a_change_that_is_refused_changes_nothing(office: Office) -> None:
    office.prefix("12345")
    before = office.snapshot()
    for options in ({"granularity": 1}, {"minter": "ibi"}, {"pattern": "#"}, {"policy": "ok", "minter": "nonsense"}):
        with pytest.raises(InvalidInput):
            office.do(change_prefix, "12345", **options)
    assert office.snapshot() == before


def test_the_minter_of_a_subsystem_or_of_persons_is_fixed(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    for name in ("sid.inpe.br/mtc-m18", "POID"):
        with pytest.raises(InvalidInput) as refusal:
            office.do(change_prefix, name, minter="chosen")
        assert refusal.value.part == "minter"


def test_names_of_two_schemes_are_never_mistaken_for_one_another(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    for name in ("sid.inpe.br", "8jmkd3mgp8w", "POID", "prid"):
        with pytest.raises((InvalidInput, NameTaken)):
            office.do(add_prefix, name, minter="chosen")
    office.prefix("dpi.inpe.br", "chosen")
    with pytest.raises(InvalidInput):
        office.do(add_subsystem, "banon-pc2.dpi.inpe.br", "150.163.2.174")


def test_all_three_schemes_live_in_one_registry(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    office.prefix("12345")
    statement = Statement("https://example.org/")
    pair = office.do(mint, "sid.inpe.br/mtc-m18", statement=statement)[0]
    handle = office.do(mint, "12345", statement=statement)[0]
    person = office.do(observe, "https://example.org/", "2025-01-09T10:30:00Z", "0" * 64)
    assert [office.ask(show, name).scheme for name in (pair.name, pair.alias, handle.name, person.name)] == [
        "ibi",
        "ibi",
        "handle",
        "ppid",
    ]
    assert office.ask(resolve, pair.alias).target == "https://example.org/"
