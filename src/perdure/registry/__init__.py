"""What one can do. Each use case is one function; authority is checked here, whatever door the request came through."""

from perdure.registry.agents import add_agent, authenticate, grant, new_key, recover, revoke, revoke_key
from perdure.registry.editing import (
    add_values,
    bind,
    describe,
    reinstate,
    remove_values,
    set_target,
    set_values,
    withdraw,
)
from perdure.registry.entities import Agent
from perdure.registry.founding import Founded, found, reopen
from perdure.registry.looking import diff, find_by_value, history, resolve, search, show
from perdure.registry.minting import Minted, mint, mint_in_chunks
from perdure.registry.persons import Person, observe, reconstruct, revise_reconstruction, uuid_of
from perdure.registry.prefixes import add_prefix, add_subsystem, change_prefix, derive_prefix, reset_timeline
from perdure.registry.registry import Registry
from perdure.registry.settings import Settings
from perdure.registry.statement import Statement
from perdure.registry.transferring import names_under, transfer_identifiers, transfer_prefix

__all__ = [
    "Agent",
    "Founded",
    "Minted",
    "Person",
    "Registry",
    "Settings",
    "Statement",
    "add_agent",
    "add_prefix",
    "add_subsystem",
    "add_values",
    "authenticate",
    "bind",
    "change_prefix",
    "derive_prefix",
    "describe",
    "diff",
    "find_by_value",
    "found",
    "grant",
    "history",
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
    "set_target",
    "set_values",
    "show",
    "transfer_identifiers",
    "transfer_prefix",
    "uuid_of",
    "withdraw",
]
