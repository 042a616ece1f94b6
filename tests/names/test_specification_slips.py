"""What the specifications print and what is not so: each slip is shown to be one, so that no reading rests on faith."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import pytest
from tests.names.test_ibi_distributor import TABLE_6_2

from perdure import InvalidInput, InvalidName, ibi, pilin, ppid
from perdure.names import instant

# --- the PILIN suffix policy


def test_the_policys_digit_positions_are_off_by_one_from_p_on() -> None:
    printed = {"PQRS": (22, 26), "TVWXYZ": (27, 31)}
    for letters, (first, last) in printed.items():
        assert len(letters) != last - first + 1
    assert len("0123456789" + "BCD" + "FGH" + "JKLMN" + "PQRS" + "TVWXYZ") == 31


@pytest.mark.parametrize("printed", ["Y35XYSOQH", "2RDVOTOQH"])
def test_the_printed_suffixes_have_a_letter_that_the_alphabet_has_not(printed: str) -> None:
    assert not set(printed) <= set(pilin.DIGITS)
    assert pilin.canonical(printed) == printed.replace("O", "0")


def test_a_printed_date_of_the_metadata_policy_is_no_date() -> None:
    with pytest.raises(InvalidInput):
        instant.from_iso("2007-06-22T702:53:46Z", "authority metadata")
    assert instant.to_iso(instant.from_iso("2007-06-22T02:53:46Z", "x")) == "2007-06-22T02:53:46Z"


# --- the IBI standard


def algorithm_1_as_printed(computer: str, port: int) -> str:
    part, subdomain, first_word = 2, "", ""
    for character in computer:
        if character == ".":
            part = 1
        elif part == 1:
            subdomain += character
        else:
            first_word += character
    return f"{subdomain}/{first_word}" if port == 80 else f"{subdomain}/{first_word}.{port}"


def test_algorithm_1_as_printed_loses_the_dots_of_the_standards_own_example() -> None:
    assert algorithm_1_as_printed("mtc-m19.sid.inpe.br", 80) == "sidinpebr/mtc-m19"
    assert ibi.repository_prefix("mtc-m19.sid.inpe.br", 80) == "sid.inpe.br/mtc-m19"
    assert algorithm_1_as_printed("a.bc.d", 80) == algorithm_1_as_printed("a.b.cd", 80)  # not injective


def test_example_1_has_a_port_that_algorithm_1_leaves_out() -> None:
    name = ibi.parse("sid.inpe.br/mtc-m18@80/2009/02.16.17.46")
    assert name.canonical == "sid.inpe.br/mtc-m18/2009/02.16.17.46"


def algorithm_6_as_printed(date: Decimal) -> str:
    """The fraction turned into "a decimal integer", which is what its declaration says."""
    whole, _, fraction = str(date).partition(".")
    suffix = ibi.opaque_suffix(int(whole))
    return f"{suffix}W{ibi.opaque_suffix(807_235_200 + int(fraction))}" if int(fraction or 0) else suffix


def test_algorithm_6_as_printed_gives_two_dates_one_label() -> None:
    half, twentieth = Decimal("1234806360.5"), Decimal("1234806360.05")
    assert algorithm_6_as_printed(half) == algorithm_6_as_printed(twentieth)
    assert ibi.opaque_suffix(half) == algorithm_6_as_printed(half)  # without leading zeros the label is the printed one
    assert ibi.opaque_suffix(twentieth) != ibi.opaque_suffix(half)


def test_rounding_to_the_nearest_does_not_give_table_6_2() -> None:
    now, creation, _, _ = TABLE_6_2[6]
    assert math.floor(Decimal(now)) == creation
    assert round(Decimal(now)) != creation


def algorithm_4_in_floats(now: float, last: float, r: float) -> float:
    rounded = r * int(now / r)
    last = r * int(last / r)
    creation = max(last + r, rounded)
    short, s, t = creation, r, creation
    while last < short:
        s = 10 * s
        if s == 10:
            s = 60
        t = short
        if s > 60:
            break
        short = s * int(creation / s)
    return t


def test_in_floats_back_to_back_requests_get_the_same_label() -> None:
    now, r = 1287588115.25, 0.1
    last, labels = now - 1, []
    for _ in range(50):
        last = algorithm_4_in_floats(now, last, r)
        labels.append(ibi.opaque_suffix(Decimal(str(round(last, 1)))))
    assert len(set(labels)) < len(labels)

    exact, labels = Fraction(1287588114), []
    for _ in range(50):
        _, exact = ibi.next_date(Decimal("1287588115.25"), exact, Decimal("0.1"))
        labels.append(ibi.opaque_suffix(exact))
    assert len(set(labels)) == len(labels)


# --- the PPID specification


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
