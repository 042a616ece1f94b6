"""Links in HTML files: which ones lead to items, and that nothing else in a file changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.collections.portable_links import ItemLink, parse_item_link, replace_links
from perdure.names.resolver_address import ResolverAddress

LABEL, NAME = "8JMKD3MGP8W/34PGRBS", "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
OWN = (ResolverAddress.parse("https://id.example.org"),)


@pytest.mark.parametrize(
    ("text", "link"),
    [
        (f"upn:4CR88AP:{LABEL}", ItemLink(LABEL, "", "4CR88AP")),
        (f"./upn:4CR88AP-:{NAME}/a%20b.html#top", ItemLink(NAME, "a b.html", "4CR88AP", "#top")),
        (f"../../upn:4CR88AP:{LABEL}?x=1", ItemLink(LABEL, "", "4CR88AP")),
        (f"http://urlib.net/rep/{LABEL}?ibiurl.language=en", ItemLink(LABEL, "")),
        (f"http://mtc-m16c.sid.inpe.br/col/{NAME}/doc/a.pdf", ItemLink(NAME, "a.pdf")),
        (f"https://id.example.org/{LABEL}/maps/b.tif#2", ItemLink(LABEL, "maps/b.tif", None, "#2")),
        (f"http://urlib.net/{LABEL}", ItemLink(LABEL, "")),
    ],
)
def test_these_links_lead_to_items(text: str, link: ItemLink) -> None:
    assert parse_item_link(text, OWN) == link


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#top",
        "a.html",
        "upn:A:1",
        "https://example.org/x",
        f"https://example.org/{LABEL}",
        "mailto:upn:a@b",
        "x" * 5000,
    ],
)
def test_other_links_stay(text: str) -> None:
    assert parse_item_link(text, OWN) is None


def test_a_link_is_replaced_however_it_is_written() -> None:
    page = b"<A HREF = 'one'>upn:one</A><img\nsrc=\"two\"/><a data-href=\"one\" href=one>\xe9</a><!-- one --><p title='href=one'>"
    replaced, count = replace_links(page, {"one": "a&b", "two": 'c"d'}.get)
    assert count == 3
    assert replaced == (
        b'<A HREF = "a&amp;b">upn:one</A><img\nsrc="c&quot;d"/><a data-href="one" href="a&amp;b">\xe9</a>'
        b"<!-- one --><p title='href=one'>"
    )


@given(st.binary(max_size=200).map(lambda raw: b"<a href=" + raw + b"<b src='x'"))
def test_a_file_without_such_links_is_unchanged(page: bytes) -> None:
    assert replace_links(page, lambda link: None) == (page, 0)


def test_a_hostile_file_is_read_once() -> None:
    for part in (b"<a ", b"<a '", b'<a href="', b"<", b"<a href=" + b" " * 100):
        page = part * 50_000
        assert replace_links(page, lambda link: None) == (page, 0)
