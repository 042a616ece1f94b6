"""The actors: agents with more or fewer grants, unknown ones, and Handle clients with a key of a handle."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY, Action

OURS, THEIRS, LENT = "20.500.1", "20.500.2", "a prefix of its own"
POID, PRID = "POID", "PRID"
LABELS = "sid.inpe.br/mtc-m18"  # an identification subsystem, for items
_SCOPES: Final = (OURS, LENT, POID, PRID, LABELS)
_ALL_BUT_ADMIN: Final = [action for action in ACTIONS if action != "admin"]

Right = tuple[Action, str]
Rights = frozenset[Right]

DONE, REFUSED, UNKNOWN = "done", "refused", "not known"


def rights(actions: Iterable[Action], *scopes: str) -> Rights:
    return frozenset((action, scope) for action in actions for scope in scopes)


def right_to(action: Action, scope: str = OURS) -> Rights:
    """Return the right that a write needs; several are joined by `|`."""
    return rights([action], scope)


ANONYMOUS, WRONG, EXPIRED, REVOKED = "anonymous", "wrong secret", "expired key", "revoked key"
OTHER, RIGHT, REGISTRY_ADMIN = "other prefix's admin", "right admin", "admin of everything"
KEEPER, LOADER = "all but admin", "all but admin, everywhere"
MINTER, EDITOR, WITHDRAWER = "mint only", "edit only", "withdraw only"
OF_POIDS, OF_PRIDS = "admin of POIDs", "admin of PRIDs"
OWNER, ENDED = "only what is one's own", "grants that ended"
LOCAL = "admin of the record alone"

NOT_KNOWN: Final = (ANONYMOUS, WRONG, EXPIRED, REVOKED)
# What the grants of each allow, at this moment. Those of OWNER are for their own identifiers, those of ENDED are over.
GRANTS_HELD: Final[dict[str, Rights]] = {
    OTHER: rights(ACTIONS, THEIRS),
    OWNER: frozenset(),
    ENDED: frozenset(),
    MINTER: rights(["mint"], *_SCOPES),
    EDITOR: rights(["edit"], *_SCOPES),
    WITHDRAWER: rights(["withdraw"], *_SCOPES),
    OF_POIDS: rights(ACTIONS, POID),
    OF_PRIDS: rights(ACTIONS, PRID),
    KEEPER: rights(_ALL_BUT_ADMIN, *_SCOPES),
    LOADER: rights(_ALL_BUT_ADMIN, WHOLE_REGISTRY),
    RIGHT: rights(ACTIONS, *_SCOPES),
    REGISTRY_ADMIN: rights(ACTIONS, WHOLE_REGISTRY),
}
AGENTS: Final = (*NOT_KNOWN, *GRANTS_HELD)
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
    REGISTRY_ADMIN: "admin",
}
# Handle clients, by an HS_ADMIN: of the prefix and of its records, of another prefix, or of some records alone.
CLIENTS: Final = (ANONYMOUS, WRONG, EXPIRED, OTHER, LOCAL, RIGHT)
BY_PREFIX: Final = frozenset({RIGHT})
BY_RECORD: Final = frozenset({RIGHT, LOCAL})
BY_NO_ADMINISTRATOR: Final[frozenset[str]] = frozenset()

KEY, NAME_AND_KEY, PASSWORD, SESSION = "key", "name and key", "password", "session"


class Caller(NamedTuple):
    """An actor, and a method of authentication."""

    actor: str
    way: str


def by_grant(
    needed: Rights | None, also: frozenset[str] = frozenset(), ways: Iterable[str] = (KEY,)
) -> dict[Caller, str]:
    """Return the expected outcome for each agent. None allows no agent; `also` are allowed without a grant."""

    def outcome(actor: str) -> str:
        if actor in NOT_KNOWN:
            return UNKNOWN
        return DONE if actor in also or (needed is not None and _holds(GRANTS_HELD[actor], needed)) else REFUSED

    agents = {KEY: AGENTS, NAME_AND_KEY: (WRONG, EXPIRED, OTHER, RIGHT)}
    return {Caller(actor, way): outcome(actor) for way in ways for actor in agents[way]}


def by_administrator(allowed: frozenset[str]) -> dict[Caller, str]:
    """Return the expected outcome for each Handle client."""

    def outcome(actor: str) -> str:
        return UNKNOWN if actor in NOT_KNOWN else DONE if actor in allowed else REFUSED

    return {Caller(actor, way): outcome(actor) for way in (PASSWORD, SESSION) for actor in CLIENTS}


def _holds(held: Rights, needed: Rights) -> bool:
    return all((action, scope) in held or (action, WHOLE_REGISTRY) in held for action, scope in needed)
