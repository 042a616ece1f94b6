"""Texts that one slip separates from another."""

from hypothesis import given
from hypothesis import strategies as st

from perdure.names.misspellings import list_likely_characters, list_misspellings

ASCII = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
texts = st.text(st.one_of(ASCII, st.sampled_from("éèßжюσ日本")), min_size=1, max_size=24)


def edit(text: str, slip: str, at: int, character: str) -> str:
    """Return the text with one slip, made in the plainest way."""
    letters = list(text)
    if slip == "missing":
        del letters[at % len(letters)]
    elif slip == "wrong":
        letters[at % len(letters)] = character
    elif slip == "extra":
        letters.insert(at % (len(letters) + 1), character)
    elif len(letters) > 1:
        first = at % (len(letters) - 1)
        letters[first : first + 2] = reversed(letters[first : first + 2])
    return "".join(letters)


slips = st.sampled_from(["missing", "wrong", "extra", "swapped"])


@given(texts, slips, st.integers(0), ASCII)
def test_every_slip_in_ascii_is_undone(right: str, slip: str, at: int, character: str) -> None:
    wrong = edit(right, slip, at, character)
    tried = list_likely_characters(wrong)
    if all(letter.isascii() or letter in tried for letter in right):
        assert wrong == right or right in list_misspellings(wrong, tried, range(len(wrong) + 1), 10**6)


@given(texts, st.integers(0, 200))
def test_the_number_of_texts_is_limited(text: str, most: int) -> None:
    found = list_misspellings(text, list_likely_characters(text), range(len(text) + 1), most)
    assert len(found) == len(set(found)) <= most


@given(texts, st.data())
def test_what_comes_before_the_slip_stays(text: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(text)))
    assert all(
        one.startswith(text[:first]) for one in list_misspellings(text, "ab", range(first, len(text) + 1), 10**6)
    )


def test_letters_of_the_same_script_are_likely() -> None:
    assert set("éèßü") <= set(list_likely_characters("these"))
    assert set("абвгдежзик") <= set(list_likely_characters("тезис"))
    assert not set("ABC") & set(list_likely_characters("these", upper=False))


def test_the_characters_of_the_text_are_tried_first() -> None:
    assert list_likely_characters("z9-a").startswith("z9-a0123")
