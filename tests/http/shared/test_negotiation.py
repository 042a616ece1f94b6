"""Content negotiation, as RFC 9110 defines it."""

import time

import pytest

from perdure.http.shared.negotiation import best_media_type, parse_accept

OFFERED = (
    "application/ld+json",
    "text/html",
    "application/json",
    "text/turtle",
    "application/rdf+xml",
    "application/n-triples",
)


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html"),  # browsers
        ("*/*", "application/ld+json"),
        ("text/turtle", "text/turtle"),
        ("TEXT/Turtle", "text/turtle"),
        ("text/turtle;q=0.5, application/rdf+xml;q=0.9", "application/rdf+xml"),
        ("text/turtle, application/rdf+xml", "text/turtle"),  # liked equally: the first
        ("application/rdf+xml, text/turtle", "application/rdf+xml"),
        ("*/*, text/turtle", "text/turtle"),  # liked equally: the one that is named
        ("text/*", "text/html"),
        ("text/*;q=0.5, text/turtle", "text/turtle"),
        ("text/*, text/html;q=0", "text/turtle"),
        ("*/*;q=0.1, application/ld+json;q=0, text/html;q=0, application/json;q=0", "text/turtle"),
        (
            'application/ld+json;profile="http://www.w3.org/ns/json-ld#compacted, x";q=0.2, text/turtle;q=0.1',
            "application/ld+json",
        ),
        ("text/turtle;charset=utf-8;q=0.4, application/n-triples;Q=0.6", "application/n-triples"),
        ("text/turtle ; q=0.1 , application/n-triples ; q = 0.2", "application/n-triples"),
        ("image/png, text/turtle;q=0.001", "text/turtle"),
        ("text/turtle;q=2, application/json", "application/json"),  # what cannot be understood is passed over
        ("text/turtle;q=nan, application/json;q=0.1", "application/json"),
        (", ,text/turtle,", "text/turtle"),
    ],
)
def test_the_preferred_media_type_is_chosen(accept: str, chosen: str) -> None:
    assert best_media_type(accept, OFFERED) == chosen


@pytest.mark.parametrize("accept", ["image/png", "text/turtle;q=0", "*/*;q=0", "nonsense", "", "text/html/x", '"'])
def test_no_media_type_is_chosen_if_none_is_acceptable(accept: str) -> None:
    assert best_media_type(accept, OFFERED) is None


def test_a_long_header_is_read_up_to_the_limit() -> None:
    assert len(parse_accept(",".join(["text/html"] * 1000))) == 64
    assert best_media_type("a/b;" + '"' * 5000, OFFERED) is None


def test_unclosed_quotation_marks_are_read_once() -> None:
    begun = time.process_time()
    assert best_media_type('"' + '\\"' * 16_000, OFFERED) is None
    assert best_media_type('a/b;"' + '\\"' * 16_000 + ",text/html", OFFERED) is None
    assert time.process_time() - begun < 2  # it took minutes when each mark was a new beginning
