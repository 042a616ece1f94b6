"""`perdure pool`: pools of IBI subsystems, which share the requests to mint."""

from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec
import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import run_anonymous, run_as_agent
from perdure.cli.help import CommandGroup
from perdure.cli.registry_session import Folder, Json, print_result
from perdure.cli.terminal import escape_control, print_table, to_json
from perdure.registry.entities import Pool

app = CommandGroup(help="Manage pools of IBI subsystems, which share the requests to mint.")

EXAMPLES: Final = """
**Examples**

- `perdure pool add main example.org/a example.org/b example.org/c`, then `perdure mint main https://example.org/`
- `perdure pool add shards example.org/a example.org/b --policy hash`,
  then `perdure mint shards --item-key report-17.pdf`
"""


class PolicyName(StrEnum):
    least_waiting = "least-waiting"
    round_robin = "round-robin"
    hash = "hash"


PoolName = Annotated[str, typer.Argument(metavar="POOL", help="Name of the pool.")]
Policy = typer.Option(
    metavar="POLICY",
    help="How a subsystem is chosen: least-waiting (the one with the earliest date), round-robin (each in its turn), "
    "or hash (of the item's key: one key always leads to the same subsystem).",
)


@app.command("add", epilog=EXAMPLES)
def add(
    pool: Annotated[
        str, typer.Argument(metavar="POOL", help="Name of the new pool: lower-case letters, digits and hyphens.")
    ],
    subsystems: Annotated[list[str], typer.Argument(metavar="SUBSYSTEM", help="IBI subsystems, as in example.org/a.")],
    policy: Annotated[PolicyName, Policy] = PolicyName.least_waiting,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Add a pool of IBI subsystems. Requires permission to administer the whole registry.

    To mint from a pool, an agent needs permission on its subsystems: only those are chosen.
    """
    added = run_as_agent(folder, lambda registry, by: use.add_pool(registry, by, pool, subsystems, policy=policy.value))
    hint = " --item-key KEY" if added.policy == "hash" else ""
    print_result(added, json, f"Added pool {added.name}. Next:  perdure mint {added.name}{hint}")


@app.command("change", epilog="**Example**\n\n- `perdure pool change main --policy round-robin`")
def change(
    pool: PoolName,
    subsystem: Annotated[
        list[str] | None,
        typer.Option(metavar="SUBSYSTEM", help="All subsystems of the pool from now on. Repeatable."),
    ] = None,
    policy: Annotated[PolicyName | None, Policy] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Change the subsystems or the policy of a pool."""
    changed = run_as_agent(
        folder,
        lambda registry, by: use.change_pool(
            registry, by, pool, members=subsystem or None, policy=None if policy is None else policy.value
        ),
    )
    print_result(changed, json, f"Changed pool {changed.name}.")


@app.command("list", epilog="**Example**\n\n- `perdure pool list`")
def list_pools(folder: Folder = None, json: Json = False) -> None:
    """List all pools."""
    pools = run_anonymous(folder, use.list_pools)
    if json:
        for one in pools:
            typer.echo(to_json(_pool_fields(one)))
        return
    rows = ((one.name, one.policy, ", ".join(one.members)) for one in pools)
    print_table(("pool", "policy", "subsystems"), rows, whole=("pool",))


@app.command("show", epilog="**Example**\n\n- `perdure pool show main`")
def show(pool: PoolName, folder: Folder = None, json: Json = False) -> None:
    """Show a pool: its policy and its subsystems."""
    found = run_anonymous(folder, lambda registry: use.find_pool(registry, pool))
    if json:
        typer.echo(to_json(_pool_fields(found)))
        return
    for name, value in (("pool", found.name), ("policy", found.policy), ("created", found.created)):
        typer.echo(f"{name:10}  {escape_control(value)}")
    for number, member in enumerate(found.members):
        typer.echo(f"{'' if number else 'subsystems':10}  {escape_control(member)}")


@app.command("remove", epilog="**Example**\n\n- `perdure pool remove main`")
def remove(pool: PoolName, folder: Folder = None) -> None:
    """Remove a pool. Its subsystems and all identifiers stay as they are."""
    removed = run_as_agent(folder, lambda registry, by: use.remove_pool(registry, by, pool))
    typer.echo(f"Removed pool {removed.name}. Its subsystems stay.")


def _pool_fields(pool: Pool) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(pool)
    return fields
