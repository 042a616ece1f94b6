"""Validation of records, field by field, before anything is written."""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from perdure.errors import InvalidInput, OutOfRange, quote_text
from perdure.names import instant
from perdure.records.location_xml import LOCATIONS, read_addresses, read_list
from perdure.records.record import About
from perdure.records.value import PUBLIC_READ, SECRET, Admin, Binary, Text, Value, ValueList
from perdure.records.web_address import PLAIN_ADDRESS, encode_web_address

# Line breaks and tabs are allowed in a description; other characters that a terminal or a page may execute are not.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_LINE_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_OUTSIDE_URLS: Final = r"\x00-\x1f\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f\u3000\ud800-\udfff\ufeff"
_NOT_IN_TARGET: Final = re.compile(f"[ {_OUTSIDE_URLS}]")
_NOT_IN_URL_VALUE: Final = re.compile(f"[{_OUTSIDE_URLS}]")
_NOT_STORABLE: Final = re.compile(r"[\x00\ud800-\udfff]")
_PERMISSIONS: Final = re.compile(r"[01]{4}")
_ADMIN_PERMISSIONS: Final = re.compile(r"[01]{12}")
_MAX_UNSIGNED: Final = 2**31 - 1  # of the protocol: indexes and TTLs have 32 bits
ADMIN_INDEXES: Final = range(100, 200)  # reserved for administration, as Handle clients expect
_FORBIDDEN_SCHEMES: Final = frozenset({"javascript", "data", "vbscript"})  # whatever the settings allow
_ISO_SECONDS: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


_ABOUT_FIELDS: Final = tuple(f"about.{field}" for field in About.__struct_fields__)

Size = Annotated[int, Meta(ge=1, le=1 << 30)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits of a record, and of what an agent may store, from the registry's settings."""

    value_bytes: Annotated[Size, Meta(description="Maximum size of the data of one value, in bytes.")] = 65_536
    values: Annotated[Size, Meta(description="Maximum number of values in a record.")] = 2_048
    record_bytes: Annotated[Size, Meta(description="Maximum size of a record, in bytes.")] = 1_048_576
    url_characters: Annotated[Size, Meta(description="Maximum length of a target URL, in characters.")] = 8_192
    name_bytes: Annotated[
        Size, Meta(description="Maximum length of the name of a handle that a value refers to, in characters.")
    ] = 2_048
    type_characters: Annotated[Size, Meta(description="Maximum length of the type of a value, in characters.")] = 255
    text_characters: Annotated[
        Size, Meta(description="Maximum length of a single-line text in the metadata of a record, in characters.")
    ] = 4_096
    schemes: Annotated[
        tuple[str, ...],
        Meta(description="URL schemes that a target may have; javascript: and data: are always refused."),
    ] = ("http", "https", "ftp", "mailto")
    agent_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=1 << 60,
            description="Maximum number of bytes that one agent may upload into collections, unless it has a quota of "
            "its own; 0: no limit.",
        ),
    ] = 0


def check_values(values: Sequence[Value], limits: Limits) -> tuple[Value, ...]:
    """Check each value. Return the values in the order of their indexes.

    The mark `verbatim` stays only on addresses that are not valid: one that an agent has replaced loses it.
    """
    if len(values) > limits.values:
        raise OutOfRange("record", "values", f"a record can have at most {limits.values} values, not {len(values)}")
    seen: set[int] = set()
    has_marks = False
    for value in values:
        check_value(value, limits)
        has_marks = has_marks or value.verbatim
        if value.index in seen:
            raise InvalidInput("record", "index", f"index {value.index} occurs twice")
        seen.add(value.index)
    if has_marks:
        values = [_without_needless_mark(value, limits) for value in values]
    return tuple(sorted(values, key=lambda value: value.index)) if len(values) > 1 else tuple(values)


def check_value(value: Value, limits: Limits) -> None:
    """Check a value, field by field."""
    index = value.index
    if not is_valid_index(index):
        raise OutOfRange("record", "index", f"index {index} is not between 1 and {_MAX_UNSIGNED}")
    where = f"values[{index}]"
    if not 0 < len(value.type) <= limits.type_characters:
        raise InvalidInput("record", f"{where}.type", f"the type must have 1 to {limits.type_characters} characters")
    check_one_line(value.type, f"{where}.type", limits.type_characters)
    if _PERMISSIONS.fullmatch(value.permissions) is None:
        reason = f"permissions must be four characters 0 or 1, not {quote_text(value.permissions)}"
        raise InvalidInput("record", f"{where}.permissions", reason)
    if value.kind.rpartition("/")[2] == SECRET:
        _check_secret(value, where)
    if isinstance(value.ttl, str):
        to_iso_seconds(value.ttl, f"{where}.ttl")
    elif not 0 <= value.ttl <= _MAX_UNSIGNED:
        raise OutOfRange("record", f"{where}.ttl", f"the TTL {value.ttl} is not between 0 and {_MAX_UNSIGNED} s")
    if value.timestamp:
        check_seconds(value.timestamp, f"{where}.timestamp")
    for reference in value.references:
        _check_reference(reference.handle, reference.index, f"{where}.references", f"{where}.references", limits)
    _check_data(value, where, limits)


def is_valid_index(index: int) -> bool:
    """Return whether a value can have this index."""
    return 1 <= index <= _MAX_UNSIGNED


def _without_needless_mark(value: Value, limits: Limits) -> Value:
    if not value.verbatim:
        return value
    plain = msgspec.structs.replace(value, verbatim=False)
    try:
        check_value(plain, limits)
        if plain.is_url:
            check_target(plain.text or "", limits)  # one with a blank stays as it was imported
    except InvalidInput:
        return value
    return plain


def can_be_verbatim(value: Value) -> bool:
    """Return whether the data of a value is an address, or a list of them: only these have the mark `verbatim`."""
    return value.is_url or value.kind == LOCATIONS


def _check_secret(value: Value, where: str) -> None:
    """Raise InvalidInput if a record contains a secret. Secrets are stored apart from records, and encrypted."""
    if value.data != Text(""):
        reason = f"{value.type} would publish a secret in a record; give its owner an agent's key instead"
        raise InvalidInput("record", f"{where}.type", reason)
    if "1" in value.permissions[PUBLIC_READ:]:
        raise InvalidInput("record", f"{where}.permissions", f"{value.type} must not be public: use 1100")


def _check_data(value: Value, where: str, limits: Limits) -> None:
    data = value.data
    if isinstance(data, Text):
        if len(data.value.encode("utf-8", "surrogatepass")) > limits.value_bytes:
            raise OutOfRange("record", f"{where}.data", f"the data is longer than {limits.value_bytes} bytes")
        check_plain_text(data.value, f"{where}.data")
        if value.verbatim:
            return
        if value.is_url:
            check_target(data.value, limits, f"{where}.data", allows_blanks=True)
        elif value.kind == LOCATIONS:
            _check_locations(data.value, f"{where}.data")
    elif value.is_url and not value.verbatim:
        raise InvalidInput("record", f"{where}.data", "a URL must be text")
    elif isinstance(data, Binary):
        if len(data.value) > limits.value_bytes:
            raise OutOfRange("record", f"{where}.data", f"the data is longer than {limits.value_bytes} bytes")
    elif isinstance(data, Admin):
        if _ADMIN_PERMISSIONS.fullmatch(data.value.permissions) is None:
            reason = (
                "the permissions of an administrator must be twelve characters 0 or 1, "
                f"not {quote_text(data.value.permissions)}"
            )
            raise InvalidInput("record", f"{where}.data.permissions", reason)
        rights = data.value
        _check_reference(rights.handle, rights.index, f"{where}.data.handle", f"{where}.data.index", limits)
    elif isinstance(data, ValueList):
        for reference in data.value:
            parts = f"{where}.data.handle", f"{where}.data.index"
            _check_reference(reference.handle, reference.index, *parts, limits)


def _check_locations(text: str, part: str) -> None:
    """Raise InvalidInput for a list with a web address without a valid host. Other lists are stored as they are."""
    root = read_list(text)
    for href, _ in [] if root is None else read_addresses(root):
        try:
            encode_web_address(href)
        except ValueError as problem:
            raise InvalidInput(
                "record", part, f"the location {quote_text(href)} is not a valid address: {problem}"
            ) from None


def _check_reference(name: str, index: int, name_part: str, index_part: str, limits: Limits) -> None:
    check_one_line(name, name_part, limits.name_bytes)
    if not 0 <= index <= _MAX_UNSIGNED:  # 0 means any value of the handle
        raise OutOfRange("record", index_part, f"index {index} is not between 0 and {_MAX_UNSIGNED}")


def check_target(url: str, limits: Limits, part: str = "target", *, allows_blanks: bool = False) -> str:
    """Return a target unchanged. It must be absolute, with a valid host and a scheme that the settings allow.

    Handle clients write blanks into URL values. With `allows_blanks`, they are accepted; a redirect drops
    those before and after the URL, and encodes the others.
    """
    if len(url) > limits.url_characters:
        raise OutOfRange("record", part, f"the target is longer than {limits.url_characters} characters")
    plain = PLAIN_ADDRESS.fullmatch(url)
    if plain is not None and plain[1] in limits.schemes:
        return url
    match = _URL.fullmatch(url.lstrip(" ") if allows_blanks else url)
    if match is None or not match[2].strip("/ "):
        raise InvalidInput(
            "record", part, f"the target {quote_text(url)} is not an absolute URL, as in https://example.org/"
        )
    scheme = match[1].lower()
    if scheme not in limits.schemes or scheme in _FORBIDDEN_SCHEMES:
        allowed = ", ".join(known for known in limits.schemes if known not in _FORBIDDEN_SCHEMES)
        raise InvalidInput(
            "record", part, f"targets with the scheme {quote_text(scheme)} are not allowed (allowed: {allowed})"
        )
    bad = (_NOT_IN_URL_VALUE if allows_blanks else _NOT_IN_TARGET).search(url)
    if bad:
        reason = f"{bad[0]!a} at position {bad.start()} of the target must be percent-encoded"
        raise InvalidInput("record", part, reason)
    try:
        encode_web_address(url)
    except ValueError as problem:
        raise InvalidInput("record", part, f"the target {quote_text(url)} is not a valid address: {problem}") from None
    return url


def check_about(about: About | None, limits: Limits) -> About | None:
    """Check a description. Return None if it is empty."""
    if about is None or about == About():
        return None
    for field, text in zip(_ABOUT_FIELDS, msgspec.structs.astuple(about), strict=True):
        if text is not None:
            check_one_line(text, field, limits.text_characters)
    return about


def check_one_line(text: str, part: str, longest: int) -> str:
    """Return a short text. It must be one line, without characters that a terminal or a page may execute."""
    if text.isprintable() and len(text) <= longest and not text.isspace() and text:
        return text  # nearly all
    if not text.strip():
        raise InvalidInput("record", part, f"{part} is empty")
    if len(text) > longest:
        raise OutOfRange("record", part, f"{part} is longer than {longest} characters")
    found = _LINE_CONTROLS.search(text)
    if found:
        raise InvalidInput("record", part, f"{found[0]!a} at position {found.start()} of {part} is a control character")
    return text


def check_plain_text(text: str, part: str) -> str:
    """Return a text of any number of lines. It must not have other characters that a terminal or a page may execute."""
    found = _CONTROLS.search(text)
    if found:
        raise InvalidInput("record", part, f"{found[0]!a} at position {found.start()} of {part} is a control character")
    return text


def is_storable(text: str) -> bool:
    """Return whether every store can hold this text: it has no surrogate and no null character."""
    return _NOT_STORABLE.search(text) is None


def check_storable(text: str, part: str) -> str:
    """Return a text that every store can look up. It must not have a surrogate or a null character."""
    found = _NOT_STORABLE.search(text)
    if found:
        raise InvalidInput("record", part, f"{found[0]!a} at position {found.start()} of {part} is not a character")
    return text


@lru_cache(maxsize=1024)
def check_seconds(text: str, part: str) -> str:
    """Return an instant unchanged. It must exist, and be written in UTC with seconds."""
    try:
        if _ISO_SECONDS.fullmatch(text) and datetime.fromisoformat(text):
            return text
    except ValueError:
        pass
    raise InvalidInput(
        "record", part, f"{part} {quote_text(text)} is not in UTC with seconds, as in 2025-01-09T10:30:00Z"
    )


def to_iso_seconds(text: str, part: str) -> str:
    """Return an ISO 8601 instant in UTC with whole seconds and `Z`.

    >>> to_iso_seconds("2007-06-22T12:53:46+10:00", "created")
    '2007-06-22T02:53:46Z'
    """
    value = instant.from_iso(text, "record", part)
    written = instant.to_iso(value.numerator // value.denominator)
    if len(written) != len("2007-06-22T02:53:46Z"):
        raise OutOfRange("record", part, f"{part} {quote_text(text)} is outside the years 0 to 9999")
    return written


def find_free_index(taken: Iterable[int], reserved: Collection[int] = ADMIN_INDEXES) -> int:
    """Return the lowest free index that is not reserved."""
    used = set(taken)
    index = 1
    while index in used or index in reserved:
        index += 1
    return index
