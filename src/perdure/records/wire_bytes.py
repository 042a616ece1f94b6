"""Reading what Handle servers write in bytes: big-endian numbers, and lengths before texts. Nothing is left over."""

import struct
from typing import Final

from perdure.errors import InvalidInput

_MOST_ITEMS: Final = 10_000  # in one list: more than any site has servers, and few enough to make


class WireReader:
    """Goes through bytes once. Whatever does not fit is an InvalidInput that names the part."""

    def __init__(self, raw: bytes, part: str) -> None:
        self._raw = raw
        self._part = part
        self._at = 0

    def byte(self) -> int:
        return self.take(1)[0]

    def short(self) -> int:
        return int.from_bytes(self.take(2), "big")

    def number(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def count(self) -> int:
        """How many items follow. It cannot be more than there are bytes left for them."""
        count = self.number()
        if count > min(len(self._raw) - self._at, _MOST_ITEMS):
            raise self.problem("more items are announced than there are")
        return count

    def sized(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        try:
            return self.sized().decode("utf-8")
        except UnicodeDecodeError:
            raise self.problem("a text is not UTF-8") from None

    def take(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._raw):
            raise self.problem("it is cut off")
        taken = self._raw[self._at : end]
        self._at = end
        return taken

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._raw)

    def end(self) -> None:
        if not self.is_at_end:
            raise self.problem("something is left over")

    def problem(self, reason: str) -> InvalidInput:
        return InvalidInput("record", "data", f"this is no {self._part}: {reason}")


def number(value: int) -> bytes:
    return struct.pack(">I", value)


def sized(raw: bytes) -> bytes:
    """Bytes with their length before them."""
    return number(len(raw)) + raw
