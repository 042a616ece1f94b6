"""`perdure agent`: people and programs, their keys, and what they may do."""

import asyncio
from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer

from perdure import registry as use
from perdure.cli.screen import as_json, printable, show_table
from perdure.cli.session import Folder, Json, act, find_folder, read, say
from perdure.folder import open_registry
from perdure.registry.entities import ACTIONS, EVERYWHERE, Action, Agent, Grant, Key
from perdure.registry.registry import Registry

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="People and programs: their keys, and what they may do."
)

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

Id = Annotated[str, typer.Argument(metavar="AGENT", help="The short name of the agent.")]
Scope = Annotated[
    str, typer.Argument(metavar="PREFIX", help="The prefix that it is about, or * for the whole registry.")
]


@app.command("add", epilog=EXAMPLES)
def add(
    agent: Id,
    name: Annotated[str, typer.Option(help="The full name.")],
    identifier: Annotated[
        str | None,
        typer.Option(help="An hdl: or https: identifier that leads to who it is. Default: a new one is minted here."),
    ] = None,
    kind: Annotated[Kind, typer.Option(help="A person or a program.")] = Kind.person,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Somebody who may be given grants and keys. A new agent may do nothing."""

    async def work(registry: Registry, by: Agent) -> Agent:
        return await use.add_agent(registry, by, agent, name, identifier=identifier, kind=kind.value)

    made = act(folder, work)
    say(
        made,
        json,
        f"{made.id} is known now, as {made.identifier}. Next:  perdure agent grant {made.id} PREFIX mint edit",
    )


@app.command(
    "key", epilog="**Examples**\n\n- `perdure agent key maria`\n- `perdure agent key maria --revoke 0f3a9c2d11ee`"
)
def key(
    agent: Id,
    expires: Annotated[str | None, typer.Option(help="When it ends, with a zone. Default: as your own.")] = None,
    label: Annotated[str, typer.Option(help="What it is for, to tell it from others.")] = "",
    revoke: Annotated[
        str | None, typer.Option(metavar="KEY-ID", help="End this key instead of making a new one.")
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """A new key, beside those that the agent has: change over without a pause, then --revoke the old one."""
    if revoke is not None:
        ended = act(folder, lambda registry, by: use.revoke_key(registry, by, revoke))
        say(_shown_key(ended), json, f"key {ended.id} of {ended.agent} opens nothing any more")
        return
    made, token = act(folder, lambda registry, by: use.new_key(registry, by, agent, expires=expires, label=label))
    end = f" It ends at {made.expires}." if made.expires else ""
    text = f"{token}\nThis is key {made.id} of {agent}; it is shown this once.{end}"
    say(_shown_key(made) | {"key": token}, json, text)


@app.command("grant", epilog=GRANT_EXAMPLES)
def grant(
    agent: Id,
    prefix: Scope,
    actions: Annotated[list[ActionName], typer.Argument(metavar="ACTION", help=f"{', '.join(ACTIONS)}.")],
    own: Annotated[
        bool, typer.Option("--own", help="Only for identifiers that the agent answers for (as owner, or else creator).")
    ] = False,
    until: Annotated[str | None, typer.Option(help="When it ends, with a zone. Default: as your own.")] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Let an agent do something under a prefix."""

    async def work(registry: Registry, by: Agent) -> list[Grant]:
        return await use.grant(registry, by, agent, prefix, _actions(actions), own=own, until=until)

    given = act(folder, work)
    end = f" until {given[0].until}" if given and given[0].until else ""
    say(given, json, f"{agent} may now {', '.join(one.action for one in given)} on {prefix}{end}")


@app.command("revoke", epilog="**Example**\n\n- `perdure agent revoke maria 12345`")
def revoke(
    agent: Id,
    prefix: Scope,
    actions: Annotated[
        list[ActionName] | None, typer.Argument(metavar="ACTION", help="What to take back. Default: everything.")
    ] = None,
    folder: Folder = None,
) -> None:
    """Take grants back."""
    taken = _actions(actions) if actions else ACTIONS
    count = act(folder, lambda registry, by: use.revoke(registry, by, agent, prefix, taken))
    typer.echo(f"{count} grants of {agent} on {prefix} were taken back")


@app.command("list", epilog="**Example**\n\n- `perdure agent list --keys`")
def list_agents(
    keys: Annotated[bool, typer.Option("--keys", help="Their keys too, by id; never the keys themselves.")] = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """All agents, and what they may do."""

    def look_up(reader: Any) -> list[tuple[Agent, list[Grant], list[Key]]]:
        return [(agent, reader.grants(agent.id), reader.keys(agent.id)) for agent in reader.agents()]

    found = read(folder, lambda registry: registry.store.read(look_up))
    if json:
        for agent, grants, its_keys in found:
            shown = msgspec.to_builtins(agent) | {"grants": msgspec.to_builtins(grants)}
            typer.echo(as_json(shown | ({"keys": [_shown_key(one) for one in its_keys]} if keys else {})))
        return
    rows = []
    for agent, grants, its_keys in found:
        row = [agent.id, agent.name, agent.identifier, _may(grants)]
        rows.append([*row, *(["\n".join(_said(one) for one in its_keys)] if keys else [])])
    show_table(("agent", "name", "identifier", "may", *(["keys"] if keys else [])), rows, whole=("agent", "identifier"))


@app.command(
    "recover", epilog="**Example**\n\n- `perdure agent recover admin --reason 'all keys were lost in the move'`"
)
def recover(
    agent: Id,
    reason: Annotated[str, typer.Option(help="Why; it is recorded.")],
    folder: Folder = None,
    json: Json = False,
) -> None:
    """A new key, and every grant, for an agent when all keys are lost.

    This needs no key: whoever can write the registry's files on this machine may do it. The history tells of it.
    """

    async def session() -> tuple[Key, str]:
        async with open_registry(find_folder(folder)) as registry:
            return await use.recover(registry, agent, reason)

    made, token = asyncio.run(session())
    text = f"""{token}
This is key {made.id} of {agent}; it is shown this once. Next:  export PERDURE_KEY=<the key>
The old keys still open: see perdure agent list --keys, and end one with perdure agent key {agent} --revoke ID"""
    say(_shown_key(made) | {"key": token}, json, text)


def _actions(names: list[ActionName]) -> list[Action]:
    return [action for action in ACTIONS if action in {name.value for name in names}]


def _shown_key(key: Key) -> dict[str, Any]:
    return {name: getattr(key, name) for name in ("id", "agent", "created", "expires", "revoked", "label")}


def _said(key: Key) -> str:
    state = f"revoked {key.revoked[:10]}" if key.revoked else f"until {key.expires}" if key.expires else "no end"
    return f"{key.id} ({state}) {printable(key.label)}".strip()


def _may(grants: list[Grant]) -> str:
    by_scope: dict[str, list[str]] = {}
    for one in grants:
        note = (" own" if one.own else "") + (f" until {one.until}" if one.until else "")
        by_scope.setdefault(one.scope, []).append(one.action + note)
    lines = []
    for scope, actions in by_scope.items():
        what = "everything" if actions == sorted(ACTIONS) else ", ".join(actions)
        lines.append(f"{'everywhere' if scope == EVERYWHERE else printable(scope)}: {what}")
    return "\n".join(lines) or "nothing"
