"""The admission of values that a client could not write: an import loses no name because of one of its values.

An address that is not valid is stored verbatim: it is shown, but no reader is redirected to it. Text with characters
that no terminal or page may show is stored as bytes. A value that cannot be stored at all is left out of a new record,
and refused in a change of an existing one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Final

import msgspec

from perdure.errors import InvalidInput, quote_text
from perdure.formats.import_entries import FullHistory, ImportEdit, Notice, PastRevision
from perdure.records.address_repair import mend_address
from perdure.records.record import About, Record, encode
from perdure.records.validation import (
    ADMIN_INDEXES,
    Limits,
    can_be_verbatim,
    check_about,
    check_plain_text,
    check_seconds,
    check_target,
    check_value,
    check_values,
    is_valid_index,
)
from perdure.records.value import Binary, Text, Value

_NOT_IN_LINE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_LONGEST_NOTE: Final = 4_096  # characters about mended addresses in the note of a version


def admit_values(
    values: Iterable[Value], line: int, name: str, limits: Limits, *, mend: bool
) -> tuple[tuple[Value, ...], tuple[Notice, ...]]:
    """Return the values as they can be stored, with a notice for each one that is not stored as a client's value is.

    Raise InvalidInput for a value that cannot be stored.
    """
    admitted, notices = [], []
    for value in values:
        value, notice = _admit_value(value, line, name, limits, mend)
        admitted.append(value)
        if notice is not None:
            notices.append(notice)
    return tuple(admitted), tuple(notices)


def admit_all_values(
    values: Iterable[Value], line: int, name: str, limits: Limits, *, mend: bool
) -> tuple[tuple[Value, ...], tuple[Notice, ...]]:
    """Return the values of a record as `admit_values` does, without those that cannot be stored."""
    admitted: list[Value] = []
    notices: list[Notice] = []
    for value in _with_valid_indexes(values, line, name, notices):
        if len(admitted) == limits.values:
            reason = f"a record can have at most {limits.values} values"
            notices.append(_leave_out(value, line, name, reason))
            continue
        try:
            value, notice = _admit_value(value, line, name, limits, mend)
        except InvalidInput as problem:
            notices.append(_leave_out(value, line, name, problem.reason))
            continue
        admitted.append(value)
        if notice is not None:
            notices.append(notice)
    return tuple(admitted), tuple(notices)


def admit_timestamps(
    values: Sequence[Value], line: int, name: str, latest: str
) -> tuple[tuple[Value, ...], tuple[Notice, ...]]:
    """Return the values without timestamps that are none, or after `latest`, which no correct clock explains."""
    reasons = [_find_wrong_time(value.timestamp, latest) for value in values]
    if not any(reasons):
        return tuple(values), ()
    admitted, notices = [], []
    for value, reason in zip(values, reasons, strict=True):
        if reason is not None:
            what = f"the timestamp {quote_text(value.timestamp)} of value {value.index} {reason}"
            notices.append(Notice(line, f"{what}: the time of the import is used", name, "changed"))
            value = msgspec.structs.replace(value, timestamp="")
        admitted.append(value)
    return tuple(admitted), tuple(notices)


def fit_record(record: Record, line: int, name: str, limits: Limits) -> tuple[Record, tuple[Notice, ...]]:
    """Return a record that is not too long, without its longest values if necessary; addresses go last."""
    excess = len(encode(record)) - limits.record_bytes
    reason = f"the record would be longer than {limits.record_bytes} bytes"
    notices = []
    values = list(record.values)
    for value in sorted(record.values, key=lambda value: (value.is_url, -_length_of(value))):
        if excess <= 0:
            break
        excess -= _length_of(value)
        values.remove(value)
        notices.append(_leave_out(value, line, name, reason))
    return msgspec.structs.replace(record, values=tuple(values)), tuple(notices)


def has_blank_address(values: Iterable[Value]) -> bool:
    """Return whether a value is an address with a blank: a Handle client may write it, but an import does not guess."""
    return any(value.is_url and " " in (value.text or "") for value in values)


def admit_edit(entry: ImportEdit, limits: Limits, *, mend: bool) -> tuple[ImportEdit, tuple[Notice, ...]]:
    """Return an operation with its values as they can be stored."""
    values, notices = admit_values(entry.values, entry.line, entry.name, limits, mend=mend)
    return (msgspec.structs.replace(entry, values=values), notices) if notices else (entry, ())


def admit_history(entry: FullHistory, limits: Limits) -> tuple[FullHistory, tuple[Notice, ...]]:
    """Return a history whose addresses are valid here, or marked. No address is mended: the past does not change."""
    revisions: list[PastRevision] = []
    notices: tuple[Notice, ...] = ()
    for past in entry.revisions:
        record = past.record
        try:
            check_values(record.values, limits)
        except InvalidInput:
            values, notices = admit_values(record.values, entry.line, entry.name, limits, mend=False)
            past = msgspec.structs.replace(past, record=msgspec.structs.replace(record, values=values))
        revisions.append(past)
    return msgspec.structs.replace(entry, revisions=tuple(revisions)), notices


def admit_description(about: About, line: int, name: str, limits: Limits) -> tuple[About | None, tuple[Notice, ...]]:
    """Return a description that can be stored: on one line, without control characters, and not too long."""
    try:
        return check_about(about, limits), ()
    except InvalidInput as problem:
        reason = problem.reason
    fields = {field: _shorten(text, limits) for field, text in msgspec.structs.asdict(about).items()}
    notice = Notice(line, f"the description was changed: {reason}", name, "description")
    return check_about(About(**fields), limits), (notice,)


def _shorten(text: str | None, limits: Limits) -> str | None:
    if text is None:
        return None
    words = " ".join(_NOT_IN_LINE.sub(" ", text).split())
    return words[: limits.text_characters] or None


def note_of(note: str, notices: Sequence[Notice]) -> str:
    """Return the note of a version, with the addresses that were mended in it."""
    mended = [f"{quote_text(one.before)} became {one.after}" for one in notices if one.kind == "mended"]
    return f"{note}; mended: {'; '.join(mended)}"[:_LONGEST_NOTE] if mended else note


def _with_valid_indexes(values: Iterable[Value], line: int, name: str, notices: list[Notice]) -> Iterator[Value]:
    """Yield the values, with a free index for each one whose index is not valid or occurs twice."""
    values = list(values)
    first: dict[int, Value] = {}
    for value in values:
        if is_valid_index(value.index):
            first.setdefault(value.index, value)
    free = (index for index in count(1) if index not in first and index not in ADMIN_INDEXES)
    for value in values:
        if first.get(value.index) is value:
            yield value
            continue
        index = next(free)
        reason = "occurs twice" if value.index in first else "is not valid"
        what = f"the index {value.index} {reason}: the value ({quote_text(value.type)}) has the index {index}"
        notices.append(Notice(line, what, name, "changed"))
        yield msgspec.structs.replace(value, index=index)


def _find_wrong_time(timestamp: str, latest: str) -> str | None:
    if not timestamp:
        return None
    try:
        check_seconds(timestamp, "timestamp")
    except InvalidInput:
        return "is not in UTC with seconds"
    return "is in the future" if timestamp > latest else None


def _leave_out(value: Value, line: int, name: str, reason: str) -> Notice:
    return Notice(line, f"value {value.index} ({quote_text(value.type)}) was left out: {reason}", name, "left-out")


def _length_of(value: Value) -> int:
    return len(msgspec.json.encode(value))


def _admit_value(value: Value, line: int, name: str, limits: Limits, mend: bool) -> tuple[Value, Notice | None]:
    try:
        check_value(value, limits)
        if value.is_url and value.text is not None:
            check_target(value.text, limits)
    except InvalidInput as problem:
        reason = problem.reason
    else:
        return value, None
    text = value.text
    if mend and value.is_url and text is not None and (mended := mend_address(text, limits)) is not None:
        mended_value = msgspec.structs.replace(value, data=Text(mended))
        check_value(mended_value, limits)
        change = f"{quote_text(text)} became {mended}"
        return mended_value, Notice(
            line, f"the address in value {value.index} was mended: {change}", name, "mended", text, mended
        )
    if text is not None and not _is_plain(text):
        value = msgspec.structs.replace(value, data=Binary(_to_bytes(text)), verbatim=can_be_verbatim(value))
        what = f"value {value.index} ({value.type}) was imported as bytes: {reason}"
    else:
        value = msgspec.structs.replace(value, verbatim=can_be_verbatim(value))
        what = f"value {value.index} ({value.type}) was imported verbatim, and does not redirect: {reason}"
    check_value(value, limits)
    return value, Notice(line, what, name, "verbatim" if value.verbatim else "bytes", text)


def _is_plain(text: str) -> bool:
    try:
        return bool(check_plain_text(text, "data")) or not text
    except InvalidInput:
        return False


def _to_bytes(text: str) -> bytes:
    """Return the bytes of the file that a text was read from, also of those that are not UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
