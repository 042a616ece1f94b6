"""IBI labels in other spellings than the registered one: the exact name first, then the item that they certainly mean."""

import pytest
from tests.registry_fixture import Office

from perdure.errors import NoSuchName
from perdure.formats.import_entries import ImportPut
from perdure.registry import ImportOptions, Statement, add_subsystem, import_entries, mint, resolve, show, update

TARGET = "https://example.org/"
PLAIN = "sid.inpe.br/mtc-m18/2009/02.16.17.46"
WITH_PORT = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
OPAQUE = "8JMKD3MGP8W/34PGRBS"


@pytest.fixture
def archive(office: Office) -> Office:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    return office


def register(office: Office, *names: str) -> None:
    entries = [ImportPut(line=line, name=name, target=f"{TARGET}{line}") for line, name in enumerate(names)]
    assert office.do(import_entries, entries, ImportOptions()).created == len(names)


@pytest.mark.parametrize(
    ("registered", "given"),
    [
        (WITH_PORT, PLAIN),
        (PLAIN, WITH_PORT),
        (PLAIN, "SID.inpe.br/mtc-m18.80/2009/02.16.17.46"),
        (PLAIN, f"{PLAIN}.00"),
        (f"{WITH_PORT}.00", PLAIN),
        (PLAIN, f"{PLAIN}-RPQ"),
        (WITH_PORT, f"{PLAIN}-TDI"),
        (OPAQUE, f"{OPAQUE}-NTC"),
        (OPAQUE, "8JMKD3MGP8W34K/34PGRBS"),
        (OPAQUE, "ibi:8JMKD3MGP8W/234PGRBS"),
        (PLAIN, f"http://urlib.net/rep/{WITH_PORT}"),
    ],
)
def test_another_spelling_leads_to_the_registered_name(archive: Office, registered: str, given: str) -> None:
    register(archive, registered)
    assert archive.ask(resolve, given).name == registered
    archive.do(update, given, Statement(f"{TARGET}new"))
    assert archive.ask(show, registered).version == 2


def test_the_exact_name_comes_first(archive: Office) -> None:
    names = (PLAIN, WITH_PORT, f"{PLAIN}-RPQ", f"{WITH_PORT}-RPQ", f"{PLAIN}.00")
    register(archive, *names)
    for name in names:
        assert archive.ask(resolve, name).name == name


def test_the_label_of_a_citation_comes_before_its_other_spellings(archive: Office) -> None:
    register(archive, PLAIN, WITH_PORT)
    assert archive.ask(resolve, f"{WITH_PORT}-RPQ").name == WITH_PORT


def test_two_possible_items_are_suggested(archive: Office) -> None:
    register(archive, PLAIN, WITH_PORT)
    with pytest.raises(NoSuchName) as error:
        archive.ask(resolve, "sid.inpe.br/mtc-m18.80/2009/02.16.17.46")
    assert set(error.value.suggestions) == {PLAIN, WITH_PORT}


def test_a_name_with_a_document_type_is_only_suggested(archive: Office) -> None:
    register(archive, f"{PLAIN}-RPQ", f"{PLAIN}-TDI", f"{PLAIN}.30")
    with pytest.raises(NoSuchName) as error:
        archive.ask(resolve, PLAIN)
    assert set(error.value.suggestions) == {f"{PLAIN}-RPQ", f"{PLAIN}-TDI"}


def test_another_instant_or_port_is_another_item(archive: Office) -> None:
    archive.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.244", port=1905)
    register(archive, PLAIN)
    for other in (f"{PLAIN}.01", "sid.inpe.br/mtc-m18.1905/2009/02.16.17.46"):
        with pytest.raises(NoSuchName) as error:
            archive.ask(resolve, other)
        assert error.value.suggestions == ()


def test_a_label_of_the_old_form_is_found_with_a_document_type(archive: Office) -> None:
    archive.prefix("APM77Z", "chosen")
    archive.do(mint, "APM77Z", statement=Statement(TARGET), suffixes=["KFQ6", "KFQ6T"])
    assert archive.ask(resolve, "APM77Z/KFQ6-RPQ").name == "APM77Z/KFQ6"
    with pytest.raises(NoSuchName):
        archive.ask(resolve, "APM77Z/kFQ6T-RPQ")


def test_the_document_type_of_another_handle_is_part_of_its_name(archive: Office) -> None:
    archive.prefix("20.500", "chosen")
    archive.do(mint, "20.500", statement=Statement(TARGET), suffixes=["thesis"])
    with pytest.raises(NoSuchName):
        archive.ask(resolve, "20.500/thesis-RPQ")
