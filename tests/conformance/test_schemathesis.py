"""Somebody else's reading of our OpenAPI document: requests made from it, right ones and wrong ones, by the hundred.

No answer may be a failure of the server, or anything that the document does not announce.
"""

import json
from collections.abc import Iterator
from ipaddress import ip_address
from itertools import count
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case, SerializationContext
from tests.http.live import LiveServer, serving

from perdure.http.v1.document import draw_up
from perdure.http.v1.framework import framework

# What no schema can say (that a prefix is kept here, say) may be refused though the schema allows it.
_REFUSED = ["2xx", "304", "307", "400", "401", "403", "404", "409", "410", "412", "422"]
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
}


# Every request is another client's: wrong credentials are tried so often that one client would soon have to wait.
BEHIND_A_PROXY = 'trusted_proxies = ["127.0.0.1/32"]\nplain_credentials = true'
CLIENTS = count(1)


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: SerializationContext, value: object) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder: Path = tmp_path_factory.mktemp("described") / "registry"
    with serving(folder, settings=BEHIND_A_PROXY) as one:
        one.perdure("prefix", "add", "12345")
        (folder / "known.ndjson").write_text('{"name": "12345/Y35XYS0QH", "target": "https://example.org/"}\n')
        one.perdure("import", str(folder / "known.ndjson"), "--any-suffix")
        yield one


schema = schemathesis.openapi.from_dict(draw_up(framework()), config=schemathesis.Config.from_dict(CONFIG))


def test_the_document_that_is_tried_is_the_one_that_is_served(server: LiveServer) -> None:
    with server.client("") as client:
        assert client.get("/api/v1/openapi.json").json() == schema.raw_schema


@schema.parametrize()
@settings(max_examples=20, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_what_is_answered_is_what_is_announced(case: Case, server: LiveServer) -> None:
    client = str(ip_address("10.0.0.0") + next(CLIENTS))
    headers = {"Authorization": f"Bearer {server.key}", "X-Forwarded-For": client}
    case.call_and_validate(base_url=f"{server.url}/api/v1", headers=headers, timeout=30)
