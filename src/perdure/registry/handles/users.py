"""Users of Handle clients: a key in a handle, and the permission to administer names under a prefix.

The record of the prefix (`0.NA/PREFIX`) has a list of its users (HS_VLIST) at index 200, and gives this list all
permissions. Clients such as pyhandle name that list as the administrator of what they create, so each user on it can
change what the others have created.
"""

import re
from collections.abc import Iterable, Sequence
from hmac import compare_digest
from typing import Final, NamedTuple

import msgspec

from perdure.errors import InvalidInput, quote_text
from perdure.names import handle
from perdure.records.public_key import PublicKey, to_wire
from perdure.records.record import Record
from perdure.records.value import (
    ADMIN,
    PROOFS,
    PUBLIC_KEY,
    SECRET,
    VALUE_LIST,
    Admin,
    AdminRights,
    Binary,
    Data,
    Reference,
    Text,
    Value,
    ValueList,
)
from perdure.registry.entities import Agent, Prefix
from perdure.registry.handles.received_values import normalise_values
from perdure.registry.handles.write_handle import HandleWrite, write_all_values, write_some_values
from perdure.registry.name_keys import require_prefix
from perdure.registry.permissions.hs_admin import (
    ADD_HANDLE,
    ADMINS,
    DELETE_HANDLE,
    PREFIX_RIGHTS,
    READ_VALUE,
    VALUES,
    format_rights,
)
from perdure.registry.prefixes.na_names import na_name
from perdure.registry.registry import Registry
from perdure.registry.secret_box import open_secret
from perdure.registry.store_interface import Transaction

LIST_INDEX: Final = 200
_FIRST_ADMIN: Final = 100
_LARGEST_INDEX: Final = 2**31 - 1
_IDENTITY: Final = re.compile(r"([0-9]{1,10}):(.+/.+)", re.DOTALL)
_OWN_RIGHTS: Final = (
    ADMINS | VALUES | DELETE_HANDLE | READ_VALUE | ADD_HANDLE
)  # as clients write them: all but list and derive
_KEY_PERMISSIONS: Final = "1100"


class HandleUser(msgspec.Struct, frozen=True):
    """The identity of a Handle client: a value of a handle."""

    index: int
    name: str

    def __str__(self) -> str:
        return f"{self.index}:{self.name}"


class AddedUser(NamedTuple):
    """A user, the prefix whose names it may administer, and what was changed for that."""

    user: HandleUser
    prefix: Prefix
    is_new: bool  # there was no key at this index
    has_new_key: bool
    has_new_permission: bool


def parse_user(text: str) -> HandleUser:
    """Parse an identity such as `300:21.T1/USER1`. The index is required: it is where the key will be."""
    match = _IDENTITY.fullmatch(text.strip())
    if match is None:
        reason = f"{quote_text(text)} is not a user: write the index of its key and its handle, as in 300:12345/USER1"
        raise InvalidInput("handle", "user", reason)
    index = int(match[1])
    if not 1 <= index <= _LARGEST_INDEX:
        raise InvalidInput("handle", "user", f"the index {index} is not between 1 and {_LARGEST_INDEX}")
    return HandleUser(index, str(handle.parse(match[2], joiners=True)))


async def add_handle_user(
    registry: Registry, by: Agent, user: HandleUser, key: bytes | PublicKey, *, prefix: str | None = None
) -> AddedUser:
    """Give a user a password or a public key, and all permissions under a prefix, by default that of its own handle.

    The handle is created if it does not exist. What is there already stays; another key replaces the old one.
    """
    kind = SECRET if isinstance(key, bytes) else PUBLIC_KEY
    if isinstance(key, bytes):
        _check_password(key)

    def work(tx: Transaction) -> AddedUser:
        write = HandleWrite(registry, tx, by, user.name)
        administered = require_prefix(tx, prefix or user.name.partition("/")[2 if write.slot.of_prefix else 0])
        if administered.scheme != "handle":
            raise InvalidInput("handle", "prefix", f"{administered.name} is not a prefix of handles")
        own = HandleUser(user.index, write.slot.name)
        old = _find_value(write.slot.record, user.index)
        is_new = old is None or write.slot.record is None or write.slot.record.state != "active"
        has_new_key = _write_key(registry, tx, write, own, kind, key)
        has_new_permission = _allow(registry, tx, by, own, administered)
        return AddedUser(own, administered, is_new, has_new_key, has_new_permission)

    return await registry.store.write(work)


async def remove_handle_user(
    registry: Registry, by: Agent, user: HandleUser, *, prefix: str | None = None
) -> list[str]:
    """Take the permissions of a user under one prefix; or under all prefixes, and its key too.

    Return the names of the handles that were changed. The user's handle stays: names are never removed.
    """

    def work(tx: Transaction) -> list[str]:
        write = HandleWrite(registry, tx, by, user.name)
        own = HandleUser(user.index, write.slot.name)
        prefixes = [require_prefix(tx, prefix)] if prefix else [one for one in tx.prefixes() if one.scheme == "handle"]
        changed = [na_name(one) for one in prefixes if _disallow(registry, tx, by, own, one)]
        if prefix is None:
            write = HandleWrite(registry, tx, by, user.name)
            value = _find_value(write.slot.record, user.index)
            if write.slot.record is not None and write.slot.record.state == "active" and _is_proof(value):
                remaining = [one for one in write.slot.record.values if one.index != user.index]
                write.replace_values(write.slot.record, remaining, {}, "remove value")
                changed.append(write.slot.name)
        if not changed:
            raise InvalidInput("handle", "user", f"{own} has no key and no permission here: nothing was removed")
        return changed

    return await registry.store.write(work)


def _check_password(key: bytes) -> None:
    """Check what a user types or a program reads: clients send passwords as text in UTF-8."""
    try:
        text = key.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("handle", "password", "the password is not text in UTF-8") from None
    if not text or not text.isprintable():
        raise InvalidInput("handle", "password", "the password must be one line of text, and not empty")


def _write_key(
    registry: Registry, tx: Transaction, write: HandleWrite, user: HandleUser, kind: str, key: bytes | PublicKey
) -> bool:
    """Write the key, unless it is there already. Return whether it was written."""
    slot = write.slot
    old = _find_value(slot.record, user.index)
    is_active = slot.of_prefix is not None or (slot.record is not None and slot.record.state == "active")
    if is_active and old is not None:
        if not _is_proof(old):
            reason = f"value {user.index} of {slot.name} is {quote_text(old.type)}: choose another index for the key"
            raise InvalidInput("handle", "user", reason)
        if old.kind == kind and _has_key(registry, tx, write, old, key):
            return False
    data: Data = Text(key.decode()) if isinstance(key, bytes) else Binary(to_wire(key))
    values = [Value(user.index, kind, data, permissions=_KEY_PERMISSIONS if kind == SECRET else "1110")]
    before = slot.record.values if is_active and slot.record is not None else ()
    if slot.of_prefix is None and not any(_names(value, user) for value in before):
        taken = [user.index, *(value.index for value in before)]
        rights = AdminRights(user.name, user.index, format_rights(_OWN_RIGHTS))
        values.append(Value(_free_index(taken), ADMIN, Admin(rights)))
    received = normalise_values(values, slot.name, registry.settings.limits)
    if is_active:
        write_some_values(write, received)
    else:
        _refuse_generated_names(write)
        write_all_values(write, received, overwrite=False)
    return True


def _refuse_generated_names(write: HandleWrite) -> None:
    prefix = write.slot.prefix
    if prefix is not None and prefix.minter == "pilin" and write.slot.record is None:
        reason = (
            f"names under {prefix.name} are generated by its minter, not chosen: use the record of the prefix for the "
            f"key (300:{na_name(prefix)}), or a handle under another prefix with --for {prefix.name}"
        )
        raise InvalidInput("handle", "user", reason)


def _has_key(registry: Registry, tx: Transaction, write: HandleWrite, old: Value, key: bytes | PublicKey) -> bool:
    if isinstance(key, bytes):
        stored = open_secret(tx, registry.sealer, write.slot.subject, old.index)
        return stored is not None and compare_digest(stored, key)
    return old.data == Binary(to_wire(key))


def _allow(registry: Registry, tx: Transaction, by: Agent, user: HandleUser, prefix: Prefix) -> bool:
    """Put the user on the list of the prefix, and let the list administer it. Return whether anything changed."""
    write = HandleWrite(registry, tx, by, na_name(prefix))
    record = write.current_record()
    listing = _find_value(record, LIST_INDEX)
    if listing is not None and not isinstance(listing.data, ValueList):
        reason = (
            f"value {LIST_INDEX} of {na_name(prefix)} is {quote_text(listing.type)}, not a list of users (HS_VLIST)"
        )
        raise InvalidInput("handle", "prefix", reason)
    members = listing.data.value if listing is not None and isinstance(listing.data, ValueList) else ()
    values: list[Value] = []
    if not any(_is_user(one.handle, one.index, user) for one in members):
        values.append(Value(LIST_INDEX, VALUE_LIST, ValueList((*members, Reference(user.name, user.index)))))
    everyone = HandleUser(LIST_INDEX, na_name(prefix))
    if not any(_names(value, everyone, PREFIX_RIGHTS) for value in record.values):
        rights = AdminRights(everyone.name, everyone.index, format_rights(PREFIX_RIGHTS))
        values.append(Value(_free_index(value.index for value in record.values), ADMIN, Admin(rights)))
    if values:
        write_some_values(write, normalise_values(values, everyone.name, registry.settings.limits))
    return bool(values)


def _disallow(registry: Registry, tx: Transaction, by: Agent, user: HandleUser, prefix: Prefix) -> bool:
    """Take the user from the lists of a prefix, and the HS_ADMIN values that name it. Return whether any did."""
    write = HandleWrite(registry, tx, by, na_name(prefix))
    if write.slot.record is None or write.slot.record.state != "active":
        return False
    remaining = list(_without_user(write.slot.record.values, user))
    if remaining == list(write.slot.record.values):
        return False
    stamped = normalise_values(remaining, write.slot.name, registry.settings.limits)
    write.replace_values(write.slot.record, write.effective_values(stamped, write.slot.record), {}, "set")
    return True


def _without_user(values: Sequence[Value], user: HandleUser) -> Iterable[Value]:
    for value in values:
        if isinstance(value.data, ValueList) and value.kind == VALUE_LIST:
            members = tuple(one for one in value.data.value if not _is_user(one.handle, one.index, user))
            yield value if members == value.data.value else _with_data(value, ValueList(members))
        elif not _names(value, user):
            yield value


def _with_data(value: Value, data: Data) -> Value:
    return Value(value.index, value.type, data, "", value.ttl, value.permissions, value.references)


def _names(value: Value, user: HandleUser, rights: int = 0) -> bool:
    """Return whether an HS_ADMIN value names this user with at least these rights."""
    if not value.is_administrator or not isinstance(value.data, Admin):
        return False
    stated = value.data.value
    return _is_user(stated.handle, stated.index, user) and not rights & ~int(stated.permissions, 2)


def _is_user(name: str, index: int, user: HandleUser) -> bool:
    return index == user.index and handle.fold(name) == handle.fold(user.name)


def _is_proof(value: Value | None) -> bool:
    return value is not None and value.kind in PROOFS


def _find_value(record: Record | None, index: int) -> Value | None:
    return next((value for value in (() if record is None else record.values) if value.index == index), None)


def _free_index(taken: Iterable[int]) -> int:
    """Return the lowest free index from 100 on, where Handle clients expect administrators."""
    used = {LIST_INDEX, *taken}
    index = _FIRST_ADMIN
    while index in used:
        index += 1
    return index
