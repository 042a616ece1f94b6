"""A curator's side of the person API: observations and reconstructions, each of which is new."""

from itertools import count
from typing import Any

import httpx

API = "/api/v1"
WHEN = "2025-01-09T10:30:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
ANY = {"If-Match": "*"}
CURATED = {"curator_id": CURATOR, "timestamp": "2025-02-03T09:00:00Z"}
_numbers = count(1)


def source(**said: object) -> dict[str, Any]:
    """What a source shows, at an address of its own."""
    return {
        "source_url": f"https://example.org/deeds/{next(_numbers)}",
        "retrieval_timestamp": WHEN,
        "content_hash": "0" * 64,
        **said,
    }


def named(*names: object) -> dict[str, Any]:
    """A source in which somebody has these names."""
    return source(claims=[{"type": "name", "value": name} for name in names])


def observed(client: httpx.Client, seen: dict[str, Any] | None = None) -> str:
    answer = client.post(f"{API}/poid", json=source() if seen is None else seen)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["ppid"])


def conclusion(*observations: str, **said: object) -> dict[str, Any]:
    return {"observation_ids": list(observations), "curator_id": CURATOR, "timestamp": WHEN, **said}


def reconstructed(client: httpx.Client, *observations: str, **said: object) -> str:
    """The PRID of these observations, or of a new one."""
    answer = client.post(f"{API}/prid", json=conclusion(*(observations or (observed(client),)), **said))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["ppid"])


def problem(answer: httpx.Response) -> tuple[int, str]:
    """Status and code, of what must be a problem document."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]
