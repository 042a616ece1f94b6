"""Digests of a history: an alteration of any part is found, also after a redaction."""

from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.registry.entities import Event, Revision
from perdure.registry.history_digest import add_digests, content_digest, event_digest, expected_digest

KEY = "12345/a"
REVISIONS = tuple(
    add_digests(KEY, [Revision(n, f"2026-11-1{n}T00:00:00.000000Z", "jan", "set", b"{}", "note") for n in (1, 2, 3)])
)


def test_the_digest_is_the_documented_one() -> None:
    content = sha256(b"2:{},4:note,").digest()
    parts = [b"", b"12345/a", b"1", b"2026-11-11T00:00:00.000000Z", b"jan", b"set", content]
    assert REVISIONS[0].digest == sha256(b"".join(b"%d:%b," % (len(part), part) for part in parts)).digest()


@pytest.mark.parametrize("field", ["at", "agent", "action", "record", "note", "version"])
def test_every_part_is_covered(field: str) -> None:
    old = getattr(REVISIONS[1], field)
    other = old + (b"x" if field == "record" else 1 if field == "version" else "x")
    altered = msgspec.structs.replace(REVISIONS[1], **{field: other})
    assert expected_digest(KEY, altered, REVISIONS[0].digest) != REVISIONS[1].digest


def test_the_name_and_the_version_before_are_covered() -> None:
    one = REVISIONS[1]
    assert expected_digest(KEY, one, REVISIONS[0].digest) == one.digest
    assert expected_digest("12345/b", one, REVISIONS[0].digest) != one.digest
    assert expected_digest(KEY, one, REVISIONS[2].digest) != one.digest


def test_the_digest_of_redacted_content_is_covered() -> None:
    original = content_digest(b"{}", "note")
    redacted = msgspec.structs.replace(REVISIONS[1], record=b'{"redaction":{}}', note=None, original=original)
    assert expected_digest(KEY, redacted, REVISIONS[0].digest) == REVISIONS[1].digest


@given(st.lists(st.text(max_size=5), min_size=5, max_size=5), st.lists(st.text(max_size=5), min_size=5, max_size=5))
def test_different_events_have_different_digests(one: list[str], other: list[str]) -> None:
    assert (event_digest(Event(*one), b"") == event_digest(Event(*other), b"")) == (one == other)
