"""The use cases of commands that also work with `--server`: each is a function of the registry, and its remote form."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from fractions import Fraction
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from perdure import registry as local
from perdure.cli import item_deposit, item_overview
from perdure.cli.any_registry import AnyRegistry
from perdure.cli.remote import (
    agents,
    bulk_changes,
    identifiers,
    import_export,
    item_documents,
    item_downloads,
    peers,
    person_curation,
    persons,
    pools,
    prefixes,
    queries,
    remote_deposit,
    table_minting,
)
from perdure.cli.remote.remote_registry import RemoteRegistry
from perdure.collections import retrieval
from perdure.federation import registration
from perdure.names import handle
from perdure.registry import IdentifierQuery
from perdure.registry import persons as local_persons
from perdure.registry.entities import Agent, Prefix, counter_key
from perdure.registry.listing import ListedIdentifier, describe_identifier
from perdure.registry.name_keys import require_prefix
from perdure.registry.peers import peers as local_peers
from perdure.registry.permissions.retirement import Responsibilities
from perdure.registry.permissions.retirement import count_responsibilities as count_responsibilities_of
from perdure.registry.redaction import has_traces
from perdure.registry.registry import Registry
from perdure.registry.row_answers import MintedTable
from perdure.registry.statistics import NameStatistics, PrefixStatistics
from perdure.registry.store_interface import Reader

P = ParamSpec("P")
R = TypeVar("R")

PAIRS: Final[list[tuple[Callable[..., Any], Callable[..., Any]]]] = []


def pair(
    on_folder: Callable[Concatenate[Registry, P], R], on_server: Callable[Concatenate[RemoteRegistry, P], R]
) -> Callable[Concatenate[AnyRegistry, P], R]:
    """Return the function that calls one of two, which have the same parameters, by the kind of the registry."""

    def call(registry: AnyRegistry, /, *arguments: P.args, **options: P.kwargs) -> R:
        if isinstance(registry, RemoteRegistry):
            return on_server(registry, *arguments, **options)
        return on_folder(registry, *arguments, **options)

    PAIRS.append((on_folder, on_server))
    return call


async def _list_prefixes(registry: Registry) -> list[Prefix]:
    return await registry.store.read(lambda reader: reader.prefixes())


async def _show_prefix(registry: Registry, name: str) -> tuple[Prefix, Fraction | None]:
    """Return a prefix, and the date of its newest name or its last number."""

    def look_up(reader: Reader) -> tuple[Prefix, Fraction | None]:
        known = require_prefix(reader, name)
        return known, reader.timeline(counter_key(known) if known.minter == "sequential" else known.key)

    return await registry.store.read(look_up)


async def _count_resolutions(
    registry: Registry, by: Agent, name: str, *, since: str, until: str, monthly: bool
) -> NameStatistics | PrefixStatistics:
    """Count the resolutions under a prefix or, if there is no such prefix, of a name."""
    if await registry.store.read(lambda reader: reader.prefix(handle.fold(name))) is not None:
        return await local.prefix_statistics(registry, by, name, since=since, until=until, monthly=monthly)
    return await local.name_statistics(registry, by, name, since=since, until=until, monthly=monthly)


def _mint_table_rows(
    registry: Registry,
    by: Agent,
    prefix: Prefix,
    rows: Iterable[local.MintRow],
    *,
    table: str | None,
    layout: bytes,
    dry_run: bool = False,
    note: str | None = None,
) -> AsyncGenerator[list[local.RowOutcome], None]:
    """Mint a name for each row of a table. The rows that were minted before get the same names again."""
    answers = None if table is None else local.TableAnswers(by, table, layout)
    return local.mint_rows(registry, by, prefix.name, rows, answers=answers, dry_run=dry_run, note=note)


async def _find_table(registry: Registry, by: Agent, table: str) -> MintedTable | None:
    return await registry.store.read(lambda reader: local.find_table(reader, by, table))


async def _has_no_traces(remote: RemoteRegistry) -> bool:
    """Return False: the files of a remote registry are the task of its operator."""
    return False


async def _count_identifiers(registry: Registry) -> int | None:
    return (await registry.store.read(lambda reader: reader.counts()))["identifiers"]


async def _count_unknown(remote: RemoteRegistry) -> int | None:
    return None


async def _list_agents(registry: Registry, by: Agent | None, keys: bool) -> list[agents.AgentEntry]:
    """List all agents with their grants and keys. Who can read the files of the registry may see all of them."""

    def look_up(reader: Reader) -> list[agents.AgentEntry]:
        return [(agent, reader.grants(agent.id), reader.keys(agent.id)) for agent in reader.agents()]

    return await registry.store.read(look_up)


async def _count_responsibilities(registry: Registry, party: str) -> Responsibilities:
    return await count_responsibilities_of(registry, party)


async def _select_listed(
    registry: Registry, by: Agent, query: IdentifierQuery
) -> AsyncIterator[list[ListedIdentifier]]:
    """Yield the identifiers that a query selects, as a list shows them."""
    async for found in local.select_identifiers(registry, by, query):
        yield [describe_identifier(stored) for stored in found]


# Identifiers
mint_in_chunks = pair(local.mint_in_chunks, identifiers.mint_in_chunks)
mint_table_rows = pair(_mint_table_rows, table_minting.mint_table_rows)
find_table = pair(_find_table, table_minting.find_table)
begin_table_again = pair(local.begin_table_again, table_minting.begin_table_again)
bind = pair(local.bind, identifiers.bind)
update = pair(local.update, identifiers.update)
add_values = pair(local.add_values, identifiers.add_values)
remove_values = pair(local.remove_values, identifiers.remove_values)
redact_values = pair(local.redact_values, identifiers.redact_values)
withdraw = pair(local.withdraw, identifiers.withdraw)
reinstate = pair(local.reinstate, identifiers.reinstate)
transfer_identifiers = pair(local.transfer_identifiers, identifiers.transfer_identifiers)
transfer_prefix = pair(local.transfer_prefix, identifiers.transfer_prefix)
names_under = pair(local.names_under, identifiers.names_under)
find_traces = pair(has_traces, _has_no_traces)

# Queries
show = pair(local.show, queries.show)
history = pair(local.history, queries.history)
diff = pair(local.diff, queries.diff)
search = pair(local.search, queries.search)
find_by_value = pair(local.find_by_value, queries.find_by_value)
select_listed = pair(_select_listed, queries.select_listed)
resolve = pair(local.resolve, queries.resolve)
count_resolutions = pair(_count_resolutions, queries.count_resolutions)

# Prefixes
list_prefixes = pair(_list_prefixes, prefixes.list_prefixes)
show_prefix = pair(_show_prefix, prefixes.show_prefix)
add_prefix = pair(local.add_prefix, prefixes.add_prefix)
add_subsystem = pair(local.add_subsystem, prefixes.add_subsystem)
derive_prefix = pair(local.derive_prefix, prefixes.derive_prefix)
change_prefix = pair(local.change_prefix, prefixes.change_prefix)

# Other servers
list_peers = pair(local_peers.list_peers, peers.list_peers)
show_peer = pair(local_peers.show_peer, peers.show_peer)
add_peer = pair(registration.add_peer, peers.add_peer)
change_peer = pair(registration.change_peer, peers.change_peer)
remove_peer = pair(local_peers.remove_peer, peers.remove_peer)
check_peer = pair(registration.check_peer, peers.check_peer)

# Pools
list_pools = pair(local.list_pools, pools.list_pools)
find_pool = pair(local.find_pool, pools.find_pool)
add_pool = pair(local.add_pool, pools.add_pool)
change_pool = pair(local.change_pool, pools.change_pool)
remove_pool = pair(local.remove_pool, pools.remove_pool)

# Persons
observe = pair(local.observe, persons.observe)
observe_many = pair(local_persons.observe_many, persons.observe_many)
reconstruct = pair(local.reconstruct, persons.reconstruct)
revise_reconstruction = pair(local.revise_reconstruction, person_curation.revise_reconstruction)
show_person = pair(local_persons.show_person, persons.show_person)
list_person_versions = pair(local_persons.list_person_versions, persons.list_person_versions)
list_public_persons = pair(local_persons.list_public_persons, persons.list_public_persons)
list_dropped = pair(local_persons.list_dropped, persons.list_dropped)
find_by_name = pair(local_persons.find_by_name, persons.find_by_name)
find_by_link = pair(local_persons.find_by_link, persons.find_by_link)
merge = pair(local.merge, person_curation.merge)
split = pair(local.split, person_curation.split)
undo_merge = pair(local.undo_merge, person_curation.undo_merge)
undo_split = pair(local.undo_split, person_curation.undo_split)
restrict = pair(local.restrict, person_curation.restrict)
lift_restriction = pair(local.lift_restriction, person_curation.lift_restriction)
redact = pair(local.redact, person_curation.redact)

# Agents
list_agents = pair(_list_agents, agents.list_agents)
add_agent = pair(local.add_agent, agents.add_agent)
rename_agent = pair(local.rename_agent, agents.rename_agent)
retire_agent = pair(local.retire_agent, agents.retire_agent)
reinstate_agent = pair(local.reinstate_agent, agents.reinstate_agent)
count_responsibilities = pair(_count_responsibilities, agents.count_responsibilities)
new_key = pair(local.new_key, agents.new_key)
revoke_key = pair(local.revoke_key, agents.revoke_key)
grant = pair(local.grant, agents.grant)
revoke = pair(local.revoke, agents.revoke)

# Bulk changes
run_bulk_change = pair(local.run_bulk_change, bulk_changes.run_bulk_change)
undo_bulk_change = pair(local.undo_bulk_change, bulk_changes.undo_bulk_change)
list_bulk_changes = pair(local.list_bulk_changes, bulk_changes.list_bulk_changes)
find_bulk_change = pair(local.find_bulk_change, bulk_changes.find_bulk_change)
find_unfinished = pair(local.find_unfinished, bulk_changes.find_unfinished)

# Stored items
list_collections = pair(item_overview.list_collections, item_documents.list_collections)
list_items = pair(item_overview.list_items, item_documents.list_items)
show_item = pair(item_overview.show_item, item_documents.show_item)
put_files = pair(item_deposit.put_files, remote_deposit.put_files)
get_item = pair(retrieval.get_item, item_downloads.get_item)

# Files
import_entries = pair(local.import_entries, import_export.import_entries)
read_checkpoint = pair(local.read_checkpoint, import_export.read_checkpoint)
forget_checkpoint = pair(local.forget_checkpoint, import_export.forget_checkpoint)
export = pair(local.export, import_export.export)
count_identifiers = pair(_count_identifiers, _count_unknown)
