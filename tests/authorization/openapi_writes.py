"""Writes of the registry's own API, by their names in the OpenAPI document, so that no write can be forgotten."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
from tests.authorization.actors import (
    BY_NO_ADMINISTRATOR,
    DONE,
    KEY,
    NAME_AND_KEY,
    REFUSED,
    Rights,
    by_administrator,
    by_grant,
)
from tests.authorization.attempts import NO_GRANT, SentRequest, outcome_of, try_over_http
from tests.authorization.preparation import Stage
from tests.authorization.served_registry import COLLECTION, ServedRegistry
from tests.http.person_client import ANY

ROOT = "/api/v1"
FILE = "a.txt"
JSON, FORM, NDJSON, CSV, NO_BODY = "application/json", "multipart/form-data", "application/x-ndjson", "text/csv", ""
_READING = ("get", "head", "options")

Operation = tuple[str, str]  # "POST /poid", and of what kind its body is


class Write(NamedTuple):
    """One way to write: the rights that it needs, its preparation, and its request.

    `stated` are the Handle clients that an HS_ADMIN allows, `also` the agents that are allowed without such a grant.
    """

    operation: str
    needs: Rights | None
    prepare: Callable[[ServedRegistry], Stage]
    body: Callable[[Stage], Any] | None = None
    kind: str = JSON
    stated: frozenset[str] = BY_NO_ADMINISTRATOR
    also: frozenset[str] = frozenset()
    parameters: dict[str, Any] = {}  # noqa: RUF012  (never changed)
    headers: dict[str, str] = {}  # noqa: RUF012  (never changed)
    name: str = ""  # of what is changed, if that is not what was prepared

    @property
    def documented_operation(self) -> Operation:
        return self.operation, NO_BODY if self.body is None else self.kind

    def request_for(self, stage: Stage) -> SentRequest:
        """Build the request. Method and path are those of the document, so that no row can test another operation."""
        method, path = self.operation.split(" ")
        name = quote(self.name or stage.name, safe="")
        more: dict[str, Any] = {"params": self.parameters, "headers": {} if "{id}" in path or "{" not in path else ANY}
        if self.body is not None:
            content = self.body(stage)
            if self.kind == JSON:
                more["json"] = content
            elif self.kind == FORM:
                more["files"] = content
            else:
                more |= {"content": content, "headers": {"Content-Type": self.kind}}
        more["headers"] = {**more["headers"], **self.headers}
        url = ROOT + path.format(
            name=name,
            ppid=name,
            id=stage.other,
            agent=stage.agent,
            key=stage.key,
            collection=COLLECTION,
            label=stage.other,
            path=FILE,
            upload=stage.other,
            peer=stage.other,
        )
        return SentRequest(method, url, more)


def try_write(served_registry: ServedRegistry, write: Write) -> None:
    expected = {**by_grant(write.needs, write.also, (KEY, NAME_AND_KEY)), **by_administrator(write.stated)}
    try_over_http(
        served_registry,
        write.prepare,
        expected,
        write.request_for,
        _by_line if write.kind in (NDJSON, CSV) or "/bulk-changes" in write.operation else outcome_of,
    )


def _by_line(answer: httpx.Response) -> str:
    """Return the outcome of the only line of a bulk response, in which each line succeeds or fails by itself."""
    if answer.status_code != 200:
        return outcome_of(answer)
    *problems, tally = (json.loads(line) for line in answer.text.splitlines())
    if not (tally["refused"] or tally.get("undo_refused")):
        return DONE
    reasons = [one.get("reason") or one.get("error", {}).get("detail", "") for one in problems]
    return REFUSED if all(NO_GRANT in reason for reason in reasons) else answer.text


def writes_of(document: dict[str, Any]) -> Iterator[Operation]:
    """Yield every operation that writes, with every content type of its body."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method not in _READING:
                kinds = operation.get("requestBody", {}).get("content", {NO_BODY: None})
                yield from ((f"{method.upper()} {path}", kind) for kind in kinds)
