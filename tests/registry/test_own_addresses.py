"""Names written as web addresses of the registry's own resolver; and names that such an address never replaces."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from tests.registry_fixture import Office

from perdure.errors import InvalidName, NoSuchName, NoSuchPrefix
from perdure.formats.import_entries import ImportPut
from perdure.names.resolver_address import ResolverAddress
from perdure.registry import (
    ImportOptions,
    Statement,
    import_entries,
    mint,
    observe,
    resolve,
    search,
    show,
    update,
    withdraw,
)
from perdure.registry.own_addresses import LOOPBACK, use_own_addresses

T = TypeVar("T")
HERE = "https://id.example.org"
TARGET = "https://example.org/"
ADDRESSES = (ResolverAddress.parse(HERE), *LOOPBACK)


@pytest.fixture
def library(office: Office) -> Office:
    office.prefix("20.500", "chosen")
    office.do(mint, "20.500", statement=Statement(TARGET), suffixes=["a b", "thesis-1"])
    return office


def at_home(office: Office, use_case: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **options: Any) -> T:
    """Run a use case for a caller that reaches the resolver at these addresses."""

    async def run() -> T:
        with use_own_addresses(ADDRESSES):
            return await use_case(office.registry, *arguments, **options)

    return office.run(run())


@pytest.mark.parametrize(
    "url",
    [
        f"{HERE}/20.500/a%20b",
        f"{HERE}/hdl/20.500/a%20b?info#top",
        f"{HERE}/hdl:20.500/a%20b",
        "http://localhost:8080/20.500/a%20b",
        "http://127.0.0.1/hdl/20.500/a b",
        f" {HERE}/20.500/a%20b ",
        f"<{HERE}/20.500/a%20b>.",
        f"({HERE}/hdl/20.500/a%20b?info).",
    ],
)
def test_every_use_case_takes_an_address_for_the_name(library: Office, url: str) -> None:
    admin = library.admin
    assert at_home(library, resolve, url).target == TARGET
    at_home(library, update, admin, url, Statement(f"{TARGET}new"))
    at_home(library, withdraw, admin, url, "lost")
    assert at_home(library, show, url).state == "withdrawn"
    assert library.ask(show, "20.500/a b").version == 3


@pytest.mark.parametrize("host", ["id.example.org/", "id.example.org/hdl.handle.net/", "hdl.handle.net/"])
def test_addresses_in_addresses_are_not_followed(library: Office, host: str) -> None:
    for count in (2, 60):
        with pytest.raises((NoSuchPrefix, InvalidName)):
            at_home(library, resolve, f"{host * count}20.500/thesis-1")


@pytest.mark.parametrize(
    "text", [f"<{'(' * 40}{HERE}/20.500/thesis-1", "<https://example.org/20.500/thesis-1>", "<20.5/x>"]
)
def test_brackets_around_other_text_mean_nothing(library: Office, text: str) -> None:
    with pytest.raises((NoSuchPrefix, InvalidName)):
        at_home(library, resolve, text)


def test_a_name_may_have_brackets_and_blanks(library: Office) -> None:
    library.prefix("<20", "chosen")
    library.do(mint, "<20", statement=Statement(f"{TARGET}bracket"), suffixes=["x>. "])
    assert at_home(library, resolve, "<20/x>. ").name == "<20/x>. "


def test_an_import_takes_addresses_for_names(library: Office) -> None:
    entries = [ImportPut(line=1, name=f"{HERE}/20.500/new", target=TARGET)]
    assert at_home(library, import_entries, library.admin, entries, ImportOptions()).created == 1
    assert library.ask(resolve, "20.500/new").target == TARGET


def test_a_search_finds_a_name_by_its_address(library: Office) -> None:
    assert [hit.name for hit in at_home(library, search, [f"{HERE}/20.500/thesis-1"])] == ["20.500/thesis-1"]
    assert [hit.name for hit in at_home(library, search, [f"{HERE}/hdl:20.500/thesis-1"])] == ["20.500/thesis-1"]
    assert [hit.name for hit in at_home(library, search, [f"<{HERE}/20.500/thesis-1>"])] == ["20.500/thesis-1"]
    assert at_home(library, search, [f"{HERE}/20.500/%zz"]) == []


def test_a_search_finds_a_name_in_any_form(library: Office) -> None:
    for form in ("hdl:20.500/thesis-1", "https://hdl.handle.net/20.500/thesis-1"):
        assert [hit.name for hit in library.ask(search, [form])] == ["20.500/thesis-1"]
    library.do(update, "20.500/a b", Statement("https://doi.org/10.1000/elsewhere"))
    assert [hit.name for hit in library.ask(search, ["https://doi.org/10.1000/elsewhere"])] == ["20.500/a b"]


def test_a_person_is_found_by_every_address_of_its_document(library: Office) -> None:
    person = library.do(observe, "https://example.org/staff", "2025-01-09T10:30:00Z", "0" * 64).name
    for rest in ("", "/v1", ".ttl", "/history"):
        assert at_home(library, show, f"{HERE}/{person}{rest}").name == person


@pytest.mark.parametrize("url", ["https://example.org/20.500/a%20b", f"{HERE}:8080/20.500/a%20b", f"{HERE}/"])
def test_the_address_of_another_server_is_no_name(library: Office, url: str) -> None:
    with pytest.raises(InvalidName):
        at_home(library, resolve, url)


def test_without_an_address_no_web_address_is_a_name(library: Office) -> None:
    with pytest.raises(InvalidName):
        library.ask(resolve, f"{HERE}/20.500/a%20b")


def test_the_name_in_an_address_is_exact(library: Office) -> None:
    """An address is decoded once, and its name is not replaced by one that is more likely."""
    library.prefix("12345", "chosen")
    suffixes = ["on8j99iqh", "a%20b", "a?b#c"]
    library.do(mint, "12345", statement=Statement(TARGET), suffixes=suffixes)
    for path, suffix in zip(("on8j99iqh", "a%2520b", "a%3Fb%23c"), suffixes, strict=True):
        assert at_home(library, resolve, f"{HERE}/12345/{path}").name == f"12345/{suffix}"


def test_an_unknown_name_in_an_address_is_named(library: Office) -> None:
    with pytest.raises(NoSuchName, match=r"'20\.500/none' is not registered"):
        at_home(library, resolve, f"{HERE}/20.500/none")
    with pytest.raises(NoSuchPrefix, match=r"'20\.599'"):
        at_home(library, resolve, f"{HERE}/hdl/20.599/a")


def test_an_address_in_an_address_is_no_name(library: Office) -> None:
    with pytest.raises(InvalidName):
        at_home(library, resolve, f"{HERE}/" * 70 + "20.500/a")


def test_a_prefix_hdl_keeps_its_names(library: Office) -> None:
    library.prefix("hdl", "chosen")
    library.do(mint, "hdl", statement=Statement(f"{TARGET}hdl"), suffixes=["20.500/a b", "x"])
    assert at_home(library, resolve, f"{HERE}/hdl/20.500/a%20b").name == "hdl/20.500/a b"
    assert at_home(library, resolve, f"{HERE}/hdl/x").name == "hdl/x"
    assert at_home(library, resolve, f"{HERE}/20.500/a%20b").name == "20.500/a b"
    with pytest.raises(NoSuchName):
        at_home(library, resolve, f"{HERE}/hdl/20.500/thesis-1")
