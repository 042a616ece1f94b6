"""The choice between the answers of several servers about one name.

1. A tombstone of the owner of the prefix wins over all others, except for an original of an owner that is newer.
2. Among the others, an answer from the site, and then in the language, that the reader prefers.
3. An original on the server that an owner names wins over what the owner itself has, this over other originals, these
   over copies, and a copy over what others have registered.
4. The newest wins over older ones.

So a server that claims to have the original of what another one owns gets no reader while the owner answers. An answer
that leads to a server that does not answer is used only if there is no other one.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from perdure.federation.statements import Answer

Reason = Literal[
    "tombstone of the owner",
    "preferred site",
    "preferred language",
    "original",
    "registered by the owner",
    "newest copy",
    "registered",
    "tombstone",
]

LIVING: Final = ("original", "copy", "registered")
_REASONS: Final[dict[tuple[str, bool], Reason]] = {
    ("original", True): "original",
    ("original", False): "original",
    ("copy", True): "newest copy",
    ("copy", False): "newest copy",
    ("registered", True): "registered by the owner",
    ("registered", False): "registered",
}


class GivenAnswer(NamedTuple):
    """An answer, and the name of the peer that gave it. `is_owner`: the peer owns the prefix of the name.

    `url` is the base URL of the peer in the table; what it states itself may be a lie.
    """

    peer: str
    answer: Answer
    is_owner: bool = False
    url: str = ""


class Choice(NamedTuple):
    """The answer that won, and why."""

    given: GivenAnswer
    reason: Reason


def choose_answer(
    answers: Sequence[GivenAnswer],
    *,
    site: str | None = None,
    language: str | None = None,
    unreachable: Sequence[str] = (),
) -> Choice | None:
    """Return the answer that wins; None if no server has the name. The order of the answers does not matter.

    `unreachable` are the base URLs of servers that did not answer.
    """
    tombstones = [given for given in answers if given.answer.state == "withdrawn"]
    living = [given for given in answers if given.answer.state in LIVING]
    of_owner = max((given for given in tombstones if given.is_owner), key=_age, default=None)
    if of_owner is not None:
        living = [one for one in living if one.is_owner and one.answer.state == "original" and _is_newer(one, of_owner)]
        if not living:
            return Choice(of_owner, "tombstone of the owner")
    if not living:
        newest = max(tombstones, key=_age, default=None)
        return None if newest is None else Choice(newest, "tombstone")
    living = [one for one in living if not leads_to(one.answer, unreachable)] or living
    stated = [one.answer for one in living if one.is_owner]

    def rank(given: GivenAnswer) -> tuple[int, int, str, str, str]:
        return _rank(given, stated)

    best = max(living, key=rank)
    preferred = max((one for one in living if _is_at(one, site)), key=rank, default=None)
    if preferred is not None:
        return Choice(preferred, "preferred site")
    if language is not None and best.answer.language != language:
        spoken = max((one for one in living if one.answer.language == language), key=rank, default=None)
        if spoken is not None:
            return Choice(spoken, "preferred language")
    return Choice(best, _REASONS[best.answer.state, best.is_owner])


def leads_to(answer: Answer, servers: Iterable[str]) -> bool:
    """Return whether an answer leads readers to one of these servers, given by their base URLs."""
    address = f"{answer.url or answer.archive}/"
    return any(address.startswith(f"{server}/") for server in servers)


def _is_at(given: GivenAnswer, site: str | None) -> bool:
    """Return whether an answer is from a site, given as the name of the peer or as its host."""
    if site is None:
        return False
    host = given.answer.archive.partition("://")[2].partition("/")[0]
    return site.lower() in (given.peer, host, host.partition(":")[0])


def _class(given: GivenAnswer, stated: Sequence[Answer]) -> int:
    match given.answer.state:
        case "original" if given.is_owner:
            return 3
        case "original":
            return 4 if given.url and any(_names_original(answer, given.url) for answer in stated) else 2
        case "registered":
            return 3 if given.is_owner else 0
        case _:
            return 1


def _names_original(answer: Answer, server: str) -> bool:
    """Return whether the owner states that the original is on this server, or registers an address on it."""
    if answer.state == "copy":
        return f"{answer.original or ''}/".startswith(f"{server}/")
    return leads_to(answer, [server])


def _rank(given: GivenAnswer, stated: Sequence[Answer]) -> tuple[int, int, str, str, str]:
    """Return the key by which answers are compared; the last parts only make the choice the same every time.

    `stated` are the answers of owners.
    """
    answer = given.answer
    kind = _class(given, stated)
    by_version = answer.version if answer.state == "copy" else 0  # versions of one item count alike everywhere
    return kind, by_version, answer.timestamp, given.peer, answer.archive


def _age(given: GivenAnswer) -> tuple[str, str]:
    return given.answer.timestamp, given.peer


def _is_newer(given: GivenAnswer, than: GivenAnswer) -> bool:
    return given.answer.timestamp > than.answer.timestamp
