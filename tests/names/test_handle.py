import pytest
from hypothesis import given
from hypothesis import strategies as st
from perdure.handle import Handle
from tests.strategies import handle_characters, handles

from perdure import InvalidInput, InvalidName, handle


@given(handles)
def test_written_text_is_read_back(name: Handle) -> None:
    assert handle.parse(str(name)) == name


@given(
    handles,
    st.sampled_from(["https://hdl.handle.net/", "https://doi.org/", "http://resolver.net.au/hdl/", "info:hdl/"]),
)
def test_every_web_address_leads_back_to_its_handle(name: Handle, proxy: str) -> None:
    assert handle.parse(name.url(proxy)) == name


@given(handles)
def test_a_web_address_is_made_of_uri_characters_only(name: Handle) -> None:
    allowed = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:@!$&'()*+,;=%")
    assert set(name.url()) <= allowed


@pytest.mark.parametrize(
    ("text", "prefix", "suffix"),
    [
        ("10.1045/april2006-paskin", "10.1045", "april2006-paskin"),
        ("12345/a/b//c/", "12345", "a/b//c/"),
        ("12345/ with spaces ", "12345", " with spaces "),
        ("12345/日本語", "12345", "日本語"),
        ("hdl:102.100.272/0N8J991QH", "102.100.272", "0N8J991QH"),
        ("HDL:102.100.272/0N8J991QH", "102.100.272", "0N8J991QH"),
        ("doi:10.1000/182", "10.1000", "182"),
        ("doi: 10.1000/182", "10.1000", "182"),
        ("https://hdl.handle.net:443/2381/1", "2381", "1"),
        ("https://hdl.handle.net/hdl/1", "hdl", "1"),
        ("doi:https://doi.org/10.1000/182", "10.1000", "182"),
        ("info:hdl/2027/mdp%2E39015", "2027", "mdp.39015"),
        ("info:doi/10.1000/a%20b", "10.1000", "a b"),
        ("https://hdl.handle.net/10.1000/a%2Fb%3Fc%23d", "10.1000", "a/b?c#d"),
        ("https://hdl.handle.net/10.1000%2F182", "10.1000", "182"),
        ("http://dx.doi.org/10.1000/182?locatt=mode:legacy#top", "10.1000", "182"),
        ("https://www.doi.org/10.1000/182", "10.1000", "182"),
        ("http://resolver.net.au/hdl/102.100.272/Y35XYS0QH", "102.100.272", "Y35XYS0QH"),
        ("HTTPS://HDL.HANDLE.NET/10.1000/182", "10.1000", "182"),
        ("https://hdl.handle.net/10.1000/caf%C3%A9+x", "10.1000", "café+x"),
        ("12345/a%20b", "12345", "a%20b"),  # a bare name is taken as it stands
        ("hdl:12345/a%20b", "12345", "a%20b"),
    ],
)
def test_usual_forms(text: str, prefix: str, suffix: str) -> None:
    assert handle.parse(text) == Handle(prefix, suffix)


@pytest.mark.parametrize(
    ("character", "what"),
    [
        ("\x00", "control"),
        ("\x1f", "control"),
        ("\x7f", "control"),
        ("\x9f", "control"),
        ("\u200b", "invisible"),
        ("\u200f", "invisible"),
        ("\u2028", "separator"),
        ("\u202e", "invisible"),
        ("\u2066", "invisible"),
        ("\ud800", "surrogate"),
        ("\udfff", "surrogate"),
        ("\ufdd0", "noncharacter"),
        ("\ufeff", "invisible"),
        ("\ufffb", "invisible"),
        ("\uffff", "noncharacter"),
        ("\U0001f600", "beyond"),
    ],
)
@pytest.mark.parametrize(("template", "part", "position"), [("1{}2/x", "prefix", 1), ("12/a{}b", "suffix", 4)])
def test_characters_that_are_refused_are_named_with_code_and_position(
    character: str, what: str, template: str, part: str, position: int
) -> None:
    with pytest.raises(InvalidName) as caught:
        handle.parse(template.format(character))
    error = caught.value
    assert (error.scheme, error.part, error.position) == ("handle", part, position)
    assert what in error.reason
    assert f"U+{ord(character):04X}" in str(error)
    assert f"position {position}" in str(error)


@given(handle_characters)
def test_every_other_character_of_the_plane_is_allowed(character: str) -> None:
    assert handle.parse(f"1/{character}").suffix == character


@given(text=st.text(st.sampled_from(["a", "é", "م", "\u200c", "\u200d", "\u200b"]), min_size=1, max_size=6))
def test_joiners_are_allowed_on_demand_where_both_neighbours_are_beyond_ascii(text: str) -> None:
    joined = f"1{text}2"
    neighbours = [joined[at - 1] + joined[at + 1] for at, character in enumerate(joined) if character in "\u200c\u200d"]
    are_right = all(one > "\x7f" and one not in "\u200c\u200d" for pair in neighbours for one in pair)
    is_right = are_right and "\u200b" not in text
    try:
        assert str(handle.parse(f"12345/{text}", joiners=True)) == f"12345/{text}"
        assert is_right
    except InvalidName:
        assert not is_right
    assert handle.is_valid(f"12345/{text}") == (is_right and not handle.has_joiners(text))


@pytest.mark.parametrize("text", ["", "/", "noslash", "/suffix", "prefix/", "hdl:", "https://doi.org/", "info:hdl/"])
def test_empty_parts_are_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        handle.parse(text)


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("https://hdl.handle.net/10.1000/a%zz", "two hex digits"),
        ("https://hdl.handle.net/10.1000/a%2", "two hex digits"),
        ("https://hdl.handle.net/10.1000/a%FF", "not UTF-8"),
        ("https://hdl.handle.net/10.1000/a%00b", "control"),
        ("https://hdl.handle.net/10.1000/a%F0%9F%98%80", "beyond"),
        ("https://example.org/10.1000/1", "web address"),
        ("https://hdl.handle.net.example.org/10.1000/1", "web address"),
    ],
)
def test_web_addresses_are_decoded_strictly(address: str, what: str) -> None:
    with pytest.raises(InvalidName, match=what):
        handle.parse(address)


def test_a_position_counts_from_the_beginning_of_the_text() -> None:
    with pytest.raises(InvalidName) as caught:
        handle.parse("hdl:10.1000/a\u200bb")
    assert caught.value.position == 13
    assert "position 13" in caught.value.reason
    with pytest.raises(InvalidName) as caught:
        handle.parse("https://doi.org/10.1000/a%zz")
    assert caught.value.position == 25


def test_a_surrogate_cannot_be_in_a_web_address() -> None:
    with pytest.raises(InvalidName):
        handle.escape("\ud800")


def test_percent_signs_are_decoded_once() -> None:
    assert handle.parse("https://hdl.handle.net/1/a%2520b").suffix == "a%20b"


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("1/a b", "1/a%20b"),
        ('1/"<>[]\\^`{|}', "1/%22%3C%3E%5B%5D%5C%5E%60%7B%7C%7D"),
        ("1/!$&'()*+,;=:@-._~", "1/!$&'()*+,;=:@-._~"),
        ("1/50%", "1/50%25"),
        ("1/./x", "1%2F.%2Fx"),
        ("1/a/../../b", "1/a%2F..%2F..%2Fb"),
        ("1/..", "1%2F.."),
        ("1/a..b/.c", "1/a..b/.c"),
        ("1/a//b", "1/a//b"),
    ],
)
def test_only_reserved_characters_are_escaped(name: str, escaped: str) -> None:
    assert handle.escape(name) == escaped


def test_derived_prefixes_know_their_parents() -> None:
    assert handle.parse("12345.1.7/x").parents == ("12345.1", "12345")
    assert handle.parents("12345") == ()


def test_folding_touches_ascii_letters_only() -> None:
    assert handle.fold("ABCxyzÄÖÜßİ\u212a") == "abcxyzÄÖÜßİ\u212a"  # the last is the Kelvin sign


@pytest.mark.parametrize("prefix", ["hdl:1", "doi:", "DOI:10.1", "info:hdl", "https:", "http:"])
def test_a_prefix_that_reads_like_an_introduction_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidName, match="introduced"):
        Handle(prefix, "x")


def test_a_prefix_cannot_hold_a_slash() -> None:
    with pytest.raises(InvalidName, match="slash"):
        Handle("1/2", "x")


@pytest.mark.parametrize("value", [None, 1, b"1/x"])
def test_only_text_is_a_handle(value: object) -> None:
    with pytest.raises(InvalidInput):
        handle.parse(value)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        Handle("1", value)  # type: ignore[arg-type]
