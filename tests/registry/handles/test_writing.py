"""Reads, writes and deletions of Handle clients."""

from fractions import Fraction

import pytest
from tests.registry.handle_identities import FULL, admin, handle_identity, put_prefix_values, seckey, text, value_list
from tests.registry_fixture import NOON, Office

from perdure.errors import (
    ClockBehind,
    Immutable,
    InvalidInput,
    NameTaken,
    NoSuchName,
    NoSuchPrefix,
    NoSuchValue,
    NotAuthorised,
    OutOfRange,
    ValueExists,
    Withdrawn,
    WrongState,
)
from perdure.formats.handle_data import to_bytes
from perdure.names import pilin
from perdure.records.record import About
from perdure.records.value import Binary, Value
from perdure.registry import (
    Settings,
    Statement,
    add_subsystem,
    change_prefix,
    delete_handle,
    delete_values,
    grant,
    history,
    mint,
    mint_handle,
    observe,
    put_handle,
    put_values,
    read_handle,
    reconstruct,
    resolve,
    show,
    update,
    verify,
    withdraw,
)
from perdure.registry.entities import Agent, HandleIdentity
from perdure.registry.handles import find_key_material

URL = "https://example.org/"
NAME = "12345/Thesis-1"
WHEN = "2025-01-09T10:30:00Z"
NOW = "2027-01-15T08:00:00Z"


@pytest.fixture
def adm(office: Office) -> HandleIdentity:
    """Return a client that may create under a prefix, by the record of that prefix."""
    office.prefix("12345", "chosen", case_sensitive=False)
    put_prefix_values(office, "12345", admin(300, "12345/adm", 300, "1" * 12))
    office.do(put_handle, "12345/adm", [text(1, "DESC", "an administrator")])
    return handle_identity(300, "12345/adm")


def indexes(office: Office, name: str, by: Agent | None = None) -> list[tuple[int, str]]:
    view = office.ask(read_handle, name, by=by, wants_all=by is not None)
    return [(value.index, value.type) for value in view.values]


def create(office: Office, by: Agent, name: str = NAME, *more: Value) -> None:
    office.by(by, put_handle, name, [text(1, "URL", URL), admin(100, by.name, by.index, FULL), *more])


# Creating


def test_a_client_creates_a_handle_and_changes_it(office: Office, adm: HandleIdentity) -> None:
    written = office.by(adm, put_handle, NAME, [text(4, "DESC", "x"), text(1, "URL", URL), admin(100, adm.name, 300)])
    assert (written.name, written.created, written.version) == (NAME, True, 1)
    again = office.by(adm, put_handle, "12345/THESIS-1", [text(1, "URL", URL + "b"), admin(100, adm.name, 300)])
    assert (again.name, again.created, again.version) == (NAME, False, 2)
    view = office.ask(read_handle, "hdl:12345/thesis-1")
    assert [(value.index, value.type) for value in view.values] == [
        (1, "URL"),
        (100, "HS_ADMIN"),
        (190, "102.100.TYPE/CREATION_DATE"),
        (191, "102.100.TYPE/CREATOR"),
    ]
    assert (view.name, view.state, view.version, view.key, view.withheld) == (NAME, "active", 2, "12345/thesis-1", 0)
    assert view.values[3].text == "12345/adm"
    assert office.ask(resolve, NAME).target == URL + "b"
    assert [(one.agent, one.action) for one in office.ask(history, NAME)] == [
        ("300:12345/adm", "create"),
        ("300:12345/adm", "set"),
    ]
    assert office.ask(verify) == []


def test_without_overwrite_an_existing_name_is_an_error(office: Office, adm: HandleIdentity) -> None:
    create(office, adm)
    with pytest.raises(NameTaken):
        office.by(adm, put_handle, NAME, [text(1, "URL", URL)], overwrite=False)
    with pytest.raises(NameTaken):
        office.by(adm, put_handle, "0.NA/12345", [], overwrite=False)


def test_an_empty_record_can_be_created(office: Office, adm: HandleIdentity) -> None:
    office.by(adm, put_handle, NAME, [])
    assert [kind for _, kind in indexes(office, NAME)] == ["HS_ADMIN", "102.100.TYPE/CREATION_DATE", "102.100.TYPE/CREATOR"]  # fmt: skip
    assert office.ask(show, NAME).authority.created == NOW
    assert office.ask(verify) == []


def test_a_new_suffix_is_minted_on_request(office: Office, adm: HandleIdentity) -> None:
    first = office.by(adm, mint_handle, "12345/", [text(1, "URL", URL)])
    second = office.by(adm, mint_handle, "12345/thesis-", [text(1, "URL", URL)])
    assert first.created
    assert len(first.name) == len("12345/") + 36
    assert second.name.startswith("12345/thesis-")
    assert len(second.name) == len("12345/thesis-") + 36


@pytest.mark.parametrize("act", [put_handle, put_values, mint_handle])
def test_an_anonymous_caller_writes_nothing(office: Office, adm: HandleIdentity, act: object) -> None:
    create(office, adm)
    before = office.snapshot()
    with pytest.raises(NotAuthorised):
        office.by(None, act, NAME, [text(1, "URL", URL + "x")])
    for delete in (lambda: office.by(None, delete_handle, NAME), lambda: office.by(None, delete_values, NAME, [1])):
        with pytest.raises(NotAuthorised):
            delete()
    assert office.snapshot() == before


def test_an_identity_without_permission_is_refused_even_if_nothing_would_change(
    office: Office, adm: HandleIdentity
) -> None:
    create(office, adm)
    stranger = handle_identity(300, "12345/stranger")
    for act in (put_handle, put_values):
        with pytest.raises(NotAuthorised):
            office.by(stranger, act, NAME, [text(1, "URL", URL)])
    with pytest.raises(NotAuthorised):
        office.by(stranger, put_handle, "12345/new", [])
    with pytest.raises(NotAuthorised):
        office.by(stranger, delete_handle, NAME)
    with pytest.raises(NotAuthorised):
        office.by(stranger, delete_values, NAME, [1])


def test_names_under_a_pilin_prefix_are_not_chosen(office: Office) -> None:
    office.prefix("555")
    for suffix in ("0N8J991QH", "on8j991qh", "a-chosen-name", "ADMIN"):
        with pytest.raises(InvalidInput, match="mintNewSuffix"):
            office.do(put_handle, f"555/{suffix}", [text(1, "URL", URL)])
    with pytest.raises(InvalidInput, match="mintNewSuffix"):
        office.do(mint_handle, "555/thesis-", [text(1, "URL", URL)])
    jan = office.hire("jan")
    with pytest.raises(NotAuthorised):
        office.by(jan, put_handle, "555/a-chosen-name", [text(1, "URL", URL)])
    assert office.ask(verify) == []


def test_existing_names_under_a_pilin_prefix_can_be_changed(office: Office) -> None:
    office.prefix("555", "chosen")
    office.do(put_handle, "555/earlier", [text(1, "URL", URL)])
    office.do(change_prefix, "555", minter="pilin")
    minted = office.do(mint, "555", statement=Statement(URL))[0].name
    reserved = office.do(mint, "555")[0].name
    for name in (minted, "555/earlier"):
        assert not office.do(put_handle, name, [text(1, "URL", URL + "changed")]).created
        office.do(delete_handle, name)
        assert office.do(put_handle, name, [text(1, "URL", URL + "again")]).created
    assert office.do(put_handle, reserved, [text(1, "URL", URL)]).created, "it is bound"


def test_a_new_suffix_under_a_pilin_prefix_is_minted_by_its_minter(office: Office) -> None:
    office.prefix("555")
    put_prefix_values(office, "555", admin(300, "12345/adm", 300, "1" * 12))
    adm = handle_identity(300, "12345/adm")
    made = [office.by(adm, mint_handle, "hdl:555/", [text(1, "URL", URL)]).name for _ in range(3)]
    (between,) = office.do(mint, "555", statement=Statement(URL))
    dates = [pilin.decode(name.partition("/")[2]) for name in (*made, between.name)]
    assert dates == list(range(dates[0], dates[0] + 4)), "one timeline for all APIs"
    assert office.clock.now >= NOON + Fraction(3, 1000), "a name is returned when its date has come"
    assert office.ask(show, made[0]).authority.created == NOW
    assert office.ask(resolve, made[0]).target == URL
    keyed = office.do(mint_handle, "555/", [seckey(300, "a secret")]).name
    assert office.ask(find_key_material, 300, keyed).secret == b"a secret"
    put_prefix_values(office, "555", seckey(301, "another"))
    assert office.ask(find_key_material, 301, "0.NA/555").secret == b"another", (
        "the prefix itself can be an administrator"
    )
    with pytest.raises(NotAuthorised):
        office.by(handle_identity(1, "12345/adm"), mint_handle, "555/", [text(1, "URL", URL)])
    office.clock.step(-1)
    with pytest.raises(ClockBehind):  # rather than waste a name on a caller that cannot wait
        office.do(mint_handle, "555/", [text(1, "URL", URL)], patience=Fraction(1, 2))
    assert office.ask(verify) == []


def test_names_under_other_prefixes_can_be_chosen_for_every_minter(office: Office) -> None:
    office.prefix("666", "sequential", pattern="t-##")
    office.do(put_handle, "666/t-01", [text(1, "URL", URL)])
    assert office.do(mint, "666")[0].name == "666/t-02"


def test_an_unknown_prefix_is_not_written_to(office: Office) -> None:
    for act in (lambda: office.do(put_handle, "777/x", []), lambda: office.ask(read_handle, "777/x")):
        with pytest.raises(NoSuchPrefix):
            act()


# Values


def test_values_are_put_one_by_one(office: Office, adm: HandleIdentity) -> None:
    create(office, adm)
    written = office.by(adm, put_values, NAME, [text(2, "DESC", "x"), text(1, "URL", URL + "b")])
    assert (written.created, written.version) == (True, 2)
    office.clock.step(60)
    written = office.by(adm, put_values, NAME, [text(2, "DESC", "y")])
    assert (written.created, written.version) == (False, 3)
    assert office.by(adm, put_values, NAME, [text(2, "DESC", "y")]).version == 3
    values = {value.index: value for value in office.ask(read_handle, NAME).values}
    assert (values[1].text, values[1].timestamp) == (URL + "b", NOW)
    assert (values[2].text, values[2].timestamp) == ("y", "2027-01-15T08:01:00Z")


def test_the_registry_sets_the_timestamp_and_not_the_client(office: Office, adm: HandleIdentity) -> None:
    office.by(adm, put_handle, NAME, [Value(1, "URL", text(1, "URL", URL).data, "2099-01-01T00:00:00Z")])
    assert office.ask(read_handle, NAME).values[0].timestamp == NOW


def test_without_overwrite_an_existing_value_is_not_replaced(office: Office, adm: HandleIdentity) -> None:
    create(office, adm)
    with pytest.raises(ValueExists) as refusal:
        office.by(adm, put_values, NAME, [text(5, "DESC", "x"), text(1, "URL", URL + "b")], overwrite=False)
    assert (refusal.value.name, refusal.value.index, refusal.value.code) == (NAME, 1, "value-exists")
    assert office.ask(show, NAME).version == 1
    office.by(adm, put_values, NAME, [text(5, "DESC", "x")], overwrite=False)


def test_a_repeated_index_is_a_conflict(office: Office, adm: HandleIdentity) -> None:
    for act in (put_handle, put_values):
        with pytest.raises(ValueExists):
            office.by(adm, act, NAME, [text(1, "URL", URL), text(1, "DESC", "x")])


def test_values_are_deleted_all_or_none(office: Office, adm: HandleIdentity) -> None:
    create(office, adm, NAME, text(2, "DESC", "x"), text(3, "DESC", "y"))
    with pytest.raises(NoSuchValue) as refusal:
        office.by(adm, delete_values, NAME, [2, 7, 5])
    assert (refusal.value.name, refusal.value.indexes) == (NAME, (5, 7))
    assert office.by(adm, delete_values, NAME, [2, 3]).version == 2
    assert indexes(office, NAME)[:2] == [(1, "URL"), (100, "HS_ADMIN")]


@pytest.mark.parametrize(
    "value",
    [text(0, "URL", URL), text(1, "URL", "javascript:alert(1)"), text(1, "", "x"), text(1, "DESC", "x", "11"),
     Value(100, "HS_ADMIN", text(1, "x", "root").data), Value(100, "HS_VLIST", Binary(b"\x00")),
     admin(100, "12345/x", 300, "11"), text(2**31, "DESC", "x"), text(1, "DESC", "x\x00y")],
)  # fmt: skip
def test_an_invalid_value_is_refused_before_anything_is_written(
    office: Office, adm: HandleIdentity, value: Value
) -> None:
    create(office, adm)
    before = office.snapshot()
    for act, name in ((put_handle, "12345/new"), (put_handle, NAME), (put_values, NAME)):
        with pytest.raises(InvalidInput):
            office.by(adm, act, name, [value])
    assert office.snapshot() == before


def test_the_size_of_a_record_is_limited(office: Office, adm: HandleIdentity) -> None:
    small = office.with_settings(limits=Settings().limits.__class__(values=3, record_bytes=700))
    few = [text(index, "DESC", "x") for index in range(1, 5)]
    with pytest.raises(OutOfRange):
        office.run(put_handle(small, adm, NAME, few))
    office.run(put_handle(small, adm, NAME, [few[0], admin(100, adm.name, 300)]))
    with pytest.raises(OutOfRange):
        office.run(put_values(small, adm, NAME, few[1:3]))
    with pytest.raises(OutOfRange):
        office.run(put_handle(small, adm, "12345/long", [text(1, "DESC", "x" * 800)]))


def test_administrators_and_lists_may_be_sent_as_bytes(office: Office, adm: HandleIdentity) -> None:
    """The native protocol sends bytes: the decoded values give the rights."""
    bytes_of = [Value(one.index, one.type, Binary(to_bytes(one.data))) for one in (admin(100, adm.name, 300), value_list(200, ("12345/x", 3)))]  # fmt: skip
    office.by(adm, put_handle, NAME, bytes_of)
    values = office.ask(read_handle, NAME).values
    assert values[0].data == admin(100, adm.name, 300).data
    assert next(value for value in values if value.index == 200).data == value_list(200, ("12345/x", 3)).data


# What is only shown


def test_a_shown_record_can_be_sent_back(office: Office) -> None:
    office.prefix("12345", "chosen")
    office.do(put_handle, "12345/a", [text(1, "URL", URL)])
    shown = office.ask(read_handle, "12345/a").values
    assert len(shown) == 4
    assert office.do(put_handle, "12345/a", shown).version == 1
    changed = [text(1, "URL", URL + "b"), *shown[1:]]
    assert office.do(put_handle, "12345/a", changed).version == 2
    assert [value.index for value in office.ask(show, "12345/a").values] == [1]
    assert office.do(put_values, "12345/a", shown[1:]).version == 2


def test_the_origin_of_an_identifier_never_changes(office: Office, adm: HandleIdentity) -> None:
    create(office, adm)
    for kind in ("CREATION_DATE", "CREATOR"):
        for name in (NAME, "12345/new"):
            with pytest.raises(InvalidInput, match=kind):
                office.by(adm, put_handle, name, [text(5, f"102.100.type/{kind}", "12345/somebody-else")])


def test_the_administrator_of_a_new_record_is_stored_though_it_looks_derived(
    office: Office, adm: HandleIdentity
) -> None:
    """The derived one gives no right: the creator of a handle must be able to change it."""
    own = handle_identity(200, "12345/adm")
    put_prefix_values(office, "12345", admin(301, "12345/adm", 200, "1" * 12))
    office.by(own, put_handle, NAME, [text(1, "URL", URL), admin(100, "12345/adm", 200)])
    office.by(own, put_values, NAME, [text(1, "URL", URL + "b")])
    office.by(own, delete_handle, NAME)
    office.by(own, put_handle, NAME, [text(1, "URL", URL), admin(100, "12345/adm", 200)])
    office.by(own, put_values, NAME, [text(1, "URL", URL + "b")])


def test_derived_values_cannot_be_deleted(office: Office) -> None:
    office.prefix("12345", "chosen")
    office.do(put_handle, "12345/a", [text(1, "URL", URL)])
    with pytest.raises(NoSuchValue):
        office.do(delete_values, "12345/a", [100])


# Deleting, and creating again


def test_a_deleted_handle_is_withdrawn_and_can_be_created_again(office: Office, adm: HandleIdentity) -> None:
    create(office, adm)
    office.clock.step(60)
    assert office.by(adm, delete_handle, NAME).version == 2
    for act in (
        lambda: office.ask(read_handle, NAME),
        lambda: office.by(adm, delete_handle, NAME),
        lambda: office.by(adm, put_values, NAME, [text(1, "URL", URL)]),
        lambda: office.by(adm, delete_values, NAME, [1]),
    ):
        with pytest.raises(Withdrawn, match="Handle API"):
            act()
    created = office.by(adm, put_handle, NAME, [text(1, "URL", URL + "again")], overwrite=False)
    assert (created.created, created.version) == (True, 3)
    view = office.ask(show, NAME)
    assert (view.state, view.authority.created, view.tombstone) == ("active", NOW, None)
    assert [one.action for one in office.ask(history, NAME)] == ["create", "withdraw", "reinstate"]
    assert office.ask(verify) == []


def test_a_missing_handle_is_neither_changed_nor_deleted(office: Office, adm: HandleIdentity) -> None:
    for act in (lambda: office.by(adm, delete_handle, NAME), lambda: office.by(adm, delete_values, NAME, [1])):
        with pytest.raises(NoSuchName):
            act()
    with pytest.raises(NoSuchName):
        office.by(adm, put_values, NAME, [text(1, "URL", URL)])


def test_recreating_a_deleted_handle_needs_permission_to_reinstate(office: Office, adm: HandleIdentity) -> None:
    create(office, adm)
    office.by(adm, delete_handle, NAME)
    jan = office.hire("jan", "12345", "mint")
    values = [text(1, "URL", URL), admin(100, adm.name, 300, FULL)]
    for missing, action in (("withdraw", "withdraw"), ("edit", "edit")):
        with pytest.raises(NotAuthorised) as refusal:
            office.by(jan, put_handle, NAME, [text(1, "URL", URL + "x"), values[1]])
        assert refusal.value.action == action
        office.do(grant, "jan", "12345", [missing])
    with pytest.raises(NotAuthorised):
        office.by(jan, put_handle, NAME, [text(1, "URL", URL), admin(100, "12345/jan", 300)])
    assert office.by(jan, put_handle, NAME, [text(1, "URL", URL + "x"), values[1]]).created


def test_a_reserved_name_is_bound_with_permission_to_edit(office: Office, adm: HandleIdentity) -> None:
    office.do(mint, "12345", suffixes=["r"])
    for act in (lambda: office.ask(read_handle, "12345/r"), lambda: office.do(put_values, "12345/r", [text(1, "URL", URL)])):  # fmt: skip
        with pytest.raises(WrongState):
            act()
    with pytest.raises(NotAuthorised):
        office.by(adm, put_handle, "12345/r", [text(1, "URL", URL)])
    assert office.by(office.hire("jan", "12345", "edit"), put_handle, "12345/r", [text(1, "URL", URL)]).created
    assert office.ask(show, "12345/r").authority.created == NOW


# Other schemes


def test_labels_and_person_identifiers_have_a_handle_form(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    label = office.do(mint, "sid.inpe.br/mtc-m18", statement=Statement(URL))[0]
    poid = office.do(observe, URL, WHEN, "0" * 64).name
    prid = office.do(reconstruct, [poid], "https://orcid.org/0000-0002-1825-0097", WHEN).name
    for name in (label.name, label.alias):
        assert indexes(office, name)[0] == (1, "URL")
        with pytest.raises(InvalidInput):
            office.do(put_handle, name, [text(1, "URL", URL)])
        office.do(put_values, name, [text(2, "DESC", name)])
    assert office.ask(read_handle, label.alias).values[1].text == label.alias
    assert [kind for _, kind in indexes(office, poid)] == ["HS_ADMIN", "102.100.TYPE/CREATION_DATE", "102.100.TYPE/CREATOR"]  # fmt: skip
    with pytest.raises(Immutable):
        office.do(put_values, poid, [text(1, "URL", URL)])
    for name in (poid, prid, "POID-93b0-4476-560e-5ac1"):
        with pytest.raises(InvalidInput):
            office.do(put_handle, name, [text(1, "URL", URL)])
    office.do(put_values, prid, [text(1, "URL", URL)])
    office.do(delete_handle, label.name)
    with pytest.raises(Withdrawn):
        office.ask(read_handle, label.alias)
    assert office.ask(verify) == []


# Reading


def test_values_that_are_not_public_are_counted_and_hidden(office: Office, adm: HandleIdentity) -> None:
    create(office, adm, NAME, text(5, "NOTE", "private", "1100"), text(6, "NOTE", "sealed", "0000"))
    assert office.ask(read_handle, NAME).withheld == 2
    assert office.ask(read_handle, NAME, by=adm).withheld == 2
    assert office.ask(read_handle, NAME, by=handle_identity(301, "12345/adm"), wants_all=True).withheld == 2
    view = office.ask(read_handle, NAME, by=adm, wants_all=True)
    assert [value.index for value in view.values][:3] == [1, 5, 100]
    assert view.withheld == 1
    assert office.ask(read_handle, NAME, by=office.admin, wants_all=True).withheld == 1


def test_a_private_administrator_does_not_make_another_appear(office: Office, adm: HandleIdentity) -> None:
    private = Value(100, "HS_ADMIN", admin(100, adm.name, 300).data, permissions="1100")
    office.by(adm, put_handle, NAME, [text(1, "URL", URL), private])
    assert [kind for _, kind in indexes(office, NAME)] == ["URL", "102.100.TYPE/CREATION_DATE", "102.100.TYPE/CREATOR"]


def test_a_misspelt_pilin_name_is_corrected_when_reading(office: Office) -> None:
    office.prefix("555")
    minted = office.do(mint, "555", statement=Statement(URL))[0].name
    assert office.ask(read_handle, minted.lower()).name == minted


def test_handle_clients_preserve_fields_written_by_the_rest_api(office: Office, adm: HandleIdentity) -> None:
    create(office, adm)
    office.do(update, NAME, Statement(about=About(what="A thesis")))
    office.by(adm, put_handle, NAME, [text(1, "URL", URL + "b"), admin(100, adm.name, 300, FULL)])
    office.by(adm, delete_handle, NAME)
    office.by(adm, put_handle, NAME, [text(1, "URL", URL + "c")])
    assert office.ask(show, NAME).about == About(what="A thesis")


def test_a_name_that_was_withdrawn_elsewhere_is_withdrawn_here(office: Office, adm: HandleIdentity) -> None:
    create(office, adm)
    office.do(withdraw, NAME, "a mistake", replaced_by="12345/adm")
    with pytest.raises(Withdrawn) as refusal:
        office.ask(read_handle, NAME)
    assert refusal.value.replaced_by == "hdl:12345/adm"
