"""Mint once, however often one is asked: a client that lost the answer asks again, and is told the same names.

Whoever asks gives the request a token. The answer is kept under it in the transaction that makes the names, so no
crash can separate the two.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import count as counting
from typing import Final, NamedTuple

import msgspec

from perdure.errors import InvalidInput, OutOfRange
from perdure.records.plain import Plain
from perdure.registry.entities import Agent
from perdure.registry.minting import NOTHING, Minted, minting
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry
from perdure.registry.statement import Statement

MOST_AT_ONCE: Final = 1000  # names in one transaction
KEPT_FOR: Final = timedelta(hours=24)
LONGEST_TOKEN: Final = 255

_TIDY_EVERY: Final = 100  # requests with a token, between two looks for answers that are too old
_FEWEST_FORGOTTEN: Final = 1000  # that many at once, and there may be more


class Once(NamedTuple):
    """The names, and whether they are those of an earlier request."""

    minted: list[Minted]
    replayed: bool = False


class _Kept(Plain, frozen=True):
    """An answer as it is kept: names, other labels, dates, and the instant before which it must not be told."""

    minted: tuple[tuple[str, str | None, str | None], ...]
    due: str | None


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_Kept).decode
_requests: Final = counting(1)


async def mint_once(
    registry: Registry,
    by: Agent,
    prefix: str,
    count: int = 1,
    *,
    said: Statement = NOTHING,
    suffixes: Sequence[str] = (),
    token: str | None = None,
    digest: bytes = b"",
    patience: Fraction | None = None,
) -> Once:
    """New names, all of them or none. With a `token`, the same request is answered as before for a day.

    `digest` tells this request from others: with the token of another one it is refused. `patience`, in seconds, is
    how long the caller can wait for the dates of the names: ClockBehind, and nothing issued, if it would take longer.
    """
    if suffixes:
        count = len(suffixes)
    if not 1 <= count <= MOST_AT_ONCE:
        raise OutOfRange("mint", "count", f"the count must be between 1 and {MOST_AT_ONCE}, not {count}")
    if token is not None:
        _check_token(token)
    asked = minting(registry, by, prefix, said, patience)
    tidies = token is not None and next(_requests) % _TIDY_EVERY == 0

    def work(tx: Transaction) -> tuple[_Kept, bool]:
        namespace, at = asked.permitted(tx)
        if token is not None:
            before = _a_day_ago(at)
            known = tx.answered(by.id, token)
            if known is not None and known[2] > before:
                if known[0] != digest:
                    raise InvalidInput(
                        "mint", "Idempotency-Key", "this key came with another request before: take a new one"
                    )
                return _decode(known[1]), True
            if known is not None or tidies:
                while tx.forget_answers(before) >= _FEWEST_FORGOTTEN and known is not None:
                    pass
        new = asked.issue(tx, namespace, at, count, suffixes)
        if len(new.minted) < count:
            reason = f"under {prefix} at most {len(new.minted)} names can be made at once, not {count}"
            raise OutOfRange("mint", "count", reason)
        kept = _Kept(
            tuple((one.name, one.alias, None if one.date is None else str(one.date)) for one in new.minted),
            None if new.due is None else str(new.due),
        )
        if token is not None:
            tx.put_answer(by.id, token, digest, _encode(kept), at)
        return kept, False

    kept, replayed = await registry.store.write(work)
    if kept.due is not None:
        await registry.clock.wait_until(Fraction(kept.due))
    minted = [Minted(name, alias, None if date is None else Fraction(date)) for name, alias, date in kept.minted]
    return Once(minted, replayed)


def _check_token(token: str) -> None:
    if not (1 <= len(token) <= LONGEST_TOKEN and token.isascii() and token.isprintable()):
        reason = f"a key must have 1 to {LONGEST_TOKEN} printable ASCII characters"
        raise InvalidInput("mint", "Idempotency-Key", reason)


def _a_day_ago(at: str) -> str:
    """Written as `at` is, so that the two can be compared."""
    instant = datetime.fromisoformat(at) - KEPT_FOR
    return instant.isoformat(timespec="microseconds").replace("+00:00", "Z")
