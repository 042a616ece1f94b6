"""The published test vectors, compared with an independent copy of the code that the specification prints."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import pytest

from perdure import ppid

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
DOCUMENT = json.loads((REFERENCE / "ppid-vectors.json").read_text("utf-8"))
VECTORS: list[dict[str, Any]] = DOCUMENT["vectors"]
NAMESPACE = UUID(DOCUMENT["ppid_namespace"])
TYPE_NAMESPACES = {
    "POID": uuid5(NAMESPACE, "PersonObservation"),
    "PRID": uuid5(NAMESPACE, "PersonReconstruction"),
}
FUNCTIONS: dict[str, Callable[..., str]] = {
    "generate_poid": ppid.generate_poid,
    "generate_prid": ppid.generate_prid,
    "successor": ppid.successor,
}


def printed_check_digit(digits: str) -> str:
    """Section 4.1, as it is printed."""
    total = 0
    for character in digits.lower():
        total = (total + int(character, 16)) * 2
    result = (12 - total % 11) % 11
    return "X" if result == 10 else str(result)


def printed_name(hashed: str, kind: str) -> str:
    """Section 5.1: `uuid_to_ppid`, with a check digit in lower case."""
    digits = uuid5(TYPE_NAMESPACES[kind], hashed).hex[:15]
    digits += printed_check_digit(digits).lower()
    return f"{kind}-{digits[0:4]}-{digits[4:8]}-{digits[8:12]}-{digits[12:16]}"


def printed_result(function: str, given: Sequence[Any]) -> str:
    """Section 5.1 and 9.3, as they are printed: nothing is checked or rewritten."""
    if function == "generate_poid":
        return printed_name("|".join(given), "POID")
    if function == "generate_prid":
        observations, curator, timestamp = given
        return printed_name(f"{'|'.join(sorted(observations))}|{curator}|{timestamp}", "PRID")
    taken, number = given
    return printed_name(f"{taken}|collision:{number}", taken[:4])


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["reading"])
def test_a_vector_is_what_perdure_computes(vector: dict[str, Any]) -> None:
    assert FUNCTIONS[vector["function"]](*vector["given"]) == vector["result"]
    kind = vector["result"][:4]
    assert ppid.uuid_to_ppid(uuid5(TYPE_NAMESPACES[kind], vector["hashed"]), kind) == vector["result"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["reading"])
def test_a_vector_shows_what_the_printed_code_computes(vector: dict[str, Any]) -> None:
    assert printed_result(vector["function"], vector["given"]) == vector["as_printed"]


def test_the_vectors_show_differences_and_agreement() -> None:
    differing = [one for one in VECTORS if ppid.canonical(one["as_printed"]) != one["result"]]
    assert {one["function"] for one in differing} == set(FUNCTIONS)
    assert 0 < len(differing) < len(VECTORS)


def test_the_page_has_a_row_for_each_vector() -> None:
    page = (REFERENCE / "ppid-vectors.md").read_text("utf-8")
    for one in VECTORS:
        printed = "the same" if one["as_printed"] == one["result"] else f"`{one['as_printed']}`"
        assert f"| {one['reading']} | `{one['result']}` | {printed} |" in page
    assert DOCUMENT["ppid_namespace"] in page
