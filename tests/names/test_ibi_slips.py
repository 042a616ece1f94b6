"""Errors that the IBI specification prints: each test proves that the printed text is wrong."""

import math
from decimal import Decimal
from fractions import Fraction

from tests.names.test_ibi_distributor import TABLE_6_2

from perdure import ibi


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
    """Return the fraction as "a decimal integer", as the declaration says."""
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
