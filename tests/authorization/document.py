"""Writes of the own API, as its OpenAPI document names them: so it can be told whether each of them is tried."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
from tests.authorization.actors import (
    BY_NOBODY,
    DONE,
    KEY,
    NAME_AND_KEY,
    REFUSED,
    Rights,
    by_administrator,
    by_grant,
)
from tests.authorization.ground import Ground
from tests.authorization.stages import Stage
from tests.authorization.trying import NO_GRANT, Sent, answered, try_over_http
from tests.http.person_client import ANY

ROOT = "/api/v1"
JSON, FORM, NDJSON, CSV, NO_BODY = "application/json", "multipart/form-data", "application/x-ndjson", "text/csv", ""
_READING = ("get", "head", "options")

Operation = tuple[str, str]  # "POST /poid", and of what kind its body is


class Write(NamedTuple):
    """One way to change something: what it takes, what must be there, and what is sent.

    `stated` are the Handle clients that may do it by an HS_ADMIN, `also` the agents that may without such a grant.
    """

    operation: str
    needs: Rights
    prepare: Callable[[Ground], Stage]
    body: Callable[[Stage], Any] | None = None
    kind: str = JSON
    stated: frozenset[str] = BY_NOBODY
    also: frozenset[str] = frozenset()
    parameters: dict[str, Any] = {}  # noqa: RUF012  (never changed)
    name: str = ""  # of what is changed, if that is not what was prepared

    @property
    def documented(self) -> Operation:
        return self.operation, NO_BODY if self.body is None else self.kind

    def sent(self, stage: Stage) -> Sent:
        """The method and the path are those of the document, so that no row can stand for another operation."""
        method, path = self.operation.split(" ")
        name = quote(self.name or stage.name, safe="")
        more: dict[str, Any] = {"params": self.parameters, "headers": ANY if "{" in path else {}}
        if self.body is not None:
            said = self.body(stage)
            if self.kind == JSON:
                more["json"] = said
            elif self.kind == FORM:
                more["files"] = said
            else:
                more |= {"content": said, "headers": {"Content-Type": self.kind}}
        return Sent(method, ROOT + path.replace("{name}", name).replace("{ppid}", name), more)


def try_write(ground: Ground, write: Write) -> None:
    expected = {**by_grant(write.needs, write.also, (KEY, NAME_AND_KEY)), **by_administrator(write.stated)}
    try_over_http(ground, write.prepare, expected, write.sent, _by_line if write.kind in (NDJSON, CSV) else answered)


def _by_line(answer: httpx.Response) -> str:
    """Of many at once each is taken or refused by itself; here there is one."""
    if answer.status_code != 200:
        return answered(answer)
    *problems, tally = (json.loads(line) for line in answer.text.splitlines())
    if not tally["refused"]:
        return DONE
    return REFUSED if all(NO_GRANT in one.get("reason", "") for one in problems) else answer.text


def writes_of(document: dict[str, Any]) -> Iterator[Operation]:
    """Every operation that does more than look, with every kind of body that it takes."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method not in _READING:
                kinds = operation.get("requestBody", {}).get("content", {NO_BODY: None})
                yield from ((f"{method.upper()} {path}", kind) for kind in kinds)
