"""The replacement of addresses inside lists of locations."""

from xml.sax.saxutils import quoteattr

from hypothesis import given
from hypothesis import strategies as st

from perdure.records.location_edit import list_addresses, replace_addresses

LIST = """<?xml version="1.0" encoding="ISO-8859-1"?>
<locations chooseby="weighted"><!-- <location href="http://old.example/c"/> -->
  <location id="0" title="é href='http://old.example/no'" href = 'http://old.example/a?b&amp;c' weight="1"/>
  <location href=" http://old.example/2 "></location><location href="http://other.example/2"/>
  <other href="http://old.example/3"/>
</locations>"""


def move(url: str) -> str | None:
    return url.replace("old", 'new"&') if url.startswith("http://old.") else None


def test_only_the_addresses_of_locations_change() -> None:
    expected = LIST.replace("'http://old.example/a?b&amp;c'", '"http://new&quot;&amp;.example/a?b&amp;c"').replace(
        '" http://old.example/2 "', '"http://new&quot;&amp;.example/2"'
    )
    assert replace_addresses(LIST, move) == expected
    assert list_addresses(expected)[0] == 'http://new"&.example/a?b&c'


def test_a_text_that_is_not_a_list_is_not_changed() -> None:
    for text in ("", "<locations", "<!DOCTYPE x><locations/>", "<a><location href='http://old.example/'/></a>"):
        assert replace_addresses(text, move) == text
        assert list_addresses(text) == []


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn", "Z")), min_size=1), max_size=5
    )
)
def test_addresses_are_replaced_by_any_text(addresses: list[str]) -> None:
    text = f"<locations>{''.join(f'<location id={quoteattr(one)} href={quoteattr(one)}/>' for one in addresses)}</locations>"
    assert list_addresses(text) == addresses
    doubled = replace_addresses(text, lambda url: url + url)
    assert list_addresses(doubled) == [one + one for one in addresses]
    assert replace_addresses(doubled, lambda url: url[: len(url) // 2]).count("id=") == len(addresses)
