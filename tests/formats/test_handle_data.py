"""Data of values as bytes, as Handle servers store it."""

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.formats.value_strategies import references, rights, texts

from perdure.formats.handle_data import from_bytes, to_bytes
from perdure.records.value import Admin, AdminRights, Binary, Reference, Text, ValueList

# Taken apart by hand: u16 permissions, then a text with its length before it, then u32 index.
ADMIN_BYTES = b"\x07\xf3" + b"\x00\x00\x00\x0a12345/hdl1" + b"\x00\x00\x00\xc8"


def test_an_administrator_is_permissions_handle_and_index() -> None:
    admin = Admin(AdminRights("12345/hdl1", 200, "011111110011"))
    assert from_bytes("HS_ADMIN", ADMIN_BYTES) == admin
    assert to_bytes(admin) == ADMIN_BYTES


def test_a_list_is_a_count_and_its_references() -> None:
    raw = b"\x00\x00\x00\x02" + b"\x00\x00\x00\x031/a\x00\x00\x01\x2c" + b"\x00\x00\x00\x031/b\x00\x00\x01\x2d"
    listed = ValueList((Reference("1/a", 300), Reference("1/b", 301)))
    assert from_bytes("HS_VLIST", raw) == listed
    assert to_bytes(listed) == raw


@given(texts)
def test_text_of_any_type_is_read_back(text: str) -> None:
    assert from_bytes("DESC", to_bytes(Text(text))) == Text(text)


@given(rights)
def test_administrators_are_read_back(admin: AdminRights) -> None:
    assert from_bytes("HS_ADMIN", to_bytes(Admin(admin))) == Admin(admin)


@given(st.lists(references, max_size=5).map(tuple))
def test_lists_are_read_back(listed: tuple[Reference, ...]) -> None:
    assert from_bytes("HS_VLIST", to_bytes(ValueList(listed))) == ValueList(listed)


@given(st.sampled_from(["HS_ADMIN", "HS_VLIST", "URL", "HS_PUBKEY"]), st.binary(max_size=60))
@example("HS_ADMIN", ADMIN_BYTES[:-1])
@example("HS_ADMIN", ADMIN_BYTES + b"\x00")
@example("HS_ADMIN", b"\x1f" + ADMIN_BYTES[1:])  # a thirteenth permission
@example("HS_ADMIN", b"\x07\xf3\xff\xff\xff\xff")
@example("HS_VLIST", b"\xff\xff\xff\xff")
@example("HS_VLIST", b"\x00\x00\x00\x01\x00\x00\x00\x02\xff\xfe\x00\x00\x00\x01")
def test_no_bytes_are_lost(type: str, raw: bytes) -> None:
    assert to_bytes(from_bytes(type, raw)) == raw


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"a\x00b", b"\x1b[31m", b"\x7f"])
def test_control_characters_stay_bytes(raw: bytes) -> None:
    assert from_bytes("DESC", raw) == Binary(raw)


def test_a_count_larger_than_the_data_uses_no_memory() -> None:
    raw = struct.pack(">I", 2**32 - 1) + b"x" * 8
    assert from_bytes("HS_VLIST", raw) == Binary(raw)
