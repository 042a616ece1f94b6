"""IRIs and language tags: those that are accepted here are accepted by an RDF library."""

import pyoxigraph
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perdure.records.rdf_syntax import is_language_tag, is_web_iri


def _is_accepted(build: type, *arguments: str, **options: str) -> bool:
    try:
        build(*arguments, **options)
    except ValueError:
        return False
    return True


@given(st.lists(st.text("abxXZ019", min_size=1, max_size=9), min_size=1, max_size=5).map("-".join))
@settings(max_examples=200)
@example("nl")
@example("en-GB")
@example("zh-Hant-TW")
@example("x-ours")
@example("nl-1")
@example("nl-a")
@example("nl-")
def test_a_language_tag_is_one_for_rdf_too(text: str) -> None:
    assert is_language_tag(text) == _is_accepted(pyoxigraph.Literal, "a", language=text)


@given(st.text("ab1.:/?#%[]@é\u200b\u202e '~^|-\ue000\ufdd0\U000e0001_", max_size=12))
@settings(max_examples=200)
@example("schema.org/knows")
@example("example.org/%zz")
@example("example.org/#a#b")
@example("[::1")
def test_an_accepted_iri_is_valid_in_rdf(rest: str) -> None:
    if is_web_iri(f"https://{rest}"):
        assert _is_accepted(pyoxigraph.NamedNode, f"https://{rest}")


def test_web_iris_are_accepted() -> None:
    for text in (
        "https://schema.org/knows",
        "http://www.w3.org/2006/vcard/ns#role",
        "https://example.org:8080/é?a=%20",
    ):
        assert is_web_iri(text)


def test_other_iris_are_not_accepted() -> None:
    for text in (
        "schema:knows",
        "https://",
        "https:///a",
        "javascript:alert(1)",
        "https://example.org/a b",
        "",
        "https://a/\ud800",
    ):
        assert not is_web_iri(text)
