"""Web addresses: a valid host, and one encoding."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.records.rdf_syntax import is_web_iri
from perdure.records.validation import Limits, check_target
from perdure.records.web_address import PLAIN_ADDRESS, URL_SAFE, encode_web_address

LIMITS = Limits()
REFUSED = [
    *("https://#", "https://?", "https:///x", "https:x", "http:/x", "ftp://#", "https://\\x", "https://a\\b/", "https://a\\@b/"),
    *("http://%00/", "http://a%00b/", "http://a%2Fb/", "http://%2500/", "http://a%zz/", "http://%ff/", "http://%0d%0aset-cookie/"),
    *("https://:80/", "https://@/", "https://u@/", "https://a@b@c/", "https://a:65536/", "https://a:x/", "https://a:-1/", "https://a:٣/"),
    *("https://[]/", "https://[zz]/", "https://[::1/", "https://::1/", "https://[::1]x/", "https://[::1%25eth0]/", "https://[v1.a]/"),
    *("http://1.2.3/", "http://256.1.1.1/", "http://2130706433/", "http://0x7f000001/", "http://010.1.1.1/"),
    *("https://a..b/", "https://.a/", "https://a b/", "https://a<b>/", "https://a'b/", 'https://a"b/', "https://a`b/", "https://-ü.org/"),
    *("https://\u00ad/", "https://℀.example/", "https://ü%00.example/", "https://" + "a" * 64 + ".org/", "https://" + "ü." * 200),
]  # fmt: skip
SENT = {
    "https://example.org/a%20b?c#d": None,
    "HTTPS://Example.ORG/": None,
    "https://u:p@example.org:8443/": None,
    "https://ex_ample.org/": None,
    "https://localhost/": None,
    "https://example.org./": None,
    "https://example.org:/": None,
    "https://example.org:65535/": None,
    "https://[2001:db8::1]:8080/": None,
    "http://127.0.0.1/": None,
    "mailto:a@example.org": None,
    "https://bücher.example/ä": "https://xn--bcher-kva.example/%C3%A4",
    "https://例え.jp/": "https://xn--r8jz45g.jp/",
    "https://例え。jp/": "https://xn--r8jz45g.jp/",
    "https://faß.example/": "https://xn--fa-hia.example/",
    "https://BÜCHER.example:81/": "https://xn--bcher-kva.example:81/",
    "https://b%C3%BCcher.example/": "https://xn--bcher-kva.example/",
    "http://%65xample.org/": "http://example.org/",
    "https://jürgen@example.org/": "https://j%C3%BCrgen@example.org/",
    'https://example.org/"<>\\^`{|}': "https://example.org/%22%3C%3E%5C%5E%60%7B%7C%7D",
}


@pytest.mark.parametrize("url", REFUSED)
def test_an_address_without_a_real_host_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_target(url, LIMITS)
    assert refusal.value.part == "target"
    assert str(refusal.value).isprintable()
    assert not is_web_iri(url)


@pytest.mark.parametrize(("url", "sent"), SENT.items())
def test_a_url_is_encoded_in_ascii_with_its_host_as_idna(url: str, sent: str | None) -> None:
    assert check_target(url, LIMITS) == url
    assert encode_web_address(url) == (url if sent is None else sent)


def test_blanks_around_an_address_are_dropped_and_others_encoded() -> None:
    assert encode_web_address("  https://example.org/a b ") == "https://example.org/a%20b"
    assert encode_web_address(" mailto:desk@example.org ") == "mailto:desk@example.org"


_PIECES = st.sampled_from(
    ["a", "ü", "例", ".", "-", "_", "%", "00", "2f", "[", "]", ":", "@", "\\", "/", "?", "#", "1", "℀", "。", "\u200d"]
)


@given(st.lists(_PIECES, max_size=12).map("".join) | st.text(max_size=20))
def test_an_encoded_url_has_a_host_that_can_be_looked_up(rest: str) -> None:
    url = f"https://{rest}"
    try:
        check_target(url, LIMITS)
    except InvalidInput:
        return
    sent = encode_web_address(url)
    parts = urlsplit(sent)
    assert set(sent) <= set(URL_SAFE)
    assert parts.hostname
    assert parts.port is None or 0 <= parts.port <= 65_535
    assert check_target(sent, LIMITS) == encode_web_address(sent) == sent
    if PLAIN_ADDRESS.fullmatch(url):
        assert sent == url
