"""The registry's own API: every write of its OpenAPI document, by every actor."""

import pytest
from tests.authorization.api_writes import AGENTS, IDENTIFIERS, IMPORTS, PEERS, PREFIXES
from tests.authorization.item_writes import ITEMS
from tests.authorization.openapi_writes import Write, try_write, writes_of
from tests.authorization.person_writes import ADMINISTERED, AS_IDENTIFIERS, PERSONS
from tests.authorization.served_registry import ServedRegistry

WRITES: dict[str, Write] = {
    f"{table}: {name}": write
    for table, rows in {
        "identifiers": IDENTIFIERS,
        "prefixes": PREFIXES,
        "agents": AGENTS,
        "peers": PEERS,
        "import": IMPORTS,
        "items": ITEMS,
        "persons": PERSONS,
        "persons as identifiers": AS_IDENTIFIERS,
        "administered persons": ADMINISTERED,
    }.items()
    for name, write in rows.items()
}


@pytest.mark.parametrize("write", WRITES)
def test_only_permitted_actors_succeed(served_registry: ServedRegistry, write: str) -> None:
    try_write(served_registry, WRITES[write])


def test_every_write_of_the_document_is_tried(served_registry: ServedRegistry) -> None:
    """A new operation, or a new content type, needs a row in one of the tables."""
    document = served_registry.client.get("/api/v1/openapi.json").json()
    assert {write.documented_operation for write in WRITES.values()} == set(writes_of(document))
