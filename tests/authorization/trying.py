"""A write is tried by everybody: exactly those succeed who may, and whoever may not changes nothing by trying."""

from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
from tests.authorization.actors import DONE, REFUSED, UNKNOWN, Trier
from tests.authorization.ground import Ground, new_address
from tests.authorization.stages import Stage

_SUCCESS = (200, 201)
_REFUSALS = {401: UNKNOWN, 403: REFUSED}
NO_GRANT = "has no grant to"


def try_all(
    ground: Ground,
    prepare: Callable[[Ground], Stage],
    expected: dict[Trier, str],
    attempt: Callable[[Trier, Stage], str],
) -> None:
    """Those who must be refused try first, all of them upon the same; the first who may finds it as it was prepared."""
    wrong: list[str] = []
    stage: Stage | None = None
    for trier, wanted in sorted(expected.items(), key=lambda one: one[1] == DONE):
        stage = stage or prepare(ground)
        look = ground.watch.version if wanted == DONE else ground.watch.state
        before = look()
        outcome = attempt(trier, stage)
        is_changed = look() != before
        if outcome == DONE or is_changed:
            stage = None
        if is_changed != (outcome == DONE):
            outcome += ", and something was written" if is_changed else ", and nothing was written"
        if outcome != wanted:
            wrong.append(f"{trier.actor}, by {trier.way}: {outcome}, and not {wanted}")
    assert not wrong, "\n".join(wrong)


class Sent(NamedTuple):
    """A request, but for who sends it."""

    method: str
    path: str
    more: dict[str, Any]


def knock(ground: Ground, trier: Trier, sent: Sent, address: str) -> httpx.Response:
    shown = {**ground.headers(trier), "X-Forwarded-For": address, **sent.more.get("headers", {})}
    return ground.client.request(sent.method, sent.path, **{**sent.more, "headers": shown})


def answered(answer: httpx.Response) -> str:
    """What came of a request, in one word where that is enough."""
    if answer.status_code in _SUCCESS:
        return DONE
    return _REFUSALS.get(answer.status_code, f"{answer.status_code}: {answer.text}")


def try_over_http(
    ground: Ground,
    prepare: Callable[[Ground], Stage],
    expected: dict[Trier, str],
    send: Callable[[Stage], Sent],
    read: Callable[[httpx.Response], str] = answered,
) -> None:
    address = new_address()

    def attempt(trier: Trier, stage: Stage) -> str:
        return read(knock(ground, trier, send(stage), address))

    try_all(ground, prepare, expected, attempt)
