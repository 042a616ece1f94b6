"""The key of a name, from any text that a person writes."""

import pytest
from tests.registry_fixture import Office

from perdure.errors import InvalidName, NoSuchPrefix, OutOfRange
from perdure.registry import add_subsystem
from perdure.registry.name_keys import correct_pilin_spelling, locate


@pytest.fixture
def sample_office(office: Office) -> Office:
    office.prefix("10.ABC", "chosen")
    office.prefix("12345", "pilin")
    office.prefix("fold", "chosen", case_sensitive=False)
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    return office


@pytest.mark.parametrize(
    ("text", "key", "name"),
    [
        ("10.abc/Xy", "10.abc/Xy", "10.ABC/Xy"),
        ("doi:10.ABC/Xy", "10.abc/Xy", "10.ABC/Xy"),
        ("https://doi.org/10.ABC/X%20y", "10.abc/X y", "10.ABC/X y"),
        ("https://hdl.handle.net/FOLD/Xy", "fold/xy", "fold/Xy"),
        ("FOLD/Straße-İ", "fold/straße-İ", "fold/Straße-İ"),
        ("fold/a/b", "fold/a/b", "fold/a/b"),
        ("poid-93B0-4476-560E-5AC1", "POID-93b0-4476-560e-5ac1", "POID-93b0-4476-560e-5ac1"),
        ("https://ppid.org/POID-93b0-4476-560e-5ac1", "POID-93b0-4476-560e-5ac1", "POID-93b0-4476-560e-5ac1"),
        ("SID.inpe.br/mtc-m18/2009/02.16.17.46", "sid.inpe.br/mtc-m18/2009/02.16.17.46", None),
        ("sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "sid.inpe.br/mtc-m18@80/2009/02.16.17.46", None),
        ("8jmkd3mgp8w/34PGRBS", "8jmkd3mgp8w/34pgrbs", None),
        ("http://urlib.net/8JMKD3MGP8W/34PGRBS", "8jmkd3mgp8w/34pgrbs", None),
        ("ibi:8JMKD3MGP8W/34PGRBS", "8jmkd3mgp8w/34pgrbs", None),
        ("ibi:sid.inpe.br/mtc-m18/2009/02.16.17.46", "sid.inpe.br/mtc-m18/2009/02.16.17.46", None),
    ],
)
def test_every_spelling_of_a_name_has_one_key(sample_office: Office, text: str, key: str, name: str | None) -> None:
    located = sample_office.read(lambda reader: locate(reader, text))
    assert located.key == key
    assert name is None or located.name == name


def test_a_citation_with_a_document_type_is_located_by_its_exact_name(sample_office: Office) -> None:
    cited = "sid.inpe.br/mtc-m18/2009/02.16.17.46-TDI"
    assert sample_office.read(lambda reader: locate(reader, cited)).key == cited.lower()


@pytest.mark.parametrize("text", ["99/a", "a.b.org/c/2009/02.16.17.46", "8JMKD3MGPD/34PGRBS", "99/\u00e9"])
def test_an_unknown_prefix_is_named(sample_office: Office, text: str) -> None:
    with pytest.raises(NoSuchPrefix):
        sample_office.read(lambda reader: locate(reader, text))


@pytest.mark.parametrize("text", ["", "nothing", "12345", "12345/", "/x", "https://example.org/x", "12345/a\tb"])
def test_text_that_is_not_a_name_is_refused(sample_office: Office, text: str) -> None:
    with pytest.raises(InvalidName):
        sample_office.read(lambda reader: locate(reader, text))


def test_the_length_of_a_name_is_limited(sample_office: Office) -> None:
    with pytest.raises(OutOfRange):
        sample_office.read(lambda reader: locate(reader, "12345/" + "é" * 1500))


def test_only_typing_errors_are_corrected(sample_office: Office) -> None:
    def corrected_name(text: str) -> str | None:
        right = sample_office.read(lambda reader: correct_pilin_spelling(locate(reader, text)))
        return None if right is None else right.name

    assert corrected_name("12345/on8j99iqh") == "12345/0N8J991QH"
    assert corrected_name("12345/0N8J991QH") is None
    assert corrected_name("12345/not-nine") is None
    assert corrected_name("fold/on8j99iqh") is None
