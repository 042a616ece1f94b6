"""Authority metadata, from a record alone."""

import pytest

from perdure.records.authority_metadata import (
    AuthorityMetadata,
    build_metadata,
    to_handle,
    to_seconds,
)
from perdure.records.derived_values import handle_values
from perdure.records.record import Record
from perdure.records.value import Admin, AdminRights, Text, Value

CREATED = "2007-06-22T02:53:46Z"
BOUND = Record(state="active", creator="hdl:102.100.272/0N8J991QH", created=CREATED)


def with_values(*values: Value) -> Record:
    return Record(state="active", creator=BOUND.creator, created=CREATED, values=values)


@pytest.mark.parametrize(
    ("value_at", "revised_at", "updated"),
    [
        ("2007-08-10T04:23:11Z", "2007-07-01T00:00:00.000000Z", "2007-08-10T04:23:11Z"),
        ("2007-07-01T00:00:00Z", "2007-08-10T04:23:11.999999Z", "2007-08-10T04:23:11Z"),
        ("1999-01-01T00:00:00Z", "1999-01-01T00:00:00.000000Z", CREATED),
    ],
)
def test_the_last_update_is_the_newest_timestamp(value_at: str, revised_at: str, updated: str) -> None:
    record = with_values(Value(1, "URL", Text("https://example.org/"), value_at))
    assert build_metadata(record, revised_at).updated == updated


def test_a_reserved_name_has_no_dates() -> None:
    record = Record(state="reserved", creator="hdl:1/a")
    assert build_metadata(record, "2007-08-10T04:23:11.000000Z") == AuthorityMetadata("hdl:1/a")
    assert handle_values(record) == ()


def test_seconds_are_truncated_and_not_rounded() -> None:
    assert to_seconds("2007-06-22T02:53:46.999999Z") == CREATED


@pytest.mark.parametrize(
    ("identifier", "written"),
    [
        ("hdl:102.100.272/0N8J991QH", "102.100.272/0N8J991QH"),
        ("https://orcid.org/0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097"),
        ("POID-93b0-4476-560e-5ac1", "POID-93b0-4476-560e-5ac1"),
    ],
)
def test_a_handle_is_written_without_its_label(identifier: str, written: str) -> None:
    assert to_handle(identifier) == written


def test_the_administrator_has_an_index_from_100_and_the_metadata_from_190() -> None:
    assert [(value.index, value.type) for value in handle_values(BOUND)] == [
        (100, "HS_ADMIN"),
        (190, "102.100.TYPE/CREATION_DATE"),
        (191, "102.100.TYPE/CREATOR"),
    ]
    assert {value.timestamp for value in handle_values(BOUND)} == {CREATED}


def test_an_index_that_the_record_uses_is_not_replaced() -> None:
    record = with_values(Value(100, "DESC", Text("x"), CREATED), Value(190, "DESC", Text("y"), CREATED))
    assert [value.index for value in handle_values(record)] == [100, 101, 190, 191, 192]


def test_a_type_that_the_record_has_is_not_added() -> None:
    own = Value(100, "HS_ADMIN", Admin(AdminRights("0.NA/1", 300, "1" * 12)), CREATED)
    admins = [value for value in handle_values(with_values(own)) if value.type == "HS_ADMIN"]
    assert admins == [own]


def test_the_type_prefix_is_a_setting() -> None:
    assert {value.type for value in handle_values(BOUND, "1.T")} == {"HS_ADMIN", "1.T/CREATION_DATE", "1.T/CREATOR"}


def test_the_administrators_handle_is_the_owners() -> None:
    owned = Record(state="active", creator=BOUND.creator, created=CREATED, owners=("hdl:102.100.pilin2/XYZZY",))
    assert handle_values(owned)[0].data == Admin(AdminRights("102.100.pilin2/XYZZY", 200, "000000000000"))
