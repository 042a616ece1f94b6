"""Texts that differ from another by one slip: a wrong, missing, extra or swapped character."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from string import ascii_lowercase, ascii_uppercase, digits, punctuation
from typing import Final

_BLOCK: Final = 64  # code points: letters of one script are near each other
_LATIN: Final = 0xC0  # the block of the accented letters of Western Europe
_MOST_BLOCKS: Final = 3


def list_likely_characters(text: str, *, upper: bool = True) -> str:
    """Return the characters that may be missing in a text, the likeliest first.

    They are its own characters, ASCII, and the letters of the scripts in it.
    """
    blocks = dict.fromkeys(ord(character) // _BLOCK * _BLOCK for character in text if not character.isascii())
    letters = [chr(code) for start in islice([*blocks, _LATIN], _MOST_BLOCKS) for code in range(start, start + _BLOCK)]
    usual = chain(text, digits, ascii_lowercase, "-._/", ascii_uppercase if upper else "", punctuation, " ")
    return "".join(dict.fromkeys(chain(usual, filter(str.isalpha, letters))))


def list_misspellings(text: str, characters: str, positions: Iterable[int], most: int) -> list[str]:
    """Return at most `most` texts that one slip at one of these positions makes of this one.

    If there are too many, the last of the characters are not tried. A swap is of the characters at a position and
    after it.
    """
    all_positions = list(positions)
    tried = characters[: max(0, most // max(1, len(all_positions)) - 2) // 2]
    return list(islice(dict.fromkeys(_slips(text, tried, all_positions)), most))


def _slips(text: str, characters: str, positions: list[int]) -> Iterator[str]:
    for at in positions:
        head, rest, after = text[:at], text[at:], text[at + 1 :]
        if after:
            yield f"{head}{after[0]}{rest[0]}{after[1:]}"
        if rest:
            yield head + after
    for at in positions:
        head, rest, after = text[:at], text[at:], text[at + 1 :]
        for character in characters:
            if rest:
                yield f"{head}{character}{after}"
            yield f"{head}{character}{rest}"
