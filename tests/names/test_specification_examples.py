"""Every correct example of the specifications."""

from datetime import datetime, timezone

import pytest

from perdure import external, handle, ibi, pilin, recognise


@pytest.mark.parametrize(
    ("text", "prefix", "suffix"),
    [
        ("10.1045/april2006-paskin", "10.1045", "april2006-paskin"),
        ("hdl:102.100.272/0N8J991QH", "102.100.272", "0N8J991QH"),
        ("hdl:102.100.pilin2/XYZZY", "102.100.pilin2", "XYZZY"),
        ("102.100.TYPE/CREATION_DATE", "102.100.TYPE", "CREATION_DATE"),
        ("102.100.TYPE/CREATOR", "102.100.TYPE", "CREATOR"),
        ("http://resolver.net.au/hdl/102.100.272/Y35XYSOQH", "102.100.272", "Y35XYSOQH"),
    ],
)
def test_handles(text: str, prefix: str, suffix: str) -> None:
    assert handle.parse(text) == handle.Handle(prefix, suffix)


def test_a_derived_prefix() -> None:
    assert handle.parents("12345.1") == ("12345",)


def test_the_pilin_epoch_is_that_of_uuids() -> None:
    assert pilin.encode(0) == "000000000"
    assert datetime(1582, 10, 15, tzinfo=timezone.utc) == pilin.EPOCH


@pytest.mark.parametrize(
    ("label", "host", "port", "date"),
    [
        ("sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "mtc-m18.sid.inpe.br", 80, "2009-02-16T17:46:00Z"),
        ("sid.INPE.br/MTC-m18@80/2009/02.16.17.46", "mtc-m18.sid.inpe.br", 80, "2009-02-16T17:46:00Z"),
        ("sid.inpe.br/mtc-m19/2010/08.25.12.38", "mtc-m19.sid.inpe.br", 80, "2010-08-25T12:38:00Z"),
        ("iconet.com.br/banon/2009/09.09.22.01", "banon.iconet.com.br", 80, "2009-09-09T22:01:00Z"),
    ],
)
def test_repository_names(label: str, host: str, port: int, date: str) -> None:
    name = ibi.parse(label)
    assert isinstance(name, ibi.RepositoryName)
    assert (name.host, name.port) == (host, port)
    assert recognise(label).details["instant"] == date


@pytest.mark.parametrize(
    ("label", "ip", "port", "date"),
    [
        ("8JMKD3MGP8W/34PGRBS", "150.163.34.243", 800, "2009-02-16T17:46:00Z"),
        ("8jmkd3mgp8w/34pgrbs", "150.163.34.243", 800, "2009-02-16T17:46:00Z"),
        ("8JMKD3MGP7W/385N5PE", "150.163.34.242", 800, "2010-08-25T12:38:00Z"),
        ("LK47B6W/362SFKH", "127.0.0.1", 800, "2009-09-09T22:01:00Z"),
        ("8JMKD3MGP8W/3JUK862", "150.163.34.243", 800, "2015-08-01T02:06:00Z"),
    ],
)
def test_opaque_names(label: str, ip: str, port: int, date: str) -> None:
    name = ibi.parse(label)
    assert isinstance(name, ibi.OpaqueName)
    assert (name.ip, name.port) == (ip, port)
    assert recognise(label).details["instant"] == date


def test_the_four_parts_of_a_repository_name_are_a_sequence_of_directories() -> None:
    found = recognise("sid.inpe.br/mtc-m18@80/2009/02.16.17.46")
    assert found.details["directory"] == "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"


@pytest.mark.parametrize(
    ("scheme", "value"),
    [("orcid", "0000-0002-1825-0097"), ("isni", "0000000121032683"), ("viaf", "102333412"), ("wikidata", "Q12345")],
)
def test_links_of_a_person(scheme: str, value: str) -> None:
    assert external.parse(scheme, value).value == value
