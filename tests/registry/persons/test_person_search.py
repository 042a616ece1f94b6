"""Search for persons by words of their names and by their links, on every engine; and replacement of links."""

import pytest
from tests.registry_fixture import Office

from perdure.errors import Conflict, InvalidInput, InvalidName, NotAuthorised
from perdure.records.person import ChosenClaim, Claim, Link, Reconstruction
from perdure.registry import add_agent, observe, reconstruct, restrict, show
from perdure.registry.persons.linking import replace_links
from perdure.registry.persons.person_search import find_by_link, find_by_name

WHEN = "2025-01-09T10:30:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
LINK = Link("exact", "wikidata", "Q42")


def person(office: Office, name: str, residence: str) -> tuple[str, str]:
    """Create a person with this name and residence: observed, and reconstructed."""
    claims = [Claim(type="name", value=name), Claim(type="residence", value=residence)]
    seen = office.do(observe, f"https://example.org/{name.replace(' ', '-')}", WHEN, "0" * 64, claims=claims).name
    chosen = tuple(ChosenClaim(seen, number) for number in (1, 2))
    made = Reconstruction((seen,), CURATOR, WHEN, claims=chosen, links=(LINK,), notes="PRID POID")
    return seen, office.do(reconstruct, [seen], CURATOR, WHEN, made).name


def find_names(office: Office, *words: str) -> list[str]:
    return [one.name for one in office.ask(find_by_name, words).persons]


def test_only_words_of_a_name_count(office: Office) -> None:
    seen, made = person(office, "Trijn Zwolle", "Kampen")
    other_seen, other = person(office, "Ångström O'Neill", "Zwolle")
    assert find_names(office, "zwolle") == [made, seen]
    assert find_names(office, "angstrom", "o'neill") == [other, other_seen]
    assert find_names(office, "ONEI*") == []
    assert find_names(office, "nei*") == [other, other_seen]
    assert find_names(office, "kampen") == find_names(office, "trijn", "kampen") == []
    office.do(restrict, made, "alive")
    assert find_names(office, "trijn") == [seen]


def test_a_link_is_found_in_any_form(office: Office) -> None:
    _, one = person(office, "Trijn Zwolle", "Kampen")
    _, two = person(office, "Aaf Jans", "Hoorn")
    hits = office.ask(find_by_link, "wikidata", "https://www.wikidata.org/wiki/Q42")
    assert [(hit.name, hit.names) for hit in hits] == [(two, ("Aaf Jans",)), (one, ("Trijn Zwolle",))]
    with pytest.raises(InvalidName):
        office.ask(find_by_link, "orcid", "Q42")


def test_links_are_replaced_and_nothing_else(office: Office) -> None:
    _, name = person(office, "Trijn Zwolle", "Kampen")
    before = office.ask(show, name).reconstruction
    assert before is not None
    assert office.do(replace_links, name, [LINK]) == 1
    assert office.do(replace_links, name, [Link("close", "viaf", "64205559")], expected_version=1) == 2
    after = office.ask(show, name).reconstruction
    assert after is not None
    assert (after.links, after.claims, after.notes) == (
        (Link("close", "viaf", "64205559"),),
        before.claims,
        "PRID POID",
    )
    assert office.ask(find_by_link, "wikidata", "Q42") == []
    with pytest.raises(Conflict):
        office.do(replace_links, name, [], expected_version=1)
    with pytest.raises(InvalidInput):
        office.do(replace_links, name, [Link("exact", "viaf", "0")])


def test_links_need_a_grant(office: Office) -> None:
    _, name = person(office, "Trijn Zwolle", "Kampen")
    reader = office.do(add_agent, "reader", "Reader")
    with pytest.raises(NotAuthorised):
        office.run(replace_links(office.registry, reader, name, []))
