"""NDJSON: one JSON object a line. What an export writes is complete: every version, with its time and its agent.

For bringing identifiers in, a line may also be as short as `{"name": "12345/a", "target": "https://example.org/"}`.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from perdure.exchange.entry import Entry, PastRevision, Put, Refused, Setting, Whole
from perdure.exchange.json_text import refuse_duplicate_keys
from perdure.records.plain import Plain
from perdure.records.record import About
from perdure.records.value import Value

ENTRIES: Final = ("registry", "prefix", "agent", "grant")


class _Short(Plain, frozen=True, forbid_unknown_fields=True):
    name: str
    target: str | None = None
    values: tuple[Value, ...] = ()
    about: About | None = None
    creator: str | None = None
    owners: tuple[str, ...] = ()
    created: str | None = None
    state: str = "active"


class _Long(Plain, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    scheme: str
    revisions: tuple[PastRevision, ...]
    uuid_raw: str | None = None


_short: Final = msgspec.json.Decoder(_Short).decode
_long: Final = msgspec.json.Decoder(_Long).decode
_any: Final = msgspec.json.Decoder(dict[str, Any]).decode
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


def read(lines: Iterable[tuple[int, bytes]]) -> Iterator[Entry]:
    """The entries of a file, given its lines and their numbers."""
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            entry = _entry(number, line)
            refuse_duplicate_keys(line)
            yield entry
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            yield Refused(number, f"this is not a line that an import understands: {problem}")
        except RecursionError:
            yield Refused(number, "this is not a line that an import understands: it is nested too deeply")


def _entry(number: int, line: bytes) -> Entry:
    if b'"revisions"' in line:
        long = _long(line)
        return Whole(line=number, name=long.name, scheme=long.scheme, revisions=long.revisions, uuid_raw=long.uuid_raw)
    if b'"entry"' in line:
        fields = _any(line)
        if fields.get("entry") in ENTRIES:
            return Setting(line=number, kind=fields.pop("entry"), fields=fields)
    short = _short(line)
    if short.state not in ("active", "reserved"):
        return Refused(number, "without its revisions, a name can be active or reserved", short.name)
    return Put(
        line=number,
        name=short.name,
        target=short.target,
        values=short.values,
        about=short.about,
        creator=short.creator,
        owners=short.owners,
        created=short.created,
        state="reserved" if short.state == "reserved" else "active",
    )


def write(entry: Whole) -> bytes:
    """One identifier as a line."""
    return _encode(_Long(entry.name, entry.scheme, entry.revisions, entry.uuid_raw))


def write_setting(kind: str, fields: dict[str, Any]) -> bytes:
    """A part of a registry as a line."""
    return _encode({"entry": kind} | fields)
