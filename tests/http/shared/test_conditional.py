"""Entity tags, and the conditions of requests."""

from typing import Any

import pytest

from perdure.errors import Conflict, NameTaken
from perdure.http.shared.conditional import (
    ANY_ETAG,
    content_etag,
    document_etag,
    expect_etag,
    expect_version,
    format_etag,
    history_etag,
    if_none_match_has,
    is_not_modified,
    parse_etags,
    parse_record_versions,
    record_etag,
    reject_if_match,
    superseded_etag,
    version_etag,
)
from perdure.http.shared.http_errors import MalformedRequest, PreconditionFailed, PreconditionRequired
from perdure.http.shared.request import Request
from perdure.http_options import HttpOptions


def request(*headers: tuple[bytes, bytes]) -> Request:
    scope: dict[str, Any] = {
        "method": "GET",
        "raw_path": b"/12345/a",
        "query_string": b"",
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "headers": list(headers),
    }

    async def receive() -> dict[str, Any]:
        raise AssertionError("no condition is in the body")

    return Request(scope, receive, HttpOptions())


def test_every_format_of_a_tag_is_parsed() -> None:
    assert version_etag(3) == '"3"'
    assert record_etag(3) == '"3-record"'
    assert format_etag(3, "ttl") == '"3-ttl"'
    assert history_etag(3, "application/json") == '"3-history-json"'
    assert len({history_etag(3, "text/html", names) for names in ((), ("Jan",), ("Piet",), ("Jan", "Piet"))}) == 4
    assert superseded_etag(3, 5) == '"3-5"'
    assert content_etag(b"") == '"e3b0c44298fc1c14"'
    assert document_etag(3, (1, 2), "text/turtle") == '"3.cf4dabed2ce0-turtle"'
    assert document_etag(3, (1, 2), "text/html", "claims", "POID-1") == '"3.cf4dabed2ce0-claims-html-POID-1"'


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ('"3"', {"3"}),
        ('W/"3"', {"3"}),
        (' "3" , W/"4-json",,"5,6" ', {"3", "4-json", "5,6"}),
        ('""', {""}),
        ("*", ANY_ETAG),
        (" * ", ANY_ETAG),
    ],
)
def test_lists_of_tags_are_parsed(text: str, tags: set[str] | None) -> None:
    assert parse_etags(text) == tags


@pytest.mark.parametrize("text", ["", "3", '"3', 'w/"3"', '"3", *', "**", '"3" x'])
def test_text_that_is_not_a_list_of_tags_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a list"):
        parse_etags(text)
    assert not if_none_match_has(text, '"3"')
    with pytest.raises(MalformedRequest, match="if-match"):
        parse_record_versions(text, "if-match")
    with pytest.raises(MalformedRequest, match="If-Match"), expect_etag(text):
        pass


def test_if_none_match_compares_weakly_over_all_lines() -> None:
    conditional = request((b"if-none-match", b'"1"'), (b"if-none-match", b'W/"3", "4"'))
    assert is_not_modified(conditional, '"3"')
    assert not is_not_modified(conditional, '"2"')
    assert not is_not_modified(request(), '"3"')
    assert is_not_modified(request((b"if-none-match", b"*")), '"3"')


def test_tags_of_other_formats_name_no_version_of_a_record() -> None:
    assert parse_record_versions('"3-record", W/"4-record", "5", "6-json", "0-record"', "if-match") == {3, 4}
    assert parse_record_versions("*", "if-match") is ANY_ETAG


@pytest.mark.parametrize(("text", "version"), [('"3"', 3), ('W/"3"', 3), ("*", None), ('"x"', 0), ('"1234567890"', 0)])
def test_the_expected_version_is_read_from_if_match(text: str, version: int | None) -> None:
    with expect_version(text) as expected:
        assert expected == version


def test_a_condition_that_does_not_hold_is_refused() -> None:
    with pytest.raises(PreconditionFailed), expect_version('"3"'):
        raise Conflict("12345/a", "version 3", "version 4")
    with pytest.raises(Conflict) as raised, expect_version("*"):
        raise Conflict("12345/a", "version 3", "version 4")
    assert type(raised.value) is Conflict
    with pytest.raises(NameTaken), expect_version('"3"'):
        raise NameTaken("12345/a")
    with pytest.raises(PreconditionRequired), expect_version(None):
        pass


def test_a_condition_on_a_resource_without_tag_is_refused() -> None:
    reject_if_match(request())
    reject_if_match(request((b"if-match", b"*")))
    with pytest.raises(PreconditionFailed):
        reject_if_match(request((b"if-match", b'"3"')))
