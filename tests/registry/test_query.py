"""Queries: the record of an identifier, its history, and its target."""

import pytest
from tests.registry_fixture import Office, describe, set_target, set_values

from perdure.errors import InvalidInput, NoSuchName, NoSuchPrefix, WrongState
from perdure.records.record import About
from perdure.records.value import Text, Value
from perdure.registry import (
    Statement,
    add_values,
    change_prefix,
    diff,
    find_by_value,
    mint,
    remove_values,
    resolve,
    search,
    show,
    transfer_identifiers,
    withdraw,
)

URL = "https://example.org/first"


@pytest.fixture
def sample_office(office: Office) -> Office:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["a"], statement=Statement(URL, about=About(who="Žižek", what="Über Handles")))
    return office


def names(found: list) -> list[str]:
    return [one.name for one in found]


@pytest.mark.parametrize(
    "text",
    ["12345/a", "hdl:12345/a", "HDL:12345/a", "https://hdl.handle.net/12345/a", "info:hdl/12345/a"],
)
def test_a_name_resolves_in_every_form_in_which_people_write_it(sample_office: Office, text: str) -> None:
    assert sample_office.ask(resolve, text) == ("12345/a", URL, 1)


def test_a_name_is_shown_as_it_was_minted(office: Office) -> None:
    office.prefix("10.ABC", "chosen", case_sensitive=False)
    office.do(mint, "10.abc", suffixes=["MiXed"], statement=Statement(URL))
    assert office.ask(resolve, "10.aBc/mixED").name == "10.ABC/MiXed"


def test_another_case_is_only_suggested_under_a_case_sensitive_prefix(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["ABC"], statement=Statement(URL))
    with pytest.raises(NoSuchName) as refusal:
        sample_office.ask(resolve, "12345/abc")
    assert refusal.value.suggestions == ("12345/ABC",)
    assert "12345/ABC" in str(refusal.value)


@pytest.mark.parametrize("slip", [str.lower, lambda suffix: suffix.replace("0", "O").replace("1", "i")])
def test_typing_errors_in_a_pilin_suffix_are_corrected(office: Office, slip) -> None:
    office.prefix("12345")
    for _ in range(40):
        name = office.do(mint, "12345", statement=Statement(URL))[0].name
    prefix, _, suffix = name.partition("/")
    assert office.ask(resolve, f"{prefix}/{slip(suffix)}").name == name
    assert office.do(set_target, f"{prefix}/{slip(suffix)}", "https://example.org/moved") == 2


def test_a_pilin_prefix_may_compare_without_case(office: Office) -> None:
    office.prefix("12345", case_sensitive=False)
    name = office.do(mint, "12345", statement=Statement(URL))[0].name
    assert office.ask(resolve, name.lower()).name == name


def test_an_exact_name_is_preferred_to_a_corrected_one(office: Office) -> None:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["0N8J991QH"], statement=Statement("https://example.org/zero"))
    office.do(mint, "12345", suffixes=["ON8J991QH"], statement=Statement("https://example.org/letter"))
    office.do(change_prefix, "12345", minter="pilin")
    assert office.ask(resolve, "12345/ON8J991QH").target == "https://example.org/letter"
    assert office.ask(resolve, "12345/on8j991qh").target == "https://example.org/zero"


def test_typing_errors_are_corrected_under_pilin_prefixes_only(office: Office) -> None:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["0N8J991QH"], statement=Statement(URL))
    with pytest.raises(NoSuchName):
        office.ask(resolve, "12345/ON8J991QH")


def test_a_missing_name_is_an_error(sample_office: Office) -> None:
    with pytest.raises(NoSuchName) as refusal:
        sample_office.ask(resolve, "12345/b")
    assert not isinstance(refusal.value, NoSuchPrefix)
    with pytest.raises(NoSuchPrefix):
        sample_office.ask(resolve, "54321/a")


def test_a_reserved_name_does_not_resolve(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["r"])
    with pytest.raises(WrongState):
        sample_office.ask(resolve, "12345/r")


def test_an_identifier_without_a_target_does_not_resolve(sample_office: Office) -> None:
    sample_office.do(remove_values, "12345/a", [1])
    with pytest.raises(NoSuchName):
        sample_office.ask(resolve, "12345/a")


def test_the_store_has_the_target_of_a_simple_record(sample_office: Office) -> None:
    row = sample_office.run(sample_office.registry.store.lookup("12345/a"))
    assert row is not None
    assert (row.target, row.state) == (URL, "active")
    sample_office.do(add_values, "12345/a", [Value(0, "10320/loc", Text("<locations/>"))])
    row = sample_office.run(sample_office.registry.store.lookup("12345/a"))
    assert row is not None
    assert row.target is None


def test_every_version_can_be_shown(sample_office: Office) -> None:
    sample_office.do(set_target, "12345/a", "https://example.org/second")
    assert sample_office.ask(show, "12345/a", version=1).target == URL
    assert sample_office.ask(show, "12345/a", version=2).target == "https://example.org/second"
    for version in (0, 3, -1):
        with pytest.raises(InvalidInput) as refusal:
            sample_office.ask(show, "12345/a", version=version)
        assert refusal.value.part == "version"


def test_an_old_version_shows_the_metadata_of_its_time(sample_office: Office) -> None:
    sample_office.clock.step(3600)
    sample_office.do(set_target, "12345/a", "https://example.org/second")
    assert sample_office.ask(show, "12345/a", version=1).authority.updated == "2027-01-15T08:00:00Z"


def test_a_difference_is_listed_part_by_part(sample_office: Office) -> None:
    sample_office.do(set_target, "12345/a", "https://example.org/second")
    sample_office.do(describe, "12345/a", About(what="Handles"))
    sample_office.do(add_values, "12345/a", [Value(5, "DESC", Text("new"))])
    sample_office.do(withdraw, "12345/a", "gone")
    found = {one.part: (one.before, one.after) for one in sample_office.ask(diff, "12345/a", 1, 5)}
    assert found["about.what"] == ("Über Handles", "Handles")
    assert found["state"] == ("active", "withdrawn")
    assert found["tombstone.reason"] == (None, "gone")
    assert found["value 5"][0] is None
    assert found["value 1"][1]["data"]["value"] == "https://example.org/second"
    assert set(found) == {"about.what", "state", "tombstone.reason", "value 1", "value 5"}


def test_a_version_does_not_differ_from_itself(sample_office: Office) -> None:
    assert sample_office.ask(diff, "12345/a", 1, 1) == []


def test_differences_are_shown_in_both_directions(sample_office: Office) -> None:
    sample_office.do(set_target, "12345/a", "https://example.org/second")
    there, back = sample_office.ask(diff, "12345/a", 1, 2), sample_office.ask(diff, "12345/a", 2, 1)
    assert [(one.part, one.after, one.before) for one in back] == [(one.part, one.before, one.after) for one in there]


@pytest.fixture
def secretive(sample_office: Office) -> Office:
    """Value 9 is for administrators only."""
    sample_office.do(set_values, "12345/a", [Value(9, "EMAIL", Text("secret@example.org"), permissions="1100")])
    return sample_office


def test_a_private_value_is_shown_only_with_permission_to_edit(secretive: Office) -> None:
    assert [value.index for value in secretive.ask(show, "12345/a").values] == [1]
    assert [value.index for value in secretive.ask(show, "12345/a", by=secretive.hire("jan")).values] == [1]
    assert [value.index for value in secretive.ask(show, "12345/a", by=secretive.admin).values] == [1, 9]


def test_a_private_value_is_found_nowhere(secretive: Office) -> None:
    assert "secret" not in repr(secretive.ask(show, "12345/a"))
    assert "secret" not in repr(secretive.ask(diff, "12345/a", 1, 2))
    assert secretive.ask(search, ["secret"]) == []
    assert secretive.ask(find_by_value, "secret@example.org", type=None) == []


def test_a_value_that_becomes_private_is_no_longer_found(sample_office: Office) -> None:
    sample_office.do(set_values, "12345/a", [Value(9, "EMAIL", Text("jan@example.org"))])
    assert names(sample_office.ask(find_by_value, "jan@example.org", type="EMAIL")) == ["12345/a"]
    sample_office.do(set_values, "12345/a", [Value(9, "EMAIL", Text("jan@example.org"), permissions="1100")])
    assert sample_office.ask(find_by_value, "jan@example.org", type="EMAIL") == []
    assert sample_office.ask(search, ["jan"]) == []


def test_a_private_url_is_not_the_target(sample_office: Office) -> None:
    sample_office.do(set_values, "12345/a", [Value(1, "URL", Text("https://secret.example.org/"), permissions="1100")])
    assert sample_office.ask(show, "12345/a").target is None
    with pytest.raises(NoSuchName):
        sample_office.ask(resolve, "12345/a")


def test_a_former_owner_does_not_see_private_values(secretive: Office) -> None:
    jan = secretive.hire("jan")
    secretive.do(transfer_identifiers, ["12345/a"], "jan")
    assert 9 in [value.index for value in secretive.ask(show, "12345/a", by=jan).values]
    secretive.do(transfer_identifiers, ["12345/a"], "admin")
    for version in (None, 3):
        assert 9 not in [value.index for value in secretive.ask(show, "12345/a", by=jan, version=version).values]


@pytest.mark.parametrize(
    "words",
    [
        ["Uber"],
        ["über"],
        ["zizek", "handles"],
        ["example"],
        ["first"],
        ["12345"],
        ["HANDLES"],
        ["hand*"],
        ["example.org"],
    ],
)
def test_search_finds_names_targets_and_descriptions(sample_office: Office, words: list[str]) -> None:
    assert "12345/a" in names(sample_office.ask(search, words))


def test_search_requires_all_words(sample_office: Office) -> None:
    assert sample_office.ask(search, ["handles", "nonsense"]) == []


def test_search_shows_the_newest_first_up_to_the_limit(sample_office: Office) -> None:
    sample_office.do(
        mint, "12345", suffixes=["b", "c"], statement=Statement(values=(Value(1, "DESC", Text("handles")),))
    )
    assert names(sample_office.ask(search, ["handles"])) == ["12345/c", "12345/b", "12345/a"]
    assert names(sample_office.ask(search, ["handles"], limit=1)) == ["12345/c"]


def test_search_does_not_find_removed_content(sample_office: Office) -> None:
    sample_office.do(describe, "12345/a", About(what="Something else"))
    assert sample_office.ask(search, ["handles"]) == []
    assert names(sample_office.ask(search, ["something"])) == ["12345/a"]


def test_search_returns_the_state(sample_office: Office) -> None:
    sample_office.do(withdraw, "12345/a", "gone")
    (found,) = sample_office.ask(search, ["handles"])
    assert (found.state, found.target) == ("withdrawn", None)


@pytest.mark.parametrize(
    "words",
    [
        ['"'],
        ["AND"],
        ["a OR b"],
        ["NEAR("],
        ["text:handles"],
        ["^handles"],
        ["-handles"],
        ["'; --"],
        ['han"dles'],
        ["(("],
    ],
)
def test_search_operators_in_a_word_have_no_effect(sample_office: Office, words: list[str]) -> None:
    """A word may be found or refused, but it is never interpreted as a query."""
    try:
        found = sample_office.ask(search, words)
    except InvalidInput as refusal:
        assert refusal.part == "words"
    else:
        assert names(found) in ([], ["12345/a"])


@pytest.mark.parametrize("words", [[], ["..."], ["*"], ["ab*"], [""], ["x"] * 21, ["a\x00b"], ["\ud800a"]])
def test_words_that_cannot_be_searched_for_are_refused(sample_office: Office, words: list[str]) -> None:
    with pytest.raises(InvalidInput) as refusal:
        sample_office.ask(search, words)
    assert refusal.value.part == "words"


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_the_limit_must_be_in_range(sample_office: Office, limit: int) -> None:
    for act, what in ((search, ["handles"]), (find_by_value, URL)):
        with pytest.raises(InvalidInput) as refusal:
            sample_office.ask(act, what, limit=limit)
        assert refusal.value.part == "limit"


def test_reverse_look_up_is_exact(sample_office: Office) -> None:
    assert names(sample_office.ask(find_by_value, URL)) == ["12345/a"]
    assert sample_office.ask(find_by_value, URL + "/") == []
    assert sample_office.ask(find_by_value, URL, type="EMAIL") == []
    assert names(sample_office.ask(find_by_value, URL, type=None)) == ["12345/a"]


def test_reverse_look_up_follows_every_change(sample_office: Office) -> None:
    sample_office.do(set_target, "12345/a", "https://example.org/second")
    assert sample_office.ask(find_by_value, URL) == []
    assert names(sample_office.ask(find_by_value, "https://example.org/second")) == ["12345/a"]
    sample_office.do(withdraw, "12345/a", "gone")
    assert sample_office.ask(find_by_value, "https://example.org/second") == []
    assert sample_office.contradictions() == []


def test_a_target_in_two_values_is_found_until_both_are_removed(sample_office: Office) -> None:
    sample_office.do(add_values, "12345/a", [Value(2, "URL", Text(URL))])
    sample_office.do(remove_values, "12345/a", [1])
    assert names(sample_office.ask(find_by_value, URL)) == ["12345/a"]
    sample_office.do(remove_values, "12345/a", [2])
    assert sample_office.ask(find_by_value, URL) == []
