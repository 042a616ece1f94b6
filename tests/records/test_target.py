"""Targets of a record, and its entries in the indexes."""

import pytest

from perdure.records.record import About, Observation, Reconstruction, Record, State
from perdure.records.target import first_url, full_text, plain_target, reverse_entries
from perdure.records.value import Binary, Text, Value

URL = Value(1, "URL", Text("https://example.org/1"))
HIDDEN = Value(2, "URL", Text("https://example.org/hidden"), permissions="1100")


def record(*values: Value, state: State = "active", **fields: object) -> Record:
    return Record(state=state, creator="hdl:1/a", values=values, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "target"),
    [
        ((URL,), "https://example.org/1"),
        ((URL, Value(3, "URL", Text("https://example.org/3"))), "https://example.org/1"),
        ((HIDDEN, Value(3, "URL", Text("https://example.org/3"))), "https://example.org/3"),
        ((HIDDEN,), None),
        ((Value(1, "DESC", Text("x")),), None),
        ((URL, Value(2, "10320/loc", Text("<locations/>"))), None),
        ((URL, Value(2, "HS_ALIAS", Text("1/b"))), None),
        ((), None),
    ],
)
def test_a_simple_record_has_a_plain_target_and_others_have_none(values: tuple[Value, ...], target: str | None) -> None:
    assert plain_target(record(*values)) == target


@pytest.mark.parametrize("state", ["reserved", "withdrawn", "merged"])
def test_only_an_active_identifier_leads_anywhere(state: State) -> None:
    assert plain_target(record(URL, state=state)) is None
    assert reverse_entries(record(URL, state=state)) == ()


def test_the_first_public_url_is_found_beside_other_values() -> None:
    assert first_url(record(HIDDEN, URL, Value(3, "10320/loc", Text("<locations/>")))) == "https://example.org/1"


def test_reverse_lookup_has_public_values_of_some_types_once_each() -> None:
    values = (
        URL,
        HIDDEN,
        Value(3, "URL", Text("https://example.org/1")),
        Value(4, "EMAIL", Text("jan@example.org")),
        Value(5, "DESC", Text("not looked up")),
        Value(6, "EMAIL", Binary(b"x")),
        Value(7, "EMAIL", Text("")),
    )
    assert reverse_entries(record(*values)) == (("URL", "https://example.org/1"), ("EMAIL", "jan@example.org"))


def test_words_come_from_all_public_text() -> None:
    words = full_text("1/a", record(URL, HIDDEN, about=About("Jan", "A thesis", "1999", "Leiden"), alias="8JM/34P"))
    for text in ("1/a", "8JM/34P", "https://example.org/1", "Jan", "A thesis", "1999", "Leiden"):
        assert text in words
    assert "hidden" not in words


def test_words_of_persons_come_from_their_sources() -> None:
    assert "https://example.org/s" in full_text(
        "POID", record(observation=Observation("https://example.org/s", "t", "h"))
    )
    assert "curator" in full_text("PRID", record(reconstruction=Reconstruction(("POID",), "curator", "t")))


def test_the_number_of_words_is_limited() -> None:
    assert len(full_text("1/a", record(*(Value(index, "DESC", Text("x" * 60_000)) for index in range(1, 5))))) <= 65_536
