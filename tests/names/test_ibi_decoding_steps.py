"""The steps that decode a label: they end with its date, and name every part of it."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import ibi
from perdure.names import instant

DATES = st.one_of(
    st.integers(807_235_200, 4 * 10**9).map(Fraction),
    st.builds(
        lambda whole, part: whole + Fraction(part, 10**6),
        st.integers(807_235_200, 4 * 10**9),
        st.integers(0, 10**6 - 1),
    ),
)
PORTS = st.one_of(st.sampled_from([80, 800, 802, 8080]), st.integers(1, 65_535))


@given(DATES, PORTS, st.ip_addresses())
def test_the_parts_of_an_opaque_label_add_up_to_it(date: Fraction, port: int, ip: object) -> None:
    label = ibi.opaque_name(str(ip), port, date)
    steps = ibi.decoding_steps(label)
    assert {step.algorithm for step in steps} == {5, 6}
    assert steps[-1].result == instant.to_iso(date)
    assert "".join(step.part for step in steps if step.algorithm == 5) == label.prefix
    assert {label.ip, f"port {port}"} <= {step.result for step in steps}


@given(DATES, PORTS)
def test_the_parts_of_a_repository_name_add_up_to_it(date: Fraction, port: int) -> None:
    label = ibi.repository_name("mtc-m18.sid.inpe.br", port, date)
    steps = ibi.decoding_steps(label)
    first = [step.part for step in steps if step.algorithm == 1]
    assert f"{first[0]}/{''.join(first[1:])}" == label.prefix
    assert steps[-1].part == str(label)[len(label.prefix) + 1 :]
    assert steps[-1].result == instant.to_iso(date)
    assert {label.host, f"port {port}"} <= {step.result for step in steps}


@pytest.mark.parametrize("text", ["sid.inpe.br/mtc-m18@80/2009/02.16.17.46.00", "8jmkd3mgp8wtt/234pgrbs"])
def test_labels_in_other_spellings_are_decoded_too(text: str) -> None:
    label = ibi.parse(text)
    assert ibi.decoding_steps(label)[-1].result == instant.to_iso(label.date)


def test_a_long_fraction_is_cut() -> None:
    label = ibi.repository_name("a.example.org", 80, Fraction(1, 10**5000) + 10**9)
    assert all(len(step.part) <= 201 and len(step.result) < 6000 for step in ibi.decoding_steps(label))
