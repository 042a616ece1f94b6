"""Minting from a pool: the first subsystem in the order of the policy that can issue the names in time."""

from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction

from perdure.errors import ClockBehind, NotAuthorised
from perdure.registry.entities import Agent, Pool, Prefix
from perdure.registry.minters import IssuedBatch, MintedIdentifier
from perdure.registry.permissions.permissions import is_allowed
from perdure.registry.pools.subsystem_order import order_subsystems
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

Issue = Callable[[Prefix, int], IssuedBatch]


def permitted_subsystems(reader: Reader, by: Agent, pool: Pool, at: str) -> list[Prefix]:
    """Return the subsystems of a pool under which the agent may mint. Raise NotAuthorised if there is none."""
    found = (reader.prefix(key) for key in pool.members)
    permitted = [one for one in found if one is not None and is_allowed(reader, by, "mint", one.key, at)]
    if not permitted:
        raise NotAuthorised(by.id, "mint", pool.members[0])
    return permitted


def issue_from_pool(
    registry: Registry,
    tx: Transaction,
    pool: Pool,
    subsystems: Sequence[Prefix],
    count: int,
    issue: Issue,
    *,
    item_key: str | None,
    full_queues: Collection[str],
) -> IssuedBatch:
    """Issue the names of a request under the subsystem that the policy chooses.

    Several names are spread over the subsystems, in equal shares; by hash, all have the same item and the same
    subsystem. A timeline that another process holds is tried after the free ones, so that requests do not queue behind
    one timeline. Fewer names are issued if the timelines are too far ahead for more.
    """
    ordered = order_subsystems(tx, pool, subsystems, registry.clock.now_ns(), item_key, full_queues)
    is_fixed = pool.policy == "hash"
    minted: list[MintedIdentifier] = []
    dues: list[Fraction] = []
    timelines: list[str] = []
    behind: list[ClockBehind] = []
    remaining = ordered if is_fixed else _free_first(tx, ordered)
    for left, one in zip(range(len(ordered), 0, -1), remaining, strict=False):
        missing = count - len(minted)
        try:
            batch = issue(one, missing if is_fixed else -(-missing // left))
        except ClockBehind as problem:  # nothing was written
            behind.append(problem)
            continue
        minted += batch.minted
        timelines += batch.timelines
        dues += [] if batch.due is None else [batch.due]
        if is_fixed or len(minted) == count:
            break
    if not minted:
        raise min(behind, key=lambda problem: problem.wait)
    return IssuedBatch(minted, max(dues, default=None), tuple(timelines))


def _free_first(tx: Transaction, ordered: Sequence[Prefix]) -> Iterator[Prefix]:
    """Yield the subsystems whose timelines are free, each locked now; then those that another process held."""
    busy: list[Prefix] = []
    for one in ordered:
        if tx.try_timeline(one.key):
            yield one
        else:
            busy.append(one)
    yield from busy


def selection_note(pool: Pool) -> str:
    """Return the note of the first revision: how the subsystem of a name was chosen."""
    return f"subsystem chosen from the pool {pool.name} by {pool.policy}"
