"""Examples for the OpenAPI document, which the tests send to a server."""

import json
from typing import Any, Final

_POID: Final = "POID-93b0-4476-560e-5ac1"
_OTHER_POID: Final = "POID-5841-3d40-65d0-5c6X"
_RECONSTRUCTION: Final = {
    "observation_ids": [_POID],
    "curator_id": "https://orcid.org/0000-0002-1825-0097",
    "timestamp": "2025-01-09T10:30:00Z",
}
_CURATION: Final = {"curator_id": _RECONSTRUCTION["curator_id"], "timestamp": "2025-02-03T09:00:00Z"}
_OBSERVATION: Final = {
    "source_url": "https://example.org/staff/jan",
    "retrieval_timestamp": "2025-01-09T10:30:00Z",
    "content_hash": "0" * 64,
}
_LINK: Final = {"relation": "exact", "scheme": "wikidata", "value": "Q42"}

PERSON_EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "observe": {
        "required fields only": _OBSERVATION,
        "with claims": {
            **_OBSERVATION,
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
        "required fields only": _RECONSTRUCTION,
        "with conclusions": {
            **_RECONSTRUCTION,
            "claims": [{"observation_id": _POID, "claim": 1}],
            "links": [_LINK],
            "employment": [{"institution": "NL-NH-AMS-M-RM", "role": "curator", "start": "1921"}],
        },
    },
    "revisePerson": {
        "another observation": {**_RECONSTRUCTION, "observation_ids": [_POID, _OTHER_POID], "reason": "a new source"}
    },
    "mergePerson": {"into another": {**_CURATION, "into": "PRID-1b91-673b-631c-5ff5", "reason": "the same baptism"}},
    "splitPerson": {"in two": {**_CURATION, "parts": [[_POID], [_OTHER_POID]], "reason": "father and son"}},
    "undoPerson": {
        "a merge": {**_CURATION, "reason": "two persons after all"},
        "a split": {"reason": "one person after all"},
    },
    "restrictPerson": {
        "a living person": {"reason": "a living person"},
        "with the observations": {"reason": "a living person", "with_observations": True},
    },
    "liftRestriction": {"with consent": {"reason": "consent was given"}},
    "redactPerson": {"by law": {"reason": "a court order"}},
    "replaceLinks": {"one": {"links": [_LINK]}, "none": {"links": [], "reason": "it was another person"}},
    "changeLinks": {"one for another": {"add": [_LINK], "drop": [{"scheme": "viaf", "value": "102333412"}]}},
}
FORM_EXAMPLE: Final = {
    "observation": {key: value for key, value in _OBSERVATION.items() if key != "content_hash"},
    "content": "Jan de Vries",
}
OBSERVATION_LINES: Final = "".join(
    f"{json.dumps({**_OBSERVATION, 'source_url': f'https://example.org/deeds/{number}'})}\n" for number in (1, 2)
)
CSV_EXAMPLE: Final = (
    "source_url,retrieval_timestamp,name,birth_date\n"
    "https://example.org/deeds/1,2025-01-09T10:30:00Z,Jan de Vries,1895-03~\n"
)


_URL: Final = "https://example.org/thesis.pdf"

EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "mint": {
        "one name with a target": {
            "prefix": "12345",
            "target": _URL,
            "about": {"who": "M. Silva", "what": "On lasting"},
        },
        "three reserved names": {"prefix": "12345", "count": 3},
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
    "changeMany": {
        "a preview of a move": {
            "kind": "retarget",
            "dry_run": True,
            "query": {"prefix": "12345"},
            "from": "http://old.example.org/",
            "to": "https://new.example.org/",
        }
    },
    "addPrefix": {
        "a Handle prefix": {"prefix": "12345", "policy": "Names are never used again."},
        "numbers": {"prefix": "12346", "minter": "sequential", "pattern": "thesis-####", "case_sensitive": False},
        "an IBI subsystem": {"host": "mtc-m18.sid.inpe.br", "ip": "150.163.34.243", "granularity": "0.1"},
        "an IBI subsystem with a host alone": {"host": "mtc-m19.sid.inpe.br"},
    },
    "derivePrefix": {"below 12345": {"prefix": "12345.1", "minter": "uuid"}},
    "changePrefix": {
        "the policy": {"policy": "Names are never used again."},
        "pass through": {"pass_through": True},
        "another host": {"host": "mtc-m21b.sid.inpe.br"},
    },
    "mintIbi": {
        "a report": {"target": _URL, "about": {"what": "On lasting"}},
        "by the key of the item": {"target": _URL, "item_key": "report-17.pdf"},
    },
    "addPool": {"two subsystems": {"name": "main", "members": ["example.org/a", "example.org/b"]}},
    "changePool": {"the policy": {"policy": "hash"}},
    "addPeer": {
        "another Perdure server": {"url": "https://id.example.org", "prefixes": ["sid.inpe.br/mtc-m18", "ppid"]},
        "a resolver of another kind": {"url": "https://hdl.handle.net", "prefixes": ["*"], "plain": True},
    },
    "moveOriginal": {
        "to a peer": {
            "label": "8JMKD3MGP8W/34PGRBS",
            "collection": "archive",
            "server": "0123456789abcdef0123456789abcdef",
            "version": 2,
            "digest": "818e748fafaf353f202b06270f95777f789433fbd8bd0db9525360b9a48a9a0f",
        }
    },
    "changePeer": {"more prefixes": {"add": ["10.1000"]}, "a new key": {"accept_key": True}},
    "addAgent": {
        "a person": {"id": "maria", "name": "Maria Silva", "identifier": "https://orcid.org/0000-0002-1825-0097"},
        "a program": {"id": "repository", "name": "The repository", "kind": "program"},
    },
    "renameAgent": {"a new name": {"name": "Maria Costa"}},
    "retireAgent": {"with a reason": {"reason": "left in May 2027"}},
    "newKey": {"for a year": {"expires": "2027-12-31T00:00:00Z", "label": "laptop"}},
    "grant": {"under a prefix": {"scope": "12345", "actions": ["mint", "edit"]}},
    **PERSON_EXAMPLES,
}
IMPORT_LINES: Final = (
    '{"name": "12345/a", "target": "https://example.org/a"}\n{"name": "12345/b", "target": "https://example.org/b"}\n'
)
MINT_RESPONSE: Final = {"identifiers": [{"name": "12345/Y35XYS0QH", "date": "2026-03-01T09:30:00.125Z"}]}
MINT_LINES: Final = (
    '{"target": "https://example.org/theses/1", "about": {"what": "On lasting"}}\n'
    '{"target": "https://example.org/theses/2"}\n'
)
MINT_TABLE: Final = "url,title\nhttps://example.org/theses/1,On lasting\nhttps://example.org/theses/2,On time\n"
