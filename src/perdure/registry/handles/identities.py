"""Identities of Handle clients, `300:12345/admin`, and the keys by which they authenticate."""

from typing import Final

import msgspec

from perdure.errors import InvalidInput, PerdureError
from perdure.names import handle
from perdure.records.value import PUBLIC_KEY, SECRET, Binary
from perdure.registry.entities import HandleIdentity
from perdure.registry.handles.handle_slot import HandleSlot, find_slot
from perdure.registry.registry import Registry
from perdure.registry.secret_box import open_secret
from perdure.registry.store_interface import Reader

_ANY_INDEX: Final = 0
_LARGEST_INDEX: Final = 2**31 - 1
_MOST_KEYS: Final = 20  # of one handle that are tried if no index is given


class KeyMaterial(msgspec.Struct, frozen=True):
    """The keys that a proof is checked against. Its repr shows none of them.

    If the index was left open (0), `candidates` has each key by itself, with the identity that it proves, and this
    object has them all, with an identity that names no certain key. `handle_key` is the same however the name was
    written.
    """

    identity: HandleIdentity
    secret: bytes | None = None
    public_keys: tuple[bytes, ...] = ()
    candidates: tuple["KeyMaterial", ...] = ()
    handle_key: str = ""

    def __repr__(self) -> str:
        return f"KeyMaterial({self.identity.id})"


def build_identity(index: int, name: str) -> HandleIdentity:
    """Build the identity that the key in a value of a handle proves."""
    if not 0 <= index <= _LARGEST_INDEX:
        raise InvalidInput("handle", "index", f"index {index} is not between 0 and {_LARGEST_INDEX}")
    written = str(handle.parse(name, joiners=True))
    return HandleIdentity(
        id=f"{index}:{written}", name=written, identifier=f"hdl:{written}", created="", kind="program", index=index
    )


async def find_key_material(registry: Registry, index: int, name: str) -> KeyMaterial:
    """Return the current keys of an identity; none if the value does not exist or was withdrawn."""
    identity = build_identity(index, name)
    return await registry.store.read_quick(lambda reader: _read_key_material(registry, reader, identity))


def _read_key_material(registry: Registry, reader: Reader, identity: HandleIdentity) -> KeyMaterial:
    try:
        slot = find_slot(reader, identity.name)
    except PerdureError:
        return KeyMaterial(identity, handle_key=handle.fold(identity.name))
    if slot.record is None or slot.record.state != "active":
        return KeyMaterial(identity, handle_key=slot.key)
    keys: list[KeyMaterial] = []
    for value in slot.record.values:
        if identity.index in (_ANY_INDEX, value.index) and len(keys) < _MOST_KEYS:
            key_identity = build_identity(value.index, identity.name)
            if value.kind == SECRET and (secret := _open_secret(registry, reader, slot, value.index)) is not None:
                keys.append(KeyMaterial(key_identity, secret))
            elif value.kind == PUBLIC_KEY and isinstance(value.data, Binary):
                keys.append(KeyMaterial(key_identity, None, (value.data.value,)))
    if len(keys) == 1:
        return msgspec.structs.replace(keys[0], candidates=(keys[0],), handle_key=slot.key)
    return KeyMaterial(
        identity,
        next((key.secret for key in keys if key.secret is not None), None),
        tuple(public_key for key in keys for public_key in key.public_keys),
        tuple(keys),
        slot.key,
    )


def _open_secret(registry: Registry, reader: Reader, slot: HandleSlot, index: int) -> bytes | None:
    return open_secret(reader, registry.sealer, slot.subject, index)
