"""Identities of Handle clients, `300:12345/admin`, and the keys by which they are proved."""

from typing import Final

import msgspec

from perdure.errors import InvalidInput, PerdureError
from perdure.names import handle
from perdure.records.value import PUBLIC_KEY, SECRET, Binary
from perdure.registry.entities import HandleIdentity
from perdure.registry.handles.place import Place, find_place
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry
from perdure.registry.sealing import secret_of

_ANY: Final = 0
_LAST: Final = 2**31 - 1
_MOST_KEYS: Final = 20  # of one handle that are tried, where nobody says which


class KeyMaterial(msgspec.Struct, frozen=True):
    """What a proof is checked against. It shows nothing of itself.

    Where the index was left open (0), `candidates` has each key by itself, with the identity that it proves, and this
    has them all, with an identity that stands for no certain key. `place` is the same however the name was written.
    """

    identity: HandleIdentity
    secret: bytes | None = None
    public_keys: tuple[bytes, ...] = ()
    candidates: tuple["KeyMaterial", ...] = ()
    place: str = ""

    def __repr__(self) -> str:
        return f"KeyMaterial({self.identity.id})"


def identity(index: int, name: str) -> HandleIdentity:
    """The identity that a value of a handle stands for, once it is proved."""
    if not 0 <= index <= _LAST:
        raise InvalidInput("handle", "index", f"index {index} is not between 0 and {_LAST}")
    written = str(handle.parse(name))
    return HandleIdentity(
        id=f"{index}:{written}", name=written, identifier=f"hdl:{written}", created="", kind="program", index=index
    )


async def key_material(registry: Registry, index: int, name: str) -> KeyMaterial:
    """The keys of an identity, as they are at this moment; none, if there is no such value, or it was withdrawn."""
    who = identity(index, name)
    return await registry.store.glance(lambda reader: _material(registry, reader, who))


def _material(registry: Registry, reader: Reader, who: HandleIdentity) -> KeyMaterial:
    try:
        place = find_place(reader, who.name)
    except PerdureError:
        return KeyMaterial(who, place=handle.fold(who.name))
    if place.record is None or place.record.state != "active":
        return KeyMaterial(who, place=place.key)
    found: list[KeyMaterial] = []
    for value in place.record.values:
        if who.index in (_ANY, value.index) and len(found) < _MOST_KEYS:
            one = identity(value.index, who.name)
            if value.kind == SECRET and (secret := _secret(registry, reader, place, value.index)) is not None:
                found.append(KeyMaterial(one, secret))
            elif value.kind == PUBLIC_KEY and isinstance(value.data, Binary):
                found.append(KeyMaterial(one, None, (value.data.value,)))
    if len(found) == 1:
        return msgspec.structs.replace(found[0], candidates=(found[0],), place=place.key)
    return KeyMaterial(
        who,
        next((one.secret for one in found if one.secret is not None), None),
        tuple(key for one in found for key in one.public_keys),
        tuple(found),
        place.key,
    )


def _secret(registry: Registry, reader: Reader, place: Place, index: int) -> bytes | None:
    return secret_of(reader, registry.sealer, place.subject, index)
