"""NDJSON: one JSON object per line. An export is complete: every version, with its time and its agent.

For an import, a line may also be as short as `{"name": "12345/a", "target": "https://example.org/"}`.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from perdure.formats.import_entries import (
    STATES,
    Entry,
    FullHistory,
    ImportPut,
    PastRevision,
    RegistryPart,
    RejectedLine,
)
from perdure.formats.strict_json import refuse_duplicate_keys
from perdure.records.frozen_struct import FrozenStruct
from perdure.records.record import About
from perdure.records.value import Value

REGISTRY_PARTS: Final = ("registry", "prefix", "pool", "agent", "grant")


class _PutLine(FrozenStruct, frozen=True, forbid_unknown_fields=True):
    name: str
    target: str | None = None
    values: tuple[Value, ...] = ()
    about: About | None = None
    creator: str | None = None
    owners: tuple[str, ...] = ()
    created: str | None = None
    state: str = "active"
    reason: str | None = None
    replaced_by: str | None = None


class _HistoryLine(FrozenStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    scheme: str
    revisions: tuple[PastRevision, ...]
    uuid_raw: str | None = None


_decode_put: Final = msgspec.json.Decoder(_PutLine).decode
_decode_history: Final = msgspec.json.Decoder(_HistoryLine).decode
_decode_object: Final = msgspec.json.Decoder(dict[str, Any]).decode
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


def read(lines: Iterable[tuple[int, bytes]]) -> Iterator[Entry]:
    """Yield the entries of a file, given its lines and their numbers."""
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            entry = _parse_entry(number, line)
            refuse_duplicate_keys(line)
            yield entry
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            yield RejectedLine(number, f"the line cannot be imported: {problem}")
        except RecursionError:
            yield RejectedLine(number, "the line cannot be imported: it is nested too deeply")


def _parse_entry(number: int, line: bytes) -> Entry:
    if b'"revisions"' in line:
        long = _decode_history(line)
        return FullHistory(
            line=number, name=long.name, scheme=long.scheme, revisions=long.revisions, uuid_raw=long.uuid_raw
        )
    if b'"entry"' in line:
        fields = _decode_object(line)
        if fields.get("entry") in REGISTRY_PARTS:
            return RegistryPart(line=number, kind=fields.pop("entry"), fields=fields)
    short = _decode_put(line)
    if short.state not in STATES:
        return RejectedLine(number, "a name without revisions must be active, reserved or withdrawn", short.name)
    return ImportPut(
        line=number,
        name=short.name,
        target=short.target,
        values=short.values,
        about=short.about,
        creator=short.creator,
        owners=short.owners,
        created=short.created,
        state=short.state,
        reason=short.reason,
        replaced_by=short.replaced_by,
    )


def write(entry: FullHistory) -> bytes:
    """Write an identifier as a line."""
    return _encode(_HistoryLine(entry.name, entry.scheme, entry.revisions, entry.uuid_raw))


def write_registry_part(kind: str, fields: dict[str, Any]) -> bytes:
    """Write a part of a registry as a line."""
    return _encode({"entry": kind} | fields)
