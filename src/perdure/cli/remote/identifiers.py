"""Identifiers of a remote registry: mint, edit, withdraw and transfer."""

from collections.abc import AsyncIterator, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final
from uuid import uuid4

import msgspec

from perdure.cli.remote.api_client import Answer, ServerFailed
from perdure.cli.remote.remote_registry import PAGE, RemoteRegistry, path_to
from perdure.errors import InvalidInput, OutOfRange
from perdure.names import instant
from perdure.records.value import UnstatedTtl, Value
from perdure.registry import MintedIdentifier, Statement
from perdure.registry.entities import Agent, Prefix
from perdure.registry.identifier_view import View
from perdure.registry.minting import EMPTY_STATEMENT, check_count

_NAMES_AT_ONCE: Final = 500  # minted by one request
_MOST_TRANSFERRED: Final = 500  # by one request


class _MintedName(msgspec.Struct):
    name: str
    alias: str | None = None
    date: str | None = None


class _MintResponse(msgspec.Struct):
    identifiers: tuple[_MintedName, ...]


class _Summary(msgspec.Struct):
    name: str


class _SummaryPage(msgspec.Struct):
    identifiers: tuple[_Summary, ...]
    next: str | None = None


class _TransferResponse(msgspec.Struct):
    transferred: int


async def mint_in_chunks(
    remote: RemoteRegistry,
    by: Agent,
    prefix: str,
    count: int = 1,
    *,
    statement: Statement = EMPTY_STATEMENT,
    suffixes: Sequence[str] = (),
    item_key: str | None = None,
) -> AsyncIterator[list[MintedIdentifier]]:
    """Mint names, some hundreds with each request, or as many as the server has dates for in time."""
    count = len(suffixes) or count
    check_count(count)
    done, at_once = 0, _NAMES_AT_ONCE
    while done < count:
        size = min(at_once, count - done)
        chunk = list(suffixes[done : done + size])
        amount: dict[str, Any] = {"suffixes": chunk} if chunk else {"count": size}
        if item_key is not None:
            amount["item_key"] = item_key
        try:
            answer = _mint_once(remote, {"prefix": prefix, **amount, **statement_fields(statement)}, str(uuid4()))
        except OutOfRange as problem:  # of an IBI subsystem, whose dates come one after the other; nothing was minted
            if problem.part != "count" or size == 1:
                raise
            at_once = size // 2
            continue
        done += size
        yield _read_minted(remote, answer)


def mint_name(remote: RemoteRegistry, prefix: str, statement: Statement, token: str) -> MintedIdentifier:
    """Mint one name. For a day, the same token returns the same name."""
    answer = _mint_once(remote, {"prefix": prefix, "count": 1, **statement_fields(statement)}, token)
    [minted] = _read_minted(remote, answer)
    return minted


def _mint_once(remote: RemoteRegistry, body: dict[str, Any], token: str) -> Answer:
    """Send a request to mint, and send it again if the connection breaks: with its key, no name is minted twice."""
    headers = {"Idempotency-Key": token}
    try:
        return remote.send("POST", "/identifiers", body, headers=headers)
    except ServerFailed as problem:
        if not problem.is_broken:
            raise
        return remote.send("POST", "/identifiers", body, headers=headers)


def _read_minted(remote: RemoteRegistry, answer: Answer) -> list[MintedIdentifier]:
    return [
        MintedIdentifier(one.name, one.alias, None if one.date is None else parse_minting_date(one.date))
        for one in remote.decode(answer, _MintResponse).identifiers
    ]


def parse_minting_date(text: str) -> Fraction:
    """Return the date of a minted name."""
    return instant.from_iso(text, "mint", "date")


async def bind(
    remote: RemoteRegistry, by: Agent, name: str, statement: Statement, *, expected_version: int | None = None
) -> int:
    body = statement_fields(statement)
    return remote.change("POST", path_to("bindings", name), View, body, expected=expected_version).version


async def update(
    remote: RemoteRegistry, by: Agent, name: str, statement: Statement, *, expected_version: int | None = None
) -> int:
    body = statement_fields(statement)
    return remote.change("PATCH", path_to("identifiers", name), View, body, expected=expected_version).version


async def add_values(
    remote: RemoteRegistry, by: Agent, name: str, values: Sequence[Value], *, expected_version: int | None = None
) -> int:
    body = {"values": [value_fields(value) for value in values]}
    return remote.change("POST", path_to("values", name), View, body, expected=expected_version).version


async def remove_values(
    remote: RemoteRegistry, by: Agent, name: str, indexes: Sequence[int], *, expected_version: int | None = None
) -> int:
    query = {"index": list(indexes)}
    return remote.change("DELETE", path_to("values", name), View, expected=expected_version, query=query).version


async def redact_values(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    indexes: Sequence[int],
    reason: str,
    *,
    expected_version: int | None = None,
) -> int:
    body = {"indexes": list(indexes), "reason": reason}
    return remote.change("POST", path_to("redactions", name), View, body, expected=expected_version).version


async def withdraw(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    reason: str,
    *,
    replaced_by: str | None = None,
    expected_version: int | None = None,
) -> int:
    query = {"reason": reason, "replaced_by": replaced_by}
    return remote.change("DELETE", path_to("identifiers", name), View, expected=expected_version, query=query).version


async def reinstate(remote: RemoteRegistry, by: Agent, name: str, *, expected_version: int | None = None) -> int:
    return remote.change("POST", path_to("reinstatements", name), View, expected=expected_version).version


async def transfer_identifiers(remote: RemoteRegistry, by: Agent, names: Sequence[str], to: str) -> int:
    """Transfer identifiers, some hundreds with each request. Each request transfers all of its names, or none."""
    moved = 0
    for start in range(0, len(names), _MOST_TRANSFERRED):
        body = {"to": to, "names": list(names[start : start + _MOST_TRANSFERRED])}
        moved += remote.decode(remote.send("POST", "/transfers", body), _TransferResponse).transferred
    return moved


async def transfer_prefix(
    remote: RemoteRegistry, by: Agent, prefix: str, to: str, *, giver: str | None = None
) -> Prefix:
    reason = "--prefix works on the machine of the registry only: it changes grants, and the API has no such operation"
    raise InvalidInput("transfer", "prefix", reason)


async def names_under(remote: RemoteRegistry, prefix: str) -> AsyncIterator[list[str]]:
    for page in remote.pages("/identifiers", _SummaryPage, prefix=prefix, limit=PAGE):
        yield [one.name for one in page.identifiers]


def statement_fields(statement: Statement) -> dict[str, Any]:
    """Return the JSON of a record, as the API reads it."""
    return dict(_statement_fields(statement))


def _statement_fields(statement: Statement) -> Iterator[tuple[str, Any]]:
    if statement.target is not None:
        yield "target", statement.target
    if statement.values:
        yield "values", [value_fields(value) for value in statement.values]
    if statement.about is not None:
        about = msgspec.to_builtins(statement.about)
        yield "about", {field: text for field, text in about.items() if text is not None}
    if statement.creator is not None:
        yield "creator", statement.creator
    if statement.owners:
        yield "owners", list(statement.owners)
    if type(statement.ttl) is not UnstatedTtl:
        yield "ttl", statement.ttl


def value_fields(value: Value) -> dict[str, Any]:
    """Return the JSON of a value, as the API reads it. The registry sets its timestamp."""
    fields = {
        "index": value.index,
        "type": value.type,
        "data": msgspec.to_builtins(value.data),
        "permissions": value.permissions,
        "references": msgspec.to_builtins(value.references),
    }
    return fields if type(value.ttl) is UnstatedTtl else fields | {"ttl": value.ttl}
