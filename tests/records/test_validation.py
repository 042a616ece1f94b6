"""Validation of records, field by field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput, OutOfRange
from perdure.records.record import About
from perdure.records.validation import (
    Limits,
    check_about,
    check_one_line,
    check_target,
    check_value,
    check_values,
    find_free_index,
    to_iso_seconds,
)
from perdure.records.value import Admin, AdminRights, Binary, Reference, Text, Value, ValueList
from perdure.records.web_address import encode_web_address

LIMITS = Limits()


def test_values_come_in_the_order_of_their_indexes() -> None:
    values = [Value(index, "DESC", Text("x")) for index in (3, 1, 2)]
    assert [value.index for value in check_values(values, LIMITS)] == [1, 2, 3]


@pytest.mark.parametrize(
    "value",
    [
        Value(1, "URL", Text("https://example.org/")),
        Value(2**31 - 1, "DESC", Text("")),
        Value(1, "DESC", Text("two\nlines,\ta tab, é and 日本")),
        Value(1, "DESC", Text("x"), ttl=0),
        Value(1, "DESC", Text("x"), ttl="2028-01-01T00:00:00Z"),
        Value(1, "DESC", Text("x"), permissions="0000"),
        Value(1, "DESC", Text("x"), timestamp="2007-06-22T02:53:46Z"),
        Value(1, "HS_PUBKEY", Binary(bytes(range(256)))),
        Value(100, "HS_ADMIN", Admin(AdminRights("12345/a", 200, "011111110011"))),
        Value(200, "HS_VLIST", ValueList((Reference("12345/a", 300),))),
        Value(1, "102.100.TYPE/CREATOR", Text("x"), references=(Reference("12345/a", 1),)),
        Value(1, "T" * 255, Text("x" * 65_536)),
    ],
)
def test_values_of_handle_clients_are_accepted(value: Value) -> None:
    check_value(value, LIMITS)


def test_the_limits_are_exact() -> None:
    small = Limits(value_bytes=4, values=2, url_characters=20, text_characters=3, type_characters=4)
    check_value(Value(1, "TYPE", Text("éé")), small)
    with pytest.raises(OutOfRange):
        check_value(Value(1, "DESC", Text("ééx")), small)
    check_target("https://example.org/", small)
    with pytest.raises(OutOfRange):
        check_target("https://example.org/x", small)
    check_about(About(who="Jan"), small)
    with pytest.raises(OutOfRange) as refusal:
        check_about(About(who="Jans"), small)
    assert refusal.value.part == "about.who"


def test_an_empty_description_is_not_stored() -> None:
    assert check_about(About(), LIMITS) is None
    assert check_about(None, LIMITS) is None


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2007-06-22T12:53:46+10:00", "2007-06-22T02:53:46Z"),
        ("2007-06-22T02:53:46.999Z", "2007-06-22T02:53:46Z"),
        ("20070622T025346Z", "2007-06-22T02:53:46Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    ],
)
def test_dates_are_rewritten_to_utc_with_seconds(text: str, written: str) -> None:
    assert to_iso_seconds(text, "created") == written


@pytest.mark.parametrize("text", ["2007-06-22", "2007-06-22T02:53:46", "now", "", "9999-12-31T23:59:59-01:00"])
def test_the_error_of_an_invalid_date_names_the_field(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        to_iso_seconds(text, "created")
    assert refusal.value.part == "created"


@given(st.text(max_size=40))
def test_a_line_of_text_has_no_control_characters(text: str) -> None:
    try:
        checked = check_one_line(text, "reason", 30)
    except InvalidInput as refusal:
        assert refusal.part == "reason"
    else:
        assert checked == text
        assert len(text.splitlines()) == 1
        assert all(character >= " " and not "\x7f" <= character <= "\x9f" for character in text)


@given(st.text(max_size=40).map(lambda rest: "https://" + rest), st.booleans())
def test_an_accepted_target_is_safe_in_a_header_and_in_a_page(url: str, allows_blanks: bool) -> None:
    try:
        check_target(url, LIMITS, allows_blanks=allows_blanks)
    except InvalidInput as refusal:
        assert refusal.part == "target"
    else:
        assert url.splitlines() == [url]
        assert all(character >= " " and not "\x7f" <= character <= "\xa0" for character in url)
        assert allows_blanks or " " not in url
        encoded = encode_web_address(url)
        assert encoded.isascii()
        assert " " not in encoded


def test_the_message_names_the_character_and_its_position() -> None:
    with pytest.raises(InvalidInput, match=r"'\\n' at position 20"):
        check_target("https://example.org/\nx", LIMITS)


@pytest.mark.parametrize(
    ("taken", "free"), [([], 1), ([1, 2, 4], 3), (range(1, 100), 200), ([*range(1, 100), 200], 201)]
)
def test_the_lowest_free_index_leaves_room_for_administration(taken: list[int], free: int) -> None:
    assert find_free_index(taken) == free
