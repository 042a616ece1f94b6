"""The TTL of a value: the caller's, that of the value which is replaced, that of the prefix, or a day."""

import pytest
from tests.registry_fixture import Office

from perdure.errors import InvalidInput, OutOfRange
from perdure.formats.import_entries import ImportPut
from perdure.records.value import UNSTATED_TTL, Text, Value
from perdure.registry import (
    Statement,
    add_prefix,
    add_subsystem,
    add_values,
    bind,
    change_prefix,
    import_entries,
    mint,
    show,
    update,
)
from perdure.registry.handles import mint_handle, put_handle, put_values

URL = "https://example.org/"
DAY, HOUR, MINUTE = 86_400, 3600, 60
SHORT, USUAL = "777", "778"


@pytest.fixture
def library(office: Office) -> Office:
    """A registry with two prefixes: one has a default TTL of an hour."""
    office.do(add_prefix, SHORT, minter="chosen", ttl=HOUR)
    office.do(add_prefix, USUAL, minter="chosen")
    return office


def ttls(office: Office, name: str) -> dict[int, int | str]:
    return {value.index: value.ttl for value in office.ask(show, name).values}


def build_value(index: int, kind: str = "URL", text: str = URL) -> Value:
    return Value(index, kind, Text(text), ttl=UNSTATED_TTL)


@pytest.mark.parametrize(("prefix", "ttl"), [(SHORT, HOUR), (USUAL, DAY)])
def test_a_value_without_a_ttl_gets_that_of_its_prefix_from_every_entry_point(
    library: Office, prefix: str, ttl: int
) -> None:
    with_email = Statement(target=URL, values=(build_value(2, "EMAIL", "a@example.org"),))
    library.do(mint, prefix, statement=with_email, suffixes=["minted"])
    library.do(mint, prefix, suffixes=["bound", "put-later"])
    library.do(bind, f"{prefix}/bound", with_email)
    library.do(mint, prefix, statement=Statement(target=URL, ttl=MINUTE), suffixes=["added"])
    library.do(add_values, f"{prefix}/added", [build_value(0, "EMAIL", "a@example.org")])
    library.do(put_handle, f"{prefix}/put", [build_value(1), build_value(2, "EMAIL", "a@example.org")])
    library.do(put_values, f"{prefix}/put", [build_value(1, text=f"{URL}other")])
    generated = library.do(mint_handle, f"{prefix}/x-", [build_value(1), build_value(2, "DESC", "a")]).name
    library.do(import_entries, [ImportPut(line=1, name=f"{prefix}/imported", target=URL)])
    for name in ("minted", "bound", "put", generated.partition("/")[2]):
        assert ttls(library, f"{prefix}/{name}") == {1: ttl, 2: ttl}, name
    assert ttls(library, f"{prefix}/added") == {1: MINUTE, 2: ttl}
    assert ttls(library, f"{prefix}/imported") == {1: ttl}


def test_a_new_target_keeps_the_ttl_of_the_old_one(library: Office) -> None:
    name = f"{SHORT}/a"
    library.do(mint, SHORT, statement=Statement(target=URL, ttl=MINUTE), suffixes=["a"])
    library.do(change_prefix, SHORT, ttl=DAY)
    library.do(update, name, Statement(target=f"{URL}new"))
    assert ttls(library, name) == {1: MINUTE}
    library.do(update, name, Statement(values=(build_value(1, text=f"{URL}newer"),)))
    assert ttls(library, name) == {1: MINUTE}
    library.do(update, name, Statement(ttl=0))
    [value] = library.ask(show, name).values
    assert (value.ttl, value.text) == (0, f"{URL}newer")
    library.do(update, name, Statement(target=URL, ttl="2031-01-01T00:00:00Z"))
    assert ttls(library, name) == {1: "2031-01-01T00:00:00Z"}


def test_the_ttl_of_a_target_that_does_not_exist_cannot_be_changed(library: Office) -> None:
    library.do(mint, USUAL, statement=Statement(values=(build_value(1, "EMAIL", "a@example.org"),)), suffixes=["a"])
    before = library.snapshot()
    with pytest.raises(InvalidInput, match="there is no target"):
        library.do(update, f"{USUAL}/a", Statement(ttl=MINUTE))
    assert library.snapshot() == before


@pytest.mark.parametrize("ttl", [-1, 2**31])
def test_the_default_ttl_of_a_prefix_is_in_the_range_of_the_protocol(library: Office, ttl: int) -> None:
    before = library.snapshot()
    for attempt in (
        lambda: library.do(add_prefix, "779", ttl=ttl),
        lambda: library.do(change_prefix, SHORT, ttl=ttl),
        lambda: library.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243", ttl=ttl),
        lambda: library.do(mint, SHORT, statement=Statement(target=URL, ttl=-2), suffixes=["b"]),
    ):
        with pytest.raises(OutOfRange):
            attempt()
    assert library.snapshot() == before


def test_a_subsystem_has_a_default_ttl_and_persons_have_none(library: Office) -> None:
    library.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243", ttl=HOUR)
    [pair] = library.do(mint, "sid.inpe.br/mtc-m18", statement=Statement(target=URL))
    assert ttls(library, pair.name) == {1: HOUR}
    with pytest.raises(InvalidInput, match="no values"):
        library.do(change_prefix, "POID", ttl=HOUR)
