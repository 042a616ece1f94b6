"""Reader and writer of the bytes of Handle servers: big-endian numbers, and lengths before texts."""

import struct
from typing import Final

from perdure.errors import InvalidInput

_MOST_ITEMS: Final = 10_000  # in one list: more than a site has servers, and few enough to create


class WireReader:
    """A reader that goes through bytes once. It raises InvalidInput with the name of the part if they do not fit."""

    def __init__(self, raw: bytes, part: str) -> None:
        self._raw = raw
        self._part = part
        self._at = 0

    def read_byte(self) -> int:
        return self.read_bytes(1)[0]

    def read_short(self) -> int:
        return int.from_bytes(self.read_bytes(2), "big")

    def read_number(self) -> int:
        return int.from_bytes(self.read_bytes(4), "big")

    def read_count(self) -> int:
        """Return the number of items that follow. There must be a byte left for each."""
        count = self.read_number()
        if count > min(len(self._raw) - self._at, _MOST_ITEMS):
            raise self.error("there are fewer items than their number")
        return count

    def read_sized(self) -> bytes:
        return self.read_bytes(self.read_number())

    def read_text(self) -> str:
        try:
            return self.read_sized().decode("utf-8")
        except UnicodeDecodeError:
            raise self.error("a text is not UTF-8") from None

    def read_bytes(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._raw):
            raise self.error("it is truncated")
        chunk = self._raw[self._at : end]
        self._at = end
        return chunk

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._raw)

    def require_end(self) -> None:
        if not self.is_at_end:
            raise self.error("there are bytes after the end")

    def error(self, reason: str) -> InvalidInput:
        return InvalidInput("record", "data", f"this is not a {self._part}: {reason}")


def write_number(value: int) -> bytes:
    return struct.pack(">I", value)


def with_length(raw: bytes) -> bytes:
    """Return bytes with their length before them."""
    return write_number(len(raw)) + raw
