"""The change feed: every revision appears once, in the order of storing."""

import pytest
from tests.registry_fixture import Office, set_target

from perdure.errors import InvalidInput
from perdure.registry import Statement, bind, change_feed, mint, observe, reconstruct, withdraw
from perdure.registry.change_feed import changes_since
from perdure.registry.persons import redact
from perdure.store.postgres import reader as postgres

WHEN = "2025-01-09T10:30:00Z"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait: with several writing processes, new changes appear only when no earlier one can follow."""
    monkeypatch.setattr(
        postgres, "_SETTLING_MICROSECONDS", -60_000_000
    )  # the clock of the server may be behind its own numbers


def follow(office: Office, since: str | None = None, **options: object) -> tuple[list[tuple[str, int, str]], str]:
    page = office.ask(changes_since, since, **options)
    return [(one.name, one.version, one.action) for one in page.changes], page.next


def test_every_revision_is_listed_once(office: Office) -> None:
    before, since = follow(office, limit=1000)
    assert before  # what every registry is founded with
    assert follow(office, since) == ([], since)
    one, two = (
        office.do(mint, office.registry.home, statement=Statement(target="https://example.org/"))[0] for _ in "ab"
    )
    office.do(set_target, one.name, "https://example.org/2")
    jan = office.do(observe, "https://example.org/jan", WHEN, "0" * 64).name
    office.do(withdraw, two.name, "a mistake")
    expected = [
        (one.name, 1, "mint"),
        (two.name, 1, "mint"),
        (one.name, 2, "set"),
        (jan, 1, "mint"),
        (two.name, 2, "withdraw"),
    ]
    changes, last = follow(office, since)
    assert changes == expected
    assert follow(office, last) == ([], last)
    assert follow(office, since, scheme="ppid")[0] == [(jan, 1, "mint")]
    page, paged = since, []
    while (some := follow(office, page, limit=2))[0]:
        paged += some[0]
        page = some[1]
    assert paged == expected
    assert follow(office, None, limit=1000)[0] == before + expected


def test_all_changes_of_one_transaction_are_listed(office: Office) -> None:
    _, since = follow(office, limit=1000)
    names = [one.name for one in office.do(mint, office.registry.home, 50)]
    listed: list[str] = []
    while (some := follow(office, since, limit=7, by=office.admin))[0]:
        listed += [name for name, _, _ in some[0]]
        since = some[1]
    assert sorted(listed) == sorted(names)


def test_a_page_of_one_scheme_skips_changes_of_other_schemes(office: Office) -> None:
    _, since = follow(office, limit=1000)
    office.do(mint, office.registry.home, 5)
    names = [office.do(observe, f"https://example.org/{n}", WHEN, "0" * 64).name for n in range(3)]
    office.do(mint, office.registry.home, 5)
    first, page = follow(office, since, limit=2, scheme="ppid")
    assert [name for name, _, _ in first] == names[:2]
    second, page = follow(office, page, limit=2, scheme="ppid")
    assert [name for name, _, _ in second] == names[2:]
    assert follow(office, page, limit=2, scheme="ppid") == ([], page), (
        "an empty page with an unchanged instant is the end"
    )
    assert office.ask(changes_since, page).since == page


def test_the_number_of_changes_that_a_page_reads_is_limited(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_feed, "MOST_SCANNED", 4)
    monkeypatch.setattr(change_feed, "MOST_CHANGES", 4)
    _, since = follow(office, limit=4)
    while (some := follow(office, since, limit=4))[1] != since:
        since = some[1]
    for _ in range(12):
        office.do(mint, office.registry.home)
    jan = office.do(observe, "https://example.org/jan", WHEN, "0" * 64).name
    pages = []
    while (some := follow(office, since, limit=2, scheme="ppid"))[1] != since:
        pages.append(some[0])
        since = some[1]
    assert pages[0] == [], "it was stopped, and says where to go on"
    assert [one for page in pages for one in page] == [(jan, 1, "mint")]


def test_a_partial_redaction_differs_from_a_full_one(office: Office) -> None:
    one, two = (office.do(observe, f"https://example.org/{n}", WHEN, "0" * 64).name for n in "ab")
    prid = office.do(reconstruct, [one, two], "https://orcid.org/0000-0002-1825-0097", WHEN).name
    _, since = follow(office, limit=1000)
    office.do(redact, one, "a court order")
    page = office.ask(changes_since, since)
    assert [(change.name, change.action) for change in page.changes] == [(one, "redact"), (prid, "redact")]
    assert page.redacted == {one}
    office.do(redact, prid, "a court order")
    assert office.ask(changes_since, page.next).redacted == {prid}


@pytest.mark.parametrize("since", ["yesterday", "2025-01-09", "1969-12-31T23:59:59Z"])
def test_an_invalid_instant_is_refused(office: Office, since: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        follow(office, since)
    assert refusal.value.part == "since"


def test_readers_without_credentials_learn_neither_reserved_names_nor_agents(office: Office) -> None:
    _, since = follow(office, limit=1000)
    reserved, bound = (office.do(mint, office.registry.home)[0].name for _ in "ab")
    assert follow(office, since)[0] == []
    changes, end = follow(office, since, by=office.admin)
    assert changes == [(reserved, 1, "mint"), (bound, 1, "mint")]
    assert follow(office, since, limit=1)[1] == end  # what is left out takes no room on a page
    office.do(bind, bound, Statement("https://example.org/"))
    assert follow(office, end)[0] == [(bound, 2, "bind")]
    agents = [{one.agent for one in office.ask(changes_since, end, by=by).changes} for by in (None, office.admin)]
    assert agents == [{""}, {office.admin.id}]
