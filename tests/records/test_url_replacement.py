"""The replacement of the beginning of a URL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.records.url_replacement import UrlReplacement

PATHS = st.text(st.characters(codec="ascii", categories=("L", "N")) | st.sampled_from("/-._~?=&%#"), max_size=30)


@pytest.mark.parametrize(("old", "new", "url", "expected"), [
    ("http://old.example.org/", "https://new.example.org/", "http://old.example.org/a?b#c", "https://new.example.org/a?b#c"),
    ("http://old.example.org/", "https://new.example.org/", "HTTP://Old.Example.org:80/A", "https://new.example.org/A"),
    ("http://old.example.org", "https://new.example.org/", "http://old.example.org/a", "https://new.example.org/a"),
    ("http://old.example.org", "https://new.example.org", "http://old.example.org?a", "https://new.example.org?a"),
    ("http://old.example.org/", "https://new.example.org/", "http://old.example.org", "https://new.example.org/"),
    ("http://old.example.org/a", "http://old.example.org/b", "http://old.example.org/a/1", "http://old.example.org/b/1"),
    ("http://bücher.example/", "https://b.example/", "http://xn--bcher-kva.example/1", "https://b.example/1"),
    ("http://old.example.org/", "https://new.example.org/", "  http://old.example.org/a b ", "https://new.example.org/a b"),
    ("http://", "https://", " http://any.example.org/a", "https://any.example.org/a"),
    ("mailto:desk@", "mailto:info@", "mailto:desk@example.org", "mailto:info@example.org"),
    ("http://", "https://", "HTTP://Any.example.org:80/a?b", "https://Any.example.org/a?b"),
    ("http://", "https://", "http://any.example.org:8080", "https://any.example.org:8080"),
])  # fmt: skip
def test_the_beginning_is_replaced_and_the_rest_stays(old: str, new: str, url: str, expected: str) -> None:
    assert UrlReplacement(old, new).replace(url) == expected


@pytest.mark.parametrize("url", [
    "http://old.example.org.evil.example/a",
    "http://old.example.org@evil.example/a",
    "http://old.example.org:8080/a",
    "http://user@old.example.org/a",
    "https://old.example.org/a",
    "http://older.example.org/a",
    "not a URL",
])  # fmt: skip
def test_another_host_is_left(url: str) -> None:
    assert UrlReplacement("http://old.example.org", "https://new.example.org/").replace(url) is None


@pytest.mark.parametrize("url", ["https://a.example/", "http:///a", "mailto:a@http.example", "httpx://a.example/"])
def test_a_scheme_alone_is_the_beginning_of_its_own_urls(url: str) -> None:
    assert UrlReplacement("http://", "https://").replace(url) is None


def test_the_case_of_a_path_matters() -> None:
    assert UrlReplacement("http://a.example/Maps/", "http://b.example/").replace("http://a.example/maps/1") is None


@given(PATHS)
def test_a_second_run_changes_nothing(path: str) -> None:
    """This also holds if the new beginning begins with the old one."""
    moved = UrlReplacement("http://a.example/", "http://a.example/archive/")
    new = moved.replace(f"http://a.example/x{path}")
    assert new is not None
    assert moved.replace(new) is None


@given(PATHS)
def test_the_opposite_replacement_restores_the_url(path: str) -> None:
    url = f"http://a.example/x{path}"
    new = UrlReplacement("http://a.example/x", "https://b.example/y").replace(url)
    assert new is not None
    assert UrlReplacement("https://b.example/y", "http://a.example/x").replace(new) == url


@pytest.mark.parametrize(("old", "new", "part"), [
    ("old.example.org", "https://new.example.org/", "from"),
    ("http://old.example.org/", "new.example.org/", "to"),
    ("http://old.example.org/", "https://new.example.org", "to"),
])  # fmt: skip
def test_a_beginning_that_would_make_wrong_urls_is_refused(old: str, new: str, part: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        UrlReplacement(old, new)
    assert refusal.value.part == part
