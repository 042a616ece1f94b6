"""Check of JSON text for duplicate keys. A decoder would use the last one without a warning.

>>> refuse_duplicate_keys(b'{"values": [{"index": 1}, {"index": 2, "inde\\\\u0078": 3}]}')
Traceback (most recent call last):
    ...
msgspec.ValidationError: the key 'index' is given twice - at `$.values[1].index`
"""

import json
from typing import Any, Final

import msgspec

from perdure.errors import quote_text

_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode


def refuse_duplicate_keys(data: bytes) -> None:
    """Refuse JSON text in which an object has the same key twice, with the error and the path of msgspec.

    The text must have been decoded before: this function does not look for other errors.
    """
    if _survives_decoding(data):
        return
    repeated: list[tuple[dict[str, Any], str]] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        decoded = dict(pairs)
        if len(decoded) < len(pairs):
            seen: set[str] = set()
            key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            repeated.append((decoded, key))
        return decoded

    try:  # numbers stay text: Python rejects very long ones
        whole = json.loads(data.decode(), object_pairs_hook=collect, parse_int=str, parse_float=str)
    except ValueError as problem:  # in a field that the caller ignores
        raise msgspec.DecodeError(str(problem)) from None
    if repeated:
        # An object is complete after those inside it. So the last one is not in a value that its parent has dropped.
        owner, key = repeated[-1]
        path = f"{_find_path(whole, owner)}.{quote_text(key)[1:-1]}"
        raise msgspec.ValidationError(f"the key {quote_text(key)} is given twice - at `${path}`")


def _survives_decoding(data: bytes) -> bool:
    """Return whether decoding and encoding gives the text again. It does not if a key was dropped.

    Nor does it for escapes and numbers that can be written in several ways. So False proves nothing.
    """
    try:
        again = _encode(_decode(data))
    except msgspec.DecodeError:  # a number out of range, in a field that the caller ignores
        return False
    return again == data.rstrip() or again == msgspec.json.format(data, indent=-1)


def _find_path(tree: Any, target: dict[str, Any]) -> str | None:
    """Return the path from the tree to this object inside it."""
    if tree is target:
        return ""
    if isinstance(tree, dict):
        parts = ((f".{quote_text(key)[1:-1]}", value) for key, value in tree.items())
    elif isinstance(tree, list):
        parts = ((f"[{index}]", value) for index, value in enumerate(tree))
    else:
        return None
    for step, value in parts:
        path = _find_path(value, target)
        if path is not None:
            return step + path
    return None
