import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.names.radix import Radix


@given(
    st.sampled_from(
        ["0123456789", "01", "23456789ABCDEFGHJKLMNPQRSTU", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    ),
    st.integers(0, 10**60),
)
def test_numbers_in_any_alphabet(digits: str, number: int) -> None:
    radix = Radix(digits)
    written = radix.write(number)
    assert radix.read(written) == number
    assert number == 0 or not written.startswith(digits[0])


@given(st.integers(4200, 9000))
def test_numbers_longer_than_python_converts(length: int) -> None:
    radix = Radix("0123456789")
    number = 7 * (10**length - 1) // 9
    assert radix.write(number) == "7" * length
    assert radix.read("7" * length) == number


@pytest.mark.parametrize("digits", ["0123456789", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"])
@pytest.mark.parametrize("text", ["", "1_0", " 1", "+1", "-1", "x1!", "\u0661"])
def test_text_that_is_not_a_digit_is_refused(digits: str, text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - its callers say what is wrong, in their own words
        Radix(digits).read(text)
