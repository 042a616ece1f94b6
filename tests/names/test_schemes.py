"""The common interface of all schemes: parse, canonical and is_valid agree on every text."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stdnum.iso7064 import mod_11_2
from tests.strategies import dates, handles, hosts, ip_addresses, milliseconds, ports, ppid_digits, ppid_types

from perdure import InvalidInput, InvalidName, external, ibi, pilin, ppid
from perdure.names.check_digit import check_digit
from perdure.names.handle import DOI_PROXY
from perdure.names.schemes import SCHEMES


def in_any_case(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Draw a text with each of its letters in either case."""

    def change(text: str, lower: list[bool]) -> str:
        return "".join(
            character.lower() if is_lower else character.upper()
            for character, is_lower in zip(text, lower * len(text), strict=False)
        )

    return st.builds(change, texts, st.lists(st.booleans(), min_size=1, max_size=7))


def sixteen_digits(first: int, last: int) -> st.SearchStrategy[str]:
    return (
        st.integers(first, last)
        .map(lambda number: f"{number:015d}")
        .map(lambda digits: digits + mod_11_2.calc_check_digit(digits))
    )


def group_digits(digits: str) -> str:
    return "-".join(digits[at : at + 4] for at in range(0, 16, 4))


AFTER_EPOCH = dates(807_235_200, 807_235_200 + 10**10)
VALID = {
    "handle": st.one_of(
        handles.map(str),
        handles.map(lambda name: name.url()),
        handles.map(lambda name: name.url(DOI_PROXY)),
        handles.map(lambda name: f"hdl:{name}"),
    ),
    "pilin": in_any_case(milliseconds.map(pilin.encode)),
    "ibi": st.one_of(
        in_any_case(st.builds(ibi.repository_name, hosts, ports, AFTER_EPOCH).map(str)),
        in_any_case(st.builds(ibi.opaque_name, ip_addresses, ports, AFTER_EPOCH).map(str)),
        st.builds(
            lambda name: str(name).replace("/", "@80/", 2).replace("@80/", "/", 1),
            st.builds(ibi.repository_name, hosts, st.just(80), AFTER_EPOCH),
        ),
    ),
    "ppid": in_any_case(
        st.builds(lambda kind, digits: f"{kind}-{group_digits(digits + check_digit(digits))}", ppid_types, ppid_digits)
    ),
    "orcid": st.one_of(*(sixteen_digits(*block) for block in external.ORCID_BLOCKS)).flatmap(
        lambda digits: st.sampled_from([digits, group_digits(digits), f"https://orcid.org/{group_digits(digits)}"])
    ),
    "isni": sixteen_digits(0, 10**15 - 1).flatmap(
        lambda digits: st.sampled_from([digits, group_digits(digits).replace("-", " "), f"ISNI: {digits}"])
    ),
    "viaf": st.integers(10, 10**9 - 1).flatmap(
        lambda number: st.sampled_from([f"{number}", f"viaf.org/viaf/{number}"])
    ),
    "wikidata": in_any_case(st.integers(1, 10**15 - 1).map(lambda number: f"Q{number}")),
    "ghcid": in_any_case(st.from_regex(r"[A-Z]{2}-[A-Z0-9]{1,3}-[A-Z0-9]{3}-[A-Z]-[A-Z0-9]{2,9}", fullmatch=True)),
}
SLIPS = st.tuples(st.integers(0, 60), st.sampled_from(["", "/", "-", "0", "O", " ", "%", "\u200b", "é", "\ud800"]))


def with_slip(text: str, slip: tuple[int, str]) -> str:
    at, character = slip
    return text[:at] + character + text[at + 1 :]


def texts(scheme: str) -> st.SearchStrategy[str]:
    """Draw valid texts, nearly valid ones, and any text at all."""
    return st.one_of(VALID[scheme], st.builds(with_slip, VALID[scheme], SLIPS), st.text())


def test_every_scheme_is_tested() -> None:
    assert VALID.keys() == SCHEMES.keys()


@pytest.mark.parametrize("scheme", SCHEMES)
@given(data=st.data())
@settings(max_examples=60)
def test_a_generated_identifier_is_valid(scheme: str, data: st.DataObject) -> None:
    assert SCHEMES[scheme].is_valid(data.draw(VALID[scheme]))


@pytest.mark.parametrize("scheme", SCHEMES)
@given(data=st.data())
@settings(max_examples=150)
def test_parse_canonical_and_is_valid_agree(scheme: str, data: st.DataObject) -> None:
    text = data.draw(texts(scheme))
    known = SCHEMES[scheme]
    if not known.is_valid(text):
        for function in (known.parse, known.canonical):
            with pytest.raises(InvalidName) as problem:
                function(text)
            assert problem.value.scheme == scheme
            assert problem.value.reason
        return
    canonical = known.canonical(text)
    assert known.parse(canonical) == known.parse(text)
    assert known.canonical(canonical) == canonical
    assert known.is_valid(canonical)
    assert hash(known.parse(canonical)) == hash(known.parse(text))


@pytest.mark.parametrize("scheme", sorted(SCHEMES.keys() - {"ibi"}))
@given(data=st.data())
@settings(max_examples=60)
def test_a_parsed_identifier_is_written_in_its_canonical_spelling(scheme: str, data: st.DataObject) -> None:
    text = data.draw(VALID[scheme])
    assert str(SCHEMES[scheme].parse(text)) == SCHEMES[scheme].canonical(text)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("value", [None, 1, b"10.1000/182", Fraction(1)])
def test_a_value_that_is_not_text_is_never_valid(scheme: str, value: object) -> None:
    known = SCHEMES[scheme]
    assert known.is_valid(value) is False  # type: ignore[arg-type]
    for function in (known.parse, known.canonical):
        with pytest.raises(InvalidInput):
            function(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("scheme", external.SYSTEMS)
def test_an_external_system_has_the_functions_of_its_module(scheme: str) -> None:
    for text in ("0000-0002-1694-233X", "Q42", "113230702", "NL-NH-AMS-M-RM", ""):
        system = external.SYSTEMS[scheme]
        assert external.is_valid(scheme, text) == system.is_valid(text)
        if system.is_valid(text):
            assert external.parse(scheme, text) == system.parse(text)
            assert external.canonical(scheme, text) == system.canonical(text)


def test_an_unknown_external_scheme_is_an_error_in_every_function() -> None:
    for function in (external.parse, external.canonical, external.is_valid):
        with pytest.raises(InvalidInput):
            function("isbn", "9780000000000")


def test_labels_that_the_algorithms_would_write_differently_stay_separate_names() -> None:
    label = "SID.inpe.br/mtc-m18@80/2009/02.16.17.46.00"
    assert ibi.canonical(label) == label.lower()
    assert ibi.parse(label).canonical == "sid.inpe.br/mtc-m18/2009/02.16.17.46"


def test_the_parts_of_a_ppid_are_those_of_the_specification() -> None:
    text = "prid-1B91-673B-631C-5FF5"
    parsed = ppid.parse(text)
    assert ppid.parse_ppid(text) == {"type": parsed.type, "hex": parsed.hex, "checksum": parsed.checksum}


def test_a_pilin_suffix_knows_its_millisecond() -> None:
    assert pilin.parse("y35xysoqh").milliseconds == pilin.decode("Y35XYS0QH")
