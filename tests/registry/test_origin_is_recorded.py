"""The creator and the creation date are recorded by the registry: no API accepts a value that contradicts them."""

import pytest
from tests.registry.handle_identities import text
from tests.registry_fixture import Office

from perdure.errors import InvalidInput
from perdure.formats.import_entries import ImportEdit, ImportPut
from perdure.names import handle
from perdure.records.record import Record
from perdure.records.value import Text
from perdure.registry import (
    ImportOptions,
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
from perdure.registry.handles.received_values import drop_derived_values

URL = "https://example.org/"
TYPES = "102.100.TYPE"
FORGED = {"CREATOR": "20.5000/somebody", "CREATION_DATE": "1999-01-01T00:00:00Z"}

APIS = {
    "mint": lambda office, value: office.do(mint, "12345", suffixes=["n"], statement=Statement(URL, (value,))),
    "mint once": lambda office, value: office.do(
        mint_once, "12345", suffixes=["n"], statement=Statement(URL, (value,))
    ),
    "bind": lambda office, value: office.do(bind, "12345/r", Statement(values=(value,))),
    "update": lambda office, value: office.do(update, "12345/a", Statement(values=(value,))),
    "add values": lambda office, value: office.do(add_values, "12345/a", [value]),
}


@pytest.fixture
def sample_office(office: Office) -> Office:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["a"], statement=Statement(URL, (text(2, "DESC", "x"),)))
    office.do(mint, "12345", suffixes=["r"])
    return office


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", FORGED)
@pytest.mark.parametrize("prefix", [TYPES, "102.100.type"])
def test_no_api_accepts_another_origin(sample_office: Office, api: str, kind: str, prefix: str) -> None:
    before = sample_office.snapshot()
    with pytest.raises(InvalidInput, match=kind) as refusal:
        APIS[api](sample_office, text(190, f"{prefix}/{kind}", FORGED[kind]))
    assert refusal.value.part == "values[190].data"
    assert sample_office.snapshot() == before


def test_a_value_cannot_become_an_origin(sample_office: Office) -> None:
    with pytest.raises(InvalidInput, match="CREATOR"):
        sample_office.do(update, "12345/a", Statement(values=(text(2, f"{TYPES}/CREATOR", "20.5000/somebody"),)))


def test_a_file_from_elsewhere_states_the_creator_and_the_date(sample_office: Office) -> None:
    values = tuple(text(190 + at, f"{TYPES}/{kind}", content) for at, (kind, content) in enumerate(FORGED.items()))
    sample_office.do(
        import_entries, [ImportPut(line=1, name="12345/old", target=URL, values=values)], ImportOptions(strict=True)
    )
    authority = sample_office.ask(show, "12345/old").authority
    assert (authority.creator, authority.created) == ("hdl:20.5000/somebody", FORGED["CREATION_DATE"])


def test_imported_authority_metadata_does_not_prevent_other_changes(sample_office: Office) -> None:
    stands = text(190, f"{TYPES}/CREATOR", "20.5000/somebody")
    sample_office.do(
        import_entries, [ImportEdit(line=1, name="12345/a", act="add", values=(stands,))], ImportOptions(strict=True)
    )
    sample_office.do(update, "12345/a", Statement(values=(text(2, "DESC", "y"),)))
    sample_office.do(remove_values, "12345/a", [190])
    with pytest.raises(InvalidInput, match="CREATOR"):
        sample_office.do(add_values, "12345/a", [stands])


@pytest.mark.parametrize("type", [f"{TYPES}/CREATION_DATE", "T"])
def test_values_that_are_sent_back_are_compared_together(type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client cannot block other writers by sending as many values as a record can hold."""
    many = [text(index, type, FORGED["CREATION_DATE"]) for index in range(1000, 3000)]
    plain = tuple(text(index, "T", f"{index}") for index in range(1000, 3000))
    record = Record(state="active", creator="hdl:12345/x", created=FORGED["CREATION_DATE"], values=plain)
    looks = 0
    fold = handle.fold

    def count_and_fold(name: str) -> str:
        nonlocal looks
        looks += 1
        return fold(name)

    monkeypatch.setattr(handle, "fold", count_and_fold)
    remaining = drop_derived_values(many, record, TYPES, [text(index, "T", "shown") for index in range(5000, 7000)])
    assert looks < 10 * len(many)
    assert len(remaining) == (0 if type != "T" else len(many))
    assert all(value.data == Text(FORGED["CREATION_DATE"]) for value in remaining)
