"""Authority metadata as RDF, for identifiers of every kind, and the IRIs in it."""

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json, structs
from tests.rdf.sample_persons import AT, CONTEXT_URL, NAMESPACES, PRID

from perdure.rdf import FORMATS, Namespaces, write_identifier, write_name
from perdure.rdf.iris import find_certain_iri, find_iri, iri
from perdure.records.authority_metadata import AuthorityMetadata
from perdure.records.record import About, Tombstone
from perdure.registry.identifier_view import View
from perdure.registry.withdrawal import Withdrawal

HANDLE = View(
    name="20.500.1/a b",
    scheme="handle",
    state="active",
    version=3,
    authority=AuthorityMetadata("hdl:20.500.1/me", AT, "2025-02-15T14:00:00Z", (PRID, "hdl:20.500.1/us")),
    names=("20.500.1/a b",),
    target="https://example.org/{thing}",
    about=About(who="Ann", what="A thing"),
)
WHERE = "https://id.example.org/20.500.1/a%20b"
RDF_FORMATS = {"turtle": ox.RdfFormat.TURTLE, "rdf-xml": ox.RdfFormat.RDF_XML, "n-triples": ox.RdfFormat.N_TRIPLES}


def test_the_document_of_a_handle_has_authority_and_target() -> None:
    assert json.decode(write_identifier(HANDLE, WHERE, "json-ld", NAMESPACES, CONTEXT_URL)) == {
        "@context": CONTEXT_URL,
        "id": WHERE,
        "identifier": ["20.500.1/a b"],
        "url": "https://example.org/%7Bthing%7D",
        "state": "active",
        "created": AT,
        "modified": "2025-02-15T14:00:00Z",
        "creator": "https://hdl.handle.net/20.500.1/me",
        "rightsHolder": [f"https://ppid.org/{PRID}", "https://hdl.handle.net/20.500.1/us"],
        "about": {"id": f"{WHERE}#about", "who": "Ann", "what": "A thing"},
    }


def test_a_list_of_locations_is_the_target_of_a_handle() -> None:
    listed = structs.replace(HANDLE, locations=("https://a.example/", "https://b.example/"))
    document = json.decode(write_identifier(listed, WHERE, "json-ld", NAMESPACES, CONTEXT_URL))
    assert document["url"] == ["https://a.example/", "https://b.example/"]


def test_every_format_of_a_handle_has_the_same_graph() -> None:
    graphs = [
        set(ox.parse(write_identifier(HANDLE, WHERE, name, NAMESPACES, CONTEXT_URL), format=read_as))
        for name, read_as in RDF_FORMATS.items()
    ]
    assert len(graphs[0]) == 11
    assert all(other == graphs[0] for other in graphs)


def test_the_document_of_an_ibi_pair_has_both_names() -> None:
    names = "sid.inpe.br/mtc-m18/2009/02.16.17.46", "8JMKD3MGP8W/34PGRBS"
    view = View(
        name=names[1], scheme="ibi", state="active", version=1, authority=AuthorityMetadata(names[0], AT), names=names
    )
    document = json.decode(write_identifier(view, "https://id.example.org/x", "json-ld", NAMESPACES, CONTEXT_URL))
    assert sorted(document["identifier"]) == sorted(names)
    assert document["creator"] == f"http://urlib.net/{names[0]}"


def test_a_reserved_name_has_no_dates_and_a_withdrawn_one_names_its_replacement() -> None:
    reserved = View(
        name="1/a", names=(), scheme="handle", state="reserved", version=1, authority=AuthorityMetadata("hdl:1/me")
    )
    assert b"created" not in write_identifier(
        reserved, "https://hdl.handle.net/1/a", "json-ld", NAMESPACES, CONTEXT_URL
    )
    gone = View(
        names=(),
        name="1/a",
        scheme="handle",
        state="withdrawn",
        version=2,
        authority=AuthorityMetadata("hdl:1/me", AT),
        tombstone=Tombstone("lost", "hdl:1/b"),
    )
    document = json.decode(write_identifier(gone, "https://hdl.handle.net/1/a", "json-ld", NAMESPACES, CONTEXT_URL))
    assert (document["tombstoneReason"], document["isReplacedBy"]) == ("lost", "https://hdl.handle.net/1/b")


@pytest.mark.parametrize(("identifier", "agent"), [("hdl:1/us", "https://hdl.handle.net/1/us"), ("", None)])
def test_a_withdrawal_is_an_activity_with_a_time_and_an_agent(identifier: str, agent: str | None) -> None:
    gone = View(
        names=(),
        name="1/a",
        scheme="handle",
        state="withdrawn",
        version=2,
        authority=AuthorityMetadata("hdl:1/me", AT),
        tombstone=Tombstone("lost"),
    )
    act = Withdrawal("2025-03-01T00:00:00Z", "The Library", identifier)
    document = json.decode(write_identifier(gone, WHERE, "json-ld", NAMESPACES, CONTEXT_URL, act))
    assert document["invalidatedAtTime"] == act.at
    named = {"name": "The Library"} if agent is None else {"name": agent, "alternateName": "The Library"}
    assert document["wasInvalidatedBy"] == {
        "id": f"{WHERE}#withdrawal",
        "type": ["Activity"],
        "startedAtTime": act.at,
        "wasAssociatedWith": {"id": agent or f"{WHERE}#withdrawn-by", "type": ["Agent"], **named},
    }
    graphs = [
        set(ox.parse(write_identifier(gone, WHERE, name, NAMESPACES, CONTEXT_URL, act), format=read_as))
        for name, read_as in RDF_FORMATS.items()
    ]
    assert len(graphs[0]) == (12 if agent is None else 13)
    assert all(other == graphs[0] for other in graphs)


def test_the_document_of_a_name_has_only_its_state() -> None:
    assert json.decode(write_name("1/a", "reserved", WHERE, "json-ld", NAMESPACES, CONTEXT_URL)) == {
        "@context": CONTEXT_URL,
        "id": WHERE,
        "identifier": "1/a",
        "state": "reserved",
    }


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097"),
        ("http://orcid.org/0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097"),
        ("https://example.org/ann", "https://example.org/ann"),
        ("hdl:20.500.1/ann", "https://hdl.handle.net/20.500.1/ann"),
        ("20.500.1/ann", "https://hdl.handle.net/20.500.1/ann"),
        ("prid-5CCC-3780-8c9c-5a90", f"https://ppid.org/{PRID}"),
        ("hdl:local-0a1b2c3d/Y35XYS0QH", "https://ppid.org/local-0a1b2c3d/Y35XYS0QH"),
        ("ARCHIVE/ann", "https://hdl.handle.net/ARCHIVE/ann"),
        ("mailto:ann@example.org", None),
        ("javascript:alert(1)/x", None),
        ("name matcher", None),
        ("note: not an address", None),
    ],
)
def test_an_identifier_of_an_agent_becomes_a_resolvable_iri(identifier: str, expected: str | None) -> None:
    assert find_iri(identifier, Namespaces()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097"),
        ("orcid.org/0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097"),
        ("https://example.org/ann", "https://example.org/ann"),
        ("hdl:ARCHIVE/ann", "https://hdl.handle.net/ARCHIVE/ann"),
        ("doi:10.1234/x", "https://hdl.handle.net/10.1234/x"),
        ("info:hdl/20.500.1/x", "https://hdl.handle.net/20.500.1/x"),
        ("20.500.12345/x", "https://hdl.handle.net/20.500.12345/x"),
        ("10.1234/x", "https://hdl.handle.net/10.1234/x"),
        ("102.100.272/Y35XYS0QH", "https://hdl.handle.net/102.100.272/Y35XYS0QH"),
        ("21.T11148/abc", "https://hdl.handle.net/21.T11148/abc"),
        ("local-0a1b2c3d/Y35XYS0QH", "https://ppid.org/local-0a1b2c3d/Y35XYS0QH"),
        (PRID.lower(), f"https://ppid.org/{PRID}"),
        ("tesseract/5.3.0", None),
        ("matcher/v2", None),
        ("READER/2A", None),
        ("8JMKD3MGP8W/34PGRBS", None),
        ("J. Smith / A. Jones", None),
        ("2024/05", None),
        ("1.5 / 2", None),
        ("hdl:nothing", None),
        ("0000-0002-1825-0098", None),
        ("javascript:alert(1)", None),
        ("javascript:alert(1)//20.500.1/x", None),
        ("data:text/html,x", None),
        ("mailto:ann@example.org", None),
        ("urn:x/y", None),
        ("https://", None),
        ("https://example.org/a b", None),
    ],
)
def test_only_an_unambiguous_identifier_is_recognised_in_free_text(text: str, expected: str | None) -> None:
    assert find_certain_iri(text, Namespaces()) == expected


def test_a_local_agent_has_an_iri_at_the_same_resolver_as_the_identifier() -> None:
    own = "local-0a1b2c3d/Y35XYS0QH"
    view = View(
        names=(),
        name="20.500.1/a b",
        scheme="handle",
        state="withdrawn",
        version=3,
        authority=AuthorityMetadata(f"hdl:{own}", AT, AT, ("hdl:20.500.1/us",)),
        tombstone=Tombstone("lost", f"hdl:{own}"),
    )
    act = Withdrawal(AT, "The Library", f"hdl:{own}")
    document = json.decode(write_identifier(view, WHERE, "json-ld", NAMESPACES, CONTEXT_URL, act))
    here = f"https://id.example.org/{own}"
    assert document["creator"] == document["isReplacedBy"] == here
    assert document["wasInvalidatedBy"]["wasAssociatedWith"]["id"] == here
    assert document["rightsHolder"] == "https://hdl.handle.net/20.500.1/us"


@settings(max_examples=50)
@given(rest=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_url_becomes_an_iri_and_does_not_change_again(rest: str) -> None:
    for scheme in ("https://", "urn:"):
        written = iri(scheme + rest)
        assert ox.NamedNode(written).value == written
        assert written.startswith(scheme)
        assert iri(written) == written


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_media_type_and_a_suffix(name: str) -> None:
    one = FORMATS[name]
    assert (one.name, "/" in one.media_type, one.suffix.isalnum()) == (name, True, True)
