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
        (f"{PLAIN}-RPQ", f"{WITH_PORT}-RPQ"),
        (f"{WITH_PORT}-RPQ", f"{PLAIN}.00-RPQ"),
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


@pytest.mark.parametrize(
    ("registered", "given"), [(WITH_PORT, PLAIN), (PLAIN, WITH_PORT), (f"{PLAIN}.00", PLAIN), (PLAIN, f"{PLAIN}.00")]
)
@pytest.mark.parametrize("case_sensitive", [True, False])
def test_a_label_that_was_registered_as_a_handle_is_found_in_other_spellings(
    office: Office, case_sensitive: bool, registered: str, given: str
) -> None:
    """As they were before Perdure knew labels without a subsystem: under a prefix that is the domain."""
    office.prefix("sid.inpe.br", "chosen", case_sensitive=case_sensitive)
    register(office, registered)
    assert office.ask(resolve, given).name == registered


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


@pytest.mark.parametrize("given", [PLAIN, WITH_PORT, f"{PLAIN}.00", f"{WITH_PORT}-NTC"])
def test_a_name_with_a_document_type_is_only_suggested(archive: Office, given: str) -> None:
    register(archive, f"{PLAIN}-RPQ", f"{PLAIN}-TDI", f"{PLAIN}.30")
    with pytest.raises(NoSuchName) as error:
        archive.ask(resolve, given)
    assert set(error.value.suggestions) == {f"{PLAIN}-RPQ", f"{PLAIN}-TDI"}


def test_two_citations_of_a_label_in_another_spelling_are_suggested(archive: Office) -> None:
    register(archive, f"{PLAIN}-RPQ", f"{WITH_PORT}-RPQ")
    with pytest.raises(NoSuchName) as error:
        archive.ask(resolve, f"{PLAIN}.00-RPQ")
    assert set(error.value.suggestions) == {f"{PLAIN}-RPQ", f"{WITH_PORT}-RPQ"}


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


def test_labels_in_any_table_get_prefixes_of_labels(office: Office) -> None:
    """In base 53, case tells items apart, whatever was chosen for the handles of the table."""
    names = ("6qtX3pFwXQZ3r59YD6/GUfab", "6qtX3pFwXQZ3r59YD6/gUfab", WITH_PORT, OPAQUE, "20.500/AB")
    entries = [ImportPut(line=line, name=name, target=f"{TARGET}{line}") for line, name in enumerate(names, 2)]
    assert office.do(import_entries, entries, ImportOptions(new_prefixes="ignore-case")).created == len(names)
    schemes = {
        prefix.name: (prefix.scheme, prefix.case_sensitive) for prefix in office.read(lambda reader: reader.prefixes())
    }
    assert schemes["6qtX3pFwXQZ3r59YD6"] == ("ibi", True)
    assert schemes["sid.inpe.br/mtc-m18"] == schemes["8JMKD3MGP8W"] == ("ibi", False)
    assert schemes["20.500"] == ("handle", False)
    assert office.ask(resolve, PLAIN).name == WITH_PORT


@pytest.mark.parametrize("names", [(PLAIN, "sid.inpe.br/other"), ("sid.inpe.br/other", PLAIN)])
def test_a_new_prefix_of_handles_takes_no_labels_away(office: Office, names: tuple[str, str]) -> None:
    """Neither in one file nor in two, a prefix is added that makes names ambiguous. The rest comes in."""
    entries = [ImportPut(line=line, name=name, target=TARGET) for line, name in enumerate(names, 2)]
    options = ImportOptions(new_prefixes="ignore-case")
    tally = office.do(import_entries, entries, options)
    assert tally.created + tally.refused == 2
    assert office.ask(resolve, names[0]).name == names[0]
    assert office.do(import_entries, entries[1:], options).finished
    assert office.ask(resolve, names[0]).name == names[0]
