"""Minting under every kind of Handle prefix: no name is issued twice."""

import asyncio
from fractions import Fraction
from uuid import UUID

import pytest
from tests.registry_fixture import NOON, ManualClock, Office, StoreFactory

from perdure import pilin
from perdure.errors import ClockBehind, ClockJumped, InvalidInput, InvalidName, NameTaken, NoSuchPrefix, OutOfRange
from perdure.registry import (
    Statement,
    add_prefix,
    change_prefix,
    history,
    mint,
    mint_in_chunks,
    reopen,
    reset_timeline,
    resolve,
    show,
    withdraw,
)
from perdure.timelines.clock import SystemClock

TARGET = Statement(target="https://example.org/thing")
MILLISECOND = Fraction(1, 1000)


@pytest.fixture
def pilin_office(office: Office) -> Office:
    office.prefix("12345")
    return office


def instant(name: str) -> Fraction:
    return pilin.to_posix(name.partition("/")[2])


def test_a_pilin_suffix_is_the_millisecond_of_its_minting(pilin_office: Office) -> None:
    pilin_office.clock.now = NOON + Fraction("0.1239")
    minted = pilin_office.do(mint, "12345")[0]
    assert instant(minted.name) == minted.date == NOON + Fraction("0.123")


def test_every_caller_gets_its_own_millisecond_and_waits_for_it(pilin_office: Office) -> None:
    names = [pilin_office.do(mint, "12345")[0].name for _ in range(3)]
    assert [instant(name) for name in names] == [NOON, NOON + MILLISECOND, NOON + 2 * MILLISECOND]
    assert pilin_office.clock.waits == [0, MILLISECOND, MILLISECOND]


def test_names_of_one_call_have_consecutive_milliseconds(pilin_office: Office) -> None:
    minted = pilin_office.do(mint, "12345", 1200)
    assert [one.date for one in minted] == [NOON + number * MILLISECOND for number in range(1200)]
    assert pilin_office.clock.now >= minted[-1].date


def test_no_name_is_returned_before_its_date_has_come(pilin_office: Office) -> None:
    async def check_dates() -> None:
        async for chunk in mint_in_chunks(pilin_office.registry, pilin_office.admin, "12345", 1200):
            assert max(one.date for one in chunk if one.date) <= pilin_office.clock.now

    pilin_office.run(check_dates())


def test_each_prefix_has_its_own_timeline(pilin_office: Office) -> None:
    pilin_office.prefix("12346")
    suffixes = {pilin_office.do(mint, prefix)[0].name.partition("/")[2] for prefix in ("12345", "12346")}
    assert len(suffixes) == 1


def test_a_clock_that_steps_back_repeats_nothing(pilin_office: Office) -> None:
    first = pilin_office.do(mint, "12345", 5)
    pilin_office.clock.step(-3)
    second = pilin_office.do(mint, "12345", 5)
    assert second[0].date == first[-1].date + MILLISECOND
    assert len({one.name for one in first + second}) == 10


def test_a_clock_too_far_behind_is_an_error_and_not_a_long_wait(pilin_office: Office) -> None:
    last = pilin_office.do(mint, "12345")[0].date
    pilin_office.clock.step(-3600)
    before = pilin_office.snapshot()
    with pytest.raises(ClockBehind) as refusal:
        pilin_office.do(mint, "12345")
    assert refusal.value.timeline == "12345"
    assert refusal.value.last == last + MILLISECOND
    assert refusal.value.wait == 3600 + MILLISECOND
    assert pilin_office.snapshot() == before


@pytest.mark.parametrize("longest", [0.5, 2.0])
def test_the_longest_wait_is_a_setting(pilin_office: Office, longest: float) -> None:
    patient = pilin_office.with_settings(longest_wait=longest)
    pilin_office.do(mint, "12345")
    pilin_office.clock.step(-longest + 0.01)
    pilin_office.run(mint(patient, pilin_office.admin, "12345"))
    pilin_office.clock.step(-longest - 0.01)
    with pytest.raises(ClockBehind):
        pilin_office.run(mint(patient, pilin_office.admin, "12345"))


def test_a_clock_far_ahead_is_refused(pilin_office: Office) -> None:
    pilin_office.do(mint, "12345")
    pilin_office.clock.step(20 * 366 * 86_400)
    before = pilin_office.snapshot()
    with pytest.raises(ClockJumped) as refusal:
        pilin_office.do(mint, "12345")
    assert refusal.value.timeline == "12345"
    assert pilin_office.snapshot() == before


def test_the_largest_jump_of_a_clock_is_a_setting(pilin_office: Office) -> None:
    pilin_office.do(mint, "12345")
    pilin_office.clock.step(2 * 86_400)
    with pytest.raises(ClockJumped):
        pilin_office.run(mint(pilin_office.with_settings(largest_gap_days=1.0), pilin_office.admin, "12345"))


def test_after_2420_there_is_an_error_and_never_a_longer_suffix(pilin_office: Office) -> None:
    pilin_office.clock.now = Fraction(pilin.EPOCH_POSIX) + Fraction(pilin.LIMIT, 1000) - MILLISECOND
    assert pilin_office.do(mint, "12345")[0].name == "12345/ZZZZZZZZZ"
    with pytest.raises(OutOfRange):
        pilin_office.do(mint, "12345")


def test_the_last_date_survives_a_restart(pilin_office: Office, store_factory: StoreFactory) -> None:
    first = pilin_office.do(mint, "12345", 3)
    pilin_office.registry.store.close()
    again = pilin_office.reopen(store_factory())
    again.clock.step(-1)
    assert again.do(mint, "12345")[0].date == first[-1].date + MILLISECOND


def test_a_refused_mint_uses_no_date(pilin_office: Office) -> None:
    pilin_office.do(mint, "12345")
    with pytest.raises(InvalidInput):
        pilin_office.do(mint, "12345", statement=Statement(target="https://example.org/", creator="nobody"))
    assert pilin_office.do(mint, "12345")[0].date == NOON + MILLISECOND


def test_an_existing_name_is_skipped_after_a_reset(pilin_office: Office) -> None:
    before = pilin_office.do(mint, "12345", 5)
    pilin_office.clock.now = NOON - 1
    pilin_office.do(reset_timeline, "12345", "the clock was wrong")
    pilin_office.clock.now = NOON
    after = pilin_office.do(mint, "12345", 5)
    assert [one.date for one in after] == [NOON + number * MILLISECOND for number in range(5, 10)]
    assert not {one.name for one in before} & {one.name for one in after}


def test_a_reset_unblocks_a_timeline_after_a_wrong_clock(pilin_office: Office) -> None:
    pilin_office.clock.step(86_400)
    pilin_office.do(mint, "12345")
    pilin_office.clock.step(-86_400)
    with pytest.raises(ClockBehind):
        pilin_office.do(mint, "12345")
    pilin_office.do(reset_timeline, "12345", "the time server was wrong")
    assert pilin_office.do(mint, "12345")[0].date == NOON + MILLISECOND
    event = pilin_office.events()[0]
    assert (event.action, event.subject, event.agent) == ("timeline reset", "12345", "admin")
    assert "the time server was wrong" in event.detail


@pytest.mark.parametrize("reason", ["", "a\x1b[2Jb", "x" * 100_000])
def test_the_reason_of_a_reset_is_checked(pilin_office: Office, reason: str) -> None:
    before = pilin_office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        pilin_office.do(reset_timeline, "12345", reason)
    assert refusal.value.part == "reason"
    assert pilin_office.snapshot() == before


def test_two_stores_minting_under_one_prefix_at_once_share_nothing(
    pilin_office: Office, store_factory: StoreFactory
) -> None:
    clock = SystemClock()
    stores = [store_factory(), store_factory()]

    async def both() -> list[list[str]]:
        registries = [await reopen(store, clock, pilin_office.registry.settings) for store in stores]

        async def mint_thirty(number: int) -> list[str]:
            mine = []
            for _ in range(10):
                mine += [
                    one.name
                    for one in await mint(registries[number % 2], pilin_office.admin, "12345", 3, statement=TARGET)
                ]
            return mine

        return await asyncio.gather(*(mint_thirty(number) for number in range(6)))

    results = pilin_office.run(both())
    names = [name for mine in results for name in mine]
    assert len(set(names)) == len(names) == 180
    for mine in results:
        dates = [instant(name) for name in mine]
        assert dates == sorted(dates)
    assert pilin_office.contradictions() == []


def test_a_pilin_prefix_refuses_chosen_suffixes(pilin_office: Office) -> None:
    with pytest.raises(InvalidInput) as refusal:
        pilin_office.do(mint, "12345", suffixes=["mine"])
    assert refusal.value.part == "suffix"


def test_the_time_in_a_name_is_not_the_creation_date(pilin_office: Office) -> None:
    name = pilin_office.do(mint, "12345")[0].name
    assert pilin_office.ask(show, name).authority.created is None


def test_uuid_suffixes_are_random_uuids(office: Office) -> None:
    office.prefix("12345", "uuid")
    suffixes = [one.name.partition("/")[2] for one in office.do(mint, "12345", 50)]
    assert {UUID(suffix).version for suffix in suffixes} == {4}
    assert len(set(suffixes)) == 50


def test_numbered_suffixes_count_up_in_their_pattern(office: Office) -> None:
    office.prefix("12345", "sequential", pattern="thesis-###")
    names = [office.do(mint, "12345")[0].name, *(one.name for one in office.do(mint, "12345", 2))]
    assert names == ["12345/thesis-001", "12345/thesis-002", "12345/thesis-003"]


def test_numbers_continue_after_a_restart(office: Office, store_factory: StoreFactory) -> None:
    office.prefix("12345", "sequential")
    office.do(mint, "12345", 2)
    assert office.reopen(store_factory()).do(mint, "12345")[0].name == "12345/3"


def test_a_number_that_was_chosen_before_is_skipped(office: Office) -> None:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["1", "3"])
    office.do(change_prefix, "12345", minter="sequential")
    assert [one.name for one in office.do(mint, "12345", 3)] == ["12345/2", "12345/4", "12345/5"]


def test_a_reset_sets_the_last_number(office: Office) -> None:
    office.prefix("12345", "sequential")
    office.do(reset_timeline, "12345", "numbers up to 5000 are on paper", number=5000)
    assert office.do(mint, "12345")[0].name == "12345/5001"
    with pytest.raises(InvalidInput) as refusal:
        office.do(reset_timeline, "12345", "no number said")
    assert refusal.value.part == "number"


def test_numbers_begin_at_1_after_a_change_from_the_clock_minter(office: Office) -> None:
    office.prefix("12345")
    office.do(mint, "12345")
    office.do(change_prefix, "12345", minter="sequential")
    assert office.do(mint, "12345")[0].name == "12345/1"


def test_a_prefix_can_change_from_numbers_to_the_clock_minter(office: Office) -> None:
    office.prefix("12345", "sequential")
    office.do(mint, "12345", 5)
    office.do(change_prefix, "12345", minter="pilin")
    assert instant(office.do(mint, "12345")[0].name) == NOON


def test_returning_to_a_minter_repeats_no_name(office: Office) -> None:
    office.prefix("12345")
    dated = office.do(mint, "12345", 3)
    office.do(change_prefix, "12345", minter="uuid")
    office.do(mint, "12345")
    office.do(change_prefix, "12345", minter="pilin")
    assert office.do(mint, "12345")[0].date == dated[-1].date + MILLISECOND


def test_chosen_suffixes_are_stored_unchanged(office: Office) -> None:
    office.prefix("12345", "chosen")
    suffixes = ["thesis/chapter 2", "Straße", "a:b?c#d", "'; DROP TABLE identifiers; --"]
    minted = office.do(mint, "12345", suffixes=suffixes, statement=TARGET)
    assert [one.name for one in minted] == [f"12345/{suffix}" for suffix in suffixes]
    for one in minted:
        assert office.ask(resolve, one.name).name == one.name


def test_a_chosen_name_can_be_chosen_once(office: Office) -> None:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["mine"])
    before = office.snapshot()
    with pytest.raises(NameTaken) as refusal:
        office.do(mint, "12345", suffixes=["other", "mine"])
    assert refusal.value.name == "12345/mine"
    assert office.snapshot() == before


def test_a_duplicate_suffix_in_one_call_is_refused(office: Office) -> None:
    office.prefix("12345", "chosen", case_sensitive=False)
    with pytest.raises(NameTaken):
        office.do(mint, "12345", suffixes=["Mine", "mINE"])


def test_case_matters_only_if_the_prefix_is_case_sensitive(office: Office) -> None:
    office.prefix("12345", "chosen")
    office.prefix("12346", "chosen", case_sensitive=False)
    assert len(office.do(mint, "12345", suffixes=["a", "A"])) == 2
    office.do(mint, "12346", suffixes=["a"])
    with pytest.raises(NameTaken):
        office.do(mint, "12346", suffixes=["A"])


def test_a_withdrawn_name_can_never_be_minted_again(office: Office) -> None:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["a"], statement=TARGET)
    office.do(withdraw, "12345/a", "gone")
    with pytest.raises(NameTaken):
        office.do(mint, "12345", suffixes=["a"])


def test_chosen_suffixes_are_required(office: Office) -> None:
    office.prefix("12345", "chosen")
    with pytest.raises(InvalidInput) as refusal:
        office.do(mint, "12345")
    assert refusal.value.part == "suffix"


def test_a_single_text_is_not_read_as_a_list_of_letters(office: Office) -> None:
    office.prefix("12345", "chosen")
    with pytest.raises(InvalidInput) as refusal:
        office.do(mint, "12345", suffixes="thesis")
    assert refusal.value.part == "suffix"


@pytest.mark.parametrize("suffix", ["", "a\nb", "a\u200bb", "a\ud800", "a\U0001f600"])
def test_a_suffix_that_no_handle_can_have_is_refused(office: Office, suffix: str) -> None:
    office.prefix("12345", "chosen")
    before = office.snapshot()
    with pytest.raises(InvalidName) as refusal:
        office.do(mint, "12345", suffixes=["right", suffix])
    assert refusal.value.part == "suffix"
    assert office.snapshot() == before


def test_a_name_too_long_to_be_looked_up_is_not_minted(office: Office) -> None:
    office.prefix("12345", "chosen")
    before = office.snapshot()
    with pytest.raises(OutOfRange):
        office.do(mint, "12345", suffixes=["x" * 3000])
    assert office.snapshot() == before


@pytest.mark.parametrize("count", [0, -1, 1_000_001])
def test_the_count_is_limited(pilin_office: Office, count: int) -> None:
    with pytest.raises(OutOfRange) as refusal:
        pilin_office.do(mint, "12345", count)
    assert refusal.value.part == "count"


def test_nothing_is_minted_under_an_unknown_prefix(office: Office) -> None:
    with pytest.raises(NoSuchPrefix):
        office.do(mint, "99999")


def test_person_identifiers_are_not_minted_like_others(office: Office) -> None:
    with pytest.raises(InvalidInput) as refusal:
        office.do(mint, "POID")
    assert refusal.value.part == "prefix"


def test_date_name_record_and_first_revision_are_one_transaction(pilin_office: Office) -> None:
    name = pilin_office.do(mint, "12345", statement=TARGET)[0].name
    (revision,) = pilin_office.ask(history, name)
    row = pilin_office.read(lambda reader: reader.find(name))
    assert row is not None
    assert (revision.version, revision.agent, revision.action) == (1, "admin", "mint")
    assert revision.record == row.record
    assert pilin_office.read(lambda reader: reader.timeline("12345")) == instant(name)


def test_a_clock_is_only_read_and_never_replaced(office: Office) -> None:
    """Two registries in one process may be in different years."""
    assert isinstance(office.registry.clock, ManualClock)
    office.clock.now = Fraction(1_900_000_000)
    office.do(add_prefix, "12345")
    assert office.do(mint, "12345")[0].date == 1_900_000_000
