"""The headers of a stored file are plain ASCII whatever its name and type are, and keep it from acting here."""

from email.message import Message
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.http.items.content_headers import browser_headers, content_disposition, digest_field, safe_media_type
from perdure.http.shared.responses import format_head

HOSTILE = [
    'a"; filename="b.html',
    "a\r\nset-cookie: x=1",
    "..\\..\\x",
    "%41.txt",
    "a;b",
    "'",
    "\u202egpj.exe",
    "e\u0301.txt",
    "\ud800",
]


@given(st.text(max_size=60) | st.sampled_from(HOSTILE), st.text(max_size=40) | st.none(), st.booleans())
def test_no_name_or_type_breaks_a_header(name: str, media_type: str | None, is_shown: bool) -> None:
    headers = browser_headers(media_type, name)
    assert format_head(headers)
    content_disposition(name, is_shown=is_shown).encode("ascii")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_a_client_reads_the_name_back(name: str) -> None:
    value = content_disposition(name, is_shown=False)
    _, _, extended = value.partition("filename*=UTF-8''")
    if extended:
        assert unquote(extended) == name
    else:
        message = Message()
        message["content-disposition"] = value
        assert message.get_filename() == name


@pytest.mark.parametrize(
    "media",
    [
        "text/html",
        "image/svg+xml",
        "application/xhtml+xml",
        "text/javascript",
        "x/y",
        "",
        None,
        "text/html; charset=utf-8",
    ],
)
def test_what_could_run_gets_an_origin_of_its_own(media: str | None) -> None:
    headers = dict(browser_headers(media, "a"))
    assert headers[b"content-security-policy"].startswith(b"sandbox; default-src 'none';")
    assert b"allow-" not in headers[b"content-security-policy"]


@pytest.mark.parametrize(
    "media", ["application/octet-stream", "text/javascript", "application/x-msdownload", "TEXT/X", None]
)
def test_a_file_that_no_browser_shows_is_downloaded(media: str | None) -> None:
    assert dict(browser_headers(media, "a"))[b"content-disposition"].startswith(b"attachment;")


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        ("Text/HTML", "text/html"),
        ("a", "application/octet-stream"),
        ("a/b\r\nc: d", "application/octet-stream"),
        ("text/plain; charset=utf-8", "text/plain; charset=utf-8"),
    ],
)
def test_a_stored_type_is_sent_only_if_it_is_one(stored: str, sent: str) -> None:
    assert safe_media_type(stored) == sent


def test_a_digest_is_written_in_base64() -> None:
    assert digest_field("sha-512", "ff" * 64).count(b":") == 2
