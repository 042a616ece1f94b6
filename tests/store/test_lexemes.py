"""Lexemes for PostgreSQL: the binary form and the text form are equal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.postgres.shared_server import database, need_postgres

from perdure.store.postgres.lexemes import encode_tsvector, format_tsquery, format_tsvector

WORDS = st.text(alphabet="abc dé/.-'\\ 日\n", max_size=200)


@pytest.fixture(scope="module", autouse=True)
def server() -> None:
    need_postgres()


def read_back(binary: bytes) -> str:
    """Return the vector as the server reads it through COPY, the only way to send the binary form."""
    with database().connection.cursor() as cursor, database().connection.transaction():
        cursor.execute("CREATE TEMPORARY TABLE taken (words tsvector) ON COMMIT DROP")
        with cursor.copy("COPY taken FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["bytea"])
            copy.write_row((binary,))
        row = cursor.execute("SELECT words::text FROM taken").fetchone()
    assert row is not None
    return str(row[0])


def write_text_form(text: str) -> str:
    row = database().connection.execute("SELECT (%s::tsvector)::text", (format_tsvector(text),)).fetchone()
    assert row is not None
    return str(row[0])


@given(WORDS)
def test_both_implementations_find_the_same_lexemes(text: str) -> None:
    assert read_back(encode_tsvector(text)) == write_text_form(text)


@given(st.text(alphabet=[chr(code) for code in range(128)], max_size=200))
def test_both_implementations_split_plain_text_alike(text: str) -> None:
    assert read_back(encode_tsvector(text)) == write_text_form(text)


@pytest.mark.parametrize("code", range(128))
def test_both_implementations_accept_the_same_letters(code: int) -> None:
    assert read_back(encode_tsvector(f"a{chr(code)}b {chr(code)}")) == write_text_form(f"a{chr(code)}b {chr(code)}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "word " * 300,
        " ".join(f"w{number}" for number in range(17_000)),
        "late " + "x " * 16_400 + "late",
        "a" * 3_000,
    ],
    ids=["nothing", "one word often", "more words than positions", "beyond the last position", "a long word"],
)
def test_both_implementations_agree_at_the_bounds(text: str) -> None:
    assert read_back(encode_tsvector(text)) == write_text_form(text)


@given(st.lists(st.text(max_size=20), max_size=5))
def test_any_words_give_a_valid_query_or_none(words: list[str]) -> None:
    query = format_tsquery([word.replace("\0", "") for word in words])
    if query is not None:
        database().connection.execute("SELECT %s::tsquery", (query,))
