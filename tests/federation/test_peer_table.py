"""The table of prefixes and servers: its fields, its look-ups, and its CSV file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput, OutOfRange
from perdure.federation.peer_csv import parse_peers, write_peers
from perdure.federation.peer_table import MOST_ASKED, PeerTable, name_keys
from perdure.registry.entities import HeldPrefix, Peer
from perdure.registry.peers.peer_fields import (
    MOST_PREFIXES,
    check_peer_name,
    default_peer_name,
    parse_peer_prefix,
    parse_peer_prefixes,
    parse_peer_url,
)

LABEL = "sid.inpe.br/mtc-m18/2009/02.16.17.46"


def peer(name: str, *prefixes: str, key: str | None = "k", **fields: object) -> Peer:
    return Peer(name=name, url=f"https://{name}.example", prefixes=prefixes, key=key, **fields)  # type: ignore[arg-type]


def names(peers: tuple[Peer, ...]) -> list[str]:
    return [one.name for one in peers]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("SID.inpe.br/mtc-m18", "sid.inpe.br/mtc-m18"),
        ("8JMKD3MGP8W", "8jmkd3mgp8w"),
        ("APM77Z", "APM77Z"),
        ("20.500.ABC", "20.500.abc"),
        (" ppid ", "ppid"),
        ("PRID", "prid"),
        ("upn:4CR88AP", "upn:4cr88ap"),
        ("*", "*"),
    ],
)
def test_a_prefix_is_stored_as_names_are_compared(text: str, key: str) -> None:
    assert parse_peer_prefix(text) == key
    assert parse_peer_prefix(key) == key


@pytest.mark.parametrize("text", ["", "a/b/c", "upn:", "upn:a b", "https://x", "a\nb", "12345/", "x" * 3000])
def test_what_is_no_prefix_is_refused(text: str) -> None:
    with pytest.raises((InvalidInput, OutOfRange)):
        parse_peer_prefix(text)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://id.example.org",
        "id.example.org",
        "https://",
        "https://user:pass@id.example.org",
        "https://id.example.org/?q",
        "https://id.example.org/#x",
        "https://id.example.org/../x",
        "https://id.example.org:99999",
        "https://id.example.org/" + "x" * 500,
        "javascript:alert(1)",
        "https://a b",
    ],
)
def test_what_is_no_base_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        parse_peer_url(url)


def test_one_server_has_one_spelling_of_its_url() -> None:
    for url in ("https://ID.example.org", "https://id.example.org/", "HTTPS://id.example.org:443/"):
        assert parse_peer_url(url) == "https://id.example.org"
    assert parse_peer_url("http://[::1]:8080/x/") == "http://[::1]:8080/x"
    assert check_peer_name(default_peer_name("http://[2001:db8::1]:8080"))


def test_the_number_of_prefixes_is_bounded() -> None:
    with pytest.raises(OutOfRange):
        parse_peer_prefixes(f"20.{number}" for number in range(MOST_PREFIXES + 1))


def test_the_most_specific_row_wins_and_all_names_come_last() -> None:
    table = PeerTable([peer("a", "10"), peer("b", "10.1000"), peer("c", "*"), peer("d", "ppid")], "https://up.example/")
    first, rest = table.find("10.1000/x")
    assert (names(first.asked), first.owners) == (["b"], {"b"})
    assert (names(rest.asked), [one.url for one in rest.redirected]) == (["c"], ["https://up.example"])
    assert names(table.find("10.2/x")[0].asked) == ["a"]
    assert names(table.find("PRID-0000-0000-0000-0000")[0].asked) == ["d"]
    assert names(table.find("99/x")[0].asked) == ["c"]


def test_labels_are_found_by_their_prefix_in_any_spelling() -> None:
    table = PeerTable([peer("a", "sid.inpe.br/mtc-m18")])
    for label in (LABEL, LABEL.upper(), LABEL.replace("mtc-m18", "mtc-m18@80"), f"upn:X:{LABEL}"):
        assert names(table.find(label)[0].asked) == ["a"], label
    assert table.find("sid.inpe.br/mtc-m19/2009/02.16.17.46") == ()
    assert table.find("no name at all") == ()


def test_announcements_add_servers_to_ask_but_the_table_decides_who_owns_a_prefix() -> None:
    announcing = peer("b", announced=(HeldPrefix("10.1000"),))
    copying = peer("c", announced=(HeldPrefix("10.1000", "copy"),))
    (group,) = PeerTable([announcing, copying]).find("10.1000/x")
    assert (names(group.asked), group.owners) == (["b", "c"], {"b"})
    later = peer("a", announced=(HeldPrefix("10.1000"),), added="2026-01-02")
    (group,) = PeerTable([later, announcing, copying]).find("10.1000/x")
    assert group.owners == {"b"}, "a server that was added later takes no prefix away"
    (group,) = PeerTable([copying]).find("10.1000/x")
    assert group.owners == frozenset(), "what it answers itself does not make it the owner"
    (group,) = PeerTable([peer("a", "*")]).find("10.1000/x")
    assert group.owners is None
    (group,) = PeerTable([peer("a", "10.1000"), announcing, copying]).find("10.1000/x")
    assert (set(names(group.asked)), group.owners) == ({"a", "b", "c"}, {"a"})


def test_a_server_without_a_key_gets_no_question() -> None:
    (group,) = PeerTable([peer("doi", "10", key=None)]).find("10.1000/x")
    assert (group.asked, names(group.redirected)) == ((), ["doi"])


def test_the_number_of_questions_is_bounded() -> None:
    table = PeerTable([peer(f"p{number}", announced=(HeldPrefix("10"),)) for number in range(MOST_ASKED + 5)])
    assert len(table.find("10/x")[0].asked) == MOST_ASKED


@given(st.text())
def test_every_text_has_keys(name: str) -> None:
    assert isinstance(name_keys(name), tuple)


PEERS = st.lists(
    st.builds(
        lambda number, prefixes, key, private: Peer(
            name=f"p{number}", url=f"https://p{number}.example", prefixes=tuple(prefixes), key=key, private=private
        ),
        st.integers(0, 99),
        st.lists(st.sampled_from(["*", "ppid", "10.1000", "sid.inpe.br/mtc-m18", "APM77Z", "upn:x"]), unique=True),
        st.none() | st.text("abcXYZ019-_", min_size=43, max_size=43),
        st.booleans(),
    ),
    unique_by=lambda one: one.url,
)


@given(PEERS)
def test_the_csv_file_has_the_whole_table(peers: list[Peer]) -> None:
    assert parse_peers(write_peers(peers)) == peers


def test_two_columns_are_enough() -> None:
    found = parse_peers(b"\xef\xbb\xbfurl,prefix\r\nhttps://a.example,10\r\nhttps://a.example,11\r\n")
    assert found == [Peer(name="a.example", url="https://a.example", prefixes=("10", "11"))]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "first line"),
        ("url\nhttps://a.example\n", "first line"),
        ("prefix,url,x\n", "first line"),
        ("prefix,url\n10\n", "line 2"),
        ("prefix,url\n10,https://a.example,x\n", "line 2"),
        ("prefix,url\n10,https://a.example\n11,nowhere\n", "line 3"),
        ("prefix,url,private\n10,https://a.example,maybe\n", "private"),
        ("prefix,url,key\n10,https://a.example,short\n", "public key"),
        ("prefix,url,name\n10,https://a.example,x\n11,https://a.example,y\n", "line 3"),
        ('prefix,url\n"10,https://a.example\n', "cannot be read"),
    ],
)
def test_a_table_with_an_error_is_refused_with_the_line(text: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        parse_peers(text.encode())
