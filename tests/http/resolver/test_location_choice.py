"""The choice among several locations of a record, and locations that would do harm."""

from collections import Counter
from collections.abc import Iterator
from xml.etree import ElementTree

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.http.live_server import run_server
from tests.http.resolvable_names import resolvable_registry

from perdure.http.resolver.location_choice import LocationChooser
from perdure.http.shared.negotiation import parse_accept_language
from perdure.records.locations import Location, read_locations
from perdure.records.validation import Limits
from perdure.records.value import Text, Value
from perdure.registry.longest_name import split_positions


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("locations") / "registry"
    with resolvable_registry(folder, "sqlite"), run_server(folder) as server, server.client("") as one:
        yield one


def read(xml: str) -> list[str] | None:
    found = read_locations(Value(1, "10320/loc", Text(xml)), Limits())
    return None if found is None else [one.href for one in found.all]


def choose(xml: str, *attributes: tuple[str, str], roles: str = "no_conneg") -> Location | None:
    found = read_locations(Value(1, "10320/loc", Text(xml)), Limits())
    assert found is not None
    return LocationChooser(attributes, frozenset(roles.split())).choose(found)


@pytest.mark.parametrize(
    ("query", "status", "target"),
    [
        ("", 302, "often"),
        ("locatt=id:never", 302, "never"),
        ("locatt=id:unknown", 302, "often"),
        ("locatt=country:gb", 302, "british"),
        ("locatt=country:GB", 302, "british"),
        ("locatt=country:nz", 302, "often"),
        ("action=metadata", 303, "data"),
        ("locatt=role:metadata&locatt=id:data", 303, "data"),
        ("type=URL", 302, "legacy"),
        ("locatt=id:never&urlappend=/x", 302, "never/x"),
    ],
)
def test_a_location_is_chosen(client: httpx.Client, query: str, status: int, target: str) -> None:
    response = client.get(f"/12345/locations?{query}")
    assert (response.status_code, response.headers["location"]) == (status, f"https://example.org/{target}")


def test_a_location_is_chosen_for_the_requested_format(client: httpx.Client) -> None:
    for accept, status, target in (
        ("*/*", 302, "any"),
        ("text/html", 302, "any"),
        ("application/rdf+xml", 307, "forms"),
        ("application/ld+json, */*;q=0.1", 307, "forms"),
    ):
        response = client.get("/12345/roles", headers={"accept": accept})
        assert (response.status_code, response.headers["location"]) == (status, f"https://example.org/{target}")
    named = client.get("/12345/roles?locatt=http_role:conneg")
    assert named.headers["location"] == "https://example.org/forms"


@pytest.mark.parametrize(
    ("accept", "target"),
    [
        (None, "landing"),
        ("*/*", "landing"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "landing"),
        ("application/pdf", "pdf"),
        ("application/*", "pdf"),
        ("application/pdf;q=0.2, text/turtle;q=0.1, */*;q=0.5", "pdf"),
        ("application/pdf;q=0, image/png", "landing"),
        ("text/turtle", "ttl"),
        ("text/turtle, application/pdf;q=0.9", "ttl"),
    ],
)
def test_a_location_is_chosen_by_its_media_type(client: httpx.Client, accept: str | None, target: str) -> None:
    response = client.get("/12345/forms", headers={"accept": accept} if accept else {})
    assert response.headers["location"] == f"https://example.org/{target}"
    assert response.status_code == (303 if target == "ttl" else 302)
    assert response.headers["vary"] == "accept"


def test_a_format_without_a_location_is_served_by_the_registry(client: httpx.Client) -> None:
    for accept in ("application/ld+json", "application/ld+json, text/turtle;q=0.9"):
        response = client.get("/12345/forms", headers={"accept": accept})
        assert (response.status_code, response.headers["content-type"]) == (200, "application/ld+json")
    assert client.get("/12345/forms", headers={"accept": "application/json"}).json()["name"] == "12345/forms"
    assert client.get("/12345/forms?format=ttl", headers={"accept": "text/turtle"}).status_code == 200


@pytest.mark.parametrize(
    ("taken", "target"),
    [
        ("en", "en"),
        ("en-GB", "en"),
        ("EN-gb, pt;q=0.9", "en"),
        ("de, pt;q=0.3, en;q=0.2", "pt"),
        ("pt-BR", "pt"),
        ("pt-PT", "all"),
        ("de", "all"),
        ("*", "all"),
        ("en;q=0", "all"),
        (None, "all"),
    ],
)
def test_a_location_is_chosen_by_its_language(client: httpx.Client, taken: str | None, target: str) -> None:
    response = client.get("/12345/languages", headers={"accept-language": taken} if taken else {})
    assert response.headers["location"] == f"https://example.org/{target}"
    assert response.headers["vary"] == "accept, accept-language"
    named = client.get("/12345/languages?locatt=language:en", headers={"accept-language": "pt"})
    assert named.headers["location"] == "https://example.org/en", "what the link names goes first"


def test_languages_are_ignored_if_attributes_do_not_choose() -> None:
    xml = '<locations chooseby="weighted"><location href="https://a.example/" weight="0" language="en"/><location href="https://b.example/"/></locations>'
    found = read_locations(Value(1, "10320/loc", Text(xml)), Limits())
    assert found is not None
    assert not found.has_languages
    assert LocationChooser((), frozenset(), (), parse_accept_language("en")).choose(found) == found.all[1]


def test_all_locations_are_listed(client: httpx.Client) -> None:
    response = client.get("/12345/locations?action=showurls")
    assert response.headers["content-type"] == "text/xml; charset=utf-8"
    found = {one.attrib["href"]: one.attrib for one in ElementTree.fromstring(response.content)}  # noqa: S314
    assert found["https://example.org/british"]["country"] == "gb"
    assert found["https://example.org/legacy"] == {"href": "https://example.org/legacy", "mode": "legacy"}
    assert not any("javascript" in href for href in found)
    assert ElementTree.fromstring(client.get("/12345/bare?action=showurls").content).tag == "locations"  # noqa: S314


def test_locations_that_cannot_be_read_are_skipped(client: httpx.Client) -> None:
    assert client.get("/12345/doctype").headers["location"] == "https://example.org/safe"
    assert client.get("/12345/broken").headers["location"] == "https://example.org/whole"


def test_weights_are_probabilities() -> None:
    xml = '<locations><location href="https://a.example/" weight="3"/><location href="https://b.example/"/></locations>'
    counted = Counter(choice.href for _ in range(2000) if (choice := choose(xml)))
    assert 1300 < counted["https://a.example/"] < 1700
    assert sum(counted.values()) == 2000


def test_without_weights_a_location_is_chosen() -> None:
    xml = '<locations><location href="https://a.example/" weight="0"/><location href="https://b.example/" weight="-1"/></locations>'
    assert {choice.href for _ in range(100) if (choice := choose(xml))} == {"https://a.example/", "https://b.example/"}


def test_the_methods_are_applied_in_the_order_of_the_record() -> None:
    xml = """<locations chooseby="country, weighted">
        <location id="1" href="https://a.example/"/><location id="2" href="https://b.example/" weight="0" country="NZ"/>
    </locations>"""
    assert (choice := choose(xml, ("id", "2")))
    assert choice.href == "https://a.example/", "locatt is not among them"
    assert (choice := choose(xml, ("country", "nz")))
    assert choice.href == "https://b.example/"


@pytest.mark.parametrize("code", ["301", "302", "303", "307", "308", "200", "x", "3021"])
def test_only_a_redirect_can_be_the_status(code: str) -> None:
    assert (choice := choose(f'<locations><location href="https://a.example/" http_sc="{code}"/></locations>'))
    assert choice.status == (int(code) if code in ("301", "303", "307", "308") else 302)


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "text",
        "<locations/>",
        "<other><location href='https://a.example/'/></other>",
        "<locations><location/></locations>",
        "<locations><location href='/relative'/></locations>",
        "<locations><location href='data:text/html,x'/></locations>",
        "<!DOCTYPE x><locations><location href='https://a.example/'/></locations>",
        "<locations><location href='https://a.example/&#10;x'/></locations>",
        "<a>" * 20_000,
        " " * 70_000 + "<locations><location href='https://a.example/'/></locations>",
    ],
)
def test_a_value_without_locations_gives_no_location(xml: str) -> None:
    assert not read(xml)


@given(st.text())
def test_no_text_makes_the_reader_crash(text: str) -> None:
    read(text)
    read(f'<locations><location href="https://a.example/" weight="{text}"/></locations>')


@given(st.text(alphabet="ab/-", min_size=1, max_size=700))
def test_a_name_is_split_at_a_bounded_number_of_positions_the_longest_first(suffix: str) -> None:
    positions = split_positions(suffix)
    assert positions == sorted(set(positions), reverse=True)
    assert len(positions) == min(256, len(suffix) - 1)
    assert all(0 < at < len(suffix) for at in positions)


def test_a_very_long_name_is_cut_at_its_separators() -> None:
    assert 3 in split_positions("abc/" + "x" * 1500)
