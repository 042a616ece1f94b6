"""Idempotent minting: a client that lost the response repeats the request, and gets the same names.

The client sends a token with the request (Idempotency-Key). The response is stored under it in the transaction that
mints the names, so no crash can separate the two.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import count as counting
from typing import Final, NamedTuple

import msgspec

from perdure.errors import InvalidInput, OutOfRange
from perdure.records.frozen_struct import FrozenStruct
from perdure.registry.entities import Agent
from perdure.registry.minters import MintedIdentifier
from perdure.registry.minting import EMPTY_STATEMENT, prepare_mint
from perdure.registry.new_record import Statement
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction

MOST_NAMES: Final = 1000  # names in one transaction
RETENTION: Final = timedelta(hours=24)
LONGEST_TOKEN: Final = 255

_EXPIRE_EVERY: Final = 100  # requests with a token, between two deletions of expired answers
_FORGET_BATCH: Final = 1000  # answers deleted at once; if so many were, there may be more


class IdempotentMint(NamedTuple):
    """The names, and whether they were minted by an earlier request."""

    minted: list[MintedIdentifier]
    replayed: bool = False


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
    """Mint new names, all of them or none. With a `token`, a repeated request gets the same names for a day.

    `digest` identifies the request: a token that was used with another request is refused. `patience`, in seconds, is
    how long the caller can wait for the dates of the names. If it would take longer, raise ClockBehind and issue
    nothing.
    """
    if suffixes:
        count = len(suffixes)
    if not 1 <= count <= MOST_NAMES:
        raise OutOfRange("mint", "count", f"the count must be between 1 and {MOST_NAMES}, not {count}")
    if token is not None:
        check_token(token)
    request = prepare_mint(registry, by, prefix, statement, patience, item_key)
    tidies = token is not None and next(_requests) % _EXPIRE_EVERY == 0

    def work(tx: Transaction) -> tuple[_StoredResponse, bool]:
        target, at = request.find_target(tx)
        if token is not None:
            before = expiry_cutoff(at)
            stored = tx.find_answer(by.id, token)
            if stored is not None and stored[2] > before:
                if stored[0] != digest:
                    raise InvalidInput(
                        "mint", "Idempotency-Key", "this Idempotency-Key was used with another request: use a new one"
                    )
                return _decode(stored[1]), True
            if stored is not None or tidies:
                forget_expired(tx, before, completely=stored is not None)
        issued = request.issue(tx, target, at, count, suffixes)
        if len(issued.minted) < count:
            reason = f"under {prefix} at most {len(issued.minted)} names can be minted at once, not {count}"
            raise OutOfRange("mint", "count", reason)
        response = _StoredResponse(
            tuple((one.name, one.alias, None if one.date is None else str(one.date)) for one in issued.minted),
            None if issued.due is None else str(issued.due),
        )
        if token is not None:
            tx.put_answer(by.id, token, digest, _encode(response), at)
        return response, False

    response, replayed = await registry.store.write(work)
    if response.due is not None:
        await registry.clock.wait_until(Fraction(response.due))
    minted = [
        MintedIdentifier(name, alias, None if date is None else Fraction(date)) for name, alias, date in response.minted
    ]
    return IdempotentMint(minted, replayed)


def check_token(token: str) -> str:
    """Return an Idempotency-Key that can be stored."""
    if not (1 <= len(token) <= LONGEST_TOKEN and token.isascii() and token.isprintable()):
        reason = f"an Idempotency-Key must have 1 to {LONGEST_TOKEN} printable ASCII characters"
        raise InvalidInput("mint", "Idempotency-Key", reason)
    return token


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
