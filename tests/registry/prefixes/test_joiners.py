"""Zero-width joiners: refused in handles, unless their prefix allows them, and then only where they are visible."""

from urllib.parse import quote

import pytest
from tests.registry_fixture import Office

from perdure.errors import InvalidInput, InvalidName
from perdure.formats.import_entries import ImportPut
from perdure.rdf.iris import find_iri
from perdure.records.namespaces import Namespaces
from perdure.records.value import Admin, AdminRights, Text, Value
from perdure.registry import (
    ImportOptions,
    Statement,
    add_prefix,
    change_prefix,
    import_entries,
    mint,
    resolve,
    show,
)
from perdure.registry.handles import add_handle_user, put_handle, read_handle
from perdure.registry.handles.identities import build_identity
from perdure.registry.handles.users import parse_user
from perdure.registry.importing.chunk import Problem

PERSIAN = "می\u200cخواهم"
SINHALA = "ශ්\u200dරී"
URL = "https://example.org/"


def test_a_prefix_that_allows_joiners_has_names_with_them(office: Office) -> None:
    office.do(add_prefix, "777", minter="chosen", joiners=True)
    plain = PERSIAN.replace("\u200c", "")
    office.do(mint, "777", statement=Statement(target=URL), suffixes=[PERSIAN])
    office.do(mint, "777", statement=Statement(target=f"{URL}plain"), suffixes=[plain])
    office.do(put_handle, f"777/{SINHALA}", [Value(1, "URL", Text(f"{URL}sri"))])
    office.do(import_entries, [ImportPut(line=1, name=f"777/1 {PERSIAN}", target=f"{URL}imported")])
    for suffix, target in ((PERSIAN, ""), (plain, "plain"), (SINHALA, "sri"), (f"1 {PERSIAN}", "imported")):
        for text in (f"777/{suffix}", f"hdl:777/{suffix}", f"https://hdl.handle.net/777/{suffix}"):
            assert office.ask(resolve, text).target == URL + target


def test_another_prefix_refuses_joiners_and_says_how_they_are_allowed(office: Office) -> None:
    office.do(add_prefix, "777", minter="chosen")
    for attempt in (
        lambda: office.do(mint, "777", suffixes=[PERSIAN]),
        lambda: office.do(put_handle, f"777/{PERSIAN}", [Value(1, "URL", Text(URL))]),
        lambda: office.ask(resolve, f"777/{PERSIAN}"),
    ):
        with pytest.raises(InvalidName, match=r"'\\u200c' \(U\+200C\)") as refusal:
            attempt()
        assert refusal.value.part == "suffix"
        assert "perdure prefix change 777 --joiners" in str(refusal.value)
    with pytest.raises(InvalidName, match=r"only some prefixes allow$"):
        office.ask(resolve, f"999/{PERSIAN}")
    office.do(change_prefix, "777", joiners=True)
    office.do(mint, "777", statement=Statement(target=URL), suffixes=[PERSIAN])
    assert office.ask(resolve, f"777/{PERSIAN}").target == URL


@pytest.mark.parametrize("suffix", ["a\u200cb", "\u200cمی", "می\u200d", "م\u200c-ی", "می\u200bخ", "م\u200eی"])
def test_a_joiner_that_joins_nothing_is_refused_everywhere(office: Office, suffix: str) -> None:
    office.do(add_prefix, "777", minter="chosen", joiners=True)
    before = office.snapshot()
    with pytest.raises(InvalidName):
        office.do(mint, "777", suffixes=[suffix])
    with pytest.raises(InvalidName):
        office.ask(resolve, f"777/{suffix}")
    assert office.snapshot() == before


def test_an_owner_may_have_a_name_with_joiners(office: Office) -> None:
    office.do(add_prefix, "777", minter="chosen", joiners=True)
    office.do(mint, "777", statement=Statement(target=URL), suffixes=[PERSIAN])
    owners = (f"hdl:777/{PERSIAN}",)
    office.do(mint, "777", statement=Statement(target=URL, owners=owners), suffixes=["owned"])
    shown = office.ask(read_handle, "777/owned").values
    assert [value.data for value in shown if value.type == "HS_ADMIN"] == [
        Admin(AdminRights(f"777/{PERSIAN}", 200, "000000000000"))
    ]
    assert find_iri(owners[0], Namespaces()) == f"https://hdl.handle.net/777/{quote(PERSIAN)}"


def test_a_handle_client_may_have_a_name_with_joiners(office: Office) -> None:
    office.do(add_prefix, "777", minter="chosen", joiners=True)
    user = parse_user(f"300:777/{PERSIAN}")
    office.do(add_handle_user, user, b"secret")
    identity = build_identity(300, user.name)
    office.by(identity, put_handle, "777/a", [Value(1, "URL", Text(URL))])
    assert office.ask(show, "777/a").authority.creator == f"hdl:777/{PERSIAN}"


def test_an_import_with_new_prefixes_says_how_joiners_are_allowed(office: Office) -> None:
    entries = [ImportPut(line=1, name=f"777/{PERSIAN}", target=URL)]
    options = ImportOptions(new_prefixes="case-sensitive")
    problems: list[Problem] = []
    assert office.do(import_entries, entries, options, report=problems.append).refused == 1
    assert "perdure prefix change 777 --joiners" in str(problems[-1])
    office.do(change_prefix, "777", joiners=True)
    assert office.do(import_entries, entries, options).created == 1


def test_joiners_stay_allowed(office: Office) -> None:
    office.do(add_prefix, "777", minter="chosen", joiners=True)
    with pytest.raises(InvalidInput, match="stay allowed"):
        office.do(change_prefix, "777", joiners=False)
    with pytest.raises(InvalidInput, match="not a Handle prefix"):
        office.do(change_prefix, "POID", joiners=True)
    assert office.do(change_prefix, "777", policy="New.").joiners
