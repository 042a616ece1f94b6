"""`perdure agent`: people and programs, with their keys and permissions."""

import asyncio
from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer

from perdure.cli import agent_quota
from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_anonymous, run_as_agent
from perdure.cli.help import CommandGroup
from perdure.cli.registry_session import Folder, Json, find_folder, print_result
from perdure.cli.server_option import chosen_server
from perdure.cli.terminal import escape_control, print_table, to_json
from perdure.folder.registry_folder import open_registry
from perdure.registry import recover_access
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY, Action, Agent, Grant, Key
from perdure.registry.permissions.retirement import Responsibilities, RetiredAgent

app = CommandGroup(help="Manage agents (people and programs): their keys and permissions.")

EXAMPLES = """
**Examples**

- `perdure agent add maria --name "Maria Silva" --identifier https://orcid.org/0000-0002-1825-0097`
- `perdure agent grant maria 12345 mint edit`
- `perdure agent key maria --expires 2027-12-31T00:00:00Z`
"""


class Kind(StrEnum):
    person = "person"
    program = "program"


class ActionName(StrEnum):
    mint = "mint"
    edit = "edit"
    withdraw = "withdraw"
    transfer = "transfer"
    derive = "derive"
    imports = "import"
    admin = "admin"


GRANT_EXAMPLES = """
**Examples**

- `perdure agent grant maria 12345 mint edit withdraw`
- `perdure agent grant loader '*' import --until 2027-01-01T00:00:00Z`
"""

RENAME_EXAMPLES = """
**Examples**

- `perdure agent rename maria --name "Maria Costa"`
- `perdure agent rename admin --name "Library of the University"`
"""

RETIRE_EXAMPLES = """
**Examples**

- `perdure agent retire maria --reason "left in May 2027"`
- then, for what she was responsible for: `perdure transfer jan --under 12345`
"""

_EXPIRES = "Expiry, ISO 8601 with a time zone. Default: the expiry of your own key or grant."

AgentId = Annotated[str, typer.Argument(metavar="AGENT", help="Short name of the agent, such as maria.")]
Scope = Annotated[
    str, typer.Argument(metavar="PREFIX", help="Prefix to which the permission applies, or * for the whole registry.")
]


@app.command("add", epilog=EXAMPLES)
def add(
    agent: AgentId,
    name: Annotated[str, typer.Option(metavar="NAME", help="Full name.")],
    identifier: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="hdl: or https: identifier that resolves to the agent. Default: a new one is minted."
        ),
    ] = None,
    kind: Annotated[Kind, typer.Option(metavar="KIND", help="person or program.")] = Kind.person,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Add an agent. A new agent has no permissions and no keys."""

    async def work(registry: AnyRegistry, by: Agent) -> Agent:
        return await use.add_agent(registry, by, agent, name, identifier=identifier, kind=kind.value)

    added = run_as_agent(folder, work)
    print_result(
        added,
        json,
        f"Added agent {added.id} ({added.identifier}). Next:  perdure agent grant {added.id} PREFIX mint edit",
    )


@app.command(
    "key", epilog="**Examples**\n\n- `perdure agent key maria`\n- `perdure agent key maria --revoke 0f3a9c2d11ee`"
)
def key(
    agent: AgentId,
    expires: Annotated[str | None, typer.Option(metavar="DATE", help=_EXPIRES)] = None,
    label: Annotated[str, typer.Option(metavar="TEXT", help="Label: what the key is used for.")] = "",
    revoke: Annotated[
        str | None, typer.Option(metavar="KEY-ID", help="Revoke this key instead of creating a new one.")
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Create a new key for an agent. Its other keys stay valid.

    To replace a key without an interruption: create a new one, use it everywhere, then --revoke the old one.
    """
    if revoke is not None:
        ended = run_as_agent(folder, lambda registry, by: use.revoke_key(registry, by, revoke, agent=agent))
        print_result(_key_fields(ended), json, f"Revoked key {ended.id} of {ended.agent}.")
        return
    new_key, token = run_as_agent(
        folder, lambda registry, by: use.new_key(registry, by, agent, expires=expires, label=label)
    )
    end = f" It expires at {new_key.expires}." if new_key.expires else ""
    text = f"{token}\nThis is key {new_key.id} of {agent}. It is shown only once.{end}"
    print_result(_key_fields(new_key) | {"key": token}, json, text)


@app.command("grant", epilog=GRANT_EXAMPLES)
def grant(
    agent: AgentId,
    prefix: Scope,
    actions: Annotated[list[ActionName], typer.Argument(metavar="ACTION", help=f"Permissions: {', '.join(ACTIONS)}.")],
    own: Annotated[
        bool,
        typer.Option(
            "--own", help="Only for identifiers of which the agent is the owner, or the creator if there is no owner."
        ),
    ] = False,
    until: Annotated[str | None, typer.Option(metavar="DATE", help=_EXPIRES)] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Grant permissions under a prefix to an agent."""

    async def work(registry: AnyRegistry, by: Agent) -> list[Grant]:
        return await use.grant(registry, by, agent, prefix, _to_actions(actions), own=own, until=until)

    grants = run_as_agent(folder, work)
    end = f" until {grants[0].until}" if grants and grants[0].until else ""
    limit = ", for own identifiers" if own else ""
    given = ", ".join(one.action for one in grants)
    print_result(grants, json, f"Granted to {agent} on {prefix}: {given}{limit}{end}")


@app.command("revoke", epilog="**Example**\n\n- `perdure agent revoke maria 12345`")
def revoke(
    agent: AgentId,
    prefix: Scope,
    actions: Annotated[
        list[ActionName] | None, typer.Argument(metavar="ACTION", help="Permissions to revoke. Default: all.")
    ] = None,
    folder: Folder = None,
) -> None:
    """Revoke permissions of an agent under a prefix."""
    taken = _to_actions(actions) if actions else ACTIONS
    count = run_as_agent(folder, lambda registry, by: use.revoke(registry, by, agent, prefix, taken))
    typer.echo(f"Revoked {_count(count, 'grant')} of {agent} on {prefix}.")


@app.command("list", epilog="**Example**\n\n- `perdure agent list --keys`")
def list_agents(
    keys: Annotated[
        bool, typer.Option("--keys", help="List their keys: ids and expiry. The keys themselves are never shown.")
    ] = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """List all agents and their permissions."""

    found = (
        run_anonymous(folder, lambda registry: use.list_agents(registry, None, keys))
        if chosen_server() is None  # who can read the files of a registry needs no key
        else run_as_agent(folder, lambda registry, by: use.list_agents(registry, by, keys))
    )
    if json:
        for agent, grants, its_keys in found:
            fields = msgspec.to_builtins(agent) | {"grants": msgspec.to_builtins(grants)}
            typer.echo(to_json(fields | ({"keys": [_key_fields(one) for one in its_keys]} if keys else {})))
        return
    if keys:
        key_rows = [(one.agent, one.id, _key_state(one), one.label) for _, _, its_keys in found for one in its_keys]
        print_table(("agent", "key", "state", "label"), key_rows, whole=("agent", "key"))
        return
    rows = [(agent.id, agent.name, agent.identifier, _format_state(agent, grants)) for agent, grants, _ in found]
    print_table(("agent", "name", "identifier", "permissions"), rows, whole=("agent", "identifier"))


@app.command("rename", epilog=RENAME_EXAMPLES)
def rename(
    agent: AgentId,
    name: Annotated[str, typer.Option(metavar="TEXT", help="New full name.")],
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Change the name of an agent. Its short name never changes.

    The record that describes the agent gets a new version with the new name. The old name stays in the history.
    """
    renamed, version = run_as_agent(folder, lambda registry, by: use.rename_agent(registry, by, agent, name))
    shown = "" if version is None else f" Its description {renamed.identifier} has the new name (version {version})."
    print_result(renamed, json, f"{renamed.id} is now called {escape_control(renamed.name).removesuffix('.')}.{shown}")


@app.command("retire", epilog=RETIRE_EXAMPLES)
def retire(
    agent: AgentId,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Reason, for the log.")],
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Retire an agent: all its keys and grants end at once.

    The agent stays in the history, and its short name is never used again. The identifiers for which it is responsible
    stay as they are: transfer them to another agent. The last administrator of the registry cannot be retired.
    """

    async def work(registry: AnyRegistry, by: Agent) -> tuple[RetiredAgent, Responsibilities]:
        retired = await use.retire_agent(registry, by, agent, reason)
        return retired, await use.count_responsibilities(registry, retired.agent.identifier)

    retired, left = run_as_agent(folder, work)
    ended = f"Retired {retired.agent.id}: {_count(retired.keys, 'key')} and {_count(retired.grants, 'grant')} revoked."
    fields = {"keys": retired.keys, "grants": retired.grants, "identifiers": left.found, "counted": left.is_complete}
    print_result(
        msgspec.to_builtins(retired.agent) | fields, json, "\n".join([ended, *_describe_responsibilities(left)])
    )


@app.command("reinstate", epilog="**Example**\n\n- `perdure agent reinstate maria`")
def reinstate(agent: AgentId, folder: Folder = None, json: Json = False) -> None:
    """Undo the retirement of an agent. Its old keys and grants do not come back."""
    active = run_as_agent(folder, lambda registry, by: use.reinstate_agent(registry, by, agent))
    text = f"Reinstated {active.id}, without keys and grants. Next:  perdure agent grant {active.id} PREFIX mint edit"
    print_result(active, json, text)


app.command("quota", epilog=agent_quota.EXAMPLES)(agent_quota.quota)


@app.command(
    "recover", epilog="**Example**\n\n- `perdure agent recover admin --reason 'all keys were lost in the move'`"
)
def recover(
    agent: AgentId,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Reason, for the log.")],
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Create a key with all permissions for an agent, after all keys were lost.

    This needs no key, but write access to the registry's files on this machine. It is recorded in the log.
    """

    async def session() -> tuple[Key, str]:
        async with open_registry(find_folder(folder)) as registry:
            return await recover_access(registry, agent, reason)

    new_key, token = asyncio.run(session())
    text = f"""{token}
This is key {new_key.id} of {agent}. It is shown only once. Next:  export PERDURE_KEY={token}
Old keys are still valid. List them with: perdure agent list --keys
Revoke one with: perdure agent key {agent} --revoke KEY-ID"""
    print_result(_key_fields(new_key) | {"key": token}, json, text)


def _describe_responsibilities(left: Responsibilities) -> list[str]:
    """Return what remains to be done for the identifiers of a retired agent."""
    how_to = "To transfer them:  perdure transfer AGENT NAME …   or   perdure transfer AGENT --under PREFIX"
    if left.found:
        at_least = "" if left.is_complete else "at least "
        text = f"It is still responsible for {at_least}{_count(left.found, 'identifier')}, such as {left.example}."
        return [escape_control(text), how_to]
    if left.is_complete:
        return ["It is responsible for no identifiers."]
    return [f"It may still be responsible for identifiers: not all of them were read. {how_to}"]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _to_actions(names: list[ActionName]) -> list[Action]:
    return [action for action in ACTIONS if action in {name.value for name in names}]


def _key_fields(key: Key) -> dict[str, Any]:
    return {name: getattr(key, name) for name in ("id", "agent", "created", "expires", "revoked", "label")}


def _key_state(key: Key) -> str:
    if key.revoked:
        return f"revoked {key.revoked[:10]}"
    return f"expires {key.expires}" if key.expires else "never expires"


def _format_state(agent: Agent, grants: list[Grant]) -> str:
    return f"retired {agent.retired[:10]}" if agent.retired else _format_grants(grants)


def _format_grants(grants: list[Grant]) -> str:
    by_scope: dict[str, list[str]] = {}
    for one in grants:
        note = (" own" if one.own else "") + (f" until {one.until}" if one.until else "")
        by_scope.setdefault(one.scope, []).append(one.action + note)
    lines = []
    for scope, actions in by_scope.items():
        what = "all" if actions == sorted(ACTIONS) else ", ".join(actions)
        lines.append(f"{'whole registry' if scope == WHOLE_REGISTRY else escape_control(scope)}: {what}")
    return "\n".join(lines) or "none"
