"""An observation and the file that it was read from, as one form: the file is hashed as it passes, and never kept."""

from hashlib import sha256
from typing import Final

from multipart import (  # type: ignore[import-untyped]
    MultipartError,
    MultipartSegment,
    PushMultipartParser,
    parse_options_header,
)

from perdure.errors import InvalidInput, shown
from perdure.http.refusals import BodyTooLarge, ContentTooLarge, Malformed, UnsupportedBody

FORM: Final = "multipart/form-data"
OBSERVATION: Final = "observation"
CONTENT: Final = "content"

_JSON: Final = "application/json"
_LONGEST_BOUNDARY: Final = 70  # RFC 2046, section 5.1.1
_AROUND: Final = 65_536  # bytes for boundaries, headers of parts, and what may stand before and behind them
_AS_THEY_ARE: Final = ("7bit", "8bit", "binary")  # transfer encodings that leave the bytes alone
_INSTEAD: Final = {
    OBSERVATION: "it holds what was observed, as JSON",
    CONTENT: "it holds the file; without one, send the observation as application/json",
}


class SentForm:
    """What is fed to it, piece by piece, must be a form with two parts, in either order."""

    def __init__(self, content_type: str, most_observation: int, most_content: int) -> None:
        self._parser = PushMultipartParser(_boundary(content_type))
        self._most_observation = most_observation
        self._most_content = most_content
        self._most = most_observation + most_content + _AROUND
        self._size = 0
        self._part = ""  # whose bytes are coming
        self._seen: set[str] = set()
        self._observation = bytearray()
        self._hash = sha256()
        self._hashed = 0

    def announce(self, length: int) -> None:
        """How long all of it will be; one that is too long is refused before it comes."""
        if length > self._most:
            raise ContentTooLarge(self._most_content)

    def feed(self, piece: bytes) -> None:
        self._size += len(piece)
        self.announce(self._size)
        try:
            for event in self._parser.parse(piece):
                if isinstance(event, MultipartSegment):
                    self._begin(event)
                elif event is not None:
                    self._take(event)
        except MultipartError as problem:
            raise Malformed(f"the form cannot be read: {problem}") from None

    def end(self) -> tuple[bytes, str]:
        """The observation as it was written, and the SHA-256 of the content."""
        try:
            self._parser.close()
        except MultipartError:
            raise Malformed("the form ends before its last boundary") from None
        for name, instead in _INSTEAD.items():
            if name not in self._seen:
                raise InvalidInput("request", name, f"the part {name} is missing: {instead}")
        return bytes(self._observation), self._hash.hexdigest()

    def _begin(self, part: MultipartSegment) -> None:
        name = part.name
        if name not in _INSTEAD:
            raise InvalidInput("request", name, f"there is no part {shown(name)} here, only {' and '.join(_INSTEAD)}")
        if name in self._seen:
            raise InvalidInput("request", name, f"the part {name} is there twice")
        encoding = part.header("Content-Transfer-Encoding", "binary").strip().lower()
        if encoding not in _AS_THEY_ARE:  # it would be hashed as it is encoded, and not as it was found
            raise InvalidInput("request", name, f"send the part {name} as it is, and not encoded as {shown(encoding)}")
        if name == OBSERVATION and part.content_type not in (None, _JSON):
            raise UnsupportedBody(f"{_JSON} in its part {OBSERVATION}")
        self._seen.add(name)
        self._part = name

    def _take(self, piece: bytes) -> None:
        if self._part == CONTENT:
            self._hashed += len(piece)
            if self._hashed > self._most_content:
                raise ContentTooLarge(self._most_content)
            self._hash.update(piece)
        else:
            if len(self._observation) + len(piece) > self._most_observation:
                raise BodyTooLarge(self._most_observation, OBSERVATION)
            self._observation += piece


def _boundary(content_type: str) -> bytes:
    _, options = parse_options_header(content_type)
    boundary: str = options.get("boundary", "")
    if not 1 <= len(boundary) <= _LONGEST_BOUNDARY or not boundary.isascii() or not boundary.isprintable():
        reason = f"a form names its boundary in the header content-type: 1 to {_LONGEST_BOUNDARY} characters of ASCII"
        raise Malformed(reason)
    return boundary.encode()
