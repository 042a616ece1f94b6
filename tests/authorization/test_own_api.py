"""The registry's own API: every write that its document tells of, by everybody who might try."""

import pytest
from tests.authorization.document import Write, try_write, writes_of
from tests.authorization.ground import Ground
from tests.authorization.own_writes import IDENTIFIERS, IMPORTS, PREFIXES
from tests.authorization.person_writes import ADMINISTERED, AS_IDENTIFIERS, PERSONS

WRITES: dict[str, Write] = {
    f"{table}: {name}": write
    for table, rows in {
        "identifiers": IDENTIFIERS,
        "prefixes": PREFIXES,
        "import": IMPORTS,
        "persons": PERSONS,
        "persons as identifiers": AS_IDENTIFIERS,
        "administered persons": ADMINISTERED,
    }.items()
    for name, write in rows.items()
}


@pytest.mark.parametrize("write", WRITES)
def test_exactly_who_may_succeeds(ground: Ground, write: str) -> None:
    try_write(ground, WRITES[write])


def test_every_write_of_the_document_is_tried(ground: Ground) -> None:
    """A new operation, or a new kind of body, needs a row in one of the tables."""
    document = ground.client.get("/api/v1/openapi.json").json()
    assert {write.documented for write in WRITES.values()} == set(writes_of(document))
