"""Single links of a person, and what an act dropped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.registry.archive import CURATION, CURATOR, LATER, Archive, archive

from perdure.errors import InvalidInput
from perdure.records.person import Claim, Employment, Link, Reconstruction
from perdure.registry import merge, restrict, revise_reconstruction, split
from perdure.registry.persons import (
    DroppedItem,
    DroppedLink,
    change_links,
    combine_links,
    find_dropped,
    list_dropped,
)

__all__ = ["archive"]

VIAF, WIKIDATA = Link("exact", "viaf", "12345"), Link("close", "wikidata", "Q42")
LINKS = st.lists(st.builds(Link, st.sampled_from(["exact", "close"]), st.just("viaf"), st.integers(10, 99).map(str)))


def test_links_are_added_and_dropped_and_all_else_stays(archive: Archive) -> None:
    office, poid = archive.office, archive.source(Claim(type="name", value="Jan"))
    prid = archive.person(poid, chosen=((poid, 1),), links=(VIAF,), notes="stays")
    before = archive.reconstruction_of(prid)
    assert office.do(change_links, prid, [WIKIDATA], note="found") == 2
    assert office.do(change_links, prid, [], [DroppedLink("viaf", "https://viaf.org/viaf/12345/")]) == 3
    after = archive.reconstruction_of(prid)
    assert after.links == (WIKIDATA,)
    assert (after.claims, after.notes, after.curator_id) == (before.claims, before.notes, before.curator_id)
    assert office.ask(list_dropped, prid, 3) == [DroppedItem("links", "exact:viaf:12345")]
    assert office.ask(list_dropped, prid, 2) == office.ask(list_dropped, prid, 1) == []


def test_a_link_can_change_its_relation_in_one_version(archive: Archive) -> None:
    office, prid = archive.office, archive.person(archive.source(), links=(VIAF,))
    close = Link("close", "viaf", "12345")
    with pytest.raises(InvalidInput, match="both exact and close"):
        office.do(change_links, prid, [close])
    office.do(change_links, prid, [close], [DroppedLink("viaf", "12345", "exact")])
    assert archive.reconstruction_of(prid).links == (close,)


@pytest.mark.parametrize("drop", [DroppedLink("viaf", "999"), DroppedLink("viaf", "12345", "close")])
def test_a_link_that_does_not_exist_cannot_be_dropped(archive: Archive, drop: DroppedLink) -> None:
    office, prid = archive.office, archive.person(archive.source(), links=(VIAF,))
    before = office.snapshot()
    with pytest.raises(InvalidInput, match="the links are: exact:viaf:12345"):
        office.do(change_links, prid, [], [drop])
    with pytest.raises(InvalidInput, match="nothing to change"):
        office.do(change_links, prid)
    assert office.snapshot() == before


@given(links=LINKS, added=LINKS)
def test_adding_and_dropping_the_same_links_changes_nothing(links: list[Link], added: list[Link]) -> None:
    new = [link for link in dict.fromkeys(added) if link not in links]
    more = combine_links(links, new, [])
    drop = [DroppedLink(link.scheme, link.value, link.relation) for link in new]
    assert combine_links(more, [], drop) == tuple(links)


def test_a_split_and_a_merge_say_what_they_leave_out(archive: Archive) -> None:
    office = archive.office
    one, two = archive.source(Claim(type="name", value="Jan")), archive.source()
    work = Employment(institution="NL-NH-AMS-M-RM", role="Archivist", start="2015")
    prid = archive.person(one, two, chosen=((one, 1),), links=(VIAF,), notes="a note", employment=(work,))
    parts = office.do(split, prid, [[one], [two]], CURATION, "two men")
    left_out = office.ask(list_dropped, prid, 2, into=[(part.name, 1) for part in parts])
    assert [(item.part, item.item) for item in left_out] == [
        ("links", "exact:viaf:12345"),
        ("employment", "NL-NH-AMS-M-RM;role=Archivist;start=2015"),
        ("notes", "a note"),
    ]
    gone, survivor = archive.person(one, notes="lost"), archive.person(two)
    version = office.do(merge, gone, survivor, CURATION, "one man")
    assert office.ask(list_dropped, gone, 2, into=[(survivor, version)]) == [DroppedItem("notes", "lost")]


def test_what_is_hidden_is_not_named(archive: Archive) -> None:
    office, poid = archive.office, archive.source()
    prid = archive.person(poid, notes="a secret")
    office.do(revise_reconstruction, prid, [poid], CURATOR, LATER)
    office.do(restrict, prid, "a living person")
    assert office.ask(list_dropped, prid, 2) == []
    assert office.ask(list_dropped, prid, 2, by=office.admin) == [DroppedItem("notes", "a secret")]


def test_the_same_content_drops_nothing() -> None:
    one = Reconstruction(("POID-93b0-4476-560e-5ac1",), CURATOR, LATER, links=(VIAF, WIKIDATA), notes="n" * 1000)
    assert find_dropped([one], [one]) == []
    [item] = find_dropped([one], [Reconstruction(one.observation_ids, CURATOR, LATER, links=one.links)])
    assert len(item.item) < 1000
