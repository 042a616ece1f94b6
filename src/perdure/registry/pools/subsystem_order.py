"""The order in which the subsystems of a pool are tried: the spatial distributor of IBI.

The first one that can issue a date in time is chosen. A subsystem whose timeline is too far ahead, or whose queue is
full, is passed over.
"""

import random
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from hashlib import sha256
from itertools import count as counting
from typing import Final

from perdure.errors import InvalidInput
from perdure.registry.entities import Pool, Prefix
from perdure.registry.store_interface import Transaction
from perdure.timelines.clock import NANOSECONDS

_LONGEST_ITEM_KEY: Final = 1000  # characters
# Of this process. Each begins anywhere, so that short programs do not all begin with the first subsystem.
_rotations: dict[str, Iterator[int]] = {}


def order_subsystems(
    tx: Transaction,
    pool: Pool,
    subsystems: Sequence[Prefix],
    now_ns: int,
    item_key: str | None,
    full_queues: Collection[str],
) -> list[Prefix]:
    """Return these subsystems of a pool in the order of its policy. Those with a full queue come last."""
    check_item_key(pool, item_key)
    match pool.policy:
        case "hash":
            ordered = order_by_hash(subsystems, item_key or "")
        case "round-robin":
            ordered = _rotate(pool.name, subsystems)
        case _:
            ordered = _order_by_wait(tx, subsystems, now_ns)
    return sorted(ordered, key=lambda one: one.key in full_queues)


def check_item_key(pool: Pool, item_key: str | None) -> None:
    """Refuse a missing key of the item where the policy needs one, and a needless one elsewhere."""
    if pool.policy == "hash" and not item_key:
        reason = f"the pool {pool.name} chooses by the hash of the item's key: give a key of the item (item_key)"
        raise InvalidInput("mint", "item_key", reason)
    if item_key is not None and pool.policy != "hash":
        reason = f"the pool {pool.name} chooses by {pool.policy}, so that a key of the item has no effect: leave it out"
        raise InvalidInput("mint", "item_key", reason)
    if item_key is not None and len(item_key) > _LONGEST_ITEM_KEY:
        raise InvalidInput("mint", "item_key", f"the item's key is longer than {_LONGEST_ITEM_KEY} characters")


def order_by_hash(subsystems: Sequence[Prefix], item_key: str) -> list[Prefix]:
    """Order by the hash of each subsystem together with the item's key (rendezvous hashing).

    One key always gets the same order. A subsystem that joins or leaves the pool changes the choice for its own share
    of the keys alone.
    """
    key = item_key.encode("utf-8", "surrogatepass")
    return sorted(subsystems, key=lambda one: sha256(one.key.encode() + b"\0" + key).digest(), reverse=True)


def _rotate(pool: str, subsystems: Sequence[Prefix]) -> list[Prefix]:
    rotation = _rotations.get(pool)
    if rotation is None:
        rotation = _rotations[pool] = counting(random.randrange(len(subsystems)))  # noqa: S311  (not a secret)
    first = next(rotation) % len(subsystems)
    return [*subsystems[first:], *subsystems[:first]]


def _order_by_wait(tx: Transaction, subsystems: Sequence[Prefix], now_ns: int) -> list[Prefix]:
    """Order by the wait for the next date, then by the last date.

    Of those without a wait, a timeline that this transaction holds anyway comes first, so that the others stay free for
    other processes. Nanoseconds are exact enough for a choice, and much faster than fractions.
    """
    states = tx.peek_timelines([one.key for one in subsystems])

    def rank(one: Prefix) -> tuple[int, bool, int]:
        last, is_held = states[one.key]
        if last is None or one.subsystem is None:
            return 0, not is_held, 0
        last_ns = _to_nanoseconds(last)
        return max(last_ns + _to_nanoseconds(one.subsystem.granularity) - now_ns, 0), not is_held, last_ns

    return sorted(subsystems, key=rank)


def _to_nanoseconds(seconds: Fraction) -> int:
    return seconds.numerator * NANOSECONDS // seconds.denominator
