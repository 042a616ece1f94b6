"""Words as PostgreSQL's full-text search takes them, cut exactly as the embedded store cuts them.

PostgreSQL's own parser reads addresses, versions and hyphens in ways of its own, and keeps accents. So the text is
taken apart by the tokeniser of the embedded store, and only the finding is left to PostgreSQL.
"""

import threading
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Final

import apsw

_LONGEST: Final = 500  # characters of one word; PostgreSQL takes 2,046 bytes
_LAST_PLACE: Final = 16_383
_MOST_PLACES: Final = 255  # of one word

# What stands behind a word. Nearly all words are there once, so that is ready for every place.
_NUMBERS: Final = [b"\0" + number.to_bytes(2, "big") for number in range(_MOST_PLACES + 1)]
_ONCE: Final = [_NUMBERS[1] + place.to_bytes(2, "big") for place in range(1, _LAST_PLACE + 1)]
_FULL: Final = 3 + 2 * _MOST_PLACES

_LETTERS_AND_DIGITS: Final = bytes(
    ord(chr(code).lower()) if chr(code).isalnum() else ord(" ") for code in range(128)
).ljust(256)

_local = threading.local()


def tokens(text: str) -> list[str]:
    """The words of a text, without case and accents."""
    try:
        tokenise = _local.tokenise
    except AttributeError:
        _local.connection = apsw.Connection(":memory:")
        tokenise = _local.tokenise = _local.connection.fts5_tokenizer("unicode61", ["remove_diacritics", "2"])
    found = tokenise(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
    return found if len(text) <= _LONGEST else [word[:_LONGEST] for word in found]


def vector(text: str) -> bytes:
    """A `tsvector` as the server itself would send it: each word, a null, how many places, and the places."""
    entries: dict[bytes, bytes] = {}
    for word, once in zip(_words(text), chain(_ONCE, repeat(_ONCE[-1])), strict=False):
        if word not in entries:
            entries[word] = once
        elif len(before := entries[word]) < _FULL and before[-2:] != once[-2:]:
            entries[word] = _NUMBERS[len(before) // 2] + before[3:] + once[3:]
    return b"".join([len(entries).to_bytes(4, "big"), *chain.from_iterable(entries.items())])


def _words(text: str) -> list[bytes]:
    """The words as bytes. Of plain ASCII every letter and digit belongs to a word, and nothing else does."""
    if not text.isascii():
        return [word.encode() for word in tokens(text)]
    found = text.encode().translate(_LETTERS_AND_DIGITS).split()
    return found if len(text) <= _LONGEST else [word[:_LONGEST] for word in found]


def written_vector(text: str) -> str:
    """The same, written out; it costs the server twice as much to read."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(tokens(text), 1):
        at = places.setdefault(word, [])
        if not at or (at[-1] < _LAST_PLACE and len(at) < _MOST_PLACES):
            at.append(min(place, _LAST_PLACE))
    return " ".join(f"{_quoted(word)}:{','.join(map(str, at))}" for word, at in places.items())


def question(words: Sequence[str]) -> str | None:
    """A `tsquery`: all of the words, each a phrase of its parts; an asterisk at its end lets it go on.

    A word that has no letter and no digit is passed over; None where nothing remains to be looked for.
    """
    phrases = []
    for word in words:
        parts = [_quoted(part) for part in tokens(word)]
        if parts:
            parts[-1] += ":*" if word.endswith("*") else ""
            phrases.append(f"({' <-> '.join(parts)})")
    return " & ".join(phrases) or None


def _quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
