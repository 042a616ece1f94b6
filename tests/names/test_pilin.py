from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import milliseconds

from perdure import InvalidInput, InvalidName, OutOfRange, pilin


@given(milliseconds)
def test_decoding_undoes_encoding(value: int) -> None:
    suffix = pilin.encode(value)
    assert len(suffix) == 9
    assert set(suffix) <= set(pilin.DIGITS)
    assert pilin.decode(suffix) == value


@given(st.text(pilin.DIGITS, min_size=9, max_size=9))
def test_encoding_undoes_decoding(suffix: str) -> None:
    assert pilin.encode(pilin.decode(suffix)) == suffix


@given(milliseconds, milliseconds)
def test_no_two_milliseconds_share_a_suffix(one: int, other: int) -> None:
    assert (pilin.encode(one) == pilin.encode(other)) == (one == other)


@pytest.mark.parametrize(
    ("suffix", "instant"),
    [
        ("Y35XYS0QH", "2007-05-25T03:49:52.865+00:00"),
        ("0N8J991QH", "2007-05-30T05:50:34.750+00:00"),
        ("2RDV0T0QH", "2007-05-25T04:19:47.645+00:00"),
        ("000000000", "1582-10-15T00:00:00.000+00:00"),
        ("ZZZZZZZZZ", "2420-08-16T03:29:20.670+00:00"),
    ],
)
def test_known_suffixes(suffix: str, instant: str) -> None:
    when = datetime.fromisoformat(instant)
    assert pilin.to_datetime(suffix) == when
    assert pilin.from_datetime(when) == suffix


def test_a_plain_base_31_loop_agrees() -> None:
    value, digits = 13_399_357_792_865, ""
    rest = value
    while rest:
        rest, digit = divmod(rest, 31)
        digits += "0123456789BCDFGHJKLMNPQRSTVWXYZ"[digit]  # least significant first: already reversed
    assert pilin.encode(value) == digits


@given(milliseconds)
def test_usual_typing_errors_are_corrected(value: int) -> None:
    suffix = pilin.encode(value)
    typed = suffix.lower().replace("0", "o").replace("1", "i")
    assert pilin.decode(typed) == value
    assert pilin.canonical(typed.upper()) == suffix


def test_l_is_a_digit_and_stays_l() -> None:
    assert pilin.decode("LLLLLLLLL") != pilin.decode("111111111")


@pytest.mark.parametrize("character", "AEUaeu-_ +\u0661\u00df\n")
def test_any_other_character_is_named_with_its_position(character: str) -> None:
    with pytest.raises(InvalidName) as caught:
        pilin.decode(f"012{character}45678")
    assert caught.value.position == 3
    assert ascii(character) in caught.value.reason


@pytest.mark.parametrize("text", ["", "Y35XYS0Q", "Y35XYS0QH0", "0" * 100])
def test_exactly_nine_digits(text: str) -> None:
    with pytest.raises(InvalidName, match="exactly 9"):
        pilin.decode(text)


@pytest.mark.parametrize(
    "value", [-1, 31**9, 10**30, 10**5000], ids=["before", "just after", "after", "too long to print"]
)
def test_a_number_out_of_range_gives_no_longer_or_shorter_suffix(value: int) -> None:
    with pytest.raises(OutOfRange):
        pilin.encode(value)


@pytest.mark.parametrize("value", [1.5, "1", None, True, False])
def test_only_whole_milliseconds_are_encoded(value: object) -> None:
    with pytest.raises(InvalidInput):
        pilin.encode(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [None, 123456789, b"Y35XYS0QH", ["0"] * 9])
def test_only_text_is_decoded(value: object) -> None:
    with pytest.raises(InvalidInput):
        pilin.decode(value)  # type: ignore[arg-type]


def test_a_datetime_needs_a_zone() -> None:
    with pytest.raises(InvalidInput, match="aware"):
        pilin.from_datetime(datetime(2007, 5, 25, 3, 49, 52))


def test_a_datetime_is_truncated_to_milliseconds() -> None:
    when = datetime(2007, 5, 25, 5, 49, 52, 865_999, tzinfo=timezone(timedelta(hours=2)))
    assert pilin.from_datetime(when) == "Y35XYS0QH"


def test_a_datetime_before_the_epoch_is_out_of_range() -> None:
    with pytest.raises(OutOfRange):
        pilin.from_datetime(datetime(1582, 10, 14, 23, 59, 59, tzinfo=timezone.utc))
