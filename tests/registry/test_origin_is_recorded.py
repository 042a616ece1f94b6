"""Who created an identifier, and when, is what the registry recorded: no door takes a value that says otherwise."""

import pytest
from tests.registry.handle_people import text
from tests.registry_fixture import Office

from perdure.errors import InvalidInput
from perdure.exchange.entry import Edit, Put
from perdure.names import handle
from perdure.records.record import Record
from perdure.records.value import Text
from perdure.registry import (
    Options,
    Statement,
    add_values,
    bind,
    import_entries,
    mint,
    mint_once,
    remove_values,
    show,
    update,
)
from perdure.registry.handles.incoming import without_shown

URL = "https://example.org/"
TYPES = "102.100.TYPE"
FORGED = {"CREATOR": "20.5000/somebody", "CREATION_DATE": "1999-01-01T00:00:00Z"}

DOORS = {
    "mint": lambda office, value: office.do(mint, "12345", suffixes=["n"], said=Statement(URL, (value,))),
    "mint once": lambda office, value: office.do(mint_once, "12345", suffixes=["n"], said=Statement(URL, (value,))),
    "bind": lambda office, value: office.do(bind, "12345/r", Statement(values=(value,))),
    "update": lambda office, value: office.do(update, "12345/a", Statement(values=(value,))),
    "add values": lambda office, value: office.do(add_values, "12345/a", [value]),
}


@pytest.fixture
def kept(office: Office) -> Office:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["a"], said=Statement(URL, (text(2, "DESC", "x"),)))
    office.do(mint, "12345", suffixes=["r"])
    return office


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", FORGED)
@pytest.mark.parametrize("prefix", [TYPES, "102.100.type"])
def test_no_door_takes_another_origin(kept: Office, door: str, kind: str, prefix: str) -> None:
    before = kept.everything()
    with pytest.raises(InvalidInput, match=kind) as refusal:
        DOORS[door](kept, text(190, f"{prefix}/{kind}", FORGED[kind]))
    assert refusal.value.part == "values[190].data"
    assert kept.everything() == before


def test_a_value_does_not_turn_into_an_origin(kept: Office) -> None:
    with pytest.raises(InvalidInput, match="CREATOR"):
        kept.do(update, "12345/a", Statement(values=(text(2, f"{TYPES}/CREATOR", "20.5000/somebody"),)))


def test_a_file_from_elsewhere_tells_who_created_a_name_and_when(kept: Office) -> None:
    told = tuple(text(190 + at, f"{TYPES}/{kind}", said) for at, (kind, said) in enumerate(FORGED.items()))
    kept.do(import_entries, [Put(line=1, name="12345/old", target=URL, values=told)], Options(strict=True))
    authority = kept.ask(show, "12345/old").authority
    assert (authority.creator, authority.created) == ("hdl:20.5000/somebody", FORGED["CREATION_DATE"])


def test_what_stands_there_from_an_import_does_not_hinder_other_changes(kept: Office) -> None:
    stands = text(190, f"{TYPES}/CREATOR", "20.5000/somebody")
    kept.do(import_entries, [Edit(line=1, name="12345/a", act="add", values=(stands,))], Options(strict=True))
    kept.do(update, "12345/a", Statement(values=(text(2, "DESC", "y"),)))
    kept.do(remove_values, "12345/a", [190])
    with pytest.raises(InvalidInput, match="CREATOR"):
        kept.do(add_values, "12345/a", [stands])


@pytest.mark.parametrize("type", [f"{TYPES}/CREATION_DATE", "T"])
def test_values_that_come_back_are_compared_in_one_go(type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside the one transaction that writes, nobody makes others wait by sending as much as a record can hold."""
    many = [text(index, type, FORGED["CREATION_DATE"]) for index in range(1000, 3000)]
    plain = tuple(text(index, "T", f"{index}") for index in range(1000, 3000))
    record = Record(state="active", creator="hdl:12345/x", created=FORGED["CREATION_DATE"], values=plain)
    looks = 0
    fold = handle.fold

    def counted(name: str) -> str:
        nonlocal looks
        looks += 1
        return fold(name)

    monkeypatch.setattr(handle, "fold", counted)
    kept = without_shown(many, record, TYPES, [text(index, "T", "shown") for index in range(5000, 7000)])
    assert looks < 10 * len(many)
    assert len(kept) == (0 if type != "T" else len(many))
    assert all(value.data == Text(FORGED["CREATION_DATE"]) for value in kept)
