from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address

import pytest
from hypothesis import given
from tests.strategies import dates, ip_addresses, ports

from perdure import InvalidInput, InvalidName, OutOfRange, ibi
from perdure.names.ibi.legacy import BASE_53
from perdure.names.ibi.opaque import BASE_27, EPOCH, IPV4_TEXT, IPV6_TEXT


@given(ip_addresses, ports, dates(EPOCH))
def test_a_label_is_parsed_back_to_its_parts(ip: str, port: int, date: Fraction) -> None:
    name = ibi.opaque_name(ip, port, date)
    read = ibi.parse(str(name))
    assert isinstance(read, ibi.OpaqueName)
    assert ip_address(read.ip) == ip_address(ip)
    assert (read.port, read.date) == (port, date)
    assert read.is_canonical


@given(ip_addresses, ports, dates(EPOCH), ip_addresses, ports, dates(EPOCH))
def test_labels_are_injective(ip: str, port: int, date: Fraction, ip2: str, port2: int, date2: Fraction) -> None:
    for other in ((ip2, port2, date2), (ip, port2, date), (ip2, port, date), (ip, port, date2)):
        same = (ip, port, date) == other
        assert (ibi.opaque_name(ip, port, date) == ibi.opaque_name(*other)) == same


@pytest.mark.parametrize(
    ("ip", "port", "prefix"),
    [
        ("150.163.34.243", 800, "8JMKD3MGP8W"),
        ("150.163.34.239", 800, "8JMKD3MGP3W"),
        ("150.163.34.239", 808, "8JMKD3MGP3W34T"),
        ("127.0.0.1", 800, "LK47B6W"),
        ("150.163.2.174", 800, "J8LNKAN8PW"),
        ("2001:252:0:1::2008:6", 800, "7URMDHLL9SSN2D89MX"),
        ("2001:0252:0000:0001:0:0:2008:0006", 800, "7URMDHLL9SSN2D89MX"),
    ],
)
def test_algorithm_5(ip: str, port: int, prefix: str) -> None:
    assert ibi.opaque_prefix(ip, port) == prefix


@pytest.mark.parametrize(
    ("date", "suffix"),
    [
        (1234806360, "34PGRBS"),
        (EPOCH, "2"),
        (EPOCH + 1, "3"),
        (EPOCH + Decimal("0.5"), "2W7"),
        (EPOCH + Decimal("0.05"), "2W27"),
        (EPOCH + Decimal("0.50"), "2W7"),
        (EPOCH + Decimal("0.005"), "2W227"),
        (EPOCH + Decimal("0.27"), "2W32"),
    ],
)
def test_algorithm_6(date: Decimal, suffix: str) -> None:
    assert ibi.opaque_suffix(date) == suffix


def test_dates_before_the_first_month_are_an_error() -> None:
    for date in (EPOCH - 1, EPOCH - Fraction(1, 1000), 0):
        with pytest.raises(OutOfRange):
            ibi.opaque_suffix(date)


@pytest.mark.parametrize("ip", ["0.1.2.3", "0.0.0.0", "0:1:2:3:4:5:6:7", "0:1::", "::", "::1", "1::", "ff02::2"])  # noqa: S104
def test_a_leading_zero_that_the_number_loses_is_restored(ip: str) -> None:
    read = ibi.parse(str(ibi.opaque_name(ip, 800, EPOCH)))
    assert isinstance(read, ibi.OpaqueName)
    assert ip_address(read.ip) == ip_address(ip)


def test_mapped_addresses_are_written_as_hexadecimal_groups() -> None:
    name = ibi.opaque_name("::ffff:150.163.34.243", 800, EPOCH)
    assert name.ip == "::ffff:96a3:22f3"
    assert "X" in str(name)
    assert ibi.parse(str(name)) == name


@pytest.mark.parametrize(
    "ip", ["", "1.2.3", "1.2.3.256", "01.2.3.4", "fe80::1%eth0", "1.2.3.4/8", "localhost", None, 5]
)
def test_addresses_that_are_refused(ip: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ibi.opaque_prefix(ip, 800)
    assert caught.value.part == "ip"


@pytest.mark.parametrize(
    ("label", "canonical"),
    [
        ("8jmkd3mgp8w/34pgrbs", "8JMKD3MGP8W/34PGRBS"),
        ("28JMKD3MGP8W/34PGRBS", "8JMKD3MGP8W/34PGRBS"),
        ("8JMKD3MGP8W/2234PGRBS", "8JMKD3MGP8W/34PGRBS"),
        ("8JMKD3MGP8W34K/34PGRBS", "8JMKD3MGP8W/34PGRBS"),
        ("8JMKD3MGP8W/34PGRBSW2", "8JMKD3MGP8W/34PGRBS"),
        ("8JMKD3MGP8W/34PGRBSWFR", "8JMKD3MGP8W/34PGRBSWFR"),
    ],
)
def test_labels_in_the_wild_are_parsed_and_preserved(label: str, canonical: str) -> None:
    name = ibi.parse(label)
    assert str(name) == label
    assert name.canonical == canonical
    assert name.is_canonical == (label == canonical)


@pytest.mark.parametrize(
    ("label", "part"),
    [
        ("8JMKD3MGP8/34PGRBS", "prefix"),  # no W or X
        ("8JMKD3MGP8WW/34PGRBS", "prefix"),
        ("W/34PGRBS", "prefix"),
        ("8JMKD3MGP8X/34PGRBS", "prefix"),  # decodes to no IPv6 address
        ("9JMKD3MGP8W/34PGRBS", "prefix"),
        ("U" * 65 + "W/34PGRBS", "prefix"),
        ("8JMKD3MGP8W2/34PGRBS", "port"),
        ("8JMKD3MGP8WUUUU/34PGRBS", "port"),
        ("8JMKD3MGP8W/34PGRBSW", "suffix"),
        ("8JMKD3MGP8W/W7", "suffix"),
        ("8JMKD3MGP8W/34PXRBS", "suffix"),
        ("8JMKD3MGP8W/" + "U" * 30, "suffix"),
        ("8JMKD3MGP8W/", "suffix"),
        ("8JMKD3MGP8W/34PGRBO", "label"),
        ("8JMKD3MGP8W/34PGRB0", "label"),
        ("8JMKD3MGP8V/34PGRBS", "label"),
        ("8JMKD3MGP8W/34PGRBS\n", "label"),
        ("8JMKD3MGP8W/34PGRB\u017f", "label"),  # a long s, which str.upper() would turn into an S
    ],
)
def test_an_error_names_the_invalid_part(label: str, part: str) -> None:
    with pytest.raises(InvalidName) as caught:
        ibi.parse(label)
    assert (caught.value.scheme, caught.value.part) == ("ibi", part)


def test_tables_7_2_and_7_3() -> None:
    assert IPV4_TEXT.read("150.163.2.174") == 4588904456580
    assert IPV6_TEXT.read("2001:252:0:1::2008:6") == 478239719325051908572237
    for number, written in [
        (1, "3"),
        (19050, "U5H"),
        (480992662, "38G3TS3"),
        (4588904456580, "J8LNKAN8P"),
        (478239719325051908572237, "7URMDHLL9SSN2D89M"),
    ]:
        assert BASE_27.write(number) == written
        assert BASE_27.read(written) == number


def test_the_example_of_table_7_1_is_a_label() -> None:
    name = ibi.parse("8JMKD3MGP7W/385N5PE")
    assert isinstance(name, ibi.OpaqueName)
    assert name.ip == "150.163.34.242"
    assert name.is_canonical


@pytest.mark.parametrize(
    ("label", "ip", "port", "date"),
    [
        ("APM77Z/KFQ6T", "127.0.0.1", None, 1144425013),
        ("6qtX3pFwXQZ3r59YD6/GPtJt", None, 1912, 1121887534),
        ("6qtX3pFwXQZ4iE8KMKjdY/KFQ6T", None, None, 1144425013),
        ("6qtX3pFwXQZ4PKzA/r3xLT", None, None, 996842220),
        ("6qtX3pFwXQZ3P8SECKy/Gk4Ky", None, None, 1117651620),
    ],
)
def test_base_53_labels(label: str, ip: str | None, port: int | None, date: int) -> None:
    name = ibi.parse_legacy(label)
    assert (str(name), name.ip, name.port, name.date) == (label, ip, port, date)
    with pytest.raises(InvalidName):
        ibi.parse(label)  # Z is in neither of today's alphabets: the forms cannot be confused


def test_base_53_labels_are_case_sensitive() -> None:
    assert ibi.parse_legacy("APM77Z/KFQ6T") != ibi.parse_legacy("APM77Z/kFQ6T")


@pytest.mark.parametrize(
    "label", ["APM77Z", "APM77Z/", "Z/KFQ6T", "APM77/KFQ6T", "APM77ZX/KFQ6T", "22Z/KFQ6T", "APM77Z/KFl6T", "aZbYVVV/KFQ6T", "a" * 400]
)  # fmt: skip
def test_an_invalid_base_53_label_is_refused(label: str) -> None:
    with pytest.raises(InvalidName):
        ibi.parse_legacy(label)


def test_base_53_has_53_digits() -> None:
    assert BASE_53.base == len(set(BASE_53.digits)) == 53
