"""Attempts of all actors at one write: exactly the permitted ones succeed, and the others change nothing."""

from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
from tests.authorization.actors import DONE, REFUSED, UNKNOWN, Caller
from tests.authorization.preparation import Stage
from tests.authorization.served_registry import ServedRegistry, new_address

_SUCCESS = (200, 201, 204)
_REFUSALS = {401: UNKNOWN, 403: REFUSED}
NO_GRANT = "has no grant to"


def try_all(
    served_registry: ServedRegistry,
    prepare: Callable[[ServedRegistry], Stage],
    expected: dict[Caller, str],
    attempt: Callable[[Caller, Stage], str],
) -> None:
    """Let the actors to be refused try first, all with the same preparation; the first permitted one finds it
    unchanged.
    """
    wrong: list[str] = []
    stage: Stage | None = None
    for caller, required in sorted(expected.items(), key=lambda one: one[1] == DONE):
        stage = stage or prepare(served_registry)
        look = served_registry.watch.version if required == DONE else served_registry.watch.state
        before = look()
        outcome = attempt(caller, stage)
        is_changed = look() != before
        if outcome == DONE or is_changed:
            stage = None
        if is_changed != (outcome == DONE):
            outcome += ", and something was written" if is_changed else ", and nothing was written"
        if outcome != required:
            wrong.append(f"{caller.actor}, by {caller.way}: {outcome}, and not {required}")
    assert not wrong, "\n".join(wrong)


class SentRequest(NamedTuple):
    """A request, without its authentication."""

    method: str
    path: str
    more: dict[str, Any]


def send_request(served_registry: ServedRegistry, caller: Caller, sent: SentRequest, address: str) -> httpx.Response:
    shown = {**served_registry.headers(caller), "X-Forwarded-For": address, **sent.more.get("headers", {})}
    return served_registry.client.request(sent.method, sent.path, **{**sent.more, "headers": shown})


def outcome_of(answer: httpx.Response) -> str:
    """Return the outcome of a request, in one word where that is enough."""
    if answer.status_code in _SUCCESS:
        return DONE
    if answer.status_code == 404 and answer.json().get("code") == "no-such-upload":
        return REFUSED  # an upload of another agent is not shown to exist
    return _REFUSALS.get(answer.status_code, f"{answer.status_code}: {answer.text}")


def try_over_http(
    served_registry: ServedRegistry,
    prepare: Callable[[ServedRegistry], Stage],
    expected: dict[Caller, str],
    send: Callable[[Stage], SentRequest],
    read: Callable[[httpx.Response], str] = outcome_of,
) -> None:
    address = new_address()

    def attempt(caller: Caller, stage: Stage) -> str:
        return read(send_request(served_registry, caller, send(stage), address))

    try_all(served_registry, prepare, expected, attempt)
