"""Words as PostgreSQL takes them: the quick form and the written one are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.postgres.shared import database, need_postgres

from perdure.store.postgres.lexemes import question, vector, written_vector

WORDS = st.text(alphabet="abc dé/.-'\\ 日\n", max_size=200)


@pytest.fixture(scope="module", autouse=True)
def server() -> None:
    need_postgres()


def read_back(binary: bytes) -> str:
    """As the server reads it: through COPY, the one way on which it takes its own form."""
    with database().connection.cursor() as cursor, database().connection.transaction():
        cursor.execute("CREATE TEMPORARY TABLE taken (words tsvector) ON COMMIT DROP")
        with cursor.copy("COPY taken FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["bytea"])
            copy.write_row((binary,))
        row = cursor.execute("SELECT words::text FROM taken").fetchone()
    assert row is not None
    return str(row[0])


def written(text: str) -> str:
    row = database().connection.execute("SELECT (%s::tsvector)::text", (written_vector(text),)).fetchone()
    assert row is not None
    return str(row[0])


@given(WORDS)
def test_both_forms_say_the_same(text: str) -> None:
    assert read_back(vector(text)) == written(text)


@given(st.text(alphabet=[chr(code) for code in range(128)], max_size=200))
def test_both_forms_cut_plain_text_alike(text: str) -> None:
    assert read_back(vector(text)) == written(text)


@pytest.mark.parametrize("code", range(128))
def test_both_forms_take_the_same_characters_for_letters(code: int) -> None:
    assert read_back(vector(f"a{chr(code)}b {chr(code)}")) == written(f"a{chr(code)}b {chr(code)}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "word " * 300,
        " ".join(f"w{number}" for number in range(17_000)),
        "late " + "x " * 16_400 + "late",
        "a" * 3_000,
    ],
    ids=["nothing", "one word often", "more words than places", "beyond the last place", "a long word"],
)
def test_both_forms_say_the_same_at_the_bounds(text: str) -> None:
    assert read_back(vector(text)) == written(text)


@given(st.lists(st.text(max_size=20), max_size=5))
def test_whatever_is_asked_is_a_question_or_none(words: list[str]) -> None:
    asked = question([word.replace("\0", "") for word in words])
    if asked is not None:
        database().connection.execute("SELECT %s::tsquery", (asked,))
