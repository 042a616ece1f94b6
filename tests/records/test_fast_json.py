"""The fast JSON of a record: byte for byte that of the decoded record."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.http.shared import responses
from perdure.records import record as records
from perdure.records.derived_values import handle_values
from perdure.records.fast_json import fast_values_json
from perdure.records.record import STATES, Record
from perdure.records.value import Admin, AdminRights, Binary, Reference, Text, Value, ValueList

PREFIX = "102.100.TYPE"
CREATED = "2007-06-22T02:53:46Z"
ADMINISTRATOR = Admin(AdminRights("12345/admin", 300, "011111110011"))
BEFORE, AFTER = b'{"responseCode":1,"handle":"12345/a","values":', b"}"


def values_json(record: Record, type_prefix: str = PREFIX) -> bytes:
    """Return the JSON array of the values as the application shows it."""
    shown = (value for value in handle_values(record, type_prefix) if value.is_public)
    body = responses.record_body("12345/a", shown)
    assert body.startswith(BEFORE)
    return body[len(BEFORE) : -len(AFTER)]


def fast_json(record: Record, type_prefix: str = PREFIX, version: int = 1) -> bytes | None:
    return fast_values_json(records.encode(record), version, type_prefix)


def active_record(
    *values: Value, creator: str = "hdl:12345/jan", owners: tuple[str, ...] = (), changed: str | None = None
) -> Record:
    return Record(state="active", creator=creator, owners=owners, created=CREATED, values=values, changed=changed)


# Generated records

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["base64", '"base64"', '"ttl":60', "\\u0000", "a\\", "https://example.org/?a=1&b=2", "kœkken\n"]
)
handles = st.sampled_from(["12345/a", "0.NA/12345", '12345/"\\', "12345/é"])
references = st.builds(Reference, handles, st.integers(0, 300))
data_of_values = (
    texts.map(Text)
    | st.builds(Admin, st.builds(AdminRights, handles, st.integers(0, 300), st.just("011111110011")))
    | st.builds(ValueList, st.lists(references, max_size=2).map(tuple))
)
plain_types = st.sampled_from(["URL", "url", "EMAIL", "HS_PUBKEY", "HS_SITE", "HS_VLIST", "CREATOR"]) | st.text(
    st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8
)
administrators = st.sampled_from(["HS_ADMIN", "HS_ADMIN", "hs_admin", "Hs_Admin", "HS_ADMıN", "Hſ_ADMIN"])
own_metadata = st.sampled_from(
    [f"{PREFIX}/{kind}" for kind in ("CREATOR", "CREATION_DATE", "creator")] + ["1.t/CREATOR"]
)
instants = st.sampled_from(["2031-01-01T00:00:00Z", "1999-12-31T23:59:59Z"])


def values(indexes: st.SearchStrategy[int], types: st.SearchStrategy[str], **more: Any) -> st.SearchStrategy[Value]:
    fields = {
        "data": data_of_values,
        "timestamp": instants | st.just(""),
        "ttl": st.just(86_400) | st.integers(0, 2**31 - 1) | instants,
        "references": st.just(()) | st.lists(references, max_size=2).map(tuple),
    }
    return st.builds(Value, index=indexes, type=types, **fields | more)


some_values = st.lists(values(st.integers(1, 99), plain_types), max_size=3, unique_by=lambda value: value.index)
perhaps_an_administrator = st.lists(values(st.just(100) | st.integers(1, 200), administrators), max_size=1)
anything = values(
    st.integers(1, 99) | st.integers(99, 200) | st.integers(-1, 2**31 - 1),
    plain_types | administrators | own_metadata,
    data=data_of_values | st.binary(max_size=8).map(Binary),
    permissions=st.sampled_from(["1110", "1110", "1100", "0010", "1111"]),
)
nearly_usual = st.builds(
    lambda *lists: sorted((value for one in lists for value in one), key=lambda value: value.index),
    *(some_values, perhaps_an_administrator, st.just([]) | st.lists(anything, max_size=1)),
)
parties = st.sampled_from(
    [
        *("hdl:12345/jan", "hdl:12345/é", "https://orcid.org/0000-0002-1825-0097", "POID-93b0-4476-560e-5ac1"),
        *(r"hdl:12345/\u0000", r"hdl:12345/\u0001", "\1", r"https://example.org/\u0000", '"', "hdl:12345/\\", "\0"),
    ]
)
several_parties = st.just(()) | st.lists(parties | texts, max_size=3).map(tuple)
stored_records = st.builds(
    Record,
    state=st.just("active") | st.just("active") | st.sampled_from(STATES),
    creator=st.just("hdl:12345/jan") | parties | texts,
    owners=several_parties,
    created=st.just(CREATED) | st.sampled_from([CREATED, "2027-01-15T08:00:00Z", None]),
    changed=st.none() | st.sampled_from(["2007-06-22T02:53:45Z", CREATED, "2026-12-31T23:59:59Z"]),
    values=(nearly_usual | nearly_usual | st.lists(anything, max_size=4)).map(tuple),
)


@given(
    record=stored_records, type_prefix=st.sampled_from([PREFIX, PREFIX, "1.T", '1."T']), version=st.sampled_from([1, 2])
)
@example(active_record(Value(1, "URL", Text("https://example.org/")), creator=r"hdl:12345/\u0000"), PREFIX, 1)
@example(active_record(Value(100, "HS_ADMIN", ADMINISTRATOR), creator="https://example.org/jan"), PREFIX, 1)
@example(active_record(Value(99, "URL", Text("https://example.org/")), Value(100, "hs_admin", Text(""))), PREFIX, 1)
@example(active_record(Value(1, "HS_ADMıN", Text("somebody"))), PREFIX, 1)
@example(active_record(creator=r"hdl:12345/\u0001", changed="2026-12-31T23:59:59Z"), PREFIX, 2)
def test_fast_json_equals_the_slow_path_or_returns_none(record: Record, type_prefix: str, version: int) -> None:
    shown = fast_json(record, type_prefix, version)
    assert shown is None or shown == values_json(record, type_prefix)


# What is usual is answered, and what is not is left

URL = Value(1, "URL", Text("https://example.org/"), CREATED)
USUAL = {
    "nothing but the name": active_record(),
    "an address": active_record(URL),
    "an address of other letters": active_record(Value(1, "URL", Text("https://example.org/kœkken"), CREATED)),
    "an address and an administrator": active_record(URL, Value(100, "HS_ADMIN", ADMINISTRATOR, CREATED)),
    "a value behind an administrator": active_record(Value(100, "HS_ADMIN", ADMINISTRATOR), Value(189, "DESC", Text("x"))),
    "an administrator in small letters": active_record(URL, Value(100, "hs_admin", ADMINISTRATOR, CREATED)),
    "the last index before the administrator's": active_record(Value(99, "URL", Text("https://example.org/"), CREATED)),
    "a lifetime in seconds": active_record(Value(1, "URL", Text("https://example.org/"), CREATED, ttl=60)),
    "a lifetime until then": active_record(Value(1, "URL", Text("https://example.org/"), CREATED, ttl="2031-01-01T00:00:00Z")),
    "references": active_record(
        Value(1, "URL", Text("https://example.org/"), CREATED, references=(Reference("12345/b", 1), Reference("1/c", 0)))
    ),
    "several values": active_record(URL, Value(2, "EMAIL", Text("a@example.org")), Value(7, "DESC", Text('ü "b"\n'))),
    "a creator who has no handle": active_record(URL, creator="https://orcid.org/0000-0002-1825-0097"),
    "several owners": active_record(URL, owners=("https://example.org/library", "hdl:12345/owner")),
    "more owners than indexes before the metadata": active_record(URL, owners=tuple(f"hdl:1/{n}" for n in range(95))),
    "a time of the newest change": active_record(URL, changed="2026-12-31T23:59:59Z"),
    "an administrator and a time of the newest change": active_record(
        URL, Value(100, "HS_ADMIN", ADMINISTRATOR, CREATED), changed="2026-12-31T23:59:59Z"
    ),
}  # fmt: skip


@pytest.mark.parametrize("record", USUAL.values(), ids=USUAL.keys())
def test_fast_json_writes_usual_records(record: Record) -> None:
    assert fast_json(record) == values_json(record)


UNUSUAL = {
    "bytes": active_record(URL, Value(2, "CHECKSUM", Binary(b"\x00\x01"))),
    "a key": active_record(URL, Value(300, "HS_PUBKEY", Binary(b"\x00\x01"))),
    "for us alone": active_record(URL, Value(2, "NOTE", Text("for us alone"), permissions="1100")),
    "publicly writable": active_record(URL, Value(2, "NOTE", Text("x"), permissions="1111")),
    "out of order": active_record(Value(5, "URL", Text("https://example.org/5")), Value(3, "URL", Text("https://example.org/3"))),
    "one index twice": active_record(URL, URL),
    "where the administrator goes": active_record(Value(100, "DESC", Text("x"))),
    "where the metadata goes": active_record(URL, Value(100, "HS_ADMIN", ADMINISTRATOR), Value(190, "DESC", Text("x"))),
    "metadata of its own": active_record(URL, Value(2, f"{PREFIX}/creator", Text("somebody else"))),
    "a name that reads like the place of a date": active_record(URL, creator=r"hdl:12345/\u0000"),
    "an administrator and an owner": active_record(Value(100, "HS_ADMIN", ADMINISTRATOR), owners=("hdl:12345/owner",)),
    "an owner of its own": active_record(URL, Value(2, f"{PREFIX}/OWNER", Text("https://example.org/library"))),
    "reserved": Record(state="reserved", creator="hdl:12345/jan"),
    "withdrawn": Record(state="withdrawn", creator="hdl:12345/jan", created=CREATED, values=(URL,)),
}  # fmt: skip


@pytest.mark.parametrize("record", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_fast_json_returns_none_for_unusual_records(record: Record) -> None:
    assert fast_json(record) is None


@pytest.mark.parametrize("written", [b"", b"{", b"[]", b'{"state":"active"}', b'{"state":"active","creator":"\xff"}'])
def test_fast_json_returns_none_for_unreadable_records(written: bytes) -> None:
    """The slow path reports the error."""
    assert fast_values_json(written, 1, PREFIX) is None


def test_fast_json_writes_a_name_that_resembles_the_placeholder_of_a_date() -> None:
    assert fast_json(active_record(URL, creator=r"hdl:12345/\u000")) is not None


def test_fast_json_leaves_a_changed_record_of_an_earlier_release_to_its_history() -> None:
    assert fast_json(active_record(URL), version=2) is None
    assert fast_json(active_record(URL, changed=CREATED), version=2) == fast_json(active_record(URL))
