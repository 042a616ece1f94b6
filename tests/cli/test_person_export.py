"""Tests of `perdure person export`: all persons, equal in every format, complete or not at all."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from rdflib import Graph, URIRef
from rdflib.compare import isomorphic
from tests.cli.conftest import Run
from tests.cli.test_postgres_commands import Addresses, addresses
from tests.cli.test_registry_commands import Desk

from perdure.errors import StoreUnavailable
from perdure.folder.registry_folder import make_registry, open_registry
from perdure.rdf import dump
from perdure.records.person import ChosenClaim, Claim, Link, PersonName, Reconstruction
from perdure.registry import Registry, merge, observe, reconstruct, redact, restrict
from perdure.registry.entities import Agent
from perdure.registry.persons import Curation, show_person

__all__ = ["addresses"]

pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # rdflib's own

WHEN = "2025-01-09T10:30:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
SECRET = "Zonderling"
RDF = {"nt": "nt", "ttl": "turtle", "jsonld": "json-ld"}


async def add_sample_persons(registry: Registry, by: Agent) -> list[str]:
    """Add persons in all states: public, restricted, merged and redacted."""
    poids = []
    for name in ("Jan", SECRET, "Kee"):
        claims = (Claim(type="name", value=PersonName(given_name=name)), Claim(type="birth_date", value="1895-03~"))
        made = await observe(registry, by, f"https://example.org/{name}", WHEN, "0" * 64, claims=claims)
        poids.append(made.name)
    message = Reconstruction((), "", "", claims=(ChosenClaim(poids[0], 1),), links=(Link("exact", "viaf", "12345"),))
    jan = (await reconstruct(registry, by, poids[:2], CURATOR, WHEN, message)).name
    other = (await reconstruct(registry, by, poids[:1], CURATOR, WHEN)).name
    await merge(registry, by, other, jan, Curation(CURATOR, WHEN), "the same baptism")
    await restrict(registry, by, poids[1], "a living person")
    await redact(registry, by, poids[2], "a court order")
    return sorted([*poids, jan, other])


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list[str]]:
    """A registry, its key, and the names of its persons."""
    folder = tmp_path_factory.mktemp("archive")

    async def make() -> tuple[str, list[str]]:
        created = await make_registry(folder, name="The Archive", person_iris="https://ppid.org/")
        async with open_registry(folder) as registry:
            return created.key, await add_sample_persons(registry, created.admin)

    return folder, *asyncio.run(make())


@pytest.fixture
def desk(quick: Run, tmp_path: Path, archive: tuple[Path, str, list[str]]) -> Desk:
    shutil.copytree(archive[0], tmp_path, dirs_exist_ok=True)
    return Desk(quick, tmp_path, archive[1])


@pytest.fixture
def names(archive: tuple[Path, str, list[str]]) -> list[str]:
    return archive[2]


def test_all_formats_of_rdf_are_equal(desk: Desk, names: list[str]) -> None:
    written = {ending: desk.ok("person", "export", "--format", ending) for ending in RDF}
    graphs = [Graph().parse(data=written[ending], format=known_as) for ending, known_as in RDF.items()]
    assert all(isomorphic(graphs[0], other) for other in graphs[1:])
    subjects = set(graphs[0].subjects())
    assert all(URIRef(f"https://ppid.org/{name}") in subjects for name in names)
    assert not any(SECRET in text for text in written.values())


def test_a_dump_is_equal_to_the_single_documents(desk: Desk, names: list[str]) -> None:
    async def write_dump() -> bytes:
        async with open_registry(desk.folder) as registry:
            persons = [await show_person(registry, name) for name in names]
            return b"".join(dump(persons, "nt", registry.namespaces, ""))

    assert desk.ok("person", "export", "--format", "nt").encode() == asyncio.run(write_dump())


def test_both_engines_write_the_same_bytes(desk: Desk, addresses: Addresses) -> None:
    endings = (*RDF, "ndjson")
    written = [desk.ok("person", "export", "--format", ending) for ending in endings]
    desk.ok("move", "--to", addresses.new())
    assert [desk.ok("person", "export", "--format", ending) for ending in endings] == written


def test_ndjson_has_one_record_per_line(desk: Desk, names: list[str]) -> None:
    lines = [json.loads(line) for line in desk.ok("person", "export", "--format", "ndjson").splitlines()]
    assert [line["name"] for line in lines] == names
    hidden = [line for line in lines if "restriction" in line]
    assert [line["restriction"]["reason"] for line in hidden] == ["a living person"]
    assert "observation" not in hidden[0]


def test_the_suffix_of_the_file_selects_the_format(desk: Desk, names: list[str]) -> None:
    assert desk.ok("person", "export", "--output", "all.ttl") == f"Exported {len(names)} persons to all.ttl.\n"
    assert (desk.folder / "all.ttl").read_text() == desk.ok("person", "export", "--format", "ttl", "-o", "-")
    assert not list(desk.folder.glob(".all*"))


def test_a_failed_export_leaves_an_existing_file_unchanged(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.folder / "all.nt").write_text("before")

    async def broken(registry: Registry) -> int:
        raise StoreUnavailable("the disk is gone")

    assert "exists already" in desk.run("person", "export", "-o", "all.nt").stderr
    monkeypatch.setattr("perdure.cli.person_export.count_persons", broken)
    assert "the disk is gone" in desk.run("person", "export", "-o", "all.nt", "--overwrite").stderr
    assert (desk.folder / "all.nt").read_text() == "before"
    assert not list(desk.folder.glob(".all*"))


@pytest.mark.parametrize("format", [*RDF, "ndjson"])
def test_an_export_of_a_registry_without_persons_is_a_document(quick: Run, tmp_path: Path, format: str) -> None:
    created = asyncio.run(make_registry(tmp_path, name="The Archive"))
    written = Desk(quick, tmp_path, created.key).ok("person", "export", "--format", format)
    if format in RDF:
        assert len(Graph().parse(data=written, format=RDF[format])) == 0
    else:
        assert written == ""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), ["--format nt, ttl, jsonld or ndjson"]),
        (("-o", "persons.xml"), ["--format nt, ttl, jsonld or ndjson"]),
        (("-o", "nowhere/persons.nt"), ["folder not found: nowhere"]),
    ],
)
def test_a_failed_export_says_what_to_do(desk: Desk, arguments: tuple[str, ...], expected: list[str]) -> None:
    message = desk.refuses("person", "export", *arguments)
    for word in expected:
        assert word in message
