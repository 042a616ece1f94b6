"""Who tries: agents with more or fewer grants, some whom nobody knows, and Handle clients with a key of a handle."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from perdure.registry.entities import ACTIONS, EVERYWHERE, Action

OURS, THEIRS, LENT = "20.500.1", "20.500.2", "a prefix of its own"
POID, PRID = "POID", "PRID"
_PLACES: Final = (OURS, LENT, POID, PRID)
_ALL_BUT_ADMIN: Final = [action for action in ACTIONS if action != "admin"]

Right = tuple[Action, str]
Rights = frozenset[Right]

DONE, REFUSED, UNKNOWN = "done", "refused", "not known"


def rights(actions: Iterable[Action], *scopes: str) -> Rights:
    return frozenset((action, scope) for action in actions for scope in scopes)


def to(action: Action, scope: str = OURS) -> Rights:
    """What a write takes: joined by `|` where it takes more than one right."""
    return rights([action], scope)


NOBODY, WRONG, LAPSED, REVOKED = "nobody", "wrong secret", "lapsed key", "revoked key"
OTHER, RIGHT, CHIEF = "other prefix's admin", "right admin", "admin of everything"
KEEPER, LOADER = "all but admin", "all but admin, everywhere"
MINTER, EDITOR, WITHDRAWER = "mint only", "edit only", "withdraw only"
OF_POIDS, OF_PRIDS = "admin of POIDs", "admin of PRIDs"
OWNER, ENDED = "only what is one's own", "grants that ended"
LOCAL = "admin of the record alone"

NOT_KNOWN: Final = (NOBODY, WRONG, LAPSED, REVOKED)
# What the grants of each allow, at this moment. Those of OWNER are for their own identifiers, those of ENDED are over.
HELD: Final[dict[str, Rights]] = {
    OTHER: rights(ACTIONS, THEIRS),
    OWNER: frozenset(),
    ENDED: frozenset(),
    MINTER: rights(["mint"], *_PLACES),
    EDITOR: rights(["edit"], *_PLACES),
    WITHDRAWER: rights(["withdraw"], *_PLACES),
    OF_POIDS: rights(ACTIONS, POID),
    OF_PRIDS: rights(ACTIONS, PRID),
    KEEPER: rights(_ALL_BUT_ADMIN, *_PLACES),
    LOADER: rights(_ALL_BUT_ADMIN, EVERYWHERE),
    RIGHT: rights(ACTIONS, *_PLACES),
    CHIEF: rights(ACTIONS, EVERYWHERE),
}
AGENTS: Final = (*NOT_KNOWN, *HELD)
SHORT: Final = {
    OTHER: "theirs",
    OWNER: "owner",
    ENDED: "ended",
    MINTER: "minter",
    EDITOR: "editor",
    WITHDRAWER: "withdrawer",
    OF_POIDS: "poids",
    OF_PRIDS: "prids",
    KEEPER: "keeper",
    LOADER: "loader",
    RIGHT: "ours",
    CHIEF: "admin",
}
# Handle clients, by an HS_ADMIN: of the prefix and of its records, of another prefix, or of some records alone.
CLIENTS: Final = (NOBODY, WRONG, LAPSED, OTHER, LOCAL, RIGHT)
BY_PREFIX: Final = frozenset({RIGHT})
BY_RECORD: Final = frozenset({RIGHT, LOCAL})
BY_NOBODY: Final[frozenset[str]] = frozenset()

KEY, NAME_AND_KEY, PASSWORD, SESSION = "key", "name and key", "password", "session"


class Trier(NamedTuple):
    """Somebody, and how they show who they are."""

    actor: str
    way: str


def by_grant(
    needed: Rights | None, also: frozenset[str] = frozenset(), ways: Iterable[str] = (KEY,)
) -> dict[Trier, str]:
    """What is to come of it for each agent: None is what nobody may do; `also` may, though no grant of theirs says so."""

    def outcome(actor: str) -> str:
        if actor in NOT_KNOWN:
            return UNKNOWN
        return DONE if actor in also or (needed is not None and _holds(HELD[actor], needed)) else REFUSED

    agents = {KEY: AGENTS, NAME_AND_KEY: (WRONG, LAPSED, OTHER, RIGHT)}
    return {Trier(actor, way): outcome(actor) for way in ways for actor in agents[way]}


def by_administrator(allowed: frozenset[str]) -> dict[Trier, str]:
    """The same for each Handle client."""

    def outcome(actor: str) -> str:
        return UNKNOWN if actor in NOT_KNOWN else DONE if actor in allowed else REFUSED

    return {Trier(actor, way): outcome(actor) for way in (PASSWORD, SESSION) for actor in CLIENTS}


def _holds(held: Rights, needed: Rights) -> bool:
    return all((action, scope) in held or (action, EVERYWHERE) in held for action, scope in needed)
