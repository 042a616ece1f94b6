"""The full XML export of URLib: a list of `<metadata>` elements whose children are the fields of a record.

The file is read as a stream. Document types are refused, so there are no entities of the file's own, and nothing
outside it is read. Depth, texts and records are bounded.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from xml.parsers import expat

from perdure.errors import InvalidInput
from perdure.formats.import_entries import RejectedLine
from perdure.formats.urlib_record import FIELDS, REPEATED, UrlibRecord

_RECORD: Final = "metadata"
_DEEPEST: Final = 16
_LARGEST_RECORD: Final = 1 << 20  # characters in the fields that are used
_LARGEST_TOKEN: Final = 1 << 22  # bytes between two marks of the syntax
_SLICE: Final = 1 << 16
_DECLARED: Final = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_SPACE: Final = re.compile(r"\s+")
# Files that declare Latin-1 have the quotation marks and dashes of Windows, which are control characters in Latin-1.
_WINDOWS: Final = {
    code: text for code in range(0x80, 0xA0) if (text := bytes((code,)).decode("cp1252", "ignore")) != ""
}


def declared_encoding(start: bytes) -> str | None:
    """Return the encoding that the first line of a file declares, if it does."""
    match = _DECLARED.match(start.lstrip())
    return None if match is None else match[1].decode("ascii").lower()


def read_records(chunks: Iterable[bytes], encoding: str | None = None) -> Iterator[UrlibRecord | RejectedLine]:
    """Yield the records of a file. `encoding` is used instead of the declared one.

    What follows an error of syntax cannot be read: it is reported with its line, after the records before it.
    """
    listener = _Listener(expat.ParserCreate(encoding))
    fed = 0
    try:
        for chunk in chunks:
            for at in range(0, len(chunk), _SLICE):
                piece = chunk[at : at + _SLICE]
                listener.parser.Parse(piece, False)
                fed += len(piece)
                if fed - listener.parser.CurrentByteIndex > _LARGEST_TOKEN:
                    raise InvalidInput("import", "file", "the XML has a tag or an attribute that is too long")
                yield from listener.take_records()
        listener.parser.Parse(b"", True)
    except expat.ExpatError as problem:
        yield from listener.take_records()
        hint = "; if the file is in Latin-1, add --encoding latin-1" if "invalid token" in str(problem) else ""
        if not listener.count:
            raise InvalidInput("import", "file", f"the file is not XML that can be read: {problem}{hint}") from None
        yield RejectedLine(problem.lineno, f"the XML cannot be read from here on: {problem}{hint}")
        return
    yield from listener.take_records()
    if not listener.count:
        reason = "the XML has no element <metadata>: export the records of URLib with choice=fullXML"
        raise InvalidInput("import", "file", reason)


class _Listener:
    """Receives the events of the parser, and collects the records."""

    def __init__(self, parser: "expat.XMLParserType") -> None:
        self.parser = parser
        self.count = 0
        self._ready: list[UrlibRecord | RejectedLine] = []
        self._depth = 0
        self._record_depth = 0  # 0 outside of records
        self._line = 0
        self._fields: dict[str, list[str]] = {}
        self._text: list[str] | None = None  # of a field that is used
        self._size = 0
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.ExternalEntityRefHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add_text

    def take_records(self) -> list[UrlibRecord | RejectedLine]:
        """Return the records that are complete, each once."""
        ready, self._ready = self._ready, []
        return ready

    def _refuse(self, *declared: Any) -> int:
        reason = f"line {self.parser.CurrentLineNumber} declares a document type or an entity, which is not allowed"
        raise InvalidInput("import", "file", reason)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InvalidInput("import", "file", f"line {self.parser.CurrentLineNumber}: the XML is nested too deeply")
        if not self._record_depth:
            if name == _RECORD:
                self._record_depth, self._line = self._depth, self.parser.CurrentLineNumber
                self._fields, self._size = {}, 0
        elif self._depth == self._record_depth + 1 and name in FIELDS:
            texts = self._fields.setdefault(name, [])
            self._text = [] if name in REPEATED or not texts else None
            if self._text is not None:
                self._fields[name].append("")

    def _add_text(self, text: str) -> None:
        if self._text is not None:
            self._size += len(text)
            if self._size <= _LARGEST_RECORD:
                self._text.append(text)

    def _end(self, name: str) -> None:
        if self._record_depth and self._depth == self._record_depth + 1 and self._text is not None:
            self._fields[name][-1] = _SPACE.sub(" ", "".join(self._text).translate(_WINDOWS)).strip()
            self._text = None
        elif self._depth == self._record_depth:
            self._record_depth = 0
            self.count += 1
            if self._size > _LARGEST_RECORD:
                reason = f"the record is longer than {_LARGEST_RECORD:,} characters"
                self._ready.append(RejectedLine(self._line, reason))
            else:
                self._ready.append(UrlibRecord(self._line, self._fields))
        self._depth -= 1
