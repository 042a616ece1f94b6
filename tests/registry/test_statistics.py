"""Statistics: counts add up, are readable by agents of the prefix only, and move with the registry."""

import pytest
from tests.registry_fixture import Office

from perdure.errors import InvalidInput, NoSuchName, NotAuthorised
from perdure.registry import (
    Statement,
    add_agent,
    add_prefix,
    add_resolutions,
    add_subsystem,
    grant,
    mint,
    name_statistics,
    prefix_statistics,
)
from perdure.registry.entities import ResolutionCount
from perdure.registry.statistics import write_csv

URL = "https://example.org/"


@pytest.fixture
def library(office: Office) -> Office:
    """A registry with some names and counts."""
    office.do(add_prefix, "777", minter="chosen", case_sensitive=False)
    office.do(add_prefix, "7770", minter="chosen")
    office.do(mint, "777", statement=Statement(target=URL), suffixes=["A", "B"])
    office.do(mint, "7770", statement=Statement(target=URL), suffixes=["A"])
    add(office, ("777/a", "2026-10-31", "browser", 3), ("777/a", "2026-11-01", "browser", 1))
    add(office, ("777/a", "2026-11-01", "browser", 4), ("777/a", "2026-11-02", "robot", 50))
    add(office, ("777/b", "2026-11-02", "handle", 6), ("7770/A", "2026-11-02", "browser", 100))
    return office


def add(office: Office, *counts: tuple[str, str, str, int]) -> None:
    office.ask(add_resolutions, [ResolutionCount(*count) for count in counts])


def test_counts_add_up_by_day_and_month(library: Office) -> None:
    found = library.do(name_statistics, "hdl:777/A")
    assert found.name == "777/A"
    assert [(one.period, one.browser, one.robot, one.total) for one in found.periods] == [
        ("2026-10-31", 3, 0, 3),
        ("2026-11-01", 5, 0, 5),
        ("2026-11-02", 0, 50, 0),
    ]
    monthly = library.do(name_statistics, "777/a", monthly=True, since="2026-11-01", until="2026-11-30").periods
    assert write_csv(monthly) == "period,browser,robot,program,handle,total\r\n2026-11,5,50,0,0,5\r\n"
    with pytest.raises(NoSuchName):
        library.do(name_statistics, "777/none")


def test_a_prefix_has_sums_and_its_most_resolved_names(library: Office) -> None:
    found = library.do(prefix_statistics, "777")
    assert [(one.period, one.total) for one in found.periods] == [
        ("2026-10-31", 3),
        ("2026-11-01", 5),
        ("2026-11-02", 6),
    ]
    assert [(one.name, one.total) for one in found.names] == [("777/A", 8), ("777/B", 6)]
    assert [one.name for one in library.do(prefix_statistics, "777", since="2026-11-02").names] == ["777/B"]
    assert len(library.do(prefix_statistics, "777", limit=1).names) == 1


def test_both_labels_of_a_pair_are_one_identifier(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    [pair] = office.do(mint, "sid.inpe.br/mtc-m18", statement=Statement(target=URL))
    assert pair.alias is not None
    add(office, (pair.name, "2026-11-02", "browser", 2), (pair.alias.lower(), "2026-11-02", "browser", 3))
    for label in (pair.name, pair.alias):
        [period] = office.do(name_statistics, label).periods
        assert period.total == 5


def test_only_agents_with_a_permission_under_the_prefix_read_statistics(library: Office) -> None:
    jan = library.do(add_agent, "jan", "Jan")
    for use, name in ((name_statistics, "777/A"), (prefix_statistics, "777")):
        with pytest.raises(NotAuthorised):
            library.by(jan, use, name)
    library.do(grant, "jan", "777", ["mint"])
    assert library.by(jan, name_statistics, "777/A").periods
    assert library.by(jan, prefix_statistics, "777").periods
    with pytest.raises(NotAuthorised):
        library.by(jan, name_statistics, "7770/A")


@pytest.mark.parametrize(
    ("part", "period"),
    [
        ("since", {"since": "2026-11"}),
        ("since", {"since": "20261101"}),
        ("until", {"until": "2026-02-30"}),
        ("until", {"since": "2026-11-02", "until": "2026-11-01"}),
    ],
)
def test_a_period_is_from_one_day_to_another(library: Office, part: str, period: dict[str, str]) -> None:
    with pytest.raises(InvalidInput) as refusal:
        library.do(name_statistics, "777/A", **period)
    assert refusal.value.part == part
