"""BibTeX files: entries of fields in braces or quotation marks. Comments and `@string`, `@preamble` are passed over.

>>> entry, = read_records([(1, '@Article{A:1999, ibi = "APM77Z/KFQ6T", author = {Banon, G. and J. R.}}')])
>>> entry.fields["author"], entry.fields["ibi"]
(['Banon, G.', 'J. R.'], ['APM77Z/KFQ6T'])
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from perdure.errors import InvalidInput
from perdure.formats.import_entries import RejectedLine
from perdure.formats.latex_text import to_plain_address, to_plain_text
from perdure.formats.urlib_record import FIELDS, REPEATED, UrlibRecord

_LARGEST_ENTRY: Final = 1 << 20  # characters
_START: Final = re.compile(r"\s*@\s*([A-Za-z]+)\s*\{")
_NOT_ENTRIES: Final = frozenset({"string", "preamble", "comment"})
_FIELD: Final = re.compile(r"[\s,]*([A-Za-z][A-Za-z0-9_.:+-]*)\s*=\s*")
_BARE: Final = re.compile(r"[^\s,{}\"#=]+")
_MORE: Final = re.compile(r"\s*#\s*")
_KEY: Final = re.compile(r"\s*([^\s,={}]*)\s*(?:,|$)")
_AND: Final = re.compile(r"\s+and\s+", re.IGNORECASE)
_MARKS: Final = re.compile(r'\\.|[{}"]', re.DOTALL)
_BRACES: Final = re.compile(r"\\.|[{}]", re.DOTALL)
_ADDRESSES: Final = frozenset(
    {"ibi", "identifier", "repository", "metadatarepository", "url", "target", "targetfile", "site", "doi"}
    | {"citationkey", "lastupdate", "metadatalastupdate"}
)


def read_records(lines: Iterable[tuple[int, str]]) -> Iterator[UrlibRecord | RejectedLine]:
    """Yield the entries of a file, given its lines. One that is never closed ends where the next one begins."""
    entry: list[str] = []
    first = size = depth = 0
    kind = ""
    has_entries = False
    for number, line in lines:
        start = _START.match(line)
        if entry and start is not None and depth > 0 and not line[:1].isspace():
            yield RejectedLine(first, "the entry is not closed: a brace is missing")
            entry = []
        if not entry:
            if start is None:
                continue  # text between entries is a comment
            first, size, depth, kind = number, 0, 0, start[1].lower()
            has_entries = True
            line = "{" + line[start.end() :]
        size += len(line)
        if size > _LARGEST_ENTRY:
            yield RejectedLine(first, f"the entry is longer than {_LARGEST_ENTRY:,} characters, or is not closed")
            entry, depth = [], 0
            continue
        entry.append(line)
        depth += _count_depth(line)
        if depth <= 0:
            if kind not in _NOT_ENTRIES:
                yield _parse_entry(first, "".join(entry))
            entry = []
    if entry and kind not in _NOT_ENTRIES:
        yield RejectedLine(first, "the entry is not closed: a brace is missing")
    if not has_entries:
        raise InvalidInput("import", "file", "the file is neither the full XML of URLib nor BibTeX")


def _count_depth(line: str) -> int:
    marks = [match[0] for match in _BRACES.finditer(line)]
    return marks.count("{") - marks.count("}")


def _parse_entry(line: int, text: str) -> UrlibRecord | RejectedLine:
    """Parse an entry, whose text is in braces."""
    body = text[1 : text.rindex("}")] if "}" in text else text[1:]
    fields: dict[str, list[str]] = {}
    key = _KEY.match(body)
    at = 0
    if key is not None:
        fields["citationkey"] = [key[1]] if key[1] else []
        at = key.end()
    while (match := _FIELD.match(body, at)) is not None:
        value, at = _read_value(body, match.end())
        if value is None:
            return RejectedLine(line, f"the field {match[1]} has no value that can be read")
        name = match[1].lower()
        if name in FIELDS and (name == "citationkey" or name not in fields):
            fields[name] = _split(name, value)
    rest = body[at:].strip(" \t\r\n,")
    if rest:
        return RejectedLine(line, f"the entry cannot be read from {rest[:40]!a} on")
    return UrlibRecord(line, fields)


def _split(name: str, value: str) -> list[str]:
    if name in REPEATED:
        return [to_plain_text(one) for one in _split_names(value)]
    return [to_plain_address(value) if name in _ADDRESSES else to_plain_text(value)]


def _split_names(value: str) -> Iterator[str]:
    """Yield the names in a list. An `and` in braces belongs to its name."""
    start = counted = depth = 0
    for match in _AND.finditer(value):
        depth += _count_depth(value[counted : match.start()])
        counted = match.start()
        if depth <= 0:
            yield value[start : match.start()]
            start = match.end()
    yield value[start:]


def _read_value(body: str, at: int) -> tuple[str | None, int]:
    """Return a value, which may be of several parts with # between them, and where it ends."""
    parts = []
    while True:
        part, at = _read_part(body, at)
        if part is None:
            return None, at
        parts.append(part)
        more = _MORE.match(body, at)
        if more is None:
            return "".join(parts), at
        at = more.end()


def _read_part(body: str, at: int) -> tuple[str | None, int]:
    opening = body[at : at + 1]
    if opening not in ("{", '"') or not opening:
        bare = _BARE.match(body, at)
        return (None, at) if bare is None else (bare[0], bare.end())
    depth = 0
    for match in _MARKS.finditer(body, at + 1):
        mark = match[0]
        if depth == 0 and mark == ("}" if opening == "{" else '"'):
            return body[at + 1 : match.start()], match.end()
        depth += (mark == "{") - (mark == "}")
    return None, at
