"""Links of the form `upn:`: their parts, what is recognised in them, and what is not a link."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidName
from perdure.names import ibi, recognise, upn

LABELS = st.builds(
    lambda opaque, date: str(
        ibi.opaque_name("150.163.34.243", 802, date) if opaque else ibi.repository_name("mtc-m18.sid.inpe.br", 80, date)
    ),
    st.booleans(),
    st.integers(min_value=1_000_000_000, max_value=3_000_000_000),
)
PATHS = st.lists(
    st.text(st.characters(exclude_characters="/\n\r", categories=["L", "N", "P", "Zs"]), min_size=1), max_size=3
)
LINKS = st.builds(
    upn.UpnLink, st.from_regex("[0-9A-Z]{1,10}", fullmatch=True), LABELS, PATHS.map("/".join), st.booleans()
)


@given(LINKS)
def test_a_link_is_read_as_it_was_written(link: upn.UpnLink) -> None:
    assert upn.parse(str(link)) == link
    assert upn.parse(f"./{link}") == link


@given(LINKS)
def test_a_link_is_recognised_as_its_label(link: upn.UpnLink) -> None:
    found = recognise(str(link._replace(path="")))
    assert (found.scheme, found.canonical, found.valid) == ("ibi", ibi.canonical(link.label), True)
    assert found.details["resolver_id"] == link.resolver_id


def test_the_file_of_a_link_is_recognised() -> None:
    found = recognise('"https://example.org/page/upn:4CR88AP-:8JMKD3MGP8W/34PGRBS/doc/a%20b.pdf"')
    assert found.canonical == "8JMKD3MGP8W/34PGRBS"
    assert found.details["file"] == "doc/a b.pdf"
    assert recognise(".\\upn:x").valid is False


@pytest.mark.parametrize(
    "text",
    [
        "upn:4CR88AP",
        "upn:4CR88AP:8JMKD3MGP8W",
        "upn::8JMKD3MGP8W/34PGRBS",
        "upn:a/b:1/2",
        "upn:A:12345/a",
    ],
)
def test_a_link_without_a_label_is_refused_with_a_reason(text: str) -> None:
    assert upn.is_link(text)
    with pytest.raises(InvalidName) as problem:
        upn.parse(text)
    assert recognise(text).reason == problem.value.reason


@pytest.mark.parametrize("text", ["up:n", "xupn:A:8JMKD3MGP8W/34PGRBS", "12345/upn:A"])
def test_other_texts_are_not_links(text: str) -> None:
    assert not upn.is_link(text)
