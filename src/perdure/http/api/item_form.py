"""Parser of a form with files for an item: its fields first, then the files, which are written while they come."""

from contextlib import ExitStack
from typing import Final

from multipart import MultipartError, MultipartSegment, PushMultipartParser  # type: ignore[import-untyped]

from perdure.collections.file_names import PathSet, check_path
from perdure.errors import InvalidInput, OutOfRange, quote_text
from perdure.http.api.multipart import IDENTITY_ENCODINGS, parse_boundary
from perdure.http.items.content_headers import stated_media_type
from perdure.http.items.received_file import ReceivedFile
from perdure.http.shared.http_errors import BodyTooLarge, MalformedRequest

FIELDS: Final = ("label", "subsystem", "title", "main", "message")
_MOST_FILES: Final = 1_000
_LONGEST_FIELD: Final = 4_096  # bytes


class ItemForm:
    """An incremental parser. Its files are closed with the stack that is given to it."""

    def __init__(self, content_type: str, stack: ExitStack, most_bytes: int) -> None:
        self._parser = PushMultipartParser(parse_boundary(content_type), max_segment_size=most_bytes)
        self._stack = stack
        self._most_bytes = most_bytes
        self._texts: dict[str, bytearray] = {}
        self._current: bytearray | ReceivedFile | None = None
        self._paths = PathSet()
        self.files: list[ReceivedFile] = []
        self.size = 0  # of all files

    @property
    def fields(self) -> dict[str, str]:
        """Return the fields before the files."""
        return {name: _decode(name, text) for name, text in self._texts.items()}

    @property
    def paths(self) -> list[str]:
        """Return the paths of the files so far."""
        return [one.path for one in self.files]

    async def feed(self, piece: bytes) -> None:
        """Take the next part of the body."""
        try:
            events = list(self._parser.parse(piece))
        except MultipartError as problem:
            raise MalformedRequest(f"invalid multipart form: {problem}") from None
        for event in events:
            if isinstance(event, MultipartSegment):
                self._begin_part(event)
            elif event is not None:
                await self._take_bytes(bytes(event))

    def finish(self) -> None:
        """Raise MalformedRequest if the form is not complete, and InvalidInput if it has no file."""
        try:
            self._parser.close()
        except MultipartError:
            raise MalformedRequest("the multipart form ends before its closing boundary") from None
        if not self.files:
            raise InvalidInput("upload", "file", "the form has no file: send each as a part with a filename")

    def _begin_part(self, part: MultipartSegment) -> None:
        name: str = part.name
        encoding = part.header("Content-Transfer-Encoding", "binary").strip().lower()
        if encoding not in IDENTITY_ENCODINGS:
            reason = f"the part {quote_text(name)} has the transfer encoding {quote_text(encoding)}: send binary"
            raise InvalidInput("request", name, reason)
        if part.filename:
            self._begin_file(part)
        elif name not in FIELDS:
            raise InvalidInput("request", name, f"unknown field {quote_text(name)}: supported are {', '.join(FIELDS)}")
        elif name in self._texts:
            raise InvalidInput("request", name, f"the field {name} is given more than once")
        elif self.files:
            raise InvalidInput("request", name, f"the field {name} must come before the files")
        else:
            self._current = self._texts.setdefault(name, bytearray())

    def _begin_file(self, part: MultipartSegment) -> None:
        if len(self.files) == _MOST_FILES:
            raise OutOfRange("upload", "file", f"one form can have {_MOST_FILES} files: send the others in another one")
        self._paths.add(check_path(part.filename))
        media_type = stated_media_type(part.content_type)
        self._current = self._stack.enter_context(ReceivedFile(part.filename, media_type))
        self.files.append(self._current)

    async def _take_bytes(self, piece: bytes) -> None:
        current = self._current
        if isinstance(current, ReceivedFile):
            self.size += len(piece)
            if self.size > self._most_bytes:
                raise BodyTooLarge(self._most_bytes)
            await current.add(piece)
        elif current is not None:
            if len(current) + len(piece) > _LONGEST_FIELD:
                raise BodyTooLarge(_LONGEST_FIELD, "field")
            current += piece


def _decode(name: str, text: bytearray) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("request", name, f"the field {name} is not UTF-8") from None
