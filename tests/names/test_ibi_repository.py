from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from tests.strategies import dates, hosts, ports

from perdure import InvalidInput, InvalidName, OutOfRange, ibi, recognise

YEAR_0 = -62_167_219_200


@given(hosts, ports, dates(YEAR_0))
def test_a_label_is_parsed_back_to_its_parts(host: str, port: int, date: Fraction) -> None:
    name = ibi.repository_name(host, port, date)
    read = ibi.parse(str(name))
    assert isinstance(read, ibi.RepositoryName)
    assert (read.host, read.port, read.date) == (host, port, date)
    assert read.is_canonical
    assert read == name


@given(hosts, ports, dates(0), hosts, ports, dates(0))
def test_labels_are_injective(host: str, port: int, date: Fraction, host2: str, port2: int, date2: Fraction) -> None:
    for other in ((host2, port2, date2), (host, port2, date), (host2, port, date), (host, port, date2)):
        same = (host, port, date) == other
        assert (ibi.repository_name(host, port, date) == ibi.repository_name(*other)) == same


@pytest.mark.parametrize(
    ("host", "port", "prefix"),
    [
        ("mtc-m18.sid.inpe.br", 80, "sid.inpe.br/mtc-m18"),
        ("mtc-m19.sid.inpe.br", 80, "sid.inpe.br/mtc-m19"),
        ("banon.iconet.com.br", 80, "iconet.com.br/banon"),
        ("MTC-m18.sid.INPE.br.", 1905, "sid.inpe.br/mtc-m18.1905"),
        ("example.org", 443, "org/example.443"),
    ],
)
def test_algorithm_1(host: str, port: int, prefix: str) -> None:
    assert ibi.repository_prefix(host, port) == prefix


@pytest.mark.parametrize(
    ("date", "suffix"),
    [
        (1234806360, "2009/02.16.17.46"),
        (1287587646, "2010/10.20.15.14.06"),
        (Decimal("1287587646.394023"), "2010/10.20.15.14.06.394023"),
        (Fraction(12875876460, 10), "2010/10.20.15.14.06"),
        (Decimal("1287588000.5"), "2010/10.20.15.20.00.5"),
        (Decimal("1287588000.050"), "2010/10.20.15.20.00.05"),
        (0, "1970/01.01.00.00"),
        (Decimal("0E+50"), "1970/01.01.00.00"),
        (253402300800, "10000/01.01.00.00"),
        (YEAR_0, "0000/01.01.00.00"),
    ],
)
def test_algorithm_2(date: Decimal, suffix: str) -> None:
    assert ibi.repository_suffix(date) == suffix


@pytest.mark.parametrize(
    ("label", "canonical"),
    [
        ("sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "sid.inpe.br/mtc-m18/2009/02.16.17.46"),
        ("sid.inpe.br/mtc-m18.80/2009/02.16.17.46", "sid.inpe.br/mtc-m18/2009/02.16.17.46"),
        ("sid.inpe.br/mtc-m18@1905/2009/02.16.17.46", "sid.inpe.br/mtc-m18.1905/2009/02.16.17.46"),
        ("sid.inpe.br/mtc-m18/2009/02.16.17.46.00", "sid.inpe.br/mtc-m18/2009/02.16.17.46"),
        ("sid.inpe.br/mtc-m18/2009/02.16.17.46.07.50", "sid.inpe.br/mtc-m18/2009/02.16.17.46.07.5"),
        ("sid.INPE.br/MTC-m18/2009/02.16.17.46", "sid.inpe.br/mtc-m18/2009/02.16.17.46"),
        ("sid.inpe.br./mtc-m18/2009/02.16.17.46", "sid.inpe.br/mtc-m18/2009/02.16.17.46"),
        ("sid.inpe.br/mtc-m18.0080/02009/02.16.17.46", "sid.inpe.br/mtc-m18/2009/02.16.17.46"),
    ],
)
def test_labels_of_the_grammar_that_the_algorithms_write_in_another_way(label: str, canonical: str) -> None:
    name = ibi.parse(label)
    assert str(name) == label
    assert not name.is_canonical
    assert name.canonical == canonical


def test_labels_are_compared_by_case_folding_only() -> None:
    lower = ibi.parse("sid.inpe.br/mtc-m18@80/2009/02.16.17.46")
    assert lower == ibi.parse("sid.INPE.br/MTC-m18@80/2009/02.16.17.46")
    assert hash(lower) == hash(ibi.parse("sid.INPE.br/MTC-m18@80/2009/02.16.17.46"))
    assert lower != ibi.parse("sid.inpe.br/mtc-m18/2009/02.16.17.46")
    assert lower != "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"


def test_labels_are_ordered_by_their_date() -> None:
    earlier = ibi.parse("sid.inpe.br/mtc-m19/2009/02.16.17.46")
    later = ibi.parse("sid.inpe.br/mtc-m18/10000/01.01.00.00")
    assert sorted([later, earlier]) == [earlier, later]
    assert earlier <= later
    assert later >= earlier > ibi.parse("LK47B6W/2")
    assert ibi.parse_legacy("APM77Z/KFQ6T") >= ibi.parse_legacy("APM77Z/KFQ6S")


def test_equal_names_have_equal_directories() -> None:
    name = ibi.parse("sid.INPE.br/mtc-m18@80/2009/02.16.17.46")
    assert isinstance(name, ibi.RepositoryName)
    assert name.directory.split("/") == ["sid.inpe.br", "mtc-m18@80", "2009", "02.16.17.46"]


@pytest.mark.parametrize(
    ("label", "part"),
    [
        ("sid.inpe.br/mtc-m18/2009/02.31.17.46", "time"),  # 31 February
        ("sid.inpe.br/mtc-m18/2009/02.29.17.46", "time"),  # no leap year
        ("sid.inpe.br/mtc-m18/2009/13.16.17.46", "time"),
        ("sid.inpe.br/mtc-m18/2009/00.16.17.46", "time"),
        ("sid.inpe.br/mtc-m18/2009/02.16.24.00", "time"),
        ("sid.inpe.br/mtc-m18/2009/02.16.17.60", "time"),
        ("sid.inpe.br/mtc-m18/2009/02.16.17.46.60", "time"),
        ("sid.inpe.br/mtc-m18/2009/2.16.17.46", "time"),
        ("sid.inpe.br/mtc-m18/2009/02.16.17.46.07.", "time"),
        ("sid.inpe.br/mtc-m18/2009/02.16.17.46\n", "time"),
        ("sid.inpe.br/mtc-m18/2009/02.16.17.4\u0666", "time"),
        ("sid.inpe.br/mtc-m18/209/02.16.17.46", "year"),
        ("sid.inpe.br/mtc-m18/" + "9" * 13 + "/02.16.17.46", "year"),
        ("sid.inpe.br/mtc-m18/99999999999/01.01.00.00", "year"),
        ("sid.inpe.br/mtc-m18@0/2009/02.16.17.46", "port"),
        ("sid.inpe.br/mtc-m18@65536/2009/02.16.17.46", "port"),
        ("sid.inpe.br/mtc_m18/2009/02.16.17.46", "word"),
        ("sid.inpe.br/-mtc/2009/02.16.17.46", "word"),
        ("sid.inpe.br/mtc.x/2009/02.16.17.46", "word"),
        ("sid..br/mtc-m18/2009/02.16.17.46", "subdomain"),
        ("sid.inpe.9r/mtc-m18/2009/02.16.17.46", "subdomain"),
        ("/mtc-m18/2009/02.16.17.46", "subdomain"),
        ("sid.inpe.br/" + "a" * 64 + "/2009/02.16.17.46", "word"),
        ("a.b/c", "label"),
        ("a.b/c/2009", "label"),
        ("sid.inpe.br/mtc-m18/2009/02.16.17.46/x", "label"),
    ],
)
def test_an_error_names_the_invalid_part(label: str, part: str) -> None:
    with pytest.raises(InvalidName) as caught:
        ibi.parse(label)
    assert (caught.value.scheme, caught.value.part) == ("ibi", part)


def test_leap_days_exist_in_every_cycle() -> None:
    assert ibi.parse("a.b/c/2000/02.29.00.00").date == 951_782_400
    assert ibi.parse("a.b/c/12000/02.29.00.00").is_canonical
    with pytest.raises(InvalidName):
        ibi.parse("a.b/c/2100/02.29.00.00")


@pytest.mark.parametrize(
    "host",
    ["localhost", "", ".", "a..b", "150.163.34.243", "::1", "a_b.org", "bücher.de", "-a.org", "a.org..", "x" * 64 + ".org",
     ".".join(["abcdefghi"] * 26) + ".org", "a b.org", "example.org\n"],
)  # fmt: skip
def test_hosts_that_are_not_minted(host: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ibi.repository_prefix(host, 80)
    assert caught.value.part == "host"


@pytest.mark.parametrize("port", [0, -1, 65_536, True, "80", 80.0, None])
def test_ports_that_are_not_minted(port: int) -> None:
    for make in (lambda: ibi.repository_prefix("example.org", port), lambda: ibi.opaque_prefix("1.2.3.4", port)):
        with pytest.raises(InvalidInput) as caught:
            make()
        assert caught.value.part == "port"


@pytest.mark.parametrize(
    "date", [1.5, float("nan"), Decimal("NaN"), Decimal("Infinity"), Fraction(1, 3), "0", None, True, 1j]
)
def test_dates_must_be_exact(date: Decimal) -> None:
    for suffix in (ibi.repository_suffix, ibi.opaque_suffix):
        with pytest.raises(InvalidInput):
            suffix(date)


@pytest.mark.parametrize(
    "date",
    [
        10**18,
        -(10**18),
        Decimal("1e1000000"),
        Decimal("1e-1000000"),
        Fraction(1, 10**20_001),
        Fraction(1, 5**200_000),
        Fraction(1, 2**66_000),
    ],
)
def test_dates_have_bounds(date: Decimal) -> None:
    with pytest.raises(OutOfRange):
        ibi.repository_suffix(date)


def test_a_date_before_the_year_0_is_out_of_range() -> None:
    with pytest.raises(OutOfRange):
        ibi.repository_suffix(YEAR_0 - 1)


def test_fractions_may_be_longer_than_the_limit_of_python() -> None:
    decimals = "0" * 10 + "123456789" * 1000
    label = f"a.b/c/2009/02.16.17.46.07.{decimals}"
    name = ibi.parse(label)
    assert name.is_canonical
    opaque = ibi.opaque_name("1.2.3.4", 800, name.date)
    assert ibi.parse(str(opaque)).date == name.date


def test_every_label_that_is_read_can_be_written_and_shown() -> None:
    longest = ibi.parse("a.b/c/2009/02.16.17.46.01." + "1" * 20_000)
    assert longest.is_canonical
    assert "a.b/c" in repr(longest)
    for label in ("a.b/c/2009/02.16.17.46.01." + "1" * 20_001, "LK47B6W/2W" + "3" * 14_500):
        with pytest.raises(InvalidName, match="decimal places"):
            ibi.parse(label)


def test_the_length_of_a_label_is_limited() -> None:
    with pytest.raises(InvalidName, match="longer"):
        ibi.parse("a.b/c/2009/02.16.17.46.07." + "1" * ibi.MAX_LABEL)


@pytest.mark.parametrize("value", [None, 5, b"a.b/c/2009/02.16.17.46"])
def test_only_text_is_a_label(value: object) -> None:
    for parse in (ibi.parse, ibi.parse_legacy):
        with pytest.raises(InvalidInput):
            parse(value)  # type: ignore[arg-type]


def test_a_document_type_is_split_from_the_label() -> None:
    assert ibi.split_document_type("sid.inpe.br/mtc-m21d/2022/08.25.11.46-NTC") == (
        "sid.inpe.br/mtc-m21d/2022/08.25.11.46",
        "NTC",
    )
    assert ibi.split_document_type("sid.inpe.br/mtc-m18/2009/02.16.17.46")[1] is None
    with pytest.raises(InvalidName, match="document type -RPQ") as caught:
        ibi.parse("iconet.com.br/banon/2009/09.09.22.01-RPQ")
    with pytest.raises(InvalidName, match="document type -TDI"):
        ibi.parse("8JMKD3MGP8W/34PGRBS-TDI")
    assert caught.value.suggestion == "iconet.com.br/banon/2009/09.09.22.01"


@pytest.mark.parametrize("time", ["09.09.22", "13.09.22.01"])
def test_no_suggestion_without_the_document_type_if_the_label_is_invalid_anyway(time: str) -> None:
    """The label without its document type is invalid too, so it is not suggested."""
    with pytest.raises(InvalidName) as caught:
        ibi.parse(f"iconet.com.br/banon/2009/{time}-RPQ")
    assert caught.value.suggestion is None
    assert "document type" not in str(caught.value)
    assert "suggestion" not in recognise(f"iconet.com.br/banon/2009/{time}-RPQ-RPQ").details
