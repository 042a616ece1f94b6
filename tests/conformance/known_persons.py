"""Persons that are registered when the OpenAPI document is tested, and that document with their names in it.

The document describes only the syntax of a name, so that generated names are not registered. Identifiers of persons
are derived from their inputs: the registered ones are known before the registry exists.
"""

import copy
from itertools import count
from pathlib import Path
from typing import Any, Final

from tests.http.sample_registry import open_for_writing

from perdure.names import ppid
from perdure.records.person import ChosenClaim, Claim, Employment, Link, Reconstruction
from perdure.registry import Curation, merge, observe, reconstruct, redact, restrict, split

CURATOR: Final = "https://orcid.org/0000-0002-1825-0097"
WHEN: Final = "2025-01-09T10:30:00Z"
JAN: Final = "https://example.org/staff/jan"  # the person in the examples of the document; tests may withdraw it
HASH: Final = "0" * 64
ORCID, WIKIDATA, GHCID = "0000-0002-1694-233X", "Q42", "NL-NH-AMS-M-RM"
CLAIMS: Final = (Claim(type="name", value="Jan de Vries"), Claim(type="occupation", value="clerk"))

# Each of the two test runs has its own persons: an action on a person can be done once.
RUNS: Final = ("short", "long")
_SEEN: Final = ("one", "other", "restricted", "redacted")
_TO_HIDE: Final = tuple(f"{act}-{run}" for run in RUNS for act in ("restrict", "redact"))
URLS: Final = {"jan": JAN} | {name: f"https://example.org/known/{name}" for name in (*_SEEN, *_TO_HIDE)}
POIDS: Final = {name: ppid.generate_poid(url, WHEN, HASH) for name, url in URLS.items()}
BOTH: Final = sorted([POIDS["one"], POIDS["other"]])
_minutes = count()
_timestamps: Final[dict[str, str]] = {}


def _persons(number: int) -> list[str]:
    """Return the PRIDs of so many persons, all of them based on both observations."""
    names = []
    for _ in range(number):
        minute = next(_minutes)
        timestamp = f"2025-01-10T{minute // 60:02d}:{minute % 60:02d}:00Z"
        names.append(ppid.generate_prid(BOTH, CURATOR, timestamp))
        _timestamps[names[-1]] = timestamp
    return names


SURVIVOR, LINKED, MERGED, SPLIT, RESTRICTED, REDACTED = _persons(6)
TO_UNDO: Final = {run: (_persons(1), _persons(2), _persons(2)) for run in RUNS}  # a survivor, merged, and split ones
TO_LIFT: Final = {run: _persons(1) for run in RUNS}
ACTED_ON: Final = {
    run: {
        "revisePerson": _persons(2),
        "replaceLinks": _persons(2),
        "mergePerson": _persons(4),
        "splitPerson": _persons(3),
        "undoPerson": [*TO_UNDO[run][1], *TO_UNDO[run][2]],
        "restrictPerson": [*_persons(1), POIDS[f"restrict-{run}"]],
        "liftRestriction": TO_LIFT[run],
        "redactPerson": [*_persons(2), POIDS[f"redact-{run}"]],
    }
    for run in RUNS
}
READ: Final = [
    *(POIDS[name] for name in ("jan", *_SEEN)),
    *(SURVIVOR, LINKED, MERGED, SPLIT, RESTRICTED, REDACTED),
]
OPERATIONS: Final = (
    *("observe", "observeMany", "reconstruct", *ACTED_ON[RUNS[0]]),
    *("person", "observations", "personHistory", "validatePerson", "findPersons"),
)


async def create_persons(folder: Path) -> None:
    """Register all persons: linked, employed, merged, split, restricted and redacted."""
    async with open_for_writing(folder) as (registry, admin):
        for url in URLS.values():
            await observe(registry, admin, url, WHEN, HASH, source_name="Register", claims=CLAIMS)
        for name, timestamp in _timestamps.items():
            schema = _WELL_KNOWN if name == LINKED else None
            assert (await reconstruct(registry, admin, BOTH, CURATOR, timestamp, schema)).name == name
        into = {MERGED: SURVIVOR} | {name: survivor for [survivor], gone, _ in TO_UNDO.values() for name in gone}
        for name, survivor in into.items():
            await merge(registry, admin, name, survivor, Curation(CURATOR, WHEN), "the same man")
        for hour, name in enumerate([SPLIT, *(name for _, _, broken in TO_UNDO.values() for name in broken)]):
            curation = Curation(CURATOR, f"2025-01-11T{hour:02d}:00:00Z")  # the same time would give the same two PRIDs
            await split(registry, admin, name, [[one] for one in BOTH], curation, "two men")
        for name in (RESTRICTED, POIDS["restricted"], *(name for names in TO_LIFT.values() for name in names)):
            await restrict(registry, admin, name, "a living person")
        for name in (REDACTED, POIDS["redacted"]):
            await redact(registry, admin, name, "a court order")


_WELL_KNOWN: Final = Reconstruction(
    (),
    "",
    "",
    claims=(ChosenClaim(BOTH[0], 1),),
    links=(Link("exact", "orcid", ORCID), Link("close", "wikidata", WIKIDATA)),
    employment=(Employment(institution=GHCID, role="curator", start="1921"),),
)


def with_names(document: dict[str, Any], run: str) -> dict[str, Any]:
    """Return the document with the operations on persons, where every name, URL and date is a registered one."""
    document = copy.deepcopy(document)
    paths: dict[str, Any] = {}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if operation["operationId"] in OPERATIONS:
                _name(operation, ACTED_ON[run].get(operation["operationId"], READ))
                paths.setdefault(path, {})[method] = operation
    document["paths"] = paths
    schemas = document["components"]["schemas"]
    for name in _SENT:
        for field, schema in schemas[name]["properties"].items():
            if field in _FIELDS:
                schemas[name]["properties"][field] = _FIELDS[field]
            elif field in _TEXTS:
                is_needed = field in schemas[name].get("required", ())
                schemas[name]["properties"][field] = _TEXT if is_needed else {"anyOf": [_TEXT, {"type": "null"}]}
            elif schema.get("type") == "array":
                schema["maxItems"] = 3
    schemas["ObserveRequest"]["properties"]["content_hash"] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    schemas["ObserveRequest"]["required"].append("content_hash")
    del schemas["ObserveRequest"]["properties"]["content"]
    month = 3 + RUNS.index(run)  # at another time, the persons of the split may exist already
    schemas["SplitRequest"]["properties"]["timestamp"] = {
        "enum": [f"2025-{month:02d}-{day:02d}T09:00:00Z" for day in range(1, 28)]
    }
    schemas["UndoRequest"]["required"] += ["curator_id", "timestamp"]
    schemas["LinkInput"] = {"enum": _LINKS}
    return document


_SENT: Final = (
    *("ObserveRequest", "ReconstructRequest", "ReviseRequest", "MergeRequest", "SplitRequest", "UndoRequest"),
    *(
        "ReplaceLinksRequest",
        "RestrictRequest",
        "LiftRestrictionRequest",
        "RedactPersonRequest",
        "SourceLocationInput",
        "ClaimInput",
        "ClaimChoiceInput",
        "EmploymentInput",
    ),
)
_TEXT: Final = {
    "type": "string",
    "pattern": "^[A-Za-z0-9][A-Za-z0-9à-ÿ .,;<>&'/-]{0,20}$",
}  # without control characters
_TEXTS: Final = (
    *("reason", "curator_name", "algorithm_version", "activity", "notes", "role", "source_name", "value", "reasoning"),
    *("xpath", "quote", "page"),
)
_DATES: Final = {"enum": ["1921", "1895-03~", "195X", None]}
_LINKS: Final = [
    {"relation": relation, "scheme": scheme, "value": value}
    for relation in ("exact", "close")
    for scheme, value in (("orcid", ORCID), ("wikidata", WIKIDATA), ("viaf", "64205559"))
]
_FIELDS: Final[dict[str, Any]] = {
    "curator_id": {"enum": [CURATOR]},
    "timestamp": {"enum": [WHEN, *(f"2025-02-{day:02d}T09:00:00Z" for day in range(1, 28))]},
    "observation_ids": {"type": "array", "items": {"enum": BOTH}, "minItems": 1, "maxItems": 2},
    "observation_id": {"enum": BOTH},
    "claim": {"type": "integer", "minimum": 1, "maximum": 2},
    "different_from": {"type": "array", "items": {"enum": [SURVIVOR, LINKED, REDACTED]}, "maxItems": 2},
    "into": {"enum": [SURVIVOR]},
    "parts": {"enum": [[[one] for one in BOTH], [[one] for one in reversed(BOTH)]]},
    "institution": {"enum": [GHCID]},
    "start": _DATES,
    "end": _DATES,
    "source_url": {"type": "string", "pattern": "^https://example[.]org/deeds/[a-z0-9]{1,8}$"},
    "retrieval_timestamp": {"enum": [WHEN, "2025-01-09T11:30:00.0+01:00"]},
    "holding_archive": {"enum": [GHCID, "https://example.org/archive", None]},
    "type": {"enum": ["name", "occupation", "residence"]},
    "language": {"enum": ["nl", "en", None]},
    "agent": {"enum": ["https://example.org/scraper", None]},
}
_PARAMETERS: Final[dict[str, Any]] = {
    "If-Match": {"enum": ["*", '"1"']},
    "version": {"enum": [0, 1, 2]},
    "name": {"enum": ["jan", "Vries", "jan de vr*", "nobody"]},
    "orcid": {"enum": [ORCID, f"https://orcid.org/{ORCID}"]},
    "isni": {"enum": ["0000000121032683"]},
    "viaf": {"enum": ["64205559"]},
    "wikidata": {"enum": [WIKIDATA]},
}
_LINES: Final = [
    f'{{"source_url": "https://example.org/deeds/{name}", "retrieval_timestamp": "{WHEN}", "content_hash": "{HASH}"}}\n'
    for name in ("1", "2")
]
_TABLE: Final = f"source_url,retrieval_timestamp,name\nhttps://example.org/deeds/3,{WHEN},Jan de Vries\n"
_STREAMED: Final = {"application/x-ndjson": [_LINES[0], "".join(_LINES)], "text/csv": [_TABLE]}


def _name(operation: dict[str, Any], known: list[str]) -> None:
    parameters = []
    for parameter in operation.get("parameters", ()):
        parameter.pop("examples", None)
        if parameter["name"] == "ppid":
            parameter["schema"] = {"enum": known}
        elif parameter["name"] in _PARAMETERS:
            parameter["schema"] = _PARAMETERS[parameter["name"]]
        if parameter["name"] not in ("map", "set", "If-None-Match") and parameter["schema"].get("type") != "string":
            parameters.append(parameter)
    if "parameters" in operation:
        operation["parameters"] = parameters
    content = operation.get("requestBody", {}).get("content", {})
    content.pop("multipart/form-data", None)
    for media, body in content.items():
        body.pop("examples", None)
        if media in _STREAMED:
            body["schema"] = {"enum": _STREAMED[media]}
