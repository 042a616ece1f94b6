"""Duplicate keys: found wherever the JSON module finds them, and nowhere else."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.formats.strict_json import refuse_duplicate_keys

SPACES = st.sampled_from(["", " ", "\n", "\t "])
WORDS = st.sampled_from(["a", "b", "é", '"', "\\", "a:", '"a":1,"a":', "", "\U0001f600"])


def escape(text: str) -> str:
    """Return a JSON string in which every character is an escape."""
    units = text.encode("utf-16-be")
    return '"' + "".join(f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2)) + '"'


strings = WORDS.flatmap(
    lambda word: st.sampled_from([json.dumps(word), json.dumps(word, ensure_ascii=False), escape(word)])
)
numbers = st.sampled_from(["0", "-1", "1.0", "1e2", "1.50", "9" * 5_000, "-0"])


def separate(parts: list[str], space: str) -> str:
    return f"{space},{space}".join(parts)


texts = st.recursive(
    st.one_of(st.sampled_from(["null", "true"]), numbers, strings),
    lambda inner: st.one_of(
        st.builds(lambda parts, s: f"[{s}{separate(parts, s)}{s}]", st.lists(inner, max_size=3), SPACES),
        st.builds(
            lambda pairs, s: f"{{{s}{separate([f'{key}{s}:{s}{value}' for key, value in pairs], s)}{s}}}",
            st.lists(st.tuples(strings, inner), max_size=4),
            SPACES,
        ),
    ),
    max_leaves=12,
)


def duplicates(text: str) -> set[str]:
    found: set[str] = set()

    def look(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        found.update(key for key in keys if keys.count(key) > 1)

    json.loads(text, object_pairs_hook=look, parse_int=str)
    return found


def refusal(text: str | bytes) -> str | None:
    try:
        refuse_duplicate_keys(text if isinstance(text, bytes) else text.encode())
    except msgspec.ValidationError as problem:
        return str(problem)
    return None


@given(texts)
def test_a_key_is_refused_if_and_only_if_an_object_has_it_twice(text: str) -> None:
    error, found = refusal(text), duplicates(text)
    assert (error is not None) == bool(found)
    if error is not None:
        assert any(error.startswith(f"the key {key!a} is given twice - at `$") for key in found)


@pytest.mark.parametrize(("text", "path"), [
    ('{"a":1,"a":1}', "$.a"),
    (r'{"a":1,"\u0061":2}', "$.a"),
    ('{"b":[{"a":1},{"a":1,"c":2,"a":3}]}', "$.b[1].a"),
    ('[0, [{"x": {"a": "", "a": ""}}]]', "$[1][0].x.a"),
    ('{"a":{"x":1,"x":2},"a":3}', "$.a"),  # the inner object is dropped
    ('{"a":3,"a":{"x":1,"x":2}}', "$.a"),
    ('{"a":1e999,"a":2}', "$.a"),
])  # fmt: skip
def test_the_path_of_the_key_is_named(text: str, path: str) -> None:
    assert refusal(text) == f"the key '{path[-1]}' is given twice - at `{path}`"


@pytest.mark.parametrize("text", [
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    r'{"a":"\"a\":1,\"a\":2","b":"\"b\":"}',
    '{"a":1,"A":2,"á":3,"a\u0301":4}',
    '{"a":1.10,"b":1E2,"c":-0,"d":1e999}',
    f'{{"a":{"1" * 10_000}}}',
])  # fmt: skip
def test_different_keys_in_one_object_are_accepted(text: str) -> None:
    assert refusal(text) is None
