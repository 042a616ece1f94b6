"""Attempts of all actors at one write: exactly the permitted ones succeed, and the others change nothing."""

from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
from tests.authorization.actors import DONE, REFUSED, UNKNOWN, Trier
from tests.authorization.preparation import Stage
from tests.authorization.served_registry import ServedRegistry, new_address

_SUCCESS = (200, 201)
_REFUSALS = {401: UNKNOWN, 403: REFUSED}
NO_GRANT = "has no grant to"


def try_all(
    ground: ServedRegistry,
    prepare: Callable[[ServedRegistry], Stage],
    expected: dict[Trier, str],
    attempt: Callable[[Trier, Stage], str],
) -> None:
    """Let the actors to be refused try first, all with the same preparation; the first permitted one finds it
    unchanged.
    """
    wrong: list[str] = []
    stage: Stage | None = None
    for trier, required in sorted(expected.items(), key=lambda one: one[1] == DONE):
        stage = stage or prepare(ground)
        look = ground.watch.version if required == DONE else ground.watch.state
        before = look()
        outcome = attempt(trier, stage)
        is_changed = look() != before
        if outcome == DONE or is_changed:
            stage = None
        if is_changed != (outcome == DONE):
            outcome += ", and something was written" if is_changed else ", and nothing was written"
        if outcome != required:
            wrong.append(f"{trier.actor}, by {trier.way}: {outcome}, and not {required}")
    assert not wrong, "\n".join(wrong)


class SentRequest(NamedTuple):
    """A request, without its authentication."""

    method: str
    path: str
    more: dict[str, Any]


def send_request(ground: ServedRegistry, trier: Trier, sent: SentRequest, address: str) -> httpx.Response:
    shown = {**ground.headers(trier), "X-Forwarded-For": address, **sent.more.get("headers", {})}
    return ground.client.request(sent.method, sent.path, **{**sent.more, "headers": shown})


def outcome_of(answer: httpx.Response) -> str:
    """Return the outcome of a request, in one word where that is enough."""
    if answer.status_code in _SUCCESS:
        return DONE
    return _REFUSALS.get(answer.status_code, f"{answer.status_code}: {answer.text}")


def try_over_http(
    ground: ServedRegistry,
    prepare: Callable[[ServedRegistry], Stage],
    expected: dict[Trier, str],
    send: Callable[[Stage], SentRequest],
    read: Callable[[httpx.Response], str] = outcome_of,
) -> None:
    address = new_address()

    def attempt(trier: Trier, stage: Stage) -> str:
        return read(send_request(ground, trier, send(stage), address))

    try_all(ground, prepare, expected, attempt)
