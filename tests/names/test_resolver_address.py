"""Names in the web addresses of a resolver."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import handles, hosts

from perdure import InvalidInput, InvalidName, handle, recognise
from perdure.names.resolver_address import ResolverAddress, find_name, strip_handle_path

OURS = (ResolverAddress.parse("https://id.example.org"),)
POID = "POID-93b0-4476-560e-5ac1"

paths = st.sampled_from(["", "/", "/pid", "/a/b/"])
ports = st.sampled_from(["", ":80", ":443", ":8080"])


@given(handles, st.sampled_from(["http", "https"]), hosts, ports, paths, st.sampled_from(["", "?info", "#top", "?a#b"]))
def test_a_name_is_read_from_its_own_address(
    name: handle.Handle, protocol: str, host: str, port: str, path: str, after: str
) -> None:
    base = f"{protocol}://{host}{port}{path}"
    url = f"{base.rstrip('/')}/{handle.escape(str(name))}"
    assert find_name(url + after, (ResolverAddress.parse(base),)) == str(name)
    assert find_name(url + after, (ResolverAddress.parse(f"https://other.{host}{port}{path}"),)) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://ID.Example.org/20.500/a",
        "http://id.example.org/20.500/a",
        "https://id.example.org:443/20.500/a",
        "http://id.example.org:80/20.500/a",
        "https://id.example.org./20.500/a",
        "https://id.example.org/20.500%2fa?noredirect#x",
    ],
)
def test_one_address_has_several_spellings(url: str) -> None:
    assert find_name(url, OURS) == "20.500/a"


@pytest.mark.parametrize(
    "url",
    [
        "https://id.example.org.evil.example/20.500/a",
        "https://evil.example/id.example.org/20.500/a",
        "https://evil.example/?https://id.example.org/20.500/a",
        "https://id.example.org@evil.example/20.500/a",
        "https://user@id.example.org/20.500/a",
        "https://id.example.org:8080/20.500/a",
        "https://id.example.org:80/20.500/a",
        "ftp://id.example.org/20.500/a",
        "//id.example.org/20.500/a",
        "id.example.org/20.500/a",
        "https://id.example.org",
        "https://id.example.org/",
        "https://id.example.org?20.500/a",
        "https://id.example.org\\@evil.example/20.500/a",
    ],
)
def test_another_address_is_not_ours(url: str) -> None:
    assert find_name(url, OURS) is None


def test_the_path_of_a_resolver_belongs_to_its_address() -> None:
    below = (ResolverAddress.parse("https://example.org/pid/"),)
    assert find_name("https://example.org/pid/20.500/a", below) == "20.500/a"
    assert find_name("https://example.org/20.500/a", below) is None
    assert find_name("https://example.org/pid20.500/a", below) is None


def test_an_address_may_have_any_port() -> None:
    local = (ResolverAddress.parse("http://[::1]").with_any_port(),)
    assert find_name("http://[::1]:8080/20.500/a", local) == "20.500/a"
    assert find_name("http://[::1]/20.500/a", local) == "20.500/a"


@pytest.mark.parametrize("rest", ["", "/", "/v2", "/history", ".ttl", "/v2.ttl"])
def test_the_url_of_a_person_names_the_person(rest: str) -> None:
    assert find_name(f"https://id.example.org/{POID}{rest}", OURS) == POID


def test_a_handle_that_ends_like_a_person_stays_a_handle() -> None:
    assert find_name(f"https://id.example.org/20.500/{POID}", OURS) == f"20.500/{POID}"


def test_an_address_that_cannot_be_decoded_is_an_error() -> None:
    with pytest.raises(InvalidName, match="two hex digits") as caught:
        find_name("https://id.example.org/20.500/%zz", OURS)
    assert caught.value.position == len("https://id.example.org/20.500/")


@pytest.mark.parametrize(
    "url", ["", "id.example.org", "ftp://id.example.org", "https://", "https:///a", "https://a b/"]
)
def test_the_address_of_a_resolver_is_a_web_address(url: str) -> None:
    with pytest.raises(InvalidInput):
        ResolverAddress.parse(url)


def test_only_a_whole_segment_is_the_path_for_handles() -> None:
    assert strip_handle_path("HDL/20.500/a") == "20.500/a"
    assert [strip_handle_path(text) for text in ("hdl", "hdl/", "hdl:20.500/a", "hdlx/20.500/a")] == [None] * 4


@pytest.mark.parametrize(
    ("path", "scheme", "canonical"),
    [
        ("20.500/a%20b?info", "handle", "20.500/a b"),
        ("hdl/20.500/a", "handle", "20.500/a"),
        ("hdl:20.500/a", "handle", "20.500/a"),
        ("102.100.272/Y35XYS0QH", "pilin", "102.100.272/Y35XYS0QH"),
        ("sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "ibi", "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"),
        ("8JMKD3MGP8W/34PGRBS", "ibi", "8JMKD3MGP8W/34PGRBS"),
        (f"{POID}/history", "ppid", POID),
    ],
)
def test_recognition_reads_the_addresses_of_given_resolvers(path: str, scheme: str, canonical: str) -> None:
    url = f"https://id.example.org/{path}"
    bare = url.removeprefix("https://")
    for text in (url, f" <{url}>. ", f"see {url}", f"https://login.example.net/?to={url}", bare, f"({bare})"):
        found = recognise(text, OURS)
        assert (found.scheme, found.canonical) == (scheme, canonical)
    assert recognise("https://id.example.org/20.500/a").scheme == "unknown"


@pytest.mark.parametrize("host", ["localhost:8080", "id.example.org:8443", "LOCALHOST:8080/hdl"])
def test_recognition_does_not_take_a_host_with_a_port_for_a_scheme(host: str) -> None:
    served = ("http://localhost:8080", "https://id.example.org:8443")
    found = recognise(f"{host}/20.500/a", tuple(ResolverAddress.parse(url) for url in served))
    assert (found.scheme, found.canonical) == ("handle", "20.500/a")
    assert recognise("localhost:81/20.500/a", OURS).scheme == "unknown"
    assert recognise("isbn:9780306406157", OURS) == recognise("isbn:9780306406157")


@given(st.text())
def test_no_text_raises_another_error(text: str) -> None:
    for url in (text, f"https://id.example.org/{text}"):
        with suppress(InvalidName):
            find_name(url, OURS)
        assert recognise(url, OURS).reason


def test_addresses_in_addresses_are_not_followed_for_ever() -> None:
    nested = "https://id.example.org/" * 150 + "20.500/a"
    assert not recognise(nested, OURS).valid


@pytest.mark.parametrize("label", ["sid.inpe.br/mtc-m18@80/2009/02.16.17.46-RPQ", "APM77Z/KFQ6T", "apm77z/kfq6t"])
def test_a_label_is_read_exactly_as_it_is_written(label: str) -> None:
    assert find_name(f"https://id.example.org/{label}", OURS) == label
