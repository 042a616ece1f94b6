"""Errors that the PPID specification prints: each test proves that the printed text is wrong."""

import math
import re

import pytest

from perdure import InvalidName, ppid


@pytest.mark.parametrize(
    ("digits", "printed", "right"),
    [("7a3bc4d5e6f7890", "X", "3"), ("1234567890abcde", "5", "4"), ("000000000000000", "0", "1")],
)
def test_all_three_check_digits_of_section_4_2_are_wrong(digits: str, printed: str, right: str) -> None:
    total = 0
    for character in digits:  # the algorithm printed above the examples
        total = (total + int(character, 16)) * 2
    result = (12 - total % 11) % 11
    assert ("X" if result == 10 else str(result)) == right != printed
    name = f"POID-{digits[:4]}-{digits[4:8]}-{digits[8:12]}-{digits[12:]}"
    assert ppid.validate_ppid(name + right)
    assert not ppid.validate_ppid(name + printed)


@pytest.mark.parametrize(
    "printed", ["POID-7a3b-c4d5-e6f7-890X", "PRID-1234-5678-90ab-cdeX", "PRID-1234-5678-90ab-cde5"]
)
def test_the_identifiers_printed_everywhere_are_not_valid(printed: str) -> None:
    assert ppid.validate_ppid_full(printed) == (False, "Invalid checksum")


def test_the_identifier_of_section_10_1_is_not_even_hexadecimal() -> None:
    with pytest.raises(InvalidName, match="'g' at position 15"):
        ppid.parse_ppid("POID-8c4d-e5f6-g7h8-901Y")


SECTION_11_1 = re.compile(r"^(POID|PRID)-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{3}[0-9a-fA-FxX]$")


@pytest.mark.parametrize("text", ["POID-93b0-4476-560e-5aca", "POID-93b0-4476-560e-5ac1\n"])
def test_the_pattern_of_section_11_1_is_looser_than_section_3_2(text: str) -> None:
    assert SECTION_11_1.match(text)
    assert not ppid.validate_ppid_syntax(text)


def test_section_5_1_writes_a_check_digit_that_is_not_canonical() -> None:
    made = ppid.generate_poid("https://example.org/staff/6", "2025-01-09T10:30:00Z", "0" * 64)
    assert made.endswith("X")
    assert ppid.canonical(made.replace("X", "x")) == made


def test_the_odds_of_section_9_1_are_wrong_by_nine_orders_of_magnitude() -> None:
    space = 2**56  # the 13th of the 15 digits is always 5
    assert all(ppid.generate_poid(f"https://a.org/{i}", "2025-01-09T10:30:00Z", "0" * 64)[20] == "5" for i in range(20))

    def expected_collisions(count: int) -> float:
        return count * (count - 1) / 2 / space

    assert expected_collisions(10**9) == pytest.approx(6.9, abs=0.1)
    assert 1 - math.exp(-expected_collisions(10**8)) == pytest.approx(0.067, abs=0.001)
    assert expected_collisions(10**9) / 4.3e-10 > 10**9


def test_no_function_can_lead_from_a_ppid_back_to_its_uuid() -> None:
    noon, nothing = "2025-01-09T10:30:00Z", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    one, other = (f"https://example.org/archive/{i}" for i in (291994108, 292908847))
    assert ppid.generate_poid(one, noon, nothing) == ppid.generate_poid(other, noon, nothing)
    assert ppid.poid_uuid(one, noon, nothing) != ppid.poid_uuid(other, noon, nothing)
