"""Values, in the form that Handle clients read and write."""

import json

import msgspec
import pytest

from perdure.records.value import (
    Admin,
    AdminRights,
    Binary,
    Reference,
    Text,
    Value,
    ValueList,
    decode_value,
    equals_ignoring_timestamp,
)

# As the JSON interface of Handle servers writes them.
WRITTEN = [
    ({"format": "string", "value": "https://example.org/"}, Text("https://example.org/")),
    ({"format": "base64", "value": "AAEC"}, Binary(b"\x00\x01\x02")),
    (
        {"format": "admin", "value": {"handle": "0.NA/12345", "index": 200, "permissions": "011111110011"}},
        Admin(AdminRights("0.NA/12345", 200, "011111110011")),
    ),
    ({"format": "vlist", "value": [{"handle": "12345/a", "index": 300}]}, ValueList((Reference("12345/a", 300),))),
]


@pytest.mark.parametrize(("written", "data"), WRITTEN)
def test_every_format_of_handle_clients_is_read_and_written(written: dict[str, object], data: Text) -> None:
    text = json.dumps({"index": 1, "type": "T", "data": written})
    value = decode_value(text.encode())
    assert value == Value(1, "T", data)
    assert json.loads(msgspec.json.encode(value)) == json.loads(text)


def test_the_usual_lifetime_and_permissions() -> None:
    value = decode_value(b'{"index":1,"type":"URL","data":{"format":"string","value":"x"}}')
    assert (value.ttl, value.permissions, value.is_public) == (86_400, "1110", True)


@pytest.mark.parametrize(("permissions", "public"), [("1110", True), ("1100", False), ("0010", True), ("1101", False)])
def test_the_third_permission_is_public_reading(permissions: str, public: bool) -> None:
    assert Value(1, "T", Text("x"), permissions=permissions).is_public is public


def test_only_text_values_have_text() -> None:
    assert Value(1, "T", Text("x")).text == "x"
    assert Value(1, "T", Binary(b"x")).text is None


@pytest.mark.parametrize(
    "written",
    [b"{}", b'{"index":"1","type":"T","data":{"format":"string","value":"x"}}', b'{"index":1,"type":"T","data":"x"}'],
)
def test_an_invalid_value_is_refused(written: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_value(written)


def test_values_with_the_same_content_may_have_different_timestamps() -> None:
    one = Value(1, "T", Text("x"), "2007-06-22T02:53:46Z")
    assert equals_ignoring_timestamp(one, Value(1, "T", Text("x")))
    for other in (
        Value(2, "T", Text("x")),
        Value(1, "U", Text("x")),
        Value(1, "T", Text("y")),
        Value(1, "T", Text("x"), ttl=1),
    ):
        assert not equals_ignoring_timestamp(one, other)
