"""Value JSON becomes a value, and the value becomes the same JSON again."""

import json

from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import handles

from perdure.errors import PerdureError
from perdure.http.handle_api.put_body import read_body
from perdure.records.validation import Limits, check_values
from perdure.records.value import (
    Admin,
    AdminRights,
    Binary,
    Reference,
    Text,
    Value,
    ValueList,
    to_handle_json,
    with_stated_ttl,
)

LIMITS = Limits()
indexes = st.integers(1, 2**31 - 1)
names = handles.map(str)
references = st.builds(Reference, names, st.integers(0, 2**31 - 1))
types = st.sampled_from(["DESC", "x/Y", "EMAIL", "a.b.c"])
plain = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]))
stamps = st.just("2025-01-09T10:30:00Z")
lifetimes = st.one_of(st.integers(0, 2**31 - 1), st.just("2031-01-01T10:00:00Z"))
permissions = st.text("01", min_size=4, max_size=4)


def values(type: st.SearchStrategy[str], data: st.SearchStrategy[object]) -> st.SearchStrategy[Value]:
    return st.builds(
        Value, indexes, type, data, stamps, lifetimes, permissions, st.lists(references, max_size=2).map(tuple)
    )


any_value = st.one_of(
    values(types, st.builds(Text, plain)),
    values(types, st.builds(Binary, st.binary(max_size=40).map(lambda raw: b"\xff\x00" + raw))),
    values(
        st.just("HS_ADMIN"),
        st.builds(
            Admin,
            st.builds(AdminRights, names, st.integers(0, 2**31 - 1), st.text("01", min_size=12, max_size=12)),
        ),
    ),
    values(st.just("HS_VLIST"), st.builds(ValueList, st.lists(references, max_size=3).map(tuple))),
)


@given(any_value)
def test_a_value_that_is_sent_back_is_unchanged(value: Value) -> None:
    shown = to_handle_json(value)
    (read,) = read_body(json.dumps([shown]).encode(), 1).values
    assert read == Value(value.index, value.type, value.data, "", value.ttl, value.permissions, value.references)
    assert {**to_handle_json(read), "timestamp": value.timestamp} == shown


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_is_read_back_as_text_or_as_bytes(text: str) -> None:
    (read,) = read_body(json.dumps([{"index": 1, "type": "DESC", "data": text}]).encode(), 1).values
    check_values([read], LIMITS)
    data = to_handle_json(with_stated_ttl([read], None)[0])["data"]
    (again,) = read_body(json.dumps([{"index": 1, "type": "DESC", "data": data}]).encode(), 1).values
    assert again == read
    assert (read.data.value if isinstance(read.data, Text) else read.data.value.decode()) == text  # type: ignore[union-attr]


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["index", "type", "data", "format", "value", "values", "handle", "ttl", "permissions"]),
            inner,
            max_size=6,
        ),
    ),
    max_leaves=20,
)


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans()), st.booleans())
def test_a_number_is_read_as_its_text(number: float, is_formatted: bool) -> None:
    written = json.dumps(number)
    data = f'{{"format": "string", "value": {written}}}' if is_formatted else written
    (read,) = read_body(f'[{{"index": 1, "type": "DESC", "data": {data}}}]'.encode(), 1).values
    assert read.data == Text(written)


@given(json_values)
def test_any_other_body_is_refused_by_name(body: object) -> None:
    try:
        read = read_body(json.dumps(body).encode(), 100)
    except PerdureError as problem:
        assert str(problem)
    else:
        assert all(isinstance(value, Value) for value in read.values)


@given(st.binary(max_size=200))
def test_any_bytes_are_values_or_refused(body: bytes) -> None:
    try:
        read_body(body, 100)
    except PerdureError as problem:
        assert str(problem)
