"""Lists of identifiers, page by page, for agents with permission."""

import msgspec
import pytest
from tests.registry_fixture import Office

from perdure.errors import InvalidInput, NoSuchPrefix, NotAuthorised
from perdure.records.record import About
from perdure.records.value import Text, Value
from perdure.registry import (
    IdentifierQuery,
    Statement,
    add_values,
    list_identifiers,
    listing,
    mint,
    mint_once,
    select_identifiers,
    transfer_identifiers,
    withdraw,
)
from perdure.registry.entities import Agent


@pytest.fixture
def shop(office: Office) -> Office:
    for prefix in ("12345", "12345.1"):
        office.prefix(prefix, "chosen")
        office.do(mint_once, prefix, suffixes=[f"n{number}" for number in range(5)])
    return office


def test_pages_follow_one_another_until_the_last(shop: Office) -> None:
    seen, after = [], ""
    for _ in range(3):
        page = shop.do(list_identifiers, "12345", after=after, limit=2)
        seen += [row.name for row in page.identifiers]
        after = page.next or ""
    assert seen == [f"12345/n{number}" for number in range(5)]
    assert after == ""


def test_the_last_page_has_no_next_page(shop: Office) -> None:
    assert shop.do(list_identifiers, "12345", limit=5).next is None


def test_without_a_prefix_everything_is_listed(shop: Office) -> None:
    listed = {row.name for row in shop.do(list_identifiers, limit=1000).identifiers}
    assert {"12345/n0", "12345.1/n4"} <= listed


def test_an_unknown_prefix_is_an_error(shop: Office) -> None:
    with pytest.raises(NoSuchPrefix):
        shop.do(list_identifiers, "99999")


@pytest.mark.parametrize(("action", "prefix", "is_allowed"), [
    ("edit", "12345", True),
    ("admin", "12345", True),
    ("mint", "12345", False),
    ("edit", "12345.1", False),
    ("edit", None, False),
])  # fmt: skip
def test_the_list_needs_permission_to_edit_or_administer(
    shop: Office, action: str, prefix: str | None, is_allowed: bool
) -> None:
    agent = shop.hire("maria", "12345", action)
    if is_allowed:
        assert len(shop.by(agent, list_identifiers, prefix).identifiers) == 5
    else:
        with pytest.raises(NotAuthorised):
            shop.by(agent, list_identifiers, prefix)


LOCATIONS = '<locations><location href="https://second.example/"/></locations>'
FILTERS: dict[str, tuple[dict[str, str], set[str]]] = {
    "a prefix": ({"prefix": "12345"}, {"a", "b", "c", "gone", "reserved"}),
    "a beginning": ({"prefix": "12345/re"}, {"reserved"}),
    "a whole name": ({"prefix": "12345/a"}, {"a"}),
    "a state": ({"state": "withdrawn"}, {"gone"}),
    "a creator by its short name": ({"creator": "maria"}, {"b"}),
    "an owner": ({"owner": "https://example.org/people/maria"}, {"b", "c"}),
    "the day of creation": ({"created_since": "2027-01-16"}, {"b", "c"}),
    "a time before the creation": ({"created_before": "2027-01-16T00:00:00Z"}, {"a", "gone"}),
    "the last change": ({"changed_since": "2027-01-17"}, {"c"}),
    "no change since": ({"changed_before": "2027-01-16"}, {"a", "gone", "reserved"}),
    "the beginning of a URL": ({"target_begins": "HTTPS://Example.org/"}, {"a", "b", "c", "gone"}),
    "a location": ({"target_begins": "https://second.example"}, {"c"}),
    "a part of a URL": ({"target_contains": "ORG/B"}, {"b"}),
    "a type": ({"type": "10320/loc"}, {"c"}),
    "a text": ({"text": "LASTING"}, {"a"}),
    "two filters": ({"target_begins": "https://example.org/", "state": "withdrawn"}, {"gone"}),
}


@pytest.fixture
def library(office: Office) -> Office:
    office.prefix("12345", "chosen")
    maria = office.hire("maria", "12345", "mint")
    office.do(
        mint, "12345", suffixes=["a"], statement=Statement("https://example.org/a", about=About(what="On lasting"))
    )
    office.do(mint, "12345", suffixes=["gone"], statement=Statement("https://example.org/gone"))
    office.do(mint, "12345", suffixes=["reserved"])
    office.do(withdraw, "12345/gone", "lost")
    office.clock.step(86_400)
    office.by(maria, mint, "12345", suffixes=["b"], statement=Statement("https://example.org/b"))
    office.do(mint, "12345", suffixes=["c"], statement=Statement("https://example.org/c", owners=(maria.identifier,)))
    office.clock.step(86_400)
    office.do(add_values, "12345/c", [Value(2, "10320/loc", Text(LOCATIONS))])
    return office


def list_all(office: Office, agent: Agent, query: IdentifierQuery) -> set[str]:
    async def work() -> set[str]:
        chunks = select_identifiers(office.registry, agent, query)
        return {stored.identifier.name.rpartition("/")[2] async for chunk in chunks for stored in chunk}

    return office.run(work())


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_selects_what_the_records_state(library: Office, name: str) -> None:
    filters, expected = FILTERS[name]
    query = msgspec.convert({"prefix": "12345"} | filters, IdentifierQuery)
    assert list_all(library, library.admin, query) == expected
    page = library.do(list_identifiers, query=query, limit=10)
    assert {row.name.rpartition("/")[2] for row in page.identifiers} == expected


def test_pages_of_a_filtered_list_follow_each_other(library: Office) -> None:
    query = IdentifierQuery(prefix="12345", state="active")
    seen, after = [], ""
    while after is not None:
        page = library.do(list_identifiers, query=query, after=after, limit=2)
        seen.append([row.name for row in page.identifiers])
        after = page.next
    assert seen == [["12345/a", "12345/b"], ["12345/c"]]


def test_a_page_ends_after_a_bounded_number_of_names(library: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "_CHUNK", 1)
    monkeypatch.setattr(listing, "MOST_SCANNED", 2)
    page = library.do(list_identifiers, query=IdentifierQuery(prefix="12345", state="withdrawn"))
    assert (page.identifiers, page.next) == ([], "12345/b")


def test_values_that_are_not_public_are_found_by_editors_only(library: Office) -> None:
    library.do(add_values, "12345/a", [Value(2, "EMAIL", Text("desk@example.org"), permissions="1100")])
    query = IdentifierQuery(prefix="12345", type="EMAIL")
    assert list_all(library, library.hire("editor", "12345", "edit"), query) == {"a"}
    assert list_all(library, library.hire("head", "12345", "admin"), query) == set()


def test_an_agent_with_own_names_lists_these_only(library: Office) -> None:
    jan = library.hire("jan")
    library.do(transfer_identifiers, ["12345/a"], "jan")
    assert list_all(library, jan, IdentifierQuery(prefix="12345")) == {"a"}
    with pytest.raises(NotAuthorised):
        list_all(library, jan, IdentifierQuery(prefix="12345", owner="maria"))
    with pytest.raises(NotAuthorised):
        list_all(library, library.hire("piet"), IdentifierQuery(prefix="12345"))


@pytest.mark.parametrize(("filters", "part"), [
    ({"created_since": "yesterday"}, "created_since"),
    ({"changed_since": "2027-01-16", "changed_before": "2027-01-16"}, "changed_before"),
    ({"target_begins": "example.org"}, "target_begins"),
])  # fmt: skip
def test_a_filter_that_is_not_valid_is_refused(library: Office, filters: dict[str, str], part: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        library.do(list_identifiers, query=msgspec.convert(filters, IdentifierQuery))
    assert refusal.value.part == part
