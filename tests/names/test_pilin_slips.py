"""Errors that the PILIN policy prints: each test proves that the printed text is wrong."""

import pytest

from perdure import InvalidInput, pilin
from perdure.names import instant


def test_the_policys_digit_positions_are_off_by_one_from_p_on() -> None:
    printed = {"PQRS": (22, 26), "TVWXYZ": (27, 31)}
    for letters, (first, last) in printed.items():
        assert len(letters) != last - first + 1
    assert len("0123456789" + "BCD" + "FGH" + "JKLMN" + "PQRS" + "TVWXYZ") == 31


@pytest.mark.parametrize("printed", ["Y35XYSOQH", "2RDVOTOQH"])
def test_the_printed_suffixes_have_a_letter_that_is_not_in_the_alphabet(printed: str) -> None:
    assert not set(printed) <= set(pilin.DIGITS)
    assert pilin.canonical(printed) == printed.replace("O", "0")


def test_a_printed_date_of_the_metadata_policy_is_not_a_date() -> None:
    with pytest.raises(InvalidInput):
        instant.from_iso("2007-06-22T702:53:46Z", "authority metadata")
    assert instant.to_iso(instant.from_iso("2007-06-22T02:53:46Z", "x")) == "2007-06-22T02:53:46Z"
