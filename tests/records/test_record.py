"""Records: encoded once, and compared as bytes."""

import pytest

from perdure.records import record as records
from perdure.records.record import About, Observation, Reconstruction, Record, Tombstone
from perdure.records.value import Binary, Text, Value

RECORDS = [
    Record(state="reserved", creator="hdl:1/a"),
    Record(
        state="active",
        creator="hdl:1/a",
        owners=("https://example.org/é",),
        created="2007-06-22T02:53:46Z",
        values=(Value(1, "URL", Text("https://example.org/"), "2007-06-22T02:53:46Z"), Value(2, "B", Binary(b"\xff"))),
        about=About(who="Jan"),
        alias="8JMKD3MGP8W/34PGRBS",
    ),
    Record(state="withdrawn", creator="hdl:1/a", tombstone=Tombstone("gone", "hdl:1/b")),
    Record(state="active", creator="hdl:1/a", observation=Observation("https://example.org/", "t", "0" * 64)),
    Record(state="active", creator="hdl:1/a", reconstruction=Reconstruction(("POID-a",), "c", "t")),
]


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    written = records.encode(record)
    assert records.decode(written) == record
    assert records.encode(records.decode(written)) == written


def test_missing_fields_are_not_encoded() -> None:
    assert records.encode(RECORDS[0]) == b'{"state":"reserved","creator":"hdl:1/a"}'


def test_the_owners_or_else_the_creator_are_responsible() -> None:
    assert RECORDS[0].responsible_parties == ("hdl:1/a",)
    assert RECORDS[1].responsible_parties == ("https://example.org/é",)
