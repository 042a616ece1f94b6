"""Both engines find the same texts, in the same order."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.registry_fixture import ENGINES, StoreLocations, locations_on
from tests.store.record_strategies import Desk, change, revise

PIECES = (
    "archive", "Archiv", "Äpfel", "apfel", "a", "ar", "Straße", "STRASSE", "İstanbul", "ﬁle", "e\u0301tude", "étude",
    "北京", "北", "東京都", "Ωμέγα", "ως", "naïve", "1999", "19", "½", "²", "x2", "\u200d", "👩‍🔬", "\ue000", "_", "a_b",
    "https://example.org/archive?id=1&of=2", "example.org", "10.1000/182", "hdl:12345/AB-1", "AB", "-", "--", "well-known",
    "rock'n'roll", "'", '"', "''", "\\", "\\'", ":", "a:b", "&", "|", "!", "<->", "(", ")", "*", "**", "archive*", "ar*",
    "AND", "OR", "NOT", "NEAR", "{x}", "^a", "+", "\n", "\t", "%", "$1", ";", "--x", "\u0130", "ǆ", "ẞ", "ک", "ي", "\u0600",
)  # fmt: skip

texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=8).flatmap(
    lambda pieces: st.sampled_from([" ", "", "-", ".", "/"]).map(lambda between: between.join(pieces))
)
readable = texts.filter(lambda text: "\0" not in text and not any("\ud800" <= one <= "\udfff" for one in text))


@st.composite
def texts_and_questions(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """Queries consist of pieces of the texts, so that many of them match."""
    documents = draw(st.lists(readable, min_size=1, max_size=6))
    whole = " ".join(documents)

    def cut_out(ends: tuple[int, int]) -> str:
        return whole[min(ends) : max(ends)]

    position = st.integers(0, len(whole))
    word = (
        st.tuples(position, position).map(cut_out)
        | st.sampled_from(whole.split() or [""])
        | st.sampled_from(PIECES)
        | readable
    )
    words = st.tuples(word, st.sampled_from(["", "", "*", "**"])).map("".join)
    return documents, draw(st.lists(st.lists(words, min_size=1, max_size=3), min_size=1, max_size=10))


@pytest.fixture(scope="module")
def both() -> Iterator[list[StoreLocations]]:
    """Return empty stores on both engines, for all examples: creating a schema takes longer than all the rest."""
    folder = Path(tempfile.mkdtemp())
    locations = []
    for engine in ENGINES:
        (folder / engine).mkdir()
        locations.append(locations_on(engine, folder / engine))
    yield locations
    for one in locations:
        one.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def desks(both: list[StoreLocations]) -> Iterator[list[Desk]]:
    with asyncio.Runner() as runner:
        yield [Desk(runner, locations.open()) for locations in both]


class Numbers:
    used = 0


@settings(max_examples=150)
@given(texts_and_questions())
def test_both_engines_have_the_same_search_results(
    desks: list[Desk], example: tuple[list[str], list[list[str]]]
) -> None:
    documents, questions = example
    Numbers.used += 1
    keys = [f"{Numbers.used}/{number}" for number in range(len(documents))]
    for desk in desks:
        desk.insert(*(change(key, words=text) for key, text in zip(keys, documents, strict=True)))
    try:
        for question in questions:
            found = [
                [one.name for one in desk.read(lambda reader, words=question: reader.search(words, 100))]
                for desk in desks
            ]
            assert found[0] == found[1], f"{question} in {documents}"
    finally:
        for desk in desks:  # nothing can be deleted, so it is silenced: the next example begins with nothing to find
            desk.update(*(revise(key, 2, b"silent", words="") for key in keys))
