"""Minting of names under a Handle prefix or an IBI subsystem. No name is ever issued twice.

The last date, the name, the record and its first revision are one transaction. It is acknowledged when it is durable
*and* the date has come: a crash in between wastes a date and never repeats one.
"""

from collections.abc import AsyncIterator, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from perdure.errors import InvalidInput, OutOfRange
from perdure.records.value import Value, with_stated_ttl
from perdure.registry import revisions
from perdure.registry.entities import Agent, Prefix
from perdure.registry.minters import IssuedBatch, MintedIdentifier, RecordTemplate, issue_names
from perdure.registry.name_keys import require_prefix
from perdure.registry.new_record import Statement, build_values, first_record, refuse_metadata
from perdure.registry.permissions.hs_admin import with_administrators
from perdure.registry.permissions.permissions import require_key_permission, require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction

MOST_NAMES: Final = 1_000_000  # names in one call
_CHUNK: Final = 500  # names in one transaction
EMPTY_STATEMENT: Final = Statement()


class MintRequest(NamedTuple):
    """A request for names, checked as far as that is possible before a transaction."""

    registry: Registry
    by: Agent
    prefix: str
    statement: Statement
    values: tuple[Value, ...]
    patience: Fraction | None = None  # how long the caller can wait for a date, in seconds; None: no limit

    def require_permission(self, tx: Transaction) -> tuple[Prefix, str]:
        """Return the prefix and the current time. Raise NotAuthorised if the agent may not mint under the prefix."""
        at = self.registry.current_time()
        namespace = require_prefix(tx, self.prefix)
        require_permission(tx, self.by, "mint", namespace.key, at)
        require_key_permission(tx, self.by, self.values, namespace.key, at)
        return namespace, at

    def issue(self, tx: Transaction, namespace: Prefix, at: str, count: int, suffixes: Sequence[str]) -> IssuedBatch:
        """Issue `count` names, or as many as fit into the time that one transaction may take from a timeline."""
        limits = self.registry.settings.limits
        values = tuple(with_stated_ttl(self.values, namespace.ttl))
        record = first_record(tx, self.by, self.statement, values, limits, at)
        first = RecordTemplate(record, revisions.encode_within_limit(record, limits.record_bytes), self.by, at)
        return issue_names(self.registry, tx, namespace, [first] * count, suffixes, self.patience)


def prepare_mint(
    registry: Registry, by: Agent, prefix: str, statement: Statement, patience: Fraction | None = None
) -> MintRequest:
    """Check the statement and the clock before a transaction is opened."""
    registry.check_clock()
    refuse_metadata(statement.values, registry.settings.type_prefix)
    now = registry.current_time()
    values = build_values(statement, registry.settings.limits, now)
    if values:
        values = tuple(with_administrators(by, values, now))
    return MintRequest(registry, by, prefix, statement, values, patience)


async def mint(
    registry: Registry,
    by: Agent,
    prefix: str,
    count: int = 1,
    *,
    statement: Statement = EMPTY_STATEMENT,
    suffixes: Sequence[str] = (),
) -> list[MintedIdentifier]:
    """Mint new names under a prefix. `suffixes` are for prefixes whose suffixes are chosen."""
    return [
        one
        async for chunk in mint_in_chunks(registry, by, prefix, count, statement=statement, suffixes=suffixes)
        for one in chunk
    ]


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
) -> AsyncIterator[list[MintedIdentifier]]:
    """Mint new names and yield them as they become available: each chunk is durable, and its dates have come."""
    if isinstance(suffixes, str):
        raise InvalidInput("mint", "suffix", "the suffixes must be a list, even if there is only one")
    if suffixes:
        count = len(suffixes)
    check_count(count)
    request = prepare_mint(registry, by, prefix, statement)
    done = 0
    while done < count:
        size = min(_CHUNK, count - done)
        chunk_suffixes = suffixes[done : done + size]

        def work(tx: Transaction, size: int = size, chunk_suffixes: Sequence[str] = chunk_suffixes) -> IssuedBatch:
            return request.issue(tx, *request.require_permission(tx), size, chunk_suffixes)

        issued = await registry.store.write(work)
        if issued.due is not None:
            await registry.clock.wait_until(issued.due)
        done += len(issued.minted)
        yield issued.minted
