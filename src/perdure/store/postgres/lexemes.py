"""Lexemes for PostgreSQL's full-text search, split exactly as the embedded store splits them.

PostgreSQL's own parser treats URLs, versions and hyphens differently, and keeps accents. So the tokeniser of the
embedded store splits the text, and PostgreSQL only searches.
"""

import threading
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Final

import apsw

_LONGEST_WORD: Final = 500  # characters; PostgreSQL allows 2,046 bytes
_LAST_POSITION: Final = 16_383
_MOST_POSITIONS: Final = 255  # of a word

# The positions after a word. Nearly all words occur once, so these are precomputed for each position.
_POSITION_COUNTS: Final = [b"\0" + number.to_bytes(2, "big") for number in range(_MOST_POSITIONS + 1)]
_SINGLE_POSITIONS: Final = [
    _POSITION_COUNTS[1] + position.to_bytes(2, "big") for position in range(1, _LAST_POSITION + 1)
]
_FULL_ENTRY: Final = 3 + 2 * _MOST_POSITIONS

_LETTERS_AND_DIGITS: Final = bytes(
    ord(chr(code).lower()) if chr(code).isalnum() else ord(" ") for code in range(128)
).ljust(256)

_local = threading.local()


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without accents."""
    try:
        tokenise = _local.tokenise
    except AttributeError:
        _local.connection = apsw.Connection(":memory:")
        tokenise = _local.tokenise = _local.connection.fts5_tokenizer("unicode61", ["remove_diacritics", "2"])
    words = tokenise(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
    return words if len(text) <= _LONGEST_WORD else [word[:_LONGEST_WORD] for word in words]


def encode_tsvector(text: str) -> bytes:
    """Write a `tsvector` in binary form: for each word a NUL, the number of positions, and the positions."""
    entries: dict[bytes, bytes] = {}
    for word, once in zip(_encode_words(text), chain(_SINGLE_POSITIONS, repeat(_SINGLE_POSITIONS[-1])), strict=False):
        if word not in entries:
            entries[word] = once
        elif len(before := entries[word]) < _FULL_ENTRY and before[-2:] != once[-2:]:
            entries[word] = _POSITION_COUNTS[len(before) // 2] + before[3:] + once[3:]
    return b"".join([len(entries).to_bytes(4, "big"), *chain.from_iterable(entries.items())])


def _encode_words(text: str) -> list[bytes]:
    """Return the words as bytes. In ASCII, words consist of letters and digits alone, so no tokeniser is needed."""
    if not text.isascii():
        return [word.encode() for word in split_words(text)]
    words = text.encode().translate(_LETTERS_AND_DIGITS).split()
    return words if len(text) <= _LONGEST_WORD else [word[:_LONGEST_WORD] for word in words]


def format_tsvector(text: str) -> str:
    """Write a `tsvector` as text, which takes the server twice as long to parse as the binary form."""
    entries: dict[str, list[int]] = {}
    for position, word in enumerate(split_words(text), 1):
        positions = entries.setdefault(word, [])
        if not positions or (positions[-1] < _LAST_POSITION and len(positions) < _MOST_POSITIONS):
            positions.append(min(position, _LAST_POSITION))
    return " ".join(f"{_quote_lexeme(word)}:{','.join(map(str, positions))}" for word, positions in entries.items())


def format_tsquery(words: Sequence[str]) -> str | None:
    """Write a `tsquery` for all of the words. Each is a phrase of its parts; an asterisk at its end means a prefix.

    A word without letters and digits is ignored. Return None if no word is left.
    """
    phrases = []
    for word in words:
        parts = [_quote_lexeme(part) for part in split_words(word)]
        if parts:
            parts[-1] += ":*" if word.endswith("*") else ""
            phrases.append(f"({' <-> '.join(parts)})")
    return " & ".join(phrases) or None


def _quote_lexeme(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
