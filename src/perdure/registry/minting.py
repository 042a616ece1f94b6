"""Minting of names under a Handle prefix or an IBI subsystem. No name is ever issued twice.

The last date, the name, the record and its first revision are one transaction. It is acknowledged when it is durable
*and* the date has come: a crash in between wastes a date and never repeats one.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from perdure.errors import InvalidInput, NoSuchPrefix, OutOfRange
from perdure.records.value import Value, with_stated_ttl
from perdure.registry import revisions
from perdure.registry.entities import Agent, Pool, Prefix
from perdure.registry.minters import IssuedBatch, MintedIdentifier, RecordTemplate, issue_names
from perdure.registry.name_keys import require_prefix
from perdure.registry.new_record import Statement, build_values, first_record, refuse_metadata
from perdure.registry.permissions.hs_admin import with_administrators
from perdure.registry.permissions.permissions import require_key_permission, require_permission
from perdure.registry.pools.pool_minting import issue_from_pool, permitted_subsystems, selection_note
from perdure.registry.pools.pools import find_pool_named
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

MOST_NAMES: Final = 1_000_000  # names in one call
_CHUNK: Final = 500  # names in one transaction
EMPTY_STATEMENT: Final = Statement()


class MintTarget(NamedTuple):
    """The prefix under which a request mints, or the subsystems of a pool of which one is chosen."""

    prefixes: list[Prefix]
    pool: Pool | None = None


def find_mint_target(reader: Reader, by: Agent, text: str, at: str) -> MintTarget:
    """Return where an agent mints who names a prefix or a pool. Raise NotAuthorised if the agent may not mint there."""
    try:
        namespace = require_prefix(reader, text)
    except NoSuchPrefix:
        pool = find_pool_named(reader, text)
        if pool is None:
            raise
        return MintTarget(permitted_subsystems(reader, by, pool, at), pool)
    require_permission(reader, by, "mint", namespace.key, at)
    return MintTarget([namespace])


class MintRequest(NamedTuple):
    """A request for names, checked as far as that is possible before a transaction."""

    registry: Registry
    by: Agent
    prefix: str
    statement: Statement
    values: tuple[Value, ...]
    patience: Fraction | None = None  # how long the caller can wait for a date, in seconds; None: no limit
    waits_a_step: bool = False  # whether the caller waits for one step of the granularity, if that is longer
    steps: int = 1  # of the granularity, by which the longest wait of the settings is extended
    item_key: str | None = None
    full_queues: Collection[str] = ()  # the keys of subsystems of a pool that are passed over
    labels_only: bool = False  # whether the caller mints IBI labels, and no other names

    def find_target(self, tx: Transaction) -> tuple[MintTarget, str]:
        """Return where to mint, and the current time. Raise NotAuthorised if the agent may not mint there."""
        at = self.registry.current_time()
        target = find_mint_target(tx, self.by, self.prefix, at)
        if target.pool is None:
            (namespace,) = target.prefixes
            if self.labels_only and namespace.scheme != "ibi":
                reason = f"{namespace.name} is not an IBI subsystem or a pool"
                raise InvalidInput("mint", "prefix", f"{reason}: mint its names with POST /api/v1/identifiers")
            if self.item_key is not None:
                raise InvalidInput("mint", "item_key", f"{namespace.name} is not a pool: only a pool has item keys")
            require_key_permission(tx, self.by, self.values, namespace.key, at)
        return target, at

    def issue(self, tx: Transaction, target: MintTarget, at: str, count: int, suffixes: Sequence[str]) -> IssuedBatch:
        """Issue `count` names, or as many as fit into the time that one transaction may take from a timeline."""
        pool = target.pool
        if pool is None:
            return self._issue_under(tx, target.prefixes[0], at, count, suffixes)

        def issue(subsystem: Prefix, count: int) -> IssuedBatch:
            require_key_permission(tx, self.by, self.values, subsystem.key, at)
            return self._issue_under(tx, subsystem, at, count, suffixes, selection_note(pool))

        return issue_from_pool(
            self.registry,
            tx,
            pool,
            target.prefixes,
            count,
            issue,
            item_key=self.item_key,
            full_queues=self.full_queues,
        )

    def _issue_under(
        self, tx: Transaction, namespace: Prefix, at: str, count: int, suffixes: Sequence[str], note: str | None = None
    ) -> IssuedBatch:
        limits = self.registry.settings.limits
        values = tuple(with_stated_ttl(self.values, namespace.ttl))
        record = first_record(tx, self.by, self.statement, values, limits, at)
        first = RecordTemplate(record, revisions.encode_within_limit(record, limits.record_bytes), self.by, at, note)
        return issue_names(
            self.registry, tx, namespace, [first] * count, suffixes, self._patience_for(namespace), self.steps
        )

    def _patience_for(self, namespace: Prefix) -> Fraction | None:
        if self.patience is None or namespace.subsystem is None or not self.waits_a_step:
            return self.patience
        return max(self.patience, namespace.subsystem.granularity)


def prepare_mint(
    registry: Registry,
    by: Agent,
    prefix: str,
    statement: Statement,
    patience: Fraction | None = None,
    *,
    waits_a_step: bool = False,
    steps: int = 1,
    item_key: str | None = None,
    full_queues: Collection[str] = (),
    labels_only: bool = False,
) -> MintRequest:
    """Check the statement and the clock before a transaction is opened."""
    registry.check_clock()
    refuse_metadata(statement.values, registry.settings.type_prefix)
    now = registry.current_time()
    values = build_values(statement, registry.settings.limits, now)
    if values:
        values = tuple(with_administrators(by, values, now))
    return MintRequest(
        registry, by, prefix, statement, values, patience, waits_a_step, steps, item_key, full_queues, labels_only
    )


async def mint(
    registry: Registry,
    by: Agent,
    prefix: str,
    count: int = 1,
    *,
    statement: Statement = EMPTY_STATEMENT,
    suffixes: Sequence[str] = (),
    item_key: str | None = None,
) -> list[MintedIdentifier]:
    """Mint new names under a prefix, or under a subsystem that a pool chooses.

    `suffixes` are for prefixes whose suffixes are chosen, and `item_key` is for pools that choose by its hash.
    """
    chunks = mint_in_chunks(registry, by, prefix, count, statement=statement, suffixes=suffixes, item_key=item_key)
    return [one async for chunk in chunks for one in chunk]


def check_count(count: int) -> None:
    """Raise OutOfRange if one call cannot mint so many names."""
    if not 1 <= count <= MOST_NAMES:
        raise OutOfRange("mint", "count", f"the count must be between 1 and {MOST_NAMES}, not {count}")


async def mint_in_chunks(
    registry: Registry,
    by: Agent,
    prefix: str,
    count: int = 1,
    *,
    statement: Statement = EMPTY_STATEMENT,
    suffixes: Sequence[str] = (),
    item_key: str | None = None,
) -> AsyncIterator[list[MintedIdentifier]]:
    """Mint new names and yield them as they become available: each chunk is durable, and its dates have come."""
    if isinstance(suffixes, str):
        raise InvalidInput("mint", "suffix", "the suffixes must be a list, even if there is only one")
    if suffixes:
        count = len(suffixes)
    check_count(count)
    request = prepare_mint(registry, by, prefix, statement, item_key=item_key)
    done = 0
    while done < count:
        size = min(_CHUNK, count - done)
        chunk_suffixes = suffixes[done : done + size]

        def work(tx: Transaction, size: int = size, chunk_suffixes: Sequence[str] = chunk_suffixes) -> IssuedBatch:
            return request.issue(tx, *request.find_target(tx), size, chunk_suffixes)

        issued = await registry.store.write(work)
        if issued.due is not None:
            await registry.clock.wait_until(issued.due)
        done += len(issued.minted)
        yield issued.minted
