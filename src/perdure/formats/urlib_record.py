"""Records of URLib, as its exports in XML and in BibTeX state them, and the names that they become.

A record has up to three names: the repository name, the opaque label (`identifier` or `ibi`), and the repository name
of its metadata. All become names of one identifier.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final
from urllib.parse import quote

import msgspec

from perdure.errors import InvalidInput, InvalidName
from perdure.formats.import_entries import Entry, ImportPut, Notice, RejectedLine
from perdure.formats.target_pattern import TargetPattern, read_pattern
from perdure.names import ibi
from perdure.names.handle import fold
from perdure.records.record import About
from perdure.records.value import UNSTATED_TTL, Text, Value

COLUMNS: Final = ("repository", "identifier", "metadatarepository", "site", "targetfile", "citationkey", "year", "url")
FIELDS: Final = frozenset(
    {*COLUMNS, "ibi", "author", "editor", "title", "date", "holdercode", "lastupdate", "metadatalastupdate", "doi"}
    | {"target"}
    | {"journal", "booktitle", "conferencename", "publisher", "school", "university", "institution"}
)
REPEATED: Final = frozenset({"author", "editor"})
_NAMES: Final = ("repository", "identifier", "ibi", "metadatarepository")
_WHERE: Final = ("journal", "booktitle", "conferencename", "publisher", "school", "university", "institution")
_TARGET: Final = 1
# A type has the same index in every record, so that a later import compares like with like.
_VALUES: Final = {
    "holdercode": (2, "URLIB.HOLDERCODE"),
    "lastupdate": (3, "URLIB.LASTUPDATE"),
    "metadatalastupdate": (4, "URLIB.METADATALASTUPDATE"),
    "citationkey": (5, "URLIB.CITATIONKEY"),
    "doi": (6, "DOI"),
}
_NOT_A_LABEL: Final = {"repository": 7, "identifier": 8, "ibi": 9, "metadatarepository": 10}
_BEFORE_LABEL: Final = re.compile(r"ibi:|https?://(?:www\.)?urlib\.net/(?:(?:rep|ibi)/)?", re.IGNORECASE)
_RESOLVER_ADDRESS: Final = re.compile(r"https?://[^/]+/(?:(?:rep|ibi)/)?(?P<label>[^?#]+?)/?(?:[?#].*)?", re.IGNORECASE)
_UPDATE: Final = re.compile(r"([0-9]{4}):([0-9]{2})\.([0-9]{2})\.([0-9]{2})\.([0-9]{2})(?:\.([0-9]{2}))?(?![0-9])")
_SITE: Final = re.compile(r"(?P<host>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)(?: +[0-9]+)?")
_PATH: Final = "/@!$'()*,;:=+~"


class UrlibRecord(msgspec.Struct, frozen=True):
    """The fields of one record that an import uses, by their names in lower case. Authors may be several."""

    line: int
    fields: Mapping[str, Sequence[str]]

    def first(self, field: str) -> str | None:
        """Return the first text of a field, or None if it is missing or empty."""
        return next((text for text in self.fields.get(field, ()) if text), None)


def read_patterns(patterns: Sequence[str]) -> TargetPattern | None:
    """Return the pattern of the addresses, if there is one."""
    if len(patterns) > 1:
        raise InvalidInput("import", "target_pattern", "records of URLib have one pattern, for all of them")
    return read_pattern(patterns[0], COLUMNS) if patterns else None


def to_entries(record: UrlibRecord, pattern: TargetPattern | None = None) -> Iterator[Entry]:
    """Yield the name of a record with its aliases, and a notice for what is not as it should be."""
    labels = {field: _clean_label(text) for field in _NAMES if (text := record.first(field)) is not None}
    names = list(dict.fromkeys(label for label in labels.values() if _is_label(label)))
    if not names:
        wrong = f": {', '.join(labels.values())!a} is none" if labels else ""
        yield RejectedLine(record.line, f"the record has no label in repository, identifier or ibi{wrong}")
        return
    unread = {field: label for field, label in labels.items() if label not in names}
    target, is_old = _find_target(record, names, pattern)
    yield ImportPut(
        line=record.line,
        name=names[0],
        aliases=tuple(names[1:]),
        is_label=True,
        values=tuple(_build_values(record, target, unread)),
        about=_describe(record),
    )
    for field, label in unread.items():
        what = f"the {field} {label!a} is not an IBI label: it is a value, and not a name"
        yield Notice(record.line, what, names[0], "alias")
    if target is None:
        yield Notice(record.line, "the record states no address: add --target-pattern", names[0])
    elif is_old:
        what = f"its only address is one of a resolver of URLib, {target}: to replace it, add --target-pattern"
        yield Notice(record.line, what, names[0])


def _clean_label(text: str) -> str:
    return _BEFORE_LABEL.sub("", text, count=1) if _BEFORE_LABEL.match(text) else text


def _is_label(text: str) -> bool:
    try:
        ibi.parse_any(ibi.split_document_type(text)[0])
    except InvalidName:
        return False
    return True


def _find_target(record: UrlibRecord, names: Sequence[str], pattern: TargetPattern | None) -> tuple[str | None, bool]:
    """Return the address, and whether it is that of the name at a resolver, which this registry is to replace.

    It is that of the pattern, if the record has all its columns; else the stated target or address; else that of the
    file.
    """
    if pattern is not None:
        try:
            return pattern.fill(_columns(record, names)), False
        except InvalidInput:
            pass
    stated, target = record.first("url"), record.first("target")
    if target is not None:  # in a citation of a registry like this one, the address is that of the name
        return target, False
    address = None if stated is None else _RESOLVER_ADDRESS.fullmatch(stated)
    is_old = address is not None and fold(address["label"]) in {fold(name) for name in names}
    if stated is not None and not is_old:
        return stated, False
    return _file_address(record) or stated, is_old and _file_address(record) is None


def _columns(record: UrlibRecord, names: Sequence[str]) -> dict[str, str | None]:
    columns = {column: record.first(column) for column in COLUMNS}
    columns["identifier"] = columns["identifier"] or record.first("ibi")
    columns["repository"] = columns["repository"] or names[0]
    columns["site"] = _site_host(record)
    return columns


def _site_host(record: UrlibRecord) -> str | None:
    """Return the host of a site such as `mtc-m16c.sid.inpe.br 804`. The number is not the port of a web server."""
    match = _SITE.fullmatch(record.first("site") or "")
    return None if match is None else match["host"]


def _file_address(record: UrlibRecord) -> str | None:
    host, repository, file = _site_host(record), record.first("repository"), record.first("targetfile")
    if host is None or repository is None or file is None:
        return None
    return f"http://{host}/col/{quote(repository, safe=_PATH)}/doc/{quote(file, safe=_PATH)}"


def _build_values(record: UrlibRecord, target: str | None, unread: Mapping[str, str]) -> Iterator[Value]:
    """Yield the values, with the times at which the record and its metadata were last changed."""
    changed = _read_time(record.first("lastupdate")) or _read_time(record.first("metadatalastupdate"))
    if target is not None:
        yield Value(_TARGET, "URL", Text(target), changed, UNSTATED_TTL)
    for field, (index, kind) in _VALUES.items():
        text = record.first(field)
        if text is not None:
            at = _read_time(text) if field == "metadatalastupdate" else changed
            yield Value(index, kind, Text(text), at or changed, UNSTATED_TTL)
    for field, label in unread.items():
        yield Value(_NOT_A_LABEL[field], f"URLIB.{field.upper()}", Text(label), changed, UNSTATED_TTL)


def _read_time(text: str | None) -> str:
    """Return the time in a text such as `2017:04.09.14.30.33 sid.inpe.br/… marciana`, or an empty text."""
    match = _UPDATE.match(text or "")
    if match is None:
        return ""
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
    try:
        return datetime(year, month, day, hour, minute, second).isoformat() + "Z"
    except ValueError:
        return ""


def _find_date(record: UrlibRecord) -> str | None:
    """Return the date, or else the year. A date that does not repeat the year is only a day and a month."""
    year, date = record.first("year"), record.first("date")
    return date if year is None or (date is not None and date.startswith(f"{year}-")) else year


def _describe(record: UrlibRecord) -> About | None:
    people = [text for text in record.fields.get("author", ()) if text] or [
        text for text in record.fields.get("editor", ()) if text
    ]
    about = About(
        who="; ".join(people) or None,
        what=record.first("title"),
        when=_find_date(record),
        where=next((text for field in _WHERE if (text := record.first(field)) is not None), None),
    )
    return None if about == About() else about
