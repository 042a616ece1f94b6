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
from perdure.registry.entities import Agent
from perdure.registry.exporting import export
from perdure.registry.founding import Founded, found, reopen
from perdure.registry.importing import Options, Tally, forget_checkpoint, import_entries, imported_so_far
from perdure.registry.looking import diff, find_by_value, history, resolve, search, show
from perdure.registry.minting import Minted, mint, mint_in_chunks
from perdure.registry.persons import Person, observe, reconstruct, revise_reconstruction, uuid_of
from perdure.registry.prefixes import add_prefix, add_subsystem, change_prefix, derive_prefix, reset_timeline
from perdure.registry.registry import Registry
from perdure.registry.settings import Settings
from perdure.registry.statement import Statement
from perdure.registry.transferring import names_under, transfer_identifiers, transfer_prefix
from perdure.registry.verifying import verify

__all__ = [
    "Agent",
    "Founded",
    "Minted",
    "Options",
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
    "derive_prefix",
    "diff",
    "export",
    "find_by_value",
    "forget_checkpoint",
    "found",
    "grant",
    "history",
    "import_entries",
    "imported_so_far",
    "mint",
    "mint_in_chunks",
    "names_under",
    "new_key",
    "observe",
    "reconstruct",
    "recover",
    "reinstate",
    "remove_values",
    "reopen",
    "reset_timeline",
    "resolve",
    "revise_reconstruction",
    "revoke",
    "revoke_key",
    "search",
    "show",
    "transfer_identifiers",
    "transfer_prefix",
    "update",
    "uuid_of",
    "verify",
    "withdraw",
]
