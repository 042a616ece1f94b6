"""Commands that edit identifiers (bind, set, withdraw, transfer …). Each edit creates a new version."""

from typing import Annotated

import typer

from perdure import registry as use
from perdure.cli.person_options import print_dropped
from perdure.cli.progress import count_progress
from perdure.cli.record_options import (
    Reason,
    Ttl,
    Values,
    Version,
    What,
    When,
    Where,
    Who,
    build_about,
    has_index,
    parse_values,
)
from perdure.cli.redaction_options import ForGood, check_confirmed, print_traces
from perdure.cli.registry_session import Folder, Name, run_as_agent
from perdure.errors import InvalidInput
from perdure.records.value import DEFAULT_PERMISSIONS, Text, Value, stated_ttl
from perdure.registry import Statement
from perdure.registry.editing import ANY_INDEX
from perdure.registry.entities import Agent
from perdure.registry.persons import DroppedItem, list_dropped, show_person
from perdure.registry.registry import Registry

BIND_EXAMPLES = """
**Example**

- `perdure bind 12345/Y35XYS0QH https://example.org/thesis.pdf --what "On lasting"`
"""
SET_EXAMPLES = """
**Examples**

- `perdure set 12345/Y35XYS0QH https://new.example.org/thesis.pdf`
- `perdure set 12345/Y35XYS0QH --value 3:EMAIL=desk@example.org --what "On lasting, second edition"`
- `perdure set PRID-5ccc-3780-8c9c-5a90 --observation POID-93b0-4476-560e-5ac1 --curator … --at …`
"""
ADD_EXAMPLES = "**Example**\n\n- `perdure add-value 12345/Y35XYS0QH EMAIL desk@example.org`"
REMOVE_EXAMPLES = "**Example**\n\n- `perdure remove-value 12345/Y35XYS0QH 3`"
REDACT_EXAMPLES = """
**Example**

- `perdure redact 12345/Y35XYS0QH --index 3 --index 4 --reason "court order 2025/12" --for-good`
"""
WITHDRAW_EXAMPLES = """
**Example**

- `perdure withdraw 12345/Y35XYS0QH --reason "retracted by its author" --replaced-by 12345/0N8J991QH`
"""
REINSTATE_EXAMPLES = "**Example**\n\n- `perdure reinstate 12345/Y35XYS0QH`"
TRANSFER_EXAMPLES = """
**Examples**

- `perdure transfer maria 12345/Y35XYS0QH 12345/0N8J991QH`
- all identifiers under a prefix: `perdure transfer maria --under 12345`
- the prefix itself, with the permissions on it: `perdure transfer maria --prefix 12345`
"""


def bind(
    name: Name,
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="URL to which the identifier resolves.")
    ] = None,
    value: Values = None,
    who: Who = None,
    what: What = None,
    when: When = None,
    where: Where = None,
    owner: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Owner (hdl: or https: identifier), if not the creator. Repeatable."),
    ] = None,
    ttl: Ttl = None,
    if_version: Version = None,
    folder: Folder = None,
) -> None:
    """Bind a reserved name to a target or to values. This sets its creation date."""
    about, owners = build_about(who, what, when, where), tuple(owner or ())
    statement = Statement(target, parse_values(value, ttl=ttl), about, None, owners, stated_ttl(ttl))
    version = run_as_agent(
        folder, lambda registry, by: use.bind(registry, by, name, statement, expected_version=if_version)
    )
    _print_version(name, version)


def set_(
    name: Name,
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="New URL to which the identifier resolves.")
    ] = None,
    value: Values = None,
    who: Who = None,
    what: What = None,
    when: When = None,
    where: Where = None,
    owner: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Owner (hdl: or https: identifier), if not the creator. Repeatable."),
    ] = None,
    observation: Annotated[
        list[str] | None,
        typer.Option(metavar="POID", help="PRID only: observation on which the new version is based. Repeatable."),
    ] = None,
    curator: Annotated[str | None, typer.Option(metavar="ID", help="PRID only: curator of the revision.")] = None,
    at: Annotated[
        str | None, typer.Option(metavar="DATE", help="PRID only: date of the revision, ISO 8601 with a time zone.")
    ] = None,
    ttl: Ttl = None,
    if_version: Version = None,
    folder: Folder = None,
) -> None:
    """Change the target, values, TTL or description. Everything else stays, and old versions stay readable.

    For a PRID, --observation replaces the whole reconstruction: use `perdure person revise` to keep its other parts.
    """
    if observation or curator or at:
        if (
            not observation
            or curator is None
            or at is None
            or target
            or value
            or who
            or what
            or when
            or where
            or owner
            or ttl
        ):
            raise InvalidInput(
                "ppid",
                "inputs",
                "a revision of a PRID requires --observation, --curator and --at, and allows no other options",
            )
        revision = (name, observation, curator, at)
        revised, dropped = run_as_agent(folder, lambda registry, by: _revise(registry, by, *revision, if_version))
        print_dropped(dropped)
        _print_version(name, revised)
        return
    if not all(has_index(one) for one in value or ()):
        raise InvalidInput(
            "record", "index", "an index is required to set a value, as in 3:EMAIL=… (to add one: perdure add-value)"
        )
    about = build_about(who, what, when, where)
    values = parse_values(value, taken=0, ttl=ttl)
    # With a value, the TTL is for that value alone, unless there is a target too.
    of_target = None if value and target is None else ttl
    statement = Statement(target, values, about, None, tuple(owner or ()), stated_ttl(of_target))
    _print_version(
        name,
        run_as_agent(
            folder, lambda registry, by: use.update(registry, by, name, statement, expected_version=if_version)
        ),
    )


def add_value(
    name: Name,
    type: Annotated[str, typer.Argument(metavar="TYPE", help="Type of the value: URL, EMAIL, or a handle of a type.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Content of the value.")],
    index: Annotated[
        int | None, typer.Option(metavar="N", help="Index of the value. Default: the lowest free index.")
    ] = None,
    ttl: Ttl = None,
    permissions: Annotated[
        str,
        typer.Option(
            metavar="BITS", help="Permissions: admin read, admin write, public read, public write; 1 or 0 each."
        ),
    ] = DEFAULT_PERMISSIONS,
    if_version: Version = None,
    folder: Folder = None,
) -> None:
    """Add a value to an identifier."""
    if index is not None and index < 1:
        raise InvalidInput("record", "index", f"index {index} is below 1")
    value = Value(index or ANY_INDEX, type, Text(data), "", stated_ttl(ttl), permissions)
    version = run_as_agent(
        folder, lambda registry, by: use.add_values(registry, by, name, [value], expected_version=if_version)
    )
    _print_version(name, version)


def remove_value(
    name: Name,
    index: Annotated[list[int], typer.Argument(metavar="INDEX", help="Indexes of the values.")],
    if_version: Version = None,
    folder: Folder = None,
) -> None:
    """Remove values. They stay in the history; see `perdure redact`."""
    version = run_as_agent(
        folder, lambda registry, by: use.remove_values(registry, by, name, index, expected_version=if_version)
    )
    _print_version(name, version)


def redact(
    name: Name,
    index: Annotated[list[int], typer.Option(metavar="N", help="Index of a value. Repeatable.")],
    reason: Reason,
    for_good: ForGood = False,
    if_version: Version = None,
    folder: Folder = None,
) -> None:
    """Permanently remove values from all versions, for example by court order. The reason and the date stay.

    Values that were removed earlier can be redacted too. Earlier backups still contain everything.
    """
    check_confirmed(for_good, "record", "perdure remove-value")
    version = run_as_agent(
        folder, lambda registry, by: use.redact_values(registry, by, name, index, reason, expected_version=if_version)
    )
    _print_version(name, version)
    print_traces(folder)


def withdraw(
    name: Name,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Reason. It is public: the resolver shows it.")],
    replaced_by: Annotated[str | None, typer.Option(metavar="NAME", help="Identifier that replaces it.")] = None,
    if_version: Version = None,
    folder: Folder = None,
) -> None:
    """Withdraw an identifier: it resolves to a tombstone page, and is never reused."""
    version = run_as_agent(
        folder,
        lambda registry, by: use.withdraw(
            registry, by, name, reason, replaced_by=replaced_by, expected_version=if_version
        ),
    )
    _print_version(name, version)


def reinstate(name: Name, if_version: Version = None, folder: Folder = None) -> None:
    """Reinstate a withdrawn identifier."""
    version = run_as_agent(folder, lambda registry, by: use.reinstate(registry, by, name, expected_version=if_version))
    _print_version(name, version)


def transfer(
    to: Annotated[str, typer.Argument(metavar="AGENT", help="New owner.")],
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Identifiers to transfer.")] = None,
    under: Annotated[
        str | None, typer.Option(metavar="PREFIX", help="Transfer all identifiers under this prefix.")
    ] = None,
    prefix: Annotated[
        str | None, typer.Option(metavar="PREFIX", help="Transfer the prefix itself: the grants on it.")
    ] = None,
    giver: Annotated[
        str | None,
        typer.Option("--from", metavar="AGENT", help="With --prefix: agent who loses the grants. Default: you."),
    ] = None,
    folder: Folder = None,
) -> None:
    """Transfer identifiers or a prefix to another agent. Every transfer is logged."""
    if bool(names) + (under is not None) + (prefix is not None) != 1:
        raise InvalidInput(
            "transfer", "names", "nothing to transfer: give identifiers, --under PREFIX, or --prefix PREFIX"
        )

    async def work(registry: Registry, by: Agent) -> str:
        if prefix is not None:
            transferred = await use.transfer_prefix(registry, by, prefix, to, giver=giver)
            return f"Transferred prefix {transferred.name} to {to}."
        count = 0
        with count_progress("identifiers") as bar:
            task = bar.add_task("transferring", total=len(names) if names else None)
            if names:
                count = await use.transfer_identifiers(registry, by, names, to)
            elif under is not None:
                async for chunk in use.names_under(registry, under):
                    count += await use.transfer_identifiers(registry, by, chunk, to)
                    bar.advance(task, len(chunk))
        return f"Transferred {count} {'identifier' if count == 1 else 'identifiers'} to {to}."

    typer.echo(run_as_agent(folder, work))


def _print_version(name: str, version: int) -> None:
    typer.echo(f"Saved {name} as version {version}.")


async def _revise(
    registry: Registry, by: Agent, name: str, observations: list[str], curator: str, at: str, expected: int | None
) -> tuple[int, list[DroppedItem]]:
    """Revise a PRID. Return the version, and what it dropped."""
    before = (await show_person(registry, name, by=by)).newest
    version = await use.revise_reconstruction(registry, by, name, observations, curator, at, expected_version=expected)
    return version, [] if version == before else await list_dropped(registry, name, version, by=by)
