"""Commands that change what is said of an identifier, each as a new version: bind, set, withdraw, transfer …"""

from typing import Annotated

import typer

from perdure import registry as use
from perdure.cli.progress import count_bar
from perdure.cli.redaction import ForGood, check_confirmed, print_traces
from perdure.cli.session import Folder, Name, act
from perdure.cli.statements import Values, Version, What, When, Where, Who, Why, has_index, read_about, read_values
from perdure.errors import InvalidInput
from perdure.records.value import DEFAULT_PERMISSIONS, DEFAULT_TTL, Text, Value
from perdure.registry import Statement
from perdure.registry.editing import ANY_INDEX
from perdure.registry.entities import Agent
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
- the prefix itself, who may do what under it: `perdure transfer maria --prefix 12345`
"""


def bind(
    name: Name,
    target: Annotated[str | None, typer.Argument(metavar="TARGET", help="Where it leads.")] = None,
    value: Values = None,
    who: Who = None,
    what: What = None,
    when: When = None,
    where: Where = None,
    owner: Annotated[list[str] | None, typer.Option(help="Who answers for it, if not the creator.")] = None,
    if_version: Version = None,
    folder: Folder = None,
) -> None:
    """Say what a reserved name stands for. This is its creation date."""
    said = Statement(target, read_values(value), read_about(who, what, when, where), None, tuple(owner or ()))
    version = act(folder, lambda registry, by: use.bind(registry, by, name, said, expected_version=if_version))
    _say(name, version)


def set_(
    name: Name,
    target: Annotated[str | None, typer.Argument(metavar="TARGET", help="Where it leads from now on.")] = None,
    value: Values = None,
    who: Who = None,
    what: What = None,
    when: When = None,
    where: Where = None,
    owner: Annotated[list[str] | None, typer.Option(help="Who answers for it, if not the creator.")] = None,
    observation: Annotated[list[str] | None, typer.Option(help="PRID: a POID that it stands upon now.")] = None,
    curator: Annotated[str | None, typer.Option(help="PRID: who revised it.")] = None,
    at: Annotated[str | None, typer.Option(help="PRID: when it was revised, ISO 8601 with a zone.")] = None,
    if_version: Version = None,
    folder: Folder = None,
) -> None:
    """Change the target, values or the description. What is not named stays; the old version stays readable."""
    if observation or curator or at:
        if not observation or curator is None or at is None or target or value or who or what or when or where or owner:
            raise InvalidInput(
                "ppid", "inputs", "a revision of a PRID takes --observation, --curator and --at, and no more"
            )
        revised = act(
            folder,
            lambda registry, by: use.revise_reconstruction(
                registry, by, name, observation, curator, at, expected_version=if_version
            ),
        )
        _say(name, revised)
        return
    if not all(has_index(one) for one in value or ()):
        raise InvalidInput(
            "record", "index", "say by its index which value to set, as in 3:EMAIL=… (or use perdure add-value)"
        )
    about = read_about(who, what, when, where)
    said = Statement(target, read_values(value, taken=0), about, None, tuple(owner or ()))
    _say(name, act(folder, lambda registry, by: use.update(registry, by, name, said, expected_version=if_version)))


def add_value(
    name: Name,
    type: Annotated[str, typer.Argument(metavar="TYPE", help="The type, like URL, EMAIL or a handle of a type.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="What it says.")],
    index: Annotated[int | None, typer.Option(help="Its index. Default: the lowest that is free.")] = None,
    ttl: Annotated[int, typer.Option(help="How many seconds it may be kept by others.")] = DEFAULT_TTL,
    permissions: Annotated[
        str, typer.Option(help="Admin read, admin write, public read, public write.")
    ] = DEFAULT_PERMISSIONS,
    if_version: Version = None,
    folder: Folder = None,
) -> None:
    """Add one value."""
    if index is not None and index < 1:
        raise InvalidInput("record", "index", f"index {index} is below 1")
    value = Value(index or ANY_INDEX, type, Text(data), "", ttl, permissions)
    version = act(folder, lambda registry, by: use.add_values(registry, by, name, [value], expected_version=if_version))
    _say(name, version)


def remove_value(
    name: Name,
    index: Annotated[list[int], typer.Argument(metavar="INDEX", help="The indexes of the values.")],
    if_version: Version = None,
    folder: Folder = None,
) -> None:
    """Take values away; they stay in the history."""
    version = act(
        folder, lambda registry, by: use.remove_values(registry, by, name, index, expected_version=if_version)
    )
    _say(name, version)


def redact(
    name: Name,
    index: Annotated[list[int], typer.Option(help="The index of a value; may be given many times.")],
    reason: Why,
    for_good: ForGood = False,
    if_version: Version = None,
    folder: Folder = None,
) -> None:
    """Take values out of every version, as the law may want. The reason and the date stay.

    Values that were removed before can be redacted too. Backups that were made before still hold everything.
    """
    check_confirmed(for_good, "record", "perdure remove-value")
    version = act(
        folder, lambda registry, by: use.redact_values(registry, by, name, index, reason, expected_version=if_version)
    )
    _say(name, version)
    print_traces(folder)


def withdraw(
    name: Name,
    reason: Annotated[str, typer.Option(help="Why; everybody who resolves the identifier will read it.")],
    replaced_by: Annotated[str | None, typer.Option(help="The identifier that stands for it now.")] = None,
    if_version: Version = None,
    folder: Folder = None,
) -> None:
    """Put a tombstone in an identifier's place. The name is never used for anything else."""
    version = act(
        folder,
        lambda registry, by: use.withdraw(
            registry, by, name, reason, replaced_by=replaced_by, expected_version=if_version
        ),
    )
    _say(name, version)


def reinstate(name: Name, if_version: Version = None, folder: Folder = None) -> None:
    """Take a tombstone away again."""
    version = act(folder, lambda registry, by: use.reinstate(registry, by, name, expected_version=if_version))
    _say(name, version)


def transfer(
    to: Annotated[str, typer.Argument(metavar="AGENT", help="Who answers for them from now on.")],
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Identifiers.")] = None,
    under: Annotated[str | None, typer.Option(help="All identifiers under this prefix.")] = None,
    prefix: Annotated[str | None, typer.Option(help="This prefix itself: the grants on it.")] = None,
    giver: Annotated[str | None, typer.Option("--from", help="With --prefix: whose grants go. Default: yours.")] = None,
    folder: Folder = None,
) -> None:
    """Hand identifiers, or a prefix, to another agent. Every step is recorded."""
    if bool(names) + (under is not None) + (prefix is not None) != 1:
        raise InvalidInput("transfer", "names", "say what to transfer: names, --under PREFIX, or --prefix PREFIX")

    async def work(registry: Registry, by: Agent) -> str:
        if prefix is not None:
            kept = await use.transfer_prefix(registry, by, prefix, to, giver=giver)
            return f"{to} has authority over {kept.name} now"
        moved = 0
        with count_bar("identifiers") as bar:
            task = bar.add_task("transferring", total=len(names) if names else None)
            if names:
                moved = await use.transfer_identifiers(registry, by, names, to)
            elif under is not None:
                async for chunk in use.names_under(registry, under):
                    moved += await use.transfer_identifiers(registry, by, chunk, to)
                    bar.advance(task, len(chunk))
        return f"{to} answers for {moved} identifiers more now"

    typer.echo(act(folder, work))


def _say(name: str, version: int) -> None:
    typer.echo(f"{name} is at version {version}")
