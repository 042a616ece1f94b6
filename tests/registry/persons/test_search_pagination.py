"""Pagination of the search for a common name: pages follow each other, in one order, until all persons were scanned."""

import pytest
from tests.registry_fixture import Office

from perdure.errors import InvalidInput
from perdure.records.person import ChosenClaim, Claim, Observation, Reconstruction
from perdure.records.record import About
from perdure.registry import Statement, mint
from perdure.registry.persons import (
    observe_many,
    person_search,
    reconstruct,
    redact,
    restrict,
    revise_reconstruction,
)
from perdure.registry.persons.person_search import find_by_name

WHEN = "2025-01-09T10:30:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
NAMED = (Claim(type="name", value="Trijn Zwolle"),)
LIVING_THERE = (Claim(type="name", value="Aaf Jans"), Claim(type="residence", value="Zwolle"))


def observe_name(office: Office, start: int, *claims: tuple[Claim, ...]) -> list[str]:
    seen = [
        Observation(f"https://example.org/{number}", WHEN, "0" * 64, claims=some)
        for number, some in enumerate(claims, start)
    ]
    return [one.name for one in office.do(observe_many, seen)]


def reconstruct_name(office: Office, poid: str, notes: str | None = None) -> str:
    made = Reconstruction((poid,), CURATOR, WHEN, claims=(ChosenClaim(poid, 1),), notes=notes)
    return office.do(reconstruct, [poid], CURATOR, WHEN, made).name


def pages(office: Office, *words: str, limit: int = 100) -> list[list[str]]:
    found, after = [], None
    while True:
        page = office.ask(find_by_name, words, after=after, limit=limit)
        found.append([one.name for one in page.persons])
        if page.next is None:
            return found
        after = page.next


def test_the_oldest_names_are_found_after_a_thousand_matches_in_other_fields(office: Office) -> None:
    named = observe_name(office, 0, NAMED, NAMED)
    observe_name(office, 2, *[LIVING_THERE] * 1100)
    assert pages(office, "zwolle") == [[], named[::-1]]
    chosen = reconstruct_name(office, named[0])
    assert pages(office, "zwolle") == [[chosen], named[::-1]]


@pytest.fixture
def crowd(office: Office) -> list[str]:
    """Create persons with this name among others, and a handle in between. Return them in the order of the search."""
    poids = observe_name(office, 0, NAMED, LIVING_THERE, NAMED, LIVING_THERE, NAMED)
    prids = [reconstruct_name(office, poid, "PRID POID Zwolle") for poid in poids]
    about = About(who="PRID POID", what="Zwolle")
    office.do(
        mint, office.prefix("12345", "chosen"), suffixes=["Aa", "Bb", "Cc", "Dd"], statement=Statement(about=about)
    )
    poids += observe_name(office, 5, LIVING_THERE, NAMED)
    return [prids[4], prids[2], prids[0], poids[6], poids[4], poids[2], poids[0]]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("at_once", [1, 2, 4, 5, 1000])
def test_every_size_of_a_page_gives_the_same_order(
    office: Office, crowd: list[str], monkeypatch: pytest.MonkeyPatch, limit: int, at_once: int
) -> None:
    monkeypatch.setattr(person_search, "_MOST_SCANNED", at_once)
    monkeypatch.setattr(person_search, "_BATCH_SIZE", 3)
    found = pages(office, "zwolle", "TRIJN", limit=limit)
    assert [name for page in found for name in page] == crowd
    assert all(len(page) <= min(limit, at_once) for page in found)


def test_a_page_with_all_persons_has_no_next_page(office: Office, crowd: list[str]) -> None:
    assert pages(office, "trijn") == [crowd]
    assert pages(office, "trijn", limit=len(crowd)) == [crowd]
    assert pages(office, "nobody") == [[]]


def test_the_bytes_of_records_that_a_page_reads_are_limited(
    office: Office, crowd: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person_search, "_MOST_BYTES", 1)
    found = pages(office, "trijn")
    assert max(len(page) for page in found) == 1
    assert [name for page in found for name in page] == crowd


def test_changes_between_two_pages_neither_repeat_nor_hide_a_person(office: Office, crowd: list[str]) -> None:
    first = office.ask(find_by_name, ["trijn"], limit=2)
    assert first.next is not None
    office.do(revise_reconstruction, crowd[2], [crowd[-1]], CURATOR, WHEN)  # now it has no name
    office.do(restrict, crowd[1], "a living person")  # the very last that was shown
    observe_name(office, 50, NAMED)
    rest = office.ask(find_by_name, ["trijn"], after=first.next)
    assert [one.name for one in rest.persons][-4:] == crowd[3:]
    assert not {one.name for one in rest.persons} & set(crowd[:3])
    office.do(redact, crowd[1], "by law")
    assert office.ask(find_by_name, ["trijn"], after=first.next) == rest


def test_a_name_is_found_in_a_record_with_long_notes(office: Office) -> None:
    [poid] = observe_name(office, 0, NAMED)
    name = reconstruct_name(office, poid, "x " * 32_768)
    assert pages(office, "zwolle") == [[name, poid]]


@pytest.mark.parametrize(
    "after",
    ["", "PRID", "PRID:", "PRID:PRID-0000-0000-0000-0000", "X:PRID", "POID:" + "x" * 5000, "PRID:\0", "PRID:\ud800"],
)
def test_an_invalid_position_of_a_page_is_refused(office: Office, after: str) -> None:
    with pytest.raises(InvalidInput) as problem:
        office.ask(find_by_name, ["trijn"], after=after)
    assert problem.value.part == "after"


@pytest.mark.parametrize("limit", [0, 1001])
def test_the_size_of_a_page_is_limited(office: Office, limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        office.ask(find_by_name, ["trijn"], limit=limit)
