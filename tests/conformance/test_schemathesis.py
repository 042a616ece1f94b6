"""Hundreds of valid and invalid requests that Schemathesis generates from the OpenAPI document.

No response may be a server error, or differ from the document. Names of persons generated from the document alone are
hardly ever registered, so the operations on persons are tested again with registered names.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import APIOperation, Case, SerializationContext
from tests.conformance.known_persons import OPERATIONS, create_persons, with_names
from tests.http.live_server import LiveServer, run_server

from perdure.http.api.litestar_app import build_app
from perdure.http.api.openapi import build_openapi
from perdure.http.routes import API_ROUTES

# A request may be refused though the schema allows it: for example, no schema can tell which prefixes exist.
_REFUSED = ["2xx", "304", "307", "400", "401", "403", "404", "409", "410", "412", "413", "422"]
# These operations contact another server. Generated addresses lead to none, which is 502.
_BY_CONTACT = {
    "include-operation-id": ["addPeer", "changePeer"],
    "checks": {
        "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", "502"]},
        "positive_data_acceptance": {"expected-statuses": [*_REFUSED, "502"]},
    },
}
CONFIG = {
    "checks": {
        "positive_data_acceptance": {"expected-statuses": _REFUSED},
        "missing_required_header": {"expected-statuses": ["400", "401", "415", "422", "428"]},
        "negative_data_rejection": {
            "expected-statuses": [
                "400",
                "401",
                "403",
                "404",
                "405",
                "409",
                "410",
                "412",
                "413",
                "414",
                "415",
                "422",
                "428",
            ]
        },
    },
    "generation": {"deterministic": True},
    "operations": [_BY_CONTACT],
}


# Every request has another client address: one client would be delayed after so many wrong credentials.
BEHIND_A_PROXY = 'trusted_proxies = ["127.0.0.1/32"]\nplain_credentials = true'
CLIENTS = count(1)
AS_ALWAYS: dict[str, Any] = {
    "derandomize": True, "deadline": None, "database": None, "suppress_health_check": list(HealthCheck),
}  # fmt: skip


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: SerializationContext, value: object) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")


@schemathesis.serializer("application/offset+octet-stream")
def as_bytes(context: SerializationContext, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder: Path = tmp_path_factory.mktemp("described") / "registry"
    with run_server(folder, settings=BEHIND_A_PROXY) as one:
        one.perdure("prefix", "add", "12345")
        (folder / "known.ndjson").write_text('{"name": "12345/Y35XYS0QH", "target": "https://example.org/"}\n')
        one.perdure("import", str(folder / "known.ndjson"), "--any-suffix")
        asyncio.run(create_persons(folder))
        yield one


schema = schemathesis.openapi.from_dict(
    build_openapi(build_app([route.handler for route in API_ROUTES])), config=schemathesis.Config.from_dict(CONFIG)
)


def test_the_tested_document_is_the_served_one(server: LiveServer) -> None:
    with server.client("") as client:
        assert client.get("/api/v1/openapi.json").json() == schema.raw_schema


def credentials(server: LiveServer) -> dict[str, str]:
    client = str(ip_address("10.0.0.0") + next(CLIENTS))
    return {"Authorization": f"Bearer {server.key}", "X-Forwarded-For": client}


@schema.parametrize()
@settings(max_examples=20, **AS_ALWAYS)
def test_every_response_conforms_to_the_openapi_document(case: Case, server: LiveServer) -> None:
    case.call_and_validate(base_url=f"{server.url}/api/v1", headers=credentials(server), timeout=30)


@cache
def on_persons(run: str) -> dict[str, APIOperation]:
    document = with_names(schema.raw_schema, run)
    named = schemathesis.openapi.from_dict(document, config=schemathesis.Config.from_dict(CONFIG))
    found = [result.ok() for result in named.get_all_operations()]
    return {one.definition.raw["operationId"]: one for one in found}


EXAMPLES = {"short": 25, "long": 200}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("run", ["short", pytest.param("long", marks=pytest.mark.slow)])
def test_operations_on_existing_persons_succeed_as_documented(server: LiveServer, operation: str, run: str) -> None:
    answers: Counter[int] = Counter()

    @settings(max_examples=EXAMPLES[run], **AS_ALWAYS)
    @given(on_persons(run)[operation].as_strategy())
    def ask(case: Case) -> None:
        if operation == "findPersons":
            one_at_a_time(case)
        response = case.call_and_validate(base_url=f"{server.url}/api/v1", headers=credentials(server), timeout=30)
        answers[response.status_code] += 1

    ask()
    assert any(200 <= status < 300 for status in answers), answers


def one_at_a_time(case: Case) -> None:
    """Leave exactly one search criterion, a rule that no schema can express."""
    query = {**case.query}
    ways = [way for way in ("orcid", "isni", "viaf", "wikidata", "name") if way in query]
    for way in ways[1:]:
        del query[way]
    case.query = query if ways else {**query, "name": "jan"}
