"""What one can do. Each use case is one function; authority is checked here, whatever door the request came through."""

from perdure.registry.agents import add_agent, authenticate, grant, new_key, recover, revoke, revoke_key
from perdure.registry.editing import (
    add_values,
    bind,
    reinstate,
    remove_values,
    update,
    withdraw,
)
from perdure.registry.entities import Agent, HandleIdentity
from perdure.registry.exporting import export
from perdure.registry.founding import Founded, found, reopen
from perdure.registry.handles import (
    HandleView,
    HandleWritten,
    KeyMaterial,
    delete_handle,
    delete_values,
    find_handles,
    home_prefix,
    key_material,
    list_handles,
    list_prefixes,
    mint_handle,
    put_handle,
    put_values,
    read_handle,
    unhome_prefix,
)
from perdure.registry.importing import Options, Tally, forget_checkpoint, import_entries, imported_so_far
from perdure.registry.listing import Page, list_identifiers
from perdure.registry.looking import diff, find_by_value, history, resolve, search, show
from perdure.registry.minting import Minted, mint, mint_in_chunks
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
    uuid_of,
)
from perdure.registry.prefixes import add_prefix, add_subsystem, change_prefix, derive_prefix, reset_timeline
from perdure.registry.redaction import redact_values
from perdure.registry.registry import Registry
from perdure.registry.repeating import Once, mint_once
from perdure.registry.settings import Settings
from perdure.registry.statement import Statement
from perdure.registry.transferring import names_under, transfer_identifiers, transfer_prefix
from perdure.registry.verifying import verify

__all__ = [
    "Agent",
    "Curation",
    "Founded",
    "HandleIdentity",
    "HandleView",
    "HandleWritten",
    "KeyMaterial",
    "Minted",
    "Once",
    "Options",
    "Page",
    "Person",
    "Registry",
    "Settings",
    "Statement",
    "Tally",
    "add_agent",
    "add_prefix",
    "add_subsystem",
    "add_values",
    "authenticate",
    "bind",
    "change_prefix",
    "delete_handle",
    "delete_values",
    "derive_prefix",
    "diff",
    "export",
    "find_by_value",
    "find_handles",
    "forget_checkpoint",
    "found",
    "grant",
    "history",
    "home_prefix",
    "import_entries",
    "imported_so_far",
    "key_material",
    "lift_restriction",
    "list_handles",
    "list_identifiers",
    "list_prefixes",
    "merge",
    "mint",
    "mint_handle",
    "mint_in_chunks",
    "mint_once",
    "names_under",
    "new_key",
    "observe",
    "put_handle",
    "put_values",
    "read_handle",
    "reconstruct",
    "recover",
    "redact",
    "redact_values",
    "reinstate",
    "remove_values",
    "reopen",
    "reset_timeline",
    "resolve",
    "restrict",
    "revise_reconstruction",
    "revoke",
    "revoke_key",
    "search",
    "show",
    "split",
    "transfer_identifiers",
    "transfer_prefix",
    "undo_merge",
    "undo_split",
    "unhome_prefix",
    "update",
    "uuid_of",
    "verify",
    "withdraw",
]
