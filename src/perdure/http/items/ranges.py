"""Byte ranges of a file (RFC 9110, section 14).

>>> parse_ranges("bytes=0-99, -1", 1000)
(ByteRange(first=0, last=99), ByteRange(first=999, last=999))
>>> parse_ranges("lines=1-2", 1000) is None  # another unit: the whole file is sent
True
"""

import re
from itertools import pairwise
from typing import Final, NamedTuple

from perdure.http.shared.http_errors import RangeNotSatisfiable

MOST_RANGES: Final = 16  # a request for more, or for overlapping ones, gets the whole file
_SET: Final = re.compile(r"bytes=(.*)", re.IGNORECASE | re.ASCII)
_RANGE: Final = re.compile(r"([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18})", re.ASCII)


class ByteRange(NamedTuple):
    """The positions of the first and of the last byte, both included."""

    first: int
    last: int

    @property
    def size(self) -> int:
        """Return the number of bytes."""
        return self.last - self.first + 1

    def content_range(self, size: int) -> bytes:
        """Return the value of Content-Range, for a file of this size."""
        return b"bytes %d-%d/%d" % (self.first, self.last, size)


def parse_ranges(header: str, size: int) -> tuple[ByteRange, ...] | None:
    """Return the requested ranges of a file, in the order of the request.

    Return None if the header must be ignored: then the client gets the whole file. Raise RangeNotSatisfiable if no
    range has a byte of the file.
    """
    listed = _SET.fullmatch(header.strip())
    if listed is None:
        return None
    found = []
    texts = [text for item in listed[1].split(",", MOST_RANGES) if (text := item.strip(" \t"))]
    if not texts or len(texts) > MOST_RANGES:
        return None
    for text in texts:
        parsed = _RANGE.fullmatch(text)
        if parsed is None:
            return None
        first, last, suffix = parsed.groups()
        if suffix is None and last and int(last) < int(first):
            return None
        one = _select(first, last, suffix, size)
        if one is not None:
            found.append(one)
    if not found:
        raise RangeNotSatisfiable(size)
    return None if _overlap(found) else tuple(found)


def _select(first: str | None, last: str | None, suffix: str | None, size: int) -> ByteRange | None:
    """Return the part of the file that a range selects; None if it selects nothing."""
    if suffix is not None:
        start, end = max(0, size - int(suffix)), size - 1
    else:
        start, end = int(first or 0), min(int(last) if last else size - 1, size - 1)
    return ByteRange(start, end) if start <= end else None


def _overlap(ranges: list[ByteRange]) -> bool:
    """Return whether two ranges have a byte in common. Such a request can multiply the size of the file."""
    ordered = sorted(ranges)
    return any(after.first <= before.last for before, after in pairwise(ordered))
