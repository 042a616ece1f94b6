"""Requests of a curator to the person API: observations and reconstructions, each of which is new."""

from itertools import count
from typing import Any

import httpx

API = "/api/v1"
WHEN = "2025-01-09T10:30:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
ANY = {"If-Match": "*"}
CURATED = {"curator_id": CURATOR, "timestamp": "2025-02-03T09:00:00Z"}
_numbers = count(1)


def source(**fields: object) -> dict[str, Any]:
    """Return an observation of a source at a URL of its own."""
    return {
        "source_url": f"https://example.org/deeds/{next(_numbers)}",
        "retrieval_timestamp": WHEN,
        "content_hash": "0" * 64,
        **fields,
    }


def named_source(*names: object) -> dict[str, Any]:
    """Return an observation with these names."""
    return source(claims=[{"type": "name", "value": name} for name in names])


def create_observation(client: httpx.Client, seen: dict[str, Any] | None = None) -> str:
    answer = client.post(f"{API}/poid", json=source() if seen is None else seen)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["ppid"])


def conclusion(*observations: str, **fields: object) -> dict[str, Any]:
    return {"observation_ids": list(observations), "curator_id": CURATOR, "timestamp": WHEN, **fields}


def create_reconstruction(client: httpx.Client, *observations: str, **fields: object) -> str:
    """Create a PRID from these observations, or from a new one, and return it."""
    answer = client.post(f"{API}/prid", json=conclusion(*(observations or (create_observation(client),)), **fields))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["ppid"])


def problem(answer: httpx.Response) -> tuple[int, str]:
    """Return status and code of a problem document."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]
