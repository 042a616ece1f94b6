"""A connection that is cut at the worst moments: the outcome of the commit is looked up, and never guessed."""

import asyncio
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.crash.ledger import date_of
from tests.registry_fixture import Office, open_office
from tests.store.record_strategies import Desk, change
from tests.store.unreliable_network import PATIENCE, Unreliable, as_soon_as_possible, in_one_group

from perdure.errors import OutcomeUnknown, StoreUnavailable
from perdure.registry import MintedIdentifier, Statement, mint
from perdure.registry.integrity import verify
from perdure.registry.store_interface import Transaction

either_way = pytest.mark.parametrize("reply", [True, False], ids=["committed", "not committed"])


class FailingOnce:
    """A work that causes a failure at its first run, and counts its runs."""

    def __init__(self, key: str, mishap: Callable[[], Any] = lambda: None) -> None:
        self.key = key
        self.runs: list[int] = []
        self._mishap = mishap

    def __call__(self, tx: Transaction) -> str:
        self.runs.append(id(tx))
        if len(self.runs) == 1:
            self._mishap()
        tx.insert([change(self.key)])
        return self.key


@pytest.fixture
def desk(runner: asyncio.Runner, unreliable: Unreliable) -> Desk:
    """Return a store that has written already, so that the next commit is that of a work."""
    desk = Desk(runner, unreliable.open())
    desk.write(lambda tx: None)
    return desk


@either_way
def test_a_lost_reply_to_a_commit_is_not_noticed_by_the_caller(desk: Desk, unreliable: Unreliable, reply: bool) -> None:
    work = FailingOnce("1/a", lambda: unreliable.proxy.cut_at_commit(reply=reply))
    assert desk.write(work) == "1/a"
    assert len(work.runs) == (1 if reply else 2), "what was committed is not done again, and what was not, is"
    assert desk.names() == ["1/a"]
    assert desk.contradictions() == []


@either_way
def test_a_lost_reply_to_a_commit_is_not_noticed_by_its_group(desk: Desk, unreliable: Unreliable, reply: bool) -> None:
    works = [FailingOnce("1/00", lambda: unreliable.proxy.cut_at_commit(reply=reply))]
    works += [FailingOnce(f"1/{number:02d}") for number in range(1, 30)]
    answers = desk.runner.run(in_one_group(desk.store, works))
    assert answers == [work.key for work in works]
    assert len({work.runs[0] for work in works}) == 1, "they did not share a commit"
    assert {len(work.runs) for work in works} == {1 if reply else 2}
    assert desk.names() == answers
    assert desk.contradictions() == []


@either_way
def test_the_first_commit_of_all_may_be_lost_as_well(
    runner: asyncio.Runner, unreliable: Unreliable, reply: bool
) -> None:
    """It is not that of a work: the process registers itself in the database."""
    desk = Desk(runner, unreliable.open())
    sprung = unreliable.proxy.cut_at_commit(reply=reply)
    assert desk.write(FailingOnce("1/a")) == "1/a"
    assert sprung.is_set()
    assert desk.names() == ["1/a"]


@either_way
def test_a_second_cut_during_the_check_of_the_first_changes_nothing(
    desk: Desk, unreliable: Unreliable, reply: bool
) -> None:
    proxy = unreliable.proxy
    again: list[threading.Event] = []

    def cut_again(first: threading.Event) -> None:
        assert first.wait(PATIENCE)
        time.sleep(0.3)  # one look-up of the outcome has failed by now
        proxy.heal()
        again.append(proxy.cut_at_commit(reply=True))

    def mishap() -> None:
        proxy.refuse()
        threading.Thread(target=cut_again, args=[proxy.cut_at_commit(reply=reply)]).start()

    work = FailingOnce("1/a", mishap)
    assert desk.write(work) == "1/a"
    assert again[0].is_set(), "there was no second cut"
    assert len(work.runs) == (1 if reply else 2)
    assert desk.names() == ["1/a"]


def test_the_client_waits_for_a_running_commit(desk: Desk, unreliable: Unreliable) -> None:
    """The server has received it, takes its time, and notices only afterwards that the client is gone."""
    unreliable.execute(
        "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1.5); RETURN NULL; END';"
        "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON facts DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW WHEN (NEW.name = 'slow') EXECUTE FUNCTION dawdle()"
    )
    runs = []

    def work(tx: Transaction) -> str:
        runs.append(tx)
        tx.put_fact("slow", str(len(runs)))
        tx.insert([change("1/a")])
        return "done"

    async def cut_meanwhile() -> str:
        writing = asyncio.ensure_future(desk.store.write(work))
        query = "SELECT count(*) FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event = 'PgSleep'"
        until = time.monotonic() + PATIENCE
        while (await asyncio.to_thread(unreliable.execute, query))[0][0] == 0:
            assert time.monotonic() < until, "it never came to its commit"
            await asyncio.sleep(0.02)
        unreliable.proxy.cut_now()
        return await writing

    assert desk.runner.run(cut_meanwhile()) == "done"
    assert len(runs) == 1
    assert desk.read(lambda reader: reader.fact("slow")) == "1"
    assert desk.names() == ["1/a"]


@either_way
def test_if_the_server_stays_away_the_whole_group_has_an_unknown_outcome(
    runner: asyncio.Runner, unreliable: Unreliable, reply: bool
) -> None:
    desk = Desk(runner, unreliable.open(settle_seconds=0.3))
    desk.write(lambda tx: None)
    proxy = unreliable.proxy

    def mishap() -> None:
        proxy.refuse()
        proxy.cut_at_commit(reply=reply)

    works = [FailingOnce("1/0", mishap), *(FailingOnce(f"1/{number}") for number in range(1, 5))]
    answers = runner.run(in_one_group(desk.store, works))
    assert [type(answer) for answer in answers] == [OutcomeUnknown] * 5
    assert not any(answer.safe_to_retry for answer in answers)
    assert "Check before" in str(answers[0])

    proxy.heal()
    runner.run(as_soon_as_possible(lambda: desk.store.write(FailingOnce("1/next"))))
    stored = [work.key for work in works] if reply else []
    assert desk.names() == [*stored, "1/next"]
    assert desk.contradictions() == []


def test_after_a_cut_before_the_commit_the_group_runs_again(desk: Desk, unreliable: Unreliable) -> None:
    works = [
        FailingOnce(f"1/{number}", unreliable.proxy.cut_now if number == 2 else lambda: None) for number in range(5)
    ]
    answers = desk.runner.run(in_one_group(desk.store, works))
    assert answers == [work.key for work in works] == desk.names()
    assert len(works[2].runs) == 2
    assert desk.contradictions() == []


def test_a_connection_that_was_cut_while_idle_is_replaced_silently(desk: Desk, unreliable: Unreliable) -> None:
    desk.insert(change("1/a"))
    for number in range(3):
        assert desk.lookup("1/a") is not None
        unreliable.proxy.cut_now()
        assert desk.lookup("1/a") is not None
        unreliable.proxy.cut_now()
        assert desk.read(lambda reader: reader.find("1/a")) is not None
        unreliable.proxy.cut_now()
        desk.insert(change(f"1/{number}"))
    assert desk.names() == ["1/0", "1/1", "1/2", "1/a"]


@pytest.fixture
def office(runner: asyncio.Runner, unreliable: Unreliable) -> Office:
    office = open_office(runner, unreliable.open())
    office.prefix("100")
    office.prefix("200", "sequential")
    return office


@either_way
@pytest.mark.parametrize("prefix", ["100", "200"], ids=["by the clock", "by counting"])
def test_a_mint_whose_commit_was_cut_returns_one_name_and_creates_one(
    office: Office, unreliable: Unreliable, prefix: str, reply: bool
) -> None:
    (before,) = office.do(mint, prefix)
    sprung = unreliable.proxy.cut_at_commit(reply=reply)
    issued = office.do(mint, prefix, 3, statement=Statement("https://example.org/once"))
    assert sprung.is_set()
    (after,) = office.do(mint, prefix)
    minted = [before, *issued, after]
    dates = [date_of(prefix, one.name, one.date) for one in minted]
    assert dates == sorted(set(dates))
    stored = office.read(lambda reader: [row.name for row in reader.identifiers_after("", 100, f"{prefix}/")])
    assert sorted(stored) == sorted(one.name for one in minted), "a name was minted that no caller received"


def test_timelines_never_repeat_after_cut_connections(office: Office, unreliable: Unreliable) -> None:
    proxy = unreliable.proxy
    mishaps: list[Callable[[], Any]] = [
        lambda: proxy.cut_at_commit(reply=True),
        lambda: proxy.cut_at_commit(reply=False),
        proxy.cut_now,
    ]

    async def mint_names(prefix: str) -> list[MintedIdentifier]:
        while True:
            try:
                return await mint(office.registry, office.admin, prefix)
            except StoreUnavailable as problem:  # the new connection was cut as well, before its first query
                assert problem.safe_to_retry

    async def work() -> list[str]:
        issued: list[str] = []
        for _ in range(30):
            mints = [mint_names(random.choice(["100", "200"])) for _ in range(6)]
            minting = asyncio.gather(*mints)
            await asyncio.sleep(random.uniform(0, 0.01))
            random.choice(mishaps)()
            issued += [one.name for mint_names in await minting for one in mint_names]
        return issued

    issued = office.run(work())
    proxy.heal()
    assert len(set(issued)) == len(issued) == 180
    for prefix in ("100", "200"):
        stored = office.read(
            lambda reader, under=f"{prefix}/": [row.name for row in reader.identifiers_after("", 1000, under)]
        )
        assert set(stored) == {name for name in issued if name.startswith(f"{prefix}/")}
    assert office.ask(verify) == []
