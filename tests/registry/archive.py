"""An archive for the tests of persons: an unlimited number of sources, and persons reconstructed from them."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.registry_fixture import Office, SqliteLocations, open_office

from perdure.records.person import ChosenClaim, Claim, Reconstruction
from perdure.registry import observe, reconstruct, revise_reconstruction, show
from perdure.registry.persons import Curation

WHEN = "2025-01-09T10:30:00Z"
LATER = "2025-06-01T12:00:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
UNREGISTERED_PRID = "PRID-5ccc-3780-8c9c-5a90"
CURATION = Curation(CURATOR, LATER, "Josiah Carberry")


class Archive:
    """An office with numbered sources, so that no two tests use the same one."""

    _numbers = count(1)

    def __init__(self, office: Office) -> None:
        self.office = office

    def inputs(self) -> tuple[str, str, str]:
        """Return a new source, and when it was retrieved."""
        return f"https://example.org/source/{next(self._numbers)}", WHEN, "0" * 64

    def source(self, *claims: Claim) -> str:
        """Return the POID of a new source."""
        return self.office.do(observe, *self.inputs(), claims=claims).name

    def person(self, *sources: str, chosen: tuple[tuple[str, int], ...] = (), **fields: Any) -> str:
        """Return a PRID that is based on these sources."""
        claims = tuple(ChosenClaim(*one) for one in chosen)
        more = Reconstruction((), "", "", claims=claims, **fields)
        return self.office.do(reconstruct, sources, CURATOR, WHEN, more).name

    def choose_claims(self, name: str, claims: Sequence[tuple[str, int]]) -> str:
        """Return the person after these claims were chosen."""
        made = msgspec.structs.replace(self.reconstruction_of(name), claims=tuple(ChosenClaim(*one) for one in claims))
        self.office.do(revise_reconstruction, name, made.observation_ids, made.curator_id, made.timestamp, made)
        return name

    def add_named_person(self, name: str) -> tuple[str, str]:
        """Return a source with a name, and a person who has the name from it."""
        source = self.source(Claim(type="name", value=name))
        return source, self.person(source, chosen=((source, 1),))

    def reconstruction_of(self, name: str, version: int | None = None) -> Reconstruction:
        made = self.office.ask(show, name, version=version, by=self.office.admin).reconstruction
        assert made is not None
        return made


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    """Return one archive for all tests of a module, on the embedded store."""
    locations = SqliteLocations(Path(tmp_path_factory.mktemp("archive")))
    with asyncio.Runner() as runner:
        yield Archive(open_office(runner, locations.open()))
    locations.close()
