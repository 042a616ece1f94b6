"""NDJSON: complete lines, short lines, and lines that are neither."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.value_strategies import FEWER, about, instants, line_texts, plain_names, values

from perdure.formats import ndjson
from perdure.formats.import_entries import Entry, FullHistory, ImportPut, PastRevision, RegistryPart, RejectedLine
from perdure.records.record import STATES, About, Observation, Reconstruction, Record, Tombstone
from perdure.records.value import Text, Value

texts = line_texts.filter(str.strip)
records = st.builds(
    Record,
    state=st.sampled_from(STATES),
    creator=texts,
    owners=st.lists(texts, max_size=2).map(tuple),
    created=st.none() | instants,
    values=st.lists(values(), max_size=3).map(tuple),
    about=st.none() | about,
    alias=st.none() | plain_names,
    aliases=st.lists(plain_names, max_size=2).map(tuple),
    tombstone=st.none() | st.builds(Tombstone, texts, st.none() | texts),
    observation=st.none() | st.builds(Observation, texts, instants, texts),
    reconstruction=st.none() | st.builds(Reconstruction, st.lists(texts, max_size=2).map(tuple), texts, instants),
)
revisions = st.builds(
    PastRevision, st.integers(1, 9), instants, texts, st.sampled_from(["mint", "set"]), records, st.none() | texts
)


def read(*lines: str | bytes) -> list[Entry]:
    encoded = [line if isinstance(line, bytes) else line.encode() for line in lines]
    return list(ndjson.read(enumerate(encoded, 1)))


@given(plain_names, st.lists(revisions, min_size=1, max_size=3).map(tuple), st.none() | st.uuids().map(str))
@settings(max_examples=FEWER)
def test_an_identifier_is_read_back_with_its_whole_history(
    name: str, past: tuple[PastRevision, ...], uuid_raw: str | None
) -> None:
    whole = FullHistory(name=name, scheme="handle", revisions=past, uuid_raw=uuid_raw)
    line = ndjson.write(whole)
    assert b"\n" not in line
    [entry] = read(line)
    assert entry == FullHistory(line=1, name=name, scheme="handle", revisions=past, uuid_raw=uuid_raw)
    assert ndjson.write(entry) == line


def test_a_setting_is_read_back() -> None:
    line = ndjson.write_registry_part("prefix", {"name": "12345", "policy": "Ünïcode"})
    assert read(line) == [RegistryPart(line=1, kind="prefix", fields={"name": "12345", "policy": "Ünïcode"})]


def test_a_short_line_is_enough() -> None:
    assert read('{"name": "12345/a", "target": "https://example.org/"}') == [
        ImportPut(line=1, name="12345/a", target="https://example.org/")
    ]


def test_a_short_line_may_have_every_field_of_the_current_state() -> None:
    [entry] = read(
        json.dumps(
            {
                "name": "12345/a",
                "values": [{"index": 2, "type": "EMAIL", "data": {"format": "string", "value": "a@example.org"}}],
                "about": {"what": "On lasting"},
                "creator": "https://example.org/maria",
                "owners": ["https://example.org/jan"],
                "created": "2007-06-22T02:53:46Z",
                "state": "reserved",
            }
        )
    )
    assert entry == ImportPut(
        line=1,
        name="12345/a",
        values=(Value(2, "EMAIL", Text("a@example.org")),),
        about=About(what="On lasting"),
        creator="https://example.org/maria",
        owners=("https://example.org/jan",),
        created="2007-06-22T02:53:46Z",
        state="reserved",
    )


def test_a_target_that_contains_the_word_revisions_or_entries_is_a_target() -> None:
    for word in ("revisions", "entry"):
        [entry] = read(json.dumps({"name": "12345/a", "about": {"what": f'"{word}"'}}))
        assert isinstance(entry, ImportPut)


def test_blank_lines_are_skipped() -> None:
    assert [entry.line for entry in read("", "  ", '{"name": "12345/a"}', "\r\n")] == [3]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "null",
        "12345/a",
        '{"target": "https://example.org/"}',
        '{"name": 5}',
        '{"name": "12345/a", "url": "https://example.org/"}',
        '{"name": "12345/a", "state": "merged"}',
        '{"name": "12345/a", "values": [{"index": "x", "type": "URL", "data": "https://example.org/"}]}',
        '{"name": "12345/a", "revisions": []}',
        '{"entry": "secret", "id": "x"}',
        b'{"name": "12345/\xff"}',
        "[" * 100_000,
    ],
)
def test_an_invalid_line_is_refused_and_the_next_one_is_read(line: str | bytes) -> None:
    refused, good = read(line, '{"name": "12345/b"}')
    assert isinstance(refused, RejectedLine)
    assert refused.line == 1
    assert good == ImportPut(line=2, name="12345/b")


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_no_bytes_make_the_reader_crash(lines: list[bytes]) -> None:
    read(*lines)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["name", "entry", "revisions", "values", "scheme", "target", "index", "data", "owners"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
@settings(max_examples=FEWER)
def test_no_json_makes_the_reader_crash(value: object) -> None:
    read(json.dumps(value))


@pytest.mark.parametrize("field", ["entry", "values", "revisions", "unknown"])
def test_a_line_that_is_nested_too_deeply_is_refused_and_the_rest_is_read(field: str) -> None:
    deep = f'{{"{field}":{"[" * 100_000}{"]" * 100_000}}}'
    [refused, taken] = read(deep, '{"name": "12345/a"}')
    assert isinstance(refused, RejectedLine)
    assert isinstance(taken, ImportPut)


@pytest.mark.parametrize("line", [
    '{"name": "12345/a", "target": "https://example.org/1", "target": "https://example.org/2"}',
    '{"name": "12345/a", "name": "12345/b"}',
    r'{"name": "12345/a", "about": {"who": "a", "\u0077ho": "b"}}',
    '{"entry": "prefix", "name": "12345", "name": "12346"}',
    '{"name": "12345/a", "scheme": "handle", "revisions": [], "revisions": []}',
])  # fmt: skip
def test_a_line_with_a_repeated_key_is_refused_and_the_rest_is_read(line: str) -> None:
    good = '{"name": "12345/c"}'
    first, refused, last = read(good, line, good)
    assert isinstance(first, ImportPut)
    assert isinstance(refused, RejectedLine)
    assert isinstance(last, ImportPut)
    assert refused.line == 2
    assert "is given twice - at `$." in refused.reason
