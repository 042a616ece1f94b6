"""Idempotent minting: a client that lost the response repeats the request, and nothing is minted twice."""

import asyncio
from fractions import Fraction

import pytest
from tests.registry_fixture import Office

from perdure.errors import ClockBehind, InvalidInput, NotAuthorised, OutOfRange
from perdure.registry import Statement, add_subsystem, mint_once, names_under, revoke
from perdure.registry.idempotency import MOST_NAMES, RETENTION

TARGET = Statement(target="https://example.org/thing")
DIGEST = b"this very request"


def names(office: Office, prefix: str = "12345") -> list[str]:
    async def collect() -> list[str]:
        return [name async for chunk in names_under(office.registry, prefix) for name in chunk]

    return office.run(collect())


@pytest.fixture
def shop(office: Office) -> Office:
    office.prefix("12345", "uuid")
    return office


def test_a_repeated_request_gets_the_same_response(shop: Office) -> None:
    first = shop.do(mint_once, "12345", 3, statement=TARGET, token="a", digest=DIGEST)
    again = shop.do(mint_once, "12345", 3, statement=TARGET, token="a", digest=DIGEST)
    assert (first.replayed, again.replayed) == (False, True)
    assert again.minted == first.minted
    assert sorted(one.name for one in first.minted) == names(shop)


def test_without_a_token_every_request_is_a_new_one(shop: Office) -> None:
    shop.do(mint_once, "12345")
    shop.do(mint_once, "12345")
    assert len(names(shop)) == 2


def test_another_request_with_the_same_token_is_refused(shop: Office) -> None:
    shop.do(mint_once, "12345", token="a", digest=DIGEST)
    with pytest.raises(InvalidInput) as refused:
        shop.do(mint_once, "12345", token="a", digest=b"another")
    assert refused.value.part == "Idempotency-Key"
    assert len(names(shop)) == 1


def test_a_token_belongs_to_its_agent(shop: Office) -> None:
    other = shop.hire("maria", "12345", "mint")
    mine = shop.do(mint_once, "12345", token="a", digest=DIGEST)
    theirs = shop.by(other, mint_once, "12345", token="a", digest=b"another")
    assert not theirs.replayed
    assert mine.minted != theirs.minted


def test_without_permission_to_mint_nothing_is_replayed(shop: Office) -> None:
    other = shop.hire("maria", "12345", "mint")
    shop.by(other, mint_once, "12345", token="a", digest=DIGEST)
    shop.do(revoke, "maria", "12345")
    with pytest.raises(NotAuthorised):
        shop.by(other, mint_once, "12345", token="a", digest=DIGEST)


def test_a_refused_request_can_be_repeated_with_the_same_token(shop: Office) -> None:
    with pytest.raises(InvalidInput):
        shop.do(mint_once, "12345", statement=Statement(target="nowhere"), token="a", digest=DIGEST)
    assert not shop.do(mint_once, "12345", statement=TARGET, token="a", digest=DIGEST).replayed


def test_a_token_is_forgotten_after_a_day(shop: Office) -> None:
    day = RETENTION.total_seconds()
    first = shop.do(mint_once, "12345", token="a", digest=DIGEST)
    shop.clock.step(day - 1)
    assert shop.do(mint_once, "12345", token="a", digest=DIGEST).replayed
    shop.clock.step(2)
    later = shop.do(mint_once, "12345", token="a", digest=b"another")
    assert not later.replayed
    assert later.minted != first.minted


def test_old_responses_are_deleted_in_batches(shop: Office) -> None:
    shop.do(mint_once, "12345", token="old", digest=DIGEST)
    shop.clock.step(RETENTION.total_seconds() + 1)
    for number in range(100):
        shop.do(mint_once, "12345", token=f"new {number}", digest=DIGEST)
    assert shop.read(lambda reader: reader.find_answer(shop.admin.id, "old")) is None
    assert shop.read(lambda reader: reader.find_answer(shop.admin.id, "new 0")) is not None


def test_only_one_of_many_concurrent_requests_with_one_token_mints(shop: Office) -> None:
    async def mint_concurrently() -> list[str]:
        requests = [mint_once(shop.registry, shop.admin, "12345", token="a", digest=DIGEST) for _ in range(20)]
        answers = await asyncio.gather(*requests)
        assert sum(not one.replayed for one in answers) == 1
        return [one.minted[0].name for one in answers]

    assert set(shop.run(mint_concurrently())) == set(names(shop))
    assert len(names(shop)) == 1


def test_dates_and_other_labels_are_replayed_exactly(shop: Office) -> None:
    shop.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243", granularity=Fraction("0.01"))
    first = shop.do(mint_once, "sid.inpe.br/mtc-m18", 3, token="a", digest=DIGEST)
    assert all(one.alias is not None and one.date is not None for one in first.minted)
    assert shop.do(mint_once, "sid.inpe.br/mtc-m18", 3, token="a", digest=DIGEST).minted == first.minted


def test_all_names_are_minted_or_none(shop: Office) -> None:
    shop.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243", granularity=60)
    with pytest.raises(OutOfRange) as refused:
        shop.do(mint_once, "sid.inpe.br/mtc-m18", 2)
    assert refused.value.part == "count"
    assert names(shop, "sid.inpe.br/mtc-m18") == []
    assert len(shop.do(mint_once, "12345", MOST_NAMES).minted) == MOST_NAMES


@pytest.mark.parametrize("count", [0, -1, MOST_NAMES + 1])
def test_a_count_out_of_bounds_is_refused(shop: Office, count: int) -> None:
    with pytest.raises(OutOfRange):
        shop.do(mint_once, "12345", count)


@pytest.mark.parametrize("token", ["", "x" * 256, "new\nline", "é", "\x00"])
def test_a_token_that_no_header_can_carry_is_refused(shop: Office, token: str) -> None:
    with pytest.raises(InvalidInput):
        shop.do(mint_once, "12345", token=token, digest=DIGEST)
    assert names(shop) == []


def test_no_date_is_used_if_the_caller_cannot_wait_for_the_name(office: Office) -> None:
    """Its date would come after the caller's timeout; a repeated request would only use up the next one."""
    prefix = office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243", granularity=60).key
    office.clock.step(10)  # seconds after a full minute: the next date is far enough ahead
    office.do(mint_once, prefix, statement=TARGET, patience=8.0)
    before = office.snapshot()
    with pytest.raises(ClockBehind) as refused:
        office.do(mint_once, prefix, statement=TARGET, patience=8.0)
    assert 8 < refused.value.wait <= 60
    with pytest.raises(ClockBehind):
        office.do(mint_once, prefix, statement=TARGET, token="a", digest=DIGEST, patience=8.0)
    assert office.snapshot() == before
    assert max(office.clock.waits) <= 8  # so no caller waited for a date beyond its patience
    office.clock.step(refused.value.wait)
    assert not office.do(mint_once, prefix, statement=TARGET, token="a", digest=DIGEST, patience=8.0).replayed
    assert len(names(office, prefix)) == 2


def test_no_date_is_used_if_the_clock_was_set_back(office: Office) -> None:
    office.prefix("12345", "pilin")
    office.do(mint_once, "12345")
    office.clock.step(-5)
    before = office.snapshot()
    with pytest.raises(ClockBehind):
        office.do(mint_once, "12345", patience=2.0)
    assert office.snapshot() == before
    office.do(mint_once, "12345", patience=6.0)
    assert max(office.clock.waits) > 5
