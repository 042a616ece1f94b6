"""The full XML export of URLib: a list of `<metadata>` elements whose children are the fields of a record.

The file is read as a stream. Document types are refused, so there are no entities of the file's own, and nothing
outside it is read. Depth, texts and records are bounded. A record with an error of syntax is refused, and reading goes
on with the next one.
"""

import re
from collections.abc import Generator, Iterable, Iterator
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
_NEXT_RECORD: Final = re.compile(rb"<metadata[\s>]")
_LONGEST_MARK: Final = len(b"<metadata ") - 1
_UTF8: Final = "utf-8"
_ROOT: Final = b"<metadatalist>"
_MOST_HELD: Final = 20  # errors before the first record: if there is none, the file is something else
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

    A record with an error of syntax is reported with the line of the error, and the next record is read.
    """
    held: list[RejectedLine] = []
    reader = _RecordReader(encoding)
    for one in reader.read(chunks):
        if isinstance(one, RejectedLine) and not reader.count and len(held) < _MOST_HELD:
            held.append(one)
            continue
        yield from held
        held = []
        yield one
    if reader.count:
        yield from held
    elif held:
        raise InvalidInput("import", "file", f"the file is not XML that can be read: {held[0].reason}")
    else:
        reason = "the XML has no element <metadata>: export the records of URLib with choice=fullXML"
        raise InvalidInput("import", "file", reason)


class _RecordReader:
    """Feeds a file to a parser, and after an error of syntax to another one, from the next record on."""

    def __init__(self, encoding: str | None) -> None:
        self.count = 0  # of complete records
        self._encoding = encoding
        self._listener = _Listener(expat.ParserCreate(encoding))
        self._fed = 0  # bytes, to this parser
        self._last = b""  # the end of what it got
        self._line = 0  # line ends before the next piece
        self._is_skipping = False

    def read(self, chunks: Iterable[bytes]) -> Iterator[UrlibRecord | RejectedLine]:
        """Yield the records, and an error for each part that cannot be read."""
        rest = b""
        for chunk in chunks:
            for at in range(0, len(chunk), _SLICE):
                rest = yield from self._read_piece(rest + chunk[at : at + _SLICE])
        while not self._is_skipping:
            rest = yield from self._feed(b"", is_last=True)
            if not self._is_skipping:
                return
            yield from self._read_piece(rest)

    def _read_piece(self, rest: bytes) -> Generator[UrlibRecord | RejectedLine, None, bytes]:
        """Read a piece, and return its end if that may be the beginning of a record after an error."""
        while rest:
            if self._is_skipping:
                rest = self._start_again(rest)
                if self._is_skipping:
                    break
            rest = yield from self._feed(rest)
        return rest

    def _feed(self, piece: bytes, *, is_last: bool = False) -> Generator[UrlibRecord | RejectedLine, None, bytes]:
        """Feed a piece, and return what is to be read again after an error."""
        listener = self._listener
        problem: expat.ExpatError | None = None
        try:
            listener.parser.Parse(piece, is_last)
        except expat.ExpatError as error:
            problem = error
        ready = listener.take_records()
        self.count += len(ready)
        yield from ready
        if problem is not None:
            if listener.is_reading or not listener.is_restarted:
                yield RejectedLine(
                    listener.line_of(problem.lineno), _explain(problem, self._encoding or listener.encoding)
                )
            return self._skip_from(listener.parser.ErrorByteIndex, piece)
        self._fed += len(piece)
        if self._fed - listener.parser.CurrentByteIndex > _LARGEST_TOKEN:
            raise InvalidInput("import", "file", "the XML has a tag or an attribute that is too long")
        self._line += piece.count(b"\n")
        self._last = (self._last + piece)[-_SLICE:]  # an error can be noticed later than it occurs
        return b""

    def _skip_from(self, error_at: int, piece: bytes) -> bytes:
        """Return what follows an error, as far as it is known."""
        window = self._last + piece
        start = max(error_at - self._fed + len(self._last), 0) + 1
        self._line += window.count(b"\n", 0, start) - self._last.count(b"\n")
        self._is_skipping = True
        return window[start:]

    def _start_again(self, rest: bytes) -> bytes:
        """Begin with the next record in these bytes. Without one, keep only what may be its beginning."""
        match = _NEXT_RECORD.search(rest)
        at = max(len(rest) - _LONGEST_MARK, 0) if match is None else match.start()
        self._line += rest.count(b"\n", 0, at)
        if match is not None:
            encoding = self._encoding or self._listener.encoding
            self._listener = _Listener(expat.ParserCreate(encoding), self._line)
            self._listener.encoding = encoding
            self._listener.parser.Parse(_ROOT, False)
            self._fed, self._last, self._is_skipping = len(_ROOT), b"", False
        return rest[at:]


def _explain(problem: expat.ExpatError, encoding: str | None) -> str:
    reason = f"the record cannot be read: {expat.ErrorString(problem.code)}"
    if problem.code == expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]:
        reason += "; an & is written &amp;"
        if (encoding or _UTF8).lower() == _UTF8:
            reason += ", and if the file is in Latin-1, add --encoding latin-1"
    return reason


class _Listener:
    """Receives the events of the parser, and collects the records."""

    def __init__(self, parser: "expat.XMLParserType", lines_before: int | None = None) -> None:
        self.parser = parser
        self.is_restarted = lines_before is not None
        self._lines_before = lines_before or 0
        self.encoding: str | None = None  # that the file declares
        self._ready: list[UrlibRecord | RejectedLine] = []
        self._depth = 0
        self._record_depth = 0  # 0 outside of records
        self._line = 0
        self._fields: dict[str, list[str]] = {}
        self._text: list[str] | None = None  # of a field that is used
        self._size = 0
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.XmlDeclHandler = self._declare
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.ExternalEntityRefHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add_text

    @property
    def is_reading(self) -> bool:
        """Return whether a record has begun, and has not ended."""
        return self._record_depth > 0

    def line_of(self, line: int) -> int:
        """Return the line of the file, of one that the parser counts."""
        return self._lines_before + line

    def take_records(self) -> list[UrlibRecord | RejectedLine]:
        """Return the records that are complete, each once."""
        ready, self._ready = self._ready, []
        return ready

    def _declare(self, version: str, encoding: str | None, standalone: int) -> None:
        self.encoding = encoding

    def _refuse(self, *declared: Any) -> int:
        line = self.line_of(self.parser.CurrentLineNumber)
        reason = f"line {line} declares a document type or an entity, which is not allowed"
        raise InvalidInput("import", "file", reason)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            line = self.line_of(self.parser.CurrentLineNumber)
            raise InvalidInput("import", "file", f"line {line}: the XML is nested too deeply")
        if not self._record_depth:
            if name == _RECORD:
                self._record_depth, self._line = self._depth, self.line_of(self.parser.CurrentLineNumber)
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
            if self._size > _LARGEST_RECORD:
                reason = f"the record is longer than {_LARGEST_RECORD:,} characters"
                self._ready.append(RejectedLine(self._line, reason))
            else:
                self._ready.append(UrlibRecord(self._line, self._fields))
        self._depth -= 1
