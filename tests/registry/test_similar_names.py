"""Suggestions for a name that is not registered: names that one slip separates from it."""

import asyncio
from collections.abc import Iterator
from string import ascii_letters, digits
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.names.test_misspellings import edit, slips
from tests.registry_fixture import ENGINES, Office, locations_on, open_office

from perdure.errors import NoSuchName, NoSuchPrefix, PerdureError
from perdure.names.misspellings import list_likely_characters
from perdure.registry import Statement, add_subsystem, mint, observe, show, withdraw
from perdure.registry.identifier_lookup import find_located
from perdure.registry.name_keys import locate
from perdure.registry.similar_names import MOST_SUGGESTED, find_similar_names, with_similar_names
from perdure.registry.store_interface import Reader

TARGET = "https://example.org/"
CHOSEN = [
    "thesis-2020",
    "thesis-2021",
    "Map/1850/Utrecht",
    "S0735-1097(98)00347-7",
    "thèse-été",
    "тезис",
    "論文",
    "日本語資料",
    "日本語地図",
    "한국학-1",
    "a",
    "two words",
    "<b>",
    "50%",
    "x" * 40,
    "a-long-name-that-somebody-has-chosen-with-care",
    "b" * 70 + "Q",
]
FOLDED = ["Report-7", "report.2019", "Étude-1"]
letters = st.sampled_from(ascii_letters + digits + "-._/() ")


@pytest.fixture(scope="module", params=ENGINES)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """One registry for all examples: nothing is written to it."""
    locations = locations_on(request.param, tmp_path_factory.mktemp("similar"))
    with asyncio.Runner() as runner:
        office = open_office(runner, locations.open())
        office.prefix("20.500.12345", "chosen")
        office.prefix("20.501", "chosen", case_sensitive=False)
        office.do(mint, "20.500.12345", statement=Statement(TARGET), suffixes=CHOSEN)
        office.do(mint, "20.501", statement=Statement(TARGET), suffixes=FOLDED)
        yield office
    locations.close()


def similar(office: Office, name: str) -> tuple[str, ...]:
    return office.read(lambda reader: find_similar_names(reader, name))


@given(st.sampled_from(CHOSEN), slips, st.integers(0, 100), letters)
@settings(max_examples=120)
def test_every_slip_in_a_chosen_name_is_found(library: Office, right: str, slip: str, at: int, character: str) -> None:
    wrong = edit(right, slip, at, character)
    can_be_tried = set(right) <= set(list_likely_characters(wrong))
    if wrong and wrong not in CHOSEN and can_be_tried:
        assert f"20.500.12345/{right}" in similar(library, f"20.500.12345/{wrong}")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("日本話資料", "日本語資料"),
        ("曰本語資料", "日本語資料"),
        ("日本資料", "日本語資料"),
        ("本語地図", "日本語地図"),
        ("日本語地圖", "日本語地図"),
        ("한굴학-1", "한국학-1"),
        ("한국1-1", "한국학-1"),
        ("b" * 70 + "c", "b" * 70 + "Q"),
        ("b" * 70, "b" * 70 + "Q"),
    ],
)
def test_a_character_that_is_not_likely_is_found_where_names_continue_with_it(
    library: Office, wrong: str, right: str
) -> None:
    assert similar(library, f"20.500.12345/{wrong}") == (f"20.500.12345/{right}",)


@given(st.sampled_from(FOLDED), slips, st.integers(0, 100), letters)
@settings(max_examples=60)
def test_every_slip_in_a_name_without_case_is_found(
    library: Office, right: str, slip: str, at: int, character: str
) -> None:
    wrong = "".join(one.swapcase() if one.isascii() else one for one in edit(right, slip, at, character))
    if wrong and library.read(lambda reader: find_located(reader, locate(reader, f"20.501/{wrong}"))) is None:
        assert f"20.501/{right}" in similar(library, f"20.501/{wrong}")


@given(slips, st.integers(0, 100), st.sampled_from(digits + "."))
@settings(max_examples=60)
def test_every_slip_in_the_prefix_is_found(library: Office, slip: str, at: int, character: str) -> None:
    prefix = edit("20.500.12345", slip, at, character)
    if prefix != "20.500.12345":
        assert similar(library, f"{prefix}/thesis-2020")[:1] == ("20.500.12345/thesis-2020",)


@given(st.text(max_size=90))
@settings(max_examples=60)
def test_suggestions_are_few_and_registered(library: Office, text: str) -> None:
    for name in (text, f"20.500.12345/{text}", f"20.500.12345/thesis{text}"):
        found = similar(library, name)
        assert len(found) <= MOST_SUGGESTED
        for one in found:
            assert library.ask(show, one).name == one


@given(st.sampled_from(CHOSEN), slips, st.integers(0, 100), letters)
@settings(max_examples=60)
def test_a_registered_name_is_never_taken_for_another(
    library: Office, right: str, slip: str, at: int, character: str
) -> None:
    for suffix in (right, edit(right, slip, at, character)):
        try:
            view = library.ask(show, f"20.500.12345/{suffix}")
        except PerdureError:
            assert suffix not in CHOSEN
        else:
            assert view.name == f"20.500.12345/{suffix}"


def test_the_errors_of_use_cases_get_suggestions(library: Office) -> None:
    async def caught(name: str) -> NoSuchName:
        with pytest.raises(NoSuchName) as error:
            await show(library.registry, name)
        return await with_similar_names(library.registry, error.value)

    unknown = library.run(caught("20.500.12345/thesis-2022"))
    assert unknown.suggestions == ("20.500.12345/thesis-2020", "20.500.12345/thesis-2021")
    assert str(unknown).endswith("; did you mean 20.500.12345/thesis-2020 or 20.500.12345/thesis-2021?")
    elsewhere = library.run(caught("20.500.1234/thesis-2020"))
    assert isinstance(elsewhere, NoSuchPrefix)
    assert (elsewhere.name, elsewhere.suggestions) == ("20.500.1234", ("20.500.12345/thesis-2020",))
    assert library.run(caught("20.500.12345/MAP/1850/UTRECHT")).suggestions == ()
    assert library.run(caught("20.500.12345/THESIS-2020")).suggestions == ("20.500.12345/thesis-2020",), "by case"


@pytest.fixture
def new_library(office: Office) -> Office:
    office.prefix("20.500", "chosen")
    return office


def test_a_reserved_name_is_not_shown_and_a_withdrawn_one_comes_last(new_library: Office) -> None:
    new_library.do(mint, "20.500", suffixes=["thesis-0"])
    new_library.do(mint, "20.500", statement=Statement(TARGET), suffixes=["thesis-1", "thesis-2"])
    new_library.do(withdraw, "20.500/thesis-1", "lost")
    assert similar(new_library, "20.500/thesis-3") == ("20.500/thesis-2", "20.500/thesis-1")


def test_there_are_a_few_suggestions_at_most(new_library: Office) -> None:
    new_library.do(mint, "20.500", statement=Statement(TARGET), suffixes=[f"thesis-{digit}" for digit in digits])
    assert len(similar(new_library, "20.500/thesis-x")) == MOST_SUGGESTED


def test_the_number_of_queries_is_bounded(new_library: Office) -> None:
    suffixes = [*(f"{chr(0x4E00 + number)}-{number}" for number in range(100)), "x" * 79]
    new_library.do(mint, "20.500", statement=Statement(TARGET), suffixes=suffixes)

    def count(reader: Reader, suffix: str) -> int:
        watched = Mock(wraps=reader)
        find_similar_names(watched, f"20.500/{suffix}")
        return watched.identifiers_after.call_count

    assert 40 <= new_library.read(lambda reader: count(reader, "\u9fa0-7")) <= 70
    assert new_library.read(lambda reader: count(reader, "x" * 78 + "y")) <= 70


def test_a_person_is_not_found_by_a_slip_beside_its_check_digit(new_library: Office) -> None:
    name = new_library.do(observe, "https://example.org/staff", "2025-01-09T10:30:00Z", "0" * 64).name
    assert similar(new_library, f"{name[:-1]}{'0' if name[-1] != '0' else '1'}") == ()
    assert similar(new_library, name.replace("POID", "PRID")) == ()


def test_a_slip_in_the_date_of_a_label_is_found(new_library: Office) -> None:
    new_library.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    (minted,) = new_library.do(mint, "sid.inpe.br/mtc-m18", statement=Statement(TARGET))
    wrong = minted.name[:-1] + ("0" if minted.name[-1] != "0" else "1")
    assert minted.name in similar(new_library, wrong)
    assert minted.alias is not None
    opaque = minted.alias[:-1] + ("A" if minted.alias[-1] != "A" else "B")
    assert minted.alias in similar(new_library, opaque)
