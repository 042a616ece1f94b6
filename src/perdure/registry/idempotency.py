"""Idempotent minting: a client that lost the response repeats the request, and gets the same names.

The client sends a token with the request (Idempotency-Key). The response is stored under it in the transaction that
mints the names, so no crash can separate the two.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import count as counting
from typing import Final, NamedTuple

import msgspec

from perdure.errors import InvalidInput, OutOfRange
from perdure.records.frozen_struct import FrozenStruct
from perdure.registry.also_known import find_same_target, other_names
from perdure.registry.entities import Agent, SearchHit
from perdure.registry.minters import MintedIdentifier
from perdure.registry.minting import EMPTY_STATEMENT, prepare_mint
from perdure.registry.new_record import Statement
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction
from perdure.timelines.clock import now_seconds

MOST_NAMES: Final = 1000  # names in one transaction
RETENTION: Final = timedelta(hours=24)
LONGEST_TOKEN: Final = 255

_EXPIRE_EVERY: Final = 100  # requests with a token, between two deletions of expired answers
_FORGET_BATCH: Final = 1000  # answers deleted at once; if so many were, there may be more


class IdempotentMint(NamedTuple):
    """The names, and whether they were minted by an earlier request."""

    minted: list[MintedIdentifier]
    replayed: bool = False


class IssuedMint(NamedTuple):
    """Names that are on disk, and the instant before which they must not be disclosed; None: at once.

    `timelines` issued their dates; of a request that is repeated, they are not known. `also_known` are other names that
    the target of IBI labels had before.
    """

    minted: list[MintedIdentifier]
    due: Fraction | None
    replayed: bool
    timelines: tuple[str, ...] = ()
    also_known: tuple[str, ...] = ()


class _StoredResponse(FrozenStruct, frozen=True):
    """A response as it is stored: names, other labels, dates, and the instant before which it must not be sent."""

    minted: tuple[tuple[str, str | None, str | None], ...]
    due: str | None


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_StoredResponse).decode
_requests: Final = counting(1)


async def mint_once(
    registry: Registry,
    by: Agent,
    prefix: str,
    count: int = 1,
    *,
    statement: Statement = EMPTY_STATEMENT,
    suffixes: Sequence[str] = (),
    token: str | None = None,
    digest: bytes = b"",
    patience: Fraction | None = None,
    item_key: str | None = None,
) -> IdempotentMint:
    """Mint new names, all of them or none, and return when their dates have come."""
    issued = await issue_once(
        registry,
        by,
        prefix,
        count,
        statement=statement,
        suffixes=suffixes,
        token=token,
        digest=digest,
        patience=patience,
        item_key=item_key,
    )
    if issued.due is not None:
        await registry.clock.wait_until(issued.due)
    return IdempotentMint(issued.minted, issued.replayed)


async def issue_once(
    registry: Registry,
    by: Agent,
    prefix: str,
    count: int = 1,
    *,
    statement: Statement = EMPTY_STATEMENT,
    suffixes: Sequence[str] = (),
    token: str | None = None,
    digest: bytes = b"",
    patience: Fraction | None = None,
    waits_a_step: bool = False,
    steps: int = 1,
    item_key: str | None = None,
    full_queues: Collection[str] = (),
    labels_only: bool = False,
) -> IssuedMint:
    """Issue new names, all of them or none. The caller waits until they are due, before it discloses them.

    With a `token`, a repeated request gets the same names for a day. `digest` identifies the request: a token that was
    used with another request is refused. `patience`, in seconds, is how long the caller can wait for the dates of the
    names; with `waits_a_step`, one step of the granularity if that is longer. If it would take longer, raise
    ClockBehind and issue nothing. The longest wait of the settings limits it too, extended by `steps` of the
    granularity. `item_key` and `full_queues` are for pools. With `labels_only`, any other prefix than
    that of an IBI subsystem is refused, and other names of the target are returned.
    """
    if suffixes:
        count = len(suffixes)
    if not 1 <= count <= MOST_NAMES:
        raise OutOfRange("mint", "count", f"the count must be between 1 and {MOST_NAMES}, not {count}")
    if token is not None:
        check_token(token)
    request = prepare_mint(
        registry,
        by,
        prefix,
        statement,
        patience,
        waits_a_step=waits_a_step,
        steps=steps,
        item_key=item_key,
        full_queues=full_queues,
        labels_only=labels_only,
    )
    url = statement.target if labels_only else None
    tidies = token is not None and next(_requests) % _EXPIRE_EVERY == 0

    def work(tx: Transaction) -> IssuedMint:
        target, at = request.find_target(tx)
        if token is not None:
            before = expiry_cutoff(at)
            stored = tx.find_answer(by.id, token)
            if stored is not None and stored[2] > before:
                if stored[0] != digest:
                    raise InvalidInput(
                        "mint", "Idempotency-Key", "this Idempotency-Key was used with another request: use a new one"
                    )
                earlier = _to_issued(_decode(stored[1]))
                return _with_other_names(registry, earlier, find_same_target(tx, url, len(earlier.minted)))
            if stored is not None or tidies:
                forget_expired(tx, before, completely=stored is not None)
        others = find_same_target(tx, url)  # before the new names have it, too
        issued = request.issue(tx, target, at, count, suffixes)
        if len(issued.minted) < count:
            reason = f"under {prefix} at most {len(issued.minted)} names can be minted at once, not {count}"
            raise OutOfRange("mint", "count", reason)
        if token is not None:
            response = _StoredResponse(
                tuple((one.name, one.alias, None if one.date is None else str(one.date)) for one in issued.minted),
                None if issued.due is None else str(issued.due),
            )
            tx.put_answer(by.id, token, digest, _encode(response), at)
        return _with_other_names(registry, IssuedMint(issued.minted, issued.due, False, issued.timelines), others)

    return await registry.store.write(work)


async def find_issued(registry: Registry, by: Agent, token: str) -> IssuedMint | None:
    """Find the names that an agent's request with this token minted; None if there is no such request of this agent.

    The caller does not disclose them before they are due.
    """
    if not _is_token(token):
        return None
    stored = await registry.store.read(lambda reader: reader.find_answer(by.id, token))
    if stored is None or stored[2] <= expiry_cutoff(registry.current_time()):
        return None
    try:
        return _to_issued(_decode(stored[1]))
    except msgspec.MsgspecError:  # the answer to another kind of request
        return None


def _to_issued(response: _StoredResponse) -> IssuedMint:
    minted = [
        MintedIdentifier(name, alias, None if date is None else Fraction(date)) for name, alias, date in response.minted
    ]
    return IssuedMint(minted, None if response.due is None else Fraction(response.due), True)


def _with_other_names(registry: Registry, issued: IssuedMint, hits: Sequence[SearchHit]) -> IssuedMint:
    """Add the other names of the target that have come when the response is sent."""
    if not hits:
        return issued
    now = now_seconds(registry.clock)
    return issued._replace(
        also_known=other_names(hits, [one.name for one in issued.minted], max(now, issued.due or now))
    )


def check_token(token: str) -> str:
    """Return an Idempotency-Key that can be stored."""
    if not _is_token(token):
        reason = f"an Idempotency-Key must have 1 to {LONGEST_TOKEN} printable ASCII characters"
        raise InvalidInput("mint", "Idempotency-Key", reason)
    return token


def _is_token(token: str) -> bool:
    return 1 <= len(token) <= LONGEST_TOKEN and token.isascii() and token.isprintable()


def expiry_cutoff(at: str) -> str:
    """Return the time one retention period before `at`: answers from before it have expired."""
    return shift_time(at, -RETENTION)


def shift_time(at: str, by: timedelta) -> str:
    """Return another time in the format of `at`, so that the two can be compared."""
    return (datetime.fromisoformat(at) + by).isoformat(timespec="microseconds").replace("+00:00", "Z")


def forget_expired(tx: Transaction, before: str, *, completely: bool) -> None:
    """Delete answers from before a time: some of them, or all."""
    while tx.forget_answers(before) >= _FORGET_BATCH and completely:
        pass
