"""Other spellings of an IBI label."""

import pytest
from hypothesis import given
from tests.strategies import dates, hosts, ip_addresses, ports

from perdure import ibi
from perdure.names.handle import fold

ITEM = "sid.inpe.br/mtc-m18{}/2009/02.16.17.46{}"


@pytest.mark.parametrize("port", ["", "@80", ".80"])
@pytest.mark.parametrize("second", ["", ".00"])
def test_the_default_port_and_zero_seconds_are_written_or_left_out(port: str, second: str) -> None:
    label = ITEM.format(port, second)
    (others,) = ibi.other_spellings(label)
    everything = {ITEM.format(port, second) for port in ("", "@80", ".80") for second in ("", ".00")}
    assert set(others) == everything - {label}


def test_another_port_has_two_separators() -> None:
    assert ibi.other_spellings(ITEM.format("@1905", ".30")) == ((ITEM.format(".1905", ".30"),),)


def test_the_label_of_a_citation_comes_before_its_other_spellings() -> None:
    first, cited, others = ibi.other_spellings("iconet.com.br/banon/2009/09.09.22.01-RPQ")
    assert first == ("iconet.com.br/banon/2009/09.09.22.01",)
    assert "iconet.com.br/banon@80/2009/09.09.22.01-RPQ" in cited
    assert cited == tuple(f"{other}-RPQ" for other in others)
    assert ibi.other_spellings("8JMKD3MGP8W/34PGRBS-TDI")[0] == ("8JMKD3MGP8W/34PGRBS",)
    assert ibi.other_spellings("APM77Z/KFQ6T-NTC") == (("APM77Z/KFQ6T",),)


@pytest.mark.parametrize(
    "label", ["20.500/thesis-abc", "nothing", "", "APM77Z/KFQ6T", "a/b/c", "sid.inpe.br/x/2009/02.31.17.46"]
)
def test_other_names_have_no_other_spelling(label: str) -> None:
    assert ibi.other_spellings(label) == ()


def item(label: str) -> tuple[object, ...]:
    name = ibi.parse(label)
    return (name.host if isinstance(name, ibi.RepositoryName) else name.ip, name.port, name.date)


@given(hosts, ports, dates(0))
def test_every_spelling_of_a_repository_name_is_the_same_item(host: str, port: int, date: object) -> None:
    label = str(ibi.repository_name(host, port, date))  # type: ignore[arg-type]
    for group in ibi.other_spellings(label):
        for other in group:
            assert item(other) == item(label)
            assert fold(label) in {one for again in ibi.other_spellings(other) for one in again}


@given(ip_addresses, ports, dates(807_235_200))
def test_every_spelling_of_an_ibip_is_the_same_item(ip: str, port: int, date: object) -> None:
    label = str(ibi.opaque_name(ip, port, date))  # type: ignore[arg-type]
    for group in ibi.other_spellings(label):
        for other in group:
            assert item(other) == item(label)
            assert fold(label) in {one for again in ibi.other_spellings(other) for one in again}
