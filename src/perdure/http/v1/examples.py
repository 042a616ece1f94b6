"""Examples for the document, which are tried out by the tests."""

from typing import Any, Final

from perdure.http.v1.person_examples import PERSON_EXAMPLES

_URL: Final = "https://example.org/thesis.pdf"

EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "mint": {
        "one that leads somewhere": {
            "prefix": "12345",
            "target": _URL,
            "about": {"who": "M. Silva", "what": "On lasting"},
        },
        "three, reserved": {"prefix": "12345", "count": 3},
        "with values": {
            "prefix": "12345",
            "target": _URL,
            "values": [{"index": 3, "type": "EMAIL", "data": {"format": "string", "value": "desk@example.org"}}],
        },
    },
    "change": {
        "another target": {"target": "https://new.example.org/thesis.pdf"},
        "the description": {"about": {"what": "On lasting, second edition"}},
    },
    "bind": {"a target": {"target": _URL, "about": {"what": "On lasting"}}},
    "addValues": {
        "an address": {
            "values": [{"index": 0, "type": "EMAIL", "data": {"format": "string", "value": "desk@example.org"}}]
        }
    },
    "redactValues": {"by law": {"indexes": [3], "reason": "a court order"}},
    "transfer": {"one": {"to": "maria", "names": ["12345/Y35XYS0QH"]}},
    "addPrefix": {
        "a Handle prefix": {"prefix": "12345", "policy": "Names are never used again."},
        "numbers": {"prefix": "12346", "minter": "sequential", "pattern": "thesis-####", "case_sensitive": False},
        "an IBI subsystem": {"host": "mtc-m18.sid.inpe.br", "ip": "150.163.34.243", "granularity": "0.1"},
    },
    "derivePrefix": {"below 12345": {"prefix": "12345.1", "minter": "uuid"}},
    "changePrefix": {"the policy": {"policy": "Names are never used again."}, "pass through": {"pass_through": True}},
    **PERSON_EXAMPLES,
}
IMPORTED: Final = (
    '{"name": "12345/a", "target": "https://example.org/a"}\n{"name": "12345/b", "target": "https://example.org/b"}\n'
)
NAMES: Final = {"identifiers": [{"name": "12345/Y35XYS0QH", "date": "2026-03-01T09:30:00.125Z"}]}
