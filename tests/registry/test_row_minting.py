"""A name for each row of a table: in order, with its own record, and never twice."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from fractions import Fraction

import pytest
from tests.registry_fixture import Office

from perdure import pilin
from perdure.errors import Conflict, InvalidInput, NameTaken, NotAuthorised
from perdure.records.record import About
from perdure.records.value import Reference, Value, ValueList
from perdure.registry import (
    MintRow,
    RowAnswers,
    RowOutcome,
    Statement,
    TableAnswers,
    add_subsystem,
    begin_table_again,
    change_prefix,
    find_table,
    history,
    mint,
    mint_rows,
    names_under,
    revoke,
    row_minting,
    show,
)
from perdure.registry.entities import Agent
from perdure.registry.idempotency import RETENTION
from perdure.registry.row_answers import TABLE_RETENTION

SUBSYSTEM = "sid.inpe.br/mtc-m18"
TABLE = "0" * 64


def target(number: int) -> str:
    return f"https://example.org/{number}"


def rows(count: int, *, suffixes: bool = False) -> list[MintRow]:
    return [
        MintRow(Statement(target(number)), f"s{number}" if suffixes else None, source=b"%d" % number)
        for number in range(count)
    ]


def mint_all(
    office: Office, given: Sequence[MintRow], prefix: str = "12345", by: Agent | None = None, **options: object
) -> list[RowOutcome]:
    async def collect() -> list[RowOutcome]:
        outcomes = mint_rows(office.registry, by or office.admin, prefix, given, **options)  # type: ignore[arg-type]
        return [one async for chunk in outcomes for one in chunk]

    return office.run(collect())


def mint_first_chunk(office: Office, given: Sequence[MintRow], prefix: str = "12345", **options: object) -> None:
    """Mint until the first names are returned: the next chunk may be on its way, and its names are lost."""

    async def begin() -> None:
        outcomes = mint_rows(office.registry, office.admin, prefix, given, **options)  # type: ignore[arg-type]
        async with aclosing(outcomes):
            await anext(outcomes)

    office.run(begin())


def names(outcomes: Sequence[RowOutcome]) -> list[str]:
    return [one.minted.name for one in outcomes if one.minted is not None]


def stored_names(office: Office, prefix: str = "12345") -> list[str]:
    async def collect() -> list[str]:
        return [name async for chunk in names_under(office.registry, prefix) for name in chunk]

    return office.run(collect())


def table(office: Office, digest: bytes = b"") -> TableAnswers:
    return TableAnswers(office.admin, TABLE, digest)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_minting, "_CHUNK", 10)


@pytest.fixture
def shop(office: Office) -> Office:
    office.prefix("12345", "uuid")
    return office


@pytest.mark.parametrize("minter", ["uuid", "sequential", "chosen", "pilin"])
def test_every_row_gets_a_name_with_its_own_record(office: Office, minter: str) -> None:
    office.prefix("12345", minter)
    outcomes = mint_all(office, rows(25, suffixes=minter == "chosen"), note="minted from theses.csv")
    assert len(set(names(outcomes))) == 25
    assert sorted(names(outcomes)) == sorted(stored_names(office))
    assert [office.ask(show, name).target for name in names(outcomes)] == [target(number) for number in range(25)]
    assert {office.ask(history, name)[0].note for name in names(outcomes)[:2]} == {"minted from theses.csv"}
    if minter == "sequential":
        assert names(outcomes) == [f"12345/{number}" for number in range(1, 26)]
    if minter == "chosen":
        assert names(outcomes) == [f"12345/s{number}" for number in range(25)]
    if minter == "pilin":
        dates = [pilin.to_posix(name.partition("/")[2]) for name in names(outcomes)]
        assert dates == sorted(dates) == [one.minted.date for one in outcomes if one.minted]
        assert office.clock.now >= dates[-1]


def test_every_row_of_a_subsystem_gets_both_labels(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243", granularity=Fraction(1))
    outcomes = mint_all(office, rows(12), SUBSYSTEM, answers=table(office))
    assert [office.ask(show, name).target for name in names(outcomes)] == [target(number) for number in range(12)]
    aliases = [one.minted.alias or "" for one in outcomes if one.minted]
    assert [office.ask(show, alias).target for alias in aliases] == [target(number) for number in range(12)]
    again = mint_all(office, rows(12), SUBSYSTEM, answers=table(office))
    assert [one.minted for one in again] == [one.minted for one in outcomes]


def test_a_row_without_a_target_is_reserved(shop: Office) -> None:
    [one] = names(mint_all(shop, [MintRow(Statement(about=About(what="On lasting")))]))
    assert shop.ask(show, one, by=shop.admin).state == "reserved"


def test_a_row_that_is_refused_stops_no_other(shop: Office) -> None:
    wrong = [
        MintRow(Statement("nowhere")),
        MintRow(Statement(target(1)), suffix="chosen"),
        MintRow(Statement(target(1), creator="12345/unknown")),
        MintRow(Statement(target(1), owners=("nobody",))),
        MintRow(error=InvalidInput("mint", "row", "unreadable")),
    ]
    outcomes = mint_all(shop, [*rows(3), *wrong, *rows(15)])
    assert [one.error is None for one in outcomes] == [True] * 3 + [False] * 5 + [True] * 15
    parts = [one.error.part for one in outcomes if isinstance(one.error, InvalidInput)]
    assert parts == ["target", "suffix", "creator", "owners", "row"]
    assert len(stored_names(shop)) == 18


def test_suffixes_that_exist_are_refused_wherever_they_are_from(office: Office) -> None:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["s2"])
    given = [*rows(12, suffixes=True), MintRow(Statement(target(1)), "s11"), MintRow(Statement(), "s1"), MintRow()]
    for dry_run in (True, False):
        outcomes = mint_all(office, given, dry_run=dry_run)
        refused = {at: type(one.error) for at, one in enumerate(outcomes) if one.error is not None}
        assert refused == {2: NameTaken, 12: NameTaken, 13: NameTaken, 14: InvalidInput}
    assert len(stored_names(office)) == 12


def test_a_dry_run_writes_nothing(shop: Office) -> None:
    before = shop.snapshot()
    outcomes = mint_all(shop, [*rows(12), MintRow(Statement("nowhere"))], dry_run=True, answers=table(shop))
    assert [(one.minted, one.is_new) for one in outcomes] == [(None, True)] * 12 + [(None, False)]
    assert shop.snapshot() == before
    assert shop.read(lambda reader: find_table(reader, shop.admin, TABLE)) is None


def test_rows_of_a_table_are_minted_once(shop: Office) -> None:
    given = [*rows(25), MintRow(Statement("nowhere"))]
    first = mint_all(shop, given, answers=table(shop))
    for dry_run in (False, True):
        again = mint_all(shop, given, answers=table(shop), dry_run=dry_run)
        assert [one.minted for one in again] == [one.minted for one in first]
        assert repr(again[-1].error) == repr(first[-1].error)
        assert not any(one.is_new for one in again)
    assert sorted(names(first)) == sorted(stored_names(shop))


@pytest.mark.parametrize("minter", ["uuid", "sequential", "chosen", "pilin"])
def test_an_interrupted_mint_is_continued(office: Office, minter: str) -> None:
    office.prefix("12345", minter)
    given = rows(35, suffixes=minter == "chosen")
    mint_first_chunk(office, given, answers=table(office))
    before = stored_names(office)
    assert 10 <= len(before) < 35
    outcomes = mint_all(office, given, answers=table(office))
    assert set(before) < set(names(outcomes))
    assert sorted(names(outcomes)) == sorted(stored_names(office))
    assert [one.is_new for one in outcomes] == [False] * len(before) + [True] * (35 - len(before))
    assert [office.ask(show, name).target for name in names(outcomes)] == [target(number) for number in range(35)]


def test_two_runs_of_a_table_at_the_same_time_get_the_same_names(shop: Office) -> None:
    async def run() -> list[RowOutcome]:
        outcomes = mint_rows(shop.registry, shop.admin, "12345", rows(25), answers=table(shop))
        return [one async for chunk in outcomes for one in chunk]

    async def run_twice() -> list[list[RowOutcome]]:
        return await asyncio.gather(run(), run())

    one, other = shop.run(run_twice())
    assert names(one) == names(other)
    assert sorted(names(one)) == sorted(stored_names(shop))


def test_a_table_is_not_minted_again_when_its_names_have_expired(shop: Office) -> None:
    first = mint_all(shop, rows(25), answers=table(shop))
    shop.clock.step(TABLE_RETENTION.total_seconds() - 1)
    assert names(mint_all(shop, rows(25), answers=table(shop))) == names(first)
    shop.clock.step(2)
    with pytest.raises(InvalidInput, match="25 rows of this table were minted from 2027-01-15 on") as refused:
        mint_all(shop, rows(25), answers=table(shop))
    assert refused.value.part == "table"
    assert len(stored_names(shop)) == 25


def test_a_table_can_be_minted_again_on_request(shop: Office) -> None:
    first = mint_all(shop, rows(12), answers=table(shop))
    shop.do(begin_table_again, "12345", TABLE)
    second = mint_all(shop, rows(12), answers=table(shop))
    assert not set(names(first)) & set(names(second))
    assert names(mint_all(shop, rows(12), answers=table(shop))) == names(second)


def test_a_table_that_is_read_in_another_way_is_refused(shop: Office) -> None:
    mint_all(shop, rows(3), answers=table(shop, b"one mapping"))
    with pytest.raises(InvalidInput, match="with other options"):
        mint_all(shop, rows(3), answers=table(shop, b"another"))


def test_an_idempotency_key_is_forgotten_after_a_day(shop: Office) -> None:
    mint_all(shop, rows(1), answers=RowAnswers(shop.admin, "old", b""))
    shop.clock.step(RETENTION.total_seconds() + 1)
    later = mint_all(shop, rows(1), answers=RowAnswers(shop.admin, "old", b"another request"))
    assert later[0].is_new
    assert names(later) != names(mint_all(shop, rows(1), answers=RowAnswers(shop.admin, "new", b"")))


def test_an_idempotency_key_belongs_to_one_request(shop: Office) -> None:
    first = mint_all(shop, rows(12), answers=RowAnswers(shop.admin, "a", b""))
    longer = mint_all(shop, rows(14), answers=RowAnswers(shop.admin, "a", b""))
    assert names(longer)[:12] == names(first)
    for other in (rows(12)[::-1], rows(11), [*rows(11), MintRow(source=b"x")]):
        with pytest.raises(InvalidInput) as refused:
            mint_all(shop, other, answers=RowAnswers(shop.admin, "a", b""))
        assert refused.value.part == "Idempotency-Key"
    assert len(stored_names(shop)) == 14


def test_without_permission_to_mint_nothing_is_returned(shop: Office) -> None:
    maria = shop.hire("maria", "12345", "mint")
    mint_all(shop, rows(3), by=maria, answers=RowAnswers(maria, "a", b""))
    shop.do(revoke, "maria", "12345")
    for given in (rows(3), []):
        with pytest.raises(NotAuthorised):
            mint_all(shop, given, by=maria, answers=RowAnswers(maria, "a", b""))
    with pytest.raises(NotAuthorised):
        shop.by(maria, begin_table_again, "12345", TABLE)
    assert len(stored_names(shop)) == 3


def test_permission_is_checked_in_the_transaction(shop: Office) -> None:
    maria = shop.hire("maria", "12345", "mint")

    async def mint_until_revoked() -> None:
        outcomes = mint_rows(shop.registry, maria, "12345", rows(50))
        async with aclosing(outcomes):
            await anext(outcomes)
            await revoke(shop.registry, shop.admin, "maria", "12345")
            async for _ in outcomes:
                pass

    with pytest.raises(NotAuthorised):
        shop.run(mint_until_revoked())
    assert len(stored_names(shop)) < 50


def test_keys_of_administrators_need_more_than_permission_to_mint(shop: Office) -> None:
    maria = shop.hire("maria", "12345", "mint")
    trusted = MintRow(Statement(target(1), (Value(200, "HS_VLIST", ValueList((Reference("0.NA/12345", 300),))),)))
    for dry_run in (True, False):
        outcomes = mint_all(shop, [trusted, *rows(2)], by=maria, dry_run=dry_run)
        assert [type(one.error) for one in outcomes] == [NotAuthorised, type(None), type(None)]
    assert len(stored_names(shop)) == 2
    assert mint_all(shop, [trusted])[0].is_new


def test_a_minter_that_is_changed_in_between_is_noticed(shop: Office) -> None:
    async def mint_until_changed() -> None:
        outcomes = mint_rows(shop.registry, shop.admin, "12345", rows(50))
        async with aclosing(outcomes):
            await anext(outcomes)
            await change_prefix(shop.registry, shop.admin, "12345", minter="sequential")
            async for _ in outcomes:
                pass

    with pytest.raises(Conflict):
        shop.run(mint_until_changed())


def test_a_row_that_has_a_name_keeps_it(shop: Office) -> None:
    [old] = shop.do(mint, "12345")
    shop.prefix("54321", "uuid")
    [foreign] = shop.do(mint, "54321")
    given = [MintRow(name=one) for one in (old.name, f"hdl:{old.name}", "12345/none", foreign.name, "Jan de Vries")]
    outcomes = mint_all(shop, [*given, *rows(1)], answers=table(shop))
    assert names(outcomes[:2]) == [old.name, old.name]
    assert [one.is_new for one in outcomes] == [False] * 5 + [True]
    assert all(isinstance(one.error, InvalidInput) and one.error.part == "name" for one in outcomes[2:5])
    assert len(stored_names(shop)) == 2


def test_rows_are_read_as_they_are_needed(shop: Office) -> None:
    taken = 0

    def count() -> Iterator[MintRow]:
        nonlocal taken
        for row in rows(200):
            taken += 1
            yield row

    async def begin() -> int:
        outcomes = mint_rows(shop.registry, shop.admin, "12345", count())
        async with aclosing(outcomes):
            await anext(outcomes)
            return taken

    assert shop.run(begin()) <= 30
