"""The encoding of a file: UTF-8, or one that the user has chosen because it is not."""

import codecs
from typing import Final

from perdure.cli.line_input import refuse_binary
from perdure.errors import InvalidInput

UTF8: Final = "utf-8"
_ASCII: Final = ",;\t\n\r\"'"


def decode_strictly(number: int, line: bytes, file: str = "file") -> str:
    """Return a line as text. Raise InvalidInput, with a question about the encoding, if it is not UTF-8."""
    try:
        return line.decode(UTF8)
    except UnicodeDecodeError as problem:
        raise ask_for_encoding(_describe_byte(number, problem.start + 1, line[problem.start]), file) from None


class Utf8Check:
    """Checks the chunks of a file, and finds the first line and byte that are not UTF-8."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder(UTF8)()
        self._line = 1
        self._column = 0  # bytes of the line that were checked
        self._tail = b""

    def feed(self, chunk: bytes) -> None:
        """Raise InvalidInput if the file is not UTF-8."""
        if self._line == 1 and self._column == 0:
            refuse_binary(chunk)
        pending = self._decoder.getstate()[0]
        try:
            self._decoder.decode(chunk)
        except UnicodeDecodeError as problem:
            before = (pending + chunk)[: problem.start]
            wrong = (pending + chunk)[problem.start]
            line = self._line + before.count(b"\n")
            column = len(before) - before.rfind(b"\n") - 1 + (0 if b"\n" in before else self._column - len(pending))
            raise ask_for_encoding(_describe_byte(line, column + 1, wrong)) from None
        self._line += chunk.count(b"\n")
        at = chunk.rfind(b"\n")
        self._column = len(chunk) - at - 1 if at >= 0 else self._column + len(chunk)


def _describe_byte(line: int, byte: int, wrong: int) -> str:
    return f"line {line}, byte {byte} is 0x{wrong:02X}"


def ask_for_encoding(where: str, file: str = "file", more: str = "") -> InvalidInput:
    """Return the error for a file that is not UTF-8. `where` is what shows it, and `more` is another answer."""
    reason = (
        f"the {file} is not UTF-8: {where}. If it is Latin-1, add --encoding latin-1; "
        f"if a spreadsheet program on Windows wrote it, --encoding cp1252{more}"
    )
    return InvalidInput("import", "encoding", reason)


def check_encoding(name: str) -> None:
    """Refuse an unknown encoding, and one in which line ends and delimiters are not those of ASCII, such as UTF-16."""
    try:
        is_like_ascii = _ASCII.encode(name) == _ASCII.encode("ascii")
    except (LookupError, UnicodeError):
        is_like_ascii = False
    if not is_like_ascii:
        raise InvalidInput(
            "import", "encoding", f"{name!a} is not a supported encoding: use utf-8, latin-1, cp1252 or a similar one"
        )
