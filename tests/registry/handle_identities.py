"""Identities and values for the tests of Handle clients."""

from tests.registry_fixture import Office

from perdure.records.value import Admin, AdminRights, Binary, Reference, Text, Value, ValueList
from perdure.registry import put_values
from perdure.registry.entities import HandleIdentity
from perdure.registry.handles import build_identity

FULL = "011111110011"  # what clients give the administrator of a handle
KEYLESS = "000001110011"  # without rights to change administrators


def handle_identity(index: int, name: str) -> HandleIdentity:
    """Return an authenticated Handle client."""
    return build_identity(index, name)


def text(index: int, type: str, data: str, permissions: str = "1110") -> Value:
    return Value(index, type, Text(data), permissions=permissions)


def admin(index: int, name: str, at: int, permissions: str = FULL) -> Value:
    return Value(index, "HS_ADMIN", Admin(AdminRights(name, at, permissions)))


def value_list(index: int, *members: tuple[str, int] | Reference) -> Value:
    return Value(index, "HS_VLIST", ValueList(tuple(Reference(*one) if isinstance(one, tuple) else one for one in members)))  # fmt: skip


def pubkey(index: int, key: bytes = b"\x00\x00\x00\x0bRSA_PUB_KEY") -> Value:
    return Value(index, "HS_PUBKEY", Binary(key))


def seckey(index: int, secret: str | bytes, permissions: str = "1100") -> Value:
    data = Text(secret) if isinstance(secret, str) else Binary(secret)
    return Value(index, "HS_SECKEY", data, permissions=permissions)


def put_prefix_values(office: Office, prefix: str, *values: Value) -> None:
    """Write these values into the record of a prefix."""
    office.do(put_values, f"0.NA/{prefix}", values)
