import idutils
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import isni

from perdure import InvalidInput, InvalidName, external


@pytest.mark.parametrize(
    ("scheme", "text", "value", "iri"),
    [
        ("orcid", "0000-0002-1825-0097", "0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097"),
        ("orcid", "https://orcid.org/0000-0002-1694-233X", "0000-0002-1694-233X", None),
        ("orcid", "http://www.orcid.org/0000-0002-1694-233x/?lang=en", "0000-0002-1694-233X", None),
        ("orcid", "orcid.org/0000-0002-1825-0097", "0000-0002-1825-0097", None),
        ("orcid", "ORCID iD: 0000-0002-1825-0097", "0000-0002-1825-0097", None),
        ("orcid", "orcid:0000000218250097", "0000-0002-1825-0097", None),
        ("orcid", "0000–0002–1825–0097", "0000-0002-1825-0097", None),
        ("orcid", "0009-0000-0000-0001", None, None),
        ("isni", "0000000121032683", "0000000121032683", "https://isni.org/isni/0000000121032683"),
        ("isni", "ISNI 0000 0001 2103 2683", "0000000121032683", None),
        ("isni", "https://isni.org/isni/0000000121032683", "0000000121032683", None),
        ("isni", "http://www.isni.org/0000000121032683", "0000000121032683", None),
        ("isni", "https://isni.org/page/0000000121032683/", "0000000121032683", None),
        ("isni", "0000 0001 2281 955x", "000000012281955X", None),
        ("viaf", "102333412", "102333412", "http://viaf.org/viaf/102333412"),
        ("viaf", "https://viaf.org/viaf/102333412/#Austen", "102333412", None),
        ("viaf", "https://viaf.org/en/viaf/102333412", "102333412", None),
        ("viaf", "VIAF ID: 102333412", "102333412", None),
        ("viaf", "9154147776864333930003", "9154147776864333930003", None),
        ("wikidata", "Q12345", "Q12345", "http://www.wikidata.org/entity/Q12345"),
        ("wikidata", "https://www.wikidata.org/wiki/Q42?uselang=de", "Q42", None),
        ("wikidata", "https://m.wikidata.org/wiki/Q42", "Q42", None),
        ("wikidata", "http://www.wikidata.org/entity/Q42", "Q42", None),
        ("wikidata", "https://www.wikidata.org/wiki/Special:EntityData/Q42.json", "Q42", None),
        ("wikidata", "wd:Q42", "Q42", None),
        ("ghcid", "NL-NH-AMS-M-RM", "NL-NH-AMS-M-RM", "https://w3id.org/heritage/custodian/NL-NH-AMS-M-RM"),
        ("ghcid", "nl-00-xxx-a-nan", "NL-00-XXX-A-NAN", None),
        ("ghcid", "https://w3id.org/heritage/custodian/NL-NH-AMS-M-RM", "NL-NH-AMS-M-RM", None),
    ],
)
def test_pasted_forms(scheme: str, text: str, value: str | None, iri: str | None) -> None:
    if value is None:
        with pytest.raises(InvalidName):
            external.parse(scheme, text)
        return
    found = external.parse(scheme, text)
    assert found.value == str(found) == value
    assert external.parse(scheme, found.iri) == found
    assert iri is None or found.iri == iri


@pytest.mark.parametrize(
    ("scheme", "text", "part"),
    [
        ("orcid", "0000-0002-1825-0098", "check digit"),
        ("orcid", "0000-0001-2103-2683", "number"),  # an ISNI, but of no block of ORCID's
        ("orcid", "0000-0002-1825-009", "number"),
        ("orcid", "0000-0002-1825-00977", "number"),
        ("orcid", "\u0660000-0002-1825-0097", "number"),
        ("isni", "0000000121032684", "check digit"),
        ("isni", "", "number"),
        ("viaf", "0102333412", "number"),
        ("viaf", "1", "number"),
        ("viaf", "1023334120", "number"),
        ("viaf", "10233341²", "number"),
        ("wikidata", "Q0", "item"),
        ("wikidata", "P214", "item"),
        ("wikidata", "Q42x", "item"),
        ("ghcid", "NL-NH-AMS-M-R", "code"),
        ("ghcid", "NLD-NH-AMS-M-RM", "code"),
        ("ghcid", "NL-NH-AMST-M-RM", "code"),
    ],
)
def test_an_error_names_the_invalid_part(scheme: str, text: str, part: str) -> None:
    with pytest.raises(InvalidName) as caught:
        external.parse(scheme, text)
    assert (caught.value.scheme, caught.value.part) == (scheme, part)


def test_the_right_check_digit_is_suggested() -> None:
    with pytest.raises(InvalidName) as caught:
        external.parse("orcid", "0000-0002-1825-0098")
    assert caught.value.suggestion == "0000-0002-1825-0097"
    assert caught.value.position == 18
    with pytest.raises(InvalidName) as caught:
        external.parse("orcid", " ORCID iD: 0000-0002-1825-0098 ")
    assert caught.value.position == 29


def test_unknown_schemes_and_other_types_are_refused() -> None:
    with pytest.raises(InvalidInput, match="orcid"):
        external.parse("isbn", "x")
    with pytest.raises(InvalidInput, match="orcid"):
        external.ExternalId("isbn", "x")
    with pytest.raises(InvalidInput):
        external.parse([], "x")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        external.parse("orcid", 5)  # type: ignore[arg-type]


@given(
    st.one_of(
        st.integers(0, 10**15 - 1), st.integers(14_999_990, 35_000_010), st.integers(899_999_999_990, 900_100_000_010)
    )
)
def test_orcid_and_isni_agree_with_other_validators(number: int) -> None:
    digits = f"{number:015d}"
    sixteen = digits + isni.mod_11_2.calc_check_digit(digits)
    assert isni.is_valid(sixteen)
    assert external.parse("isni", sixteen).value == sixteen
    try:
        ours = bool(external.parse("orcid", sixteen))
    except InvalidName:
        ours = False
    assert ours == idutils.is_orcid(sixteen)


@given(st.from_regex(r"[1-9][0-9]{0,24}", fullmatch=True))
def test_viaf_agrees_with_another_validator(number: str) -> None:
    try:
        ours = bool(external.parse("viaf", number))
    except InvalidName:
        ours = False
    assert ours == bool(idutils.is_viaf(number))
