"""The use cases of a registry, one function each.

Permissions are checked here, whatever API the request came through.
"""

from perdure.registry.bootstrap import NewRegistry, create_registry, reopen
from perdure.registry.bulk_changes import (
    BulkChange,
    BulkRequest,
    BulkStep,
    NameSource,
    QuerySource,
    find_bulk_change,
    find_unfinished,
    list_bulk_changes,
    run_bulk_change,
    undo_bulk_change,
)
from perdure.registry.editing import (
    add_values,
    bind,
    reinstate,
    remove_values,
    update,
    withdraw,
)
from perdure.registry.entities import Agent, HandleIdentity
from perdure.registry.exports import export
from perdure.registry.handles import (
    HandleView,
    HandleWriteResult,
    KeyMaterial,
    add_handle_user,
    delete_handle,
    delete_values,
    find_handles,
    find_key_material,
    home_prefix,
    iterate_handles,
    list_handle_users,
    list_handles,
    list_prefixes,
    mint_handle,
    put_handle,
    put_values,
    read_handle,
    remove_handle_user,
    unhome_prefix,
)
from perdure.registry.idempotency import IdempotentMint, mint_once
from perdure.registry.identifier_query import IdentifierQuery
from perdure.registry.importing import ImportOptions, Tally, forget_checkpoint, import_entries, read_checkpoint
from perdure.registry.integrity import verify
from perdure.registry.listing import IdentifierPage, list_identifiers, select_identifiers
from perdure.registry.minters import MintedIdentifier
from perdure.registry.minting import mint, mint_in_chunks
from perdure.registry.new_record import Statement
from perdure.registry.permissions.agent_list import AgentEntry, list_agents, list_keys, show_agent
from perdure.registry.permissions.agents import RenamedAgent, add_agent, rename_agent
from perdure.registry.permissions.grants import grant, revoke
from perdure.registry.permissions.keys import authenticate, new_key, recover_access, revoke_key
from perdure.registry.permissions.retirement import RetiredAgent, reinstate_agent, retire_agent
from perdure.registry.persons import (
    Curation,
    Person,
    lift_restriction,
    merge,
    observe,
    reconstruct,
    redact,
    restrict,
    revise_reconstruction,
    split,
    undo_merge,
    undo_split,
)
from perdure.registry.pools import add_pool, change_pool, find_pool, list_pools, remove_pool
from perdure.registry.prefixes.prefixes import (
    add_prefix,
    change_prefix,
    derive_prefix,
    reset_timeline,
)
from perdure.registry.prefixes.subsystem_address import AddressChange
from perdure.registry.prefixes.subsystems import add_subsystem
from perdure.registry.query import find_by_value, history, resolve, search, show
from perdure.registry.redaction import redact_values
from perdure.registry.registry import Registry
from perdure.registry.row_answers import RowAnswers, RowOutcome, TableAnswers, begin_table_again, find_table
from perdure.registry.row_minting import MintRow, mint_rows
from perdure.registry.settings import Settings
from perdure.registry.statistics import add_resolutions, name_statistics, prefix_statistics
from perdure.registry.transfers import names_under, transfer_identifiers, transfer_prefix
from perdure.registry.version_diff import diff

__all__ = [
    "AddressChange",
    "Agent",
    "AgentEntry",
    "BulkChange",
    "BulkRequest",
    "BulkStep",
    "Curation",
    "HandleIdentity",
    "HandleView",
    "HandleWriteResult",
    "IdempotentMint",
    "IdentifierPage",
    "IdentifierQuery",
    "ImportOptions",
    "KeyMaterial",
    "MintRow",
    "MintedIdentifier",
    "NameSource",
    "NewRegistry",
    "Person",
    "QuerySource",
    "Registry",
    "RenamedAgent",
    "RetiredAgent",
    "RowAnswers",
    "RowOutcome",
    "Settings",
    "Statement",
    "TableAnswers",
    "Tally",
    "add_agent",
    "add_handle_user",
    "add_pool",
    "add_prefix",
    "add_resolutions",
    "add_subsystem",
    "add_values",
    "authenticate",
    "begin_table_again",
    "bind",
    "change_pool",
    "change_prefix",
    "create_registry",
    "delete_handle",
    "delete_values",
    "derive_prefix",
    "diff",
    "export",
    "find_bulk_change",
    "find_by_value",
    "find_handles",
    "find_key_material",
    "find_pool",
    "find_table",
    "find_unfinished",
    "forget_checkpoint",
    "grant",
    "history",
    "home_prefix",
    "import_entries",
    "iterate_handles",
    "lift_restriction",
    "list_agents",
    "list_bulk_changes",
    "list_handle_users",
    "list_handles",
    "list_identifiers",
    "list_keys",
    "list_pools",
    "list_prefixes",
    "merge",
    "mint",
    "mint_handle",
    "mint_in_chunks",
    "mint_once",
    "mint_rows",
    "name_statistics",
    "names_under",
    "new_key",
    "observe",
    "prefix_statistics",
    "put_handle",
    "put_values",
    "read_checkpoint",
    "read_handle",
    "reconstruct",
    "recover_access",
    "redact",
    "redact_values",
    "reinstate",
    "reinstate_agent",
    "remove_handle_user",
    "remove_pool",
    "remove_values",
    "rename_agent",
    "reopen",
    "reset_timeline",
    "resolve",
    "restrict",
    "retire_agent",
    "revise_reconstruction",
    "revoke",
    "revoke_key",
    "run_bulk_change",
    "search",
    "select_identifiers",
    "show",
    "show_agent",
    "split",
    "transfer_identifiers",
    "transfer_prefix",
    "undo_bulk_change",
    "undo_merge",
    "undo_split",
    "unhome_prefix",
    "update",
    "verify",
    "withdraw",
]
