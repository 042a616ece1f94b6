"""Examples of what is sent about persons, for the document, which are tried out by the tests."""

import json
from typing import Any, Final

_POID: Final = "POID-93b0-4476-560e-5ac1"
_OTHER: Final = "POID-5841-3d40-65d0-5c6X"
_MADE: Final = {
    "observation_ids": [_POID],
    "curator_id": "https://orcid.org/0000-0002-1825-0097",
    "timestamp": "2025-01-09T10:30:00Z",
}
_CURATED: Final = {"curator_id": _MADE["curator_id"], "timestamp": "2025-02-03T09:00:00Z"}
_SEEN: Final = {
    "source_url": "https://example.org/staff/jan",
    "retrieval_timestamp": "2025-01-09T10:30:00Z",
    "content_hash": "0" * 64,
}
_LINK: Final = {"relation": "exact", "scheme": "wikidata", "value": "Q42"}

PERSON_EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "observe": {
        "what it is made from": _SEEN,
        "with claims": {
            **_SEEN,
            "source_name": "Staff page",
            "holding_archive": "NL-NH-AMS-M-RM",
            "claims": [
                {
                    "type": "name",
                    "value": {"given_name": "Jan", "surname_prefix": "van der", "base_surname": "Berg"},
                    "language": "nl",
                    "where": {"xpath": "/html/body/h1"},
                },
                {"type": "birth_date", "value": "1895-03~", "confidence": 0.8},
            ],
        },
    },
    "reconstruct": {
        "what it is made from": _MADE,
        "with what is concluded": {
            **_MADE,
            "claims": [{"observation_id": _POID, "claim": 1}],
            "links": [_LINK],
            "employment": [{"institution": "NL-NH-AMS-M-RM", "role": "curator", "start": "1921"}],
        },
    },
    "revisePerson": {"another observation": {**_MADE, "observation_ids": [_POID, _OTHER], "reason": "a new source"}},
    "mergePerson": {"into another": {**_CURATED, "into": "PRID-1b91-673b-631c-5ff5", "reason": "the same baptism"}},
    "splitPerson": {"in two": {**_CURATED, "parts": [[_POID], [_OTHER]], "reason": "father and son"}},
    "undoPerson": {
        "a merge": {**_CURATED, "reason": "two persons after all"},
        "a split": {"reason": "one person after all"},
    },
    "restrictPerson": {"a living person": {"reason": "a living person"}},
    "liftRestriction": {"with consent": {"reason": "consent was given"}},
    "redactPerson": {"by law": {"reason": "a court order"}},
    "replaceLinks": {"one": {"links": [_LINK]}, "none": {"links": [], "reason": "it was somebody else"}},
}
FILLED_IN: Final = {
    "observation": {key: value for key, value in _SEEN.items() if key != "content_hash"},
    "content": "Jan de Vries",
}
OBSERVED: Final = "".join(
    f"{json.dumps({**_SEEN, 'source_url': f'https://example.org/deeds/{number}'})}\n" for number in (1, 2)
)
TABLE: Final = (
    "source_url,retrieval_timestamp,name,birth_date\n"
    "https://example.org/deeds/1,2025-01-09T10:30:00Z,Jan de Vries,1895-03~\n"
)
