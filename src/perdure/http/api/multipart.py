"""Parser of a form with an observation and its source file, which is hashed while it streams and not stored."""

from hashlib import sha256
from typing import Final

from multipart import (  # type: ignore[import-untyped]
    MultipartError,
    MultipartSegment,
    PushMultipartParser,
    parse_options_header,
)

from perdure.errors import InvalidInput, quote_text
from perdure.http.shared.http_errors import BodyTooLarge, ContentTooLarge, MalformedRequest, UnsupportedMediaType

FORM: Final = "multipart/form-data"
OBSERVATION: Final = "observation"
CONTENT: Final = "content"

_JSON: Final = "application/json"
_LONGEST_BOUNDARY: Final = 70  # RFC 2046, section 5.1.1
_OVERHEAD: Final = 65_536  # bytes for boundaries, headers of parts, preamble and epilogue
IDENTITY_ENCODINGS: Final = ("7bit", "8bit", "binary")  # transfer encodings that do not change the bytes
_PART_HINTS: Final = {
    OBSERVATION: "it contains the observation as JSON",
    CONTENT: "it contains the file; without a file, send the observation as application/json",
}


class ObservationForm:
    """An incremental parser of a form with two parts, observation and content, in either order."""

    def __init__(self, content_type: str, most_observation: int, most_content: int) -> None:
        self._parser = PushMultipartParser(parse_boundary(content_type))
        self._most_observation = most_observation
        self._most_content = most_content
        self._most = most_observation + most_content + _OVERHEAD
        self._size = 0
        self._part = ""  # the part that is being read
        self._seen: set[str] = set()
        self._observation = bytearray()
        self._hash = sha256()
        self._hashed = 0

    def check_length(self, length: int) -> None:
        """Raise ContentTooLarge if the length of the whole form is above the limit."""
        if length > self._most:
            raise ContentTooLarge(self._most_content)

    def feed(self, piece: bytes) -> None:
        self._size += len(piece)
        self.check_length(self._size)
        try:
            for event in self._parser.parse(piece):
                if isinstance(event, MultipartSegment):
                    self._begin_part(event)
                elif event is not None:
                    self._take_bytes(event)
        except MultipartError as problem:
            raise MalformedRequest(f"invalid multipart form: {problem}") from None

    def finish(self) -> tuple[bytes, str]:
        """Return the observation as JSON text, and the SHA-256 of the content."""
        try:
            self._parser.close()
        except MultipartError:
            raise MalformedRequest("the multipart form ends before its closing boundary") from None
        for name, hint in _PART_HINTS.items():
            if name not in self._seen:
                raise InvalidInput("request", name, f"the part {name} is required: {hint}")
        return bytes(self._observation), self._hash.hexdigest()

    def _begin_part(self, part: MultipartSegment) -> None:
        name = part.name
        if name not in _PART_HINTS:
            raise InvalidInput(
                "request", name, f"unknown part {quote_text(name)}: supported are {' and '.join(_PART_HINTS)}"
            )
        if name in self._seen:
            raise InvalidInput("request", name, f"the part {name} is given more than once")
        encoding = part.header("Content-Transfer-Encoding", "binary").strip().lower()
        if encoding not in IDENTITY_ENCODINGS:  # the hash would be of the encoded content
            raise InvalidInput(
                "request",
                name,
                f"the part {name} has the unsupported transfer encoding {quote_text(encoding)}: send binary",
            )
        if name == OBSERVATION and part.content_type not in (None, _JSON):
            raise UnsupportedMediaType(f"{_JSON} in its part {OBSERVATION}")
        self._seen.add(name)
        self._part = name

    def _take_bytes(self, piece: bytes) -> None:
        if self._part == CONTENT:
            self._hashed += len(piece)
            if self._hashed > self._most_content:
                raise ContentTooLarge(self._most_content)
            self._hash.update(piece)
        else:
            if len(self._observation) + len(piece) > self._most_observation:
                raise BodyTooLarge(self._most_observation, OBSERVATION)
            self._observation += piece


def parse_boundary(content_type: str) -> bytes:
    _, options = parse_options_header(content_type)
    boundary: str = options.get("boundary", "")
    if not 1 <= len(boundary) <= _LONGEST_BOUNDARY or not boundary.isascii() or not boundary.isprintable():
        reason = (
            f"the header content-type must name the boundary of the form: 1 to {_LONGEST_BOUNDARY} ASCII characters"
        )
        raise MalformedRequest(reason)
    return boundary.encode()
