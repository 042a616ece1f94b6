"""Canonical JSON (RFC 8785): one sequence of bytes for one value, so that a signature can cover it.

Only texts, whole numbers, booleans, null, lists and objects with ASCII keys occur in statements of servers. For these,
the rules are: no blanks, keys in the order of their characters, and no escape that JSON does not require.

>>> encode({"b": [1, None, True], "a": "é\\n"})
b'{"a":"\\xc3\\xa9\\\\n","b":[1,null,true]}'
"""

import json
from typing import Any, Final

_LARGEST: Final = (1 << 53) - 1  # of the whole numbers that every JSON program reads exactly


def encode(value: Any) -> bytes:
    """Return the canonical bytes of a value. Raise ValueError for one that they cannot represent exactly."""
    _check(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _check(value: Any) -> None:
    if isinstance(value, dict):
        for key, one in value.items():
            if not key.isascii():
                raise ValueError(f"the key {key!a} is not ASCII")
            _check(one)
    elif isinstance(value, list):
        for one in value:
            _check(one)
    elif isinstance(value, float) or (isinstance(value, int) and not -_LARGEST <= value <= _LARGEST):
        raise ValueError(f"the number {value} is not a whole number that every JSON program reads exactly")
