"""Whoever follows a registry is told of every revision, once, in the order in which they came."""

import pytest
from tests.registry_fixture import Office, set_target

from perdure.errors import InvalidInput
from perdure.registry import Statement, mint, observe, withdraw
from perdure.registry.following import changes_since
from perdure.store.postgres import reading as postgres

WHEN = "2025-01-09T10:30:00Z"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where several processes write, what is very new waits for what may still come before it."""
    monkeypatch.setattr(postgres, "_SETTLED", -60_000_000)  # the clock of the server may be behind its own numbers


def follow(office: Office, since: str | None = None, **options: object) -> tuple[list[tuple[str, int, str]], str]:
    told = office.ask(changes_since, since, **options)
    return [(one.name, one.version, one.action) for one in told.changes], told.next


def test_every_revision_is_told_once(office: Office) -> None:
    before, since = follow(office, limit=1000)
    assert before  # what every registry is founded with
    assert follow(office, since) == ([], since)
    one, two = (office.do(mint, office.registry.home, said=Statement(target="https://example.org/"))[0] for _ in "ab")
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
    told, last = follow(office, since)
    assert told == expected
    assert follow(office, last) == ([], last)
    assert follow(office, since, scheme="ppid")[0] == [(jan, 1, "mint")]
    page, paged = since, []
    while (some := follow(office, page, limit=2))[0]:
        paged += some[0]
        page = some[1]
    assert paged == expected
    assert follow(office, None, limit=1000)[0] == before + expected


def test_many_of_one_transaction_are_all_told(office: Office) -> None:
    _, since = follow(office, limit=1000)
    names = [one.name for one in office.do(mint, office.registry.home, 50)]
    told: list[str] = []
    while (some := follow(office, since, limit=7))[0]:
        told += [name for name, _, _ in some[0]]
        since = some[1]
    assert sorted(told) == sorted(names)


@pytest.mark.parametrize("since", ["yesterday", "2025-01-09", "1969-12-31T23:59:59Z"])
def test_what_is_no_instant_is_refused(office: Office, since: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        follow(office, since)
    assert refusal.value.part == "since"
