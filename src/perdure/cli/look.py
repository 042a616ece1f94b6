"""`show`, `history`, `diff`, `search`, `resolve`: look at what is registered."""

from typing import Annotated, Any

import msgspec
import typer
from rich import box
from rich.table import Table
from rich.text import Text

from perdure import registry as use
from perdure.cli.screen import as_json, console, printable, show_table
from perdure.cli.session import Folder, Json, Name, look, read
from perdure.errors import InvalidInput
from perdure.records.person import Redaction
from perdure.records.value import Admin, Binary, Value, ValueList, handle_json
from perdure.registry.looking import View

SHOW_EXAMPLES = "**Examples**\n\n- `perdure show 12345/Y35XYS0QH`\n- `perdure show 12345/Y35XYS0QH --version 1 --json`"
HISTORY_EXAMPLES = "**Example**\n\n- `perdure history 12345/Y35XYS0QH`"
DIFF_EXAMPLES = "**Example**\n\n- `perdure diff 12345/Y35XYS0QH 1 2`"
SEARCH_EXAMPLES = """
**Examples**

- `perdure search lasting silva`
- the beginning of a word: `perdure search 'thes*'`
- which identifiers lead there: `perdure search --target https://example.org/thesis.pdf`
"""
RESOLVE_EXAMPLES = "**Example**\n\n- `perdure resolve hdl:12345/Y35XYS0QH`"

_NOTHING_FOUND = 1


def show(
    name: Name,
    version: Annotated[int | None, typer.Option(help="As it was at this version.")] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Everything that is said of an identifier, with its authority metadata."""
    view = look(folder, lambda registry, by: use.show(registry, name, version=version, by=by))
    if json:
        typer.echo(as_json(_view_json(view)))
        return
    screen = console()
    facts = _facts(view)
    width = max(len(label) for label, _ in facts)
    for label, said in facts:
        screen.print(Text(f"{label:{width}}  ", style="dim").append(printable(said), style="default"), soft_wrap=True)
    if view.values:
        screen.print(_values_table(view.values))


def history(name: Name, folder: Folder = None, json: Json = False) -> None:
    """Every version: when, by whom, and what was done."""
    revisions = look(folder, lambda registry, by: use.history(registry, name, by=by))
    if json:
        for one in revisions:
            fields = {field: getattr(one, field) for field in ("version", "at", "agent", "action", "note")}
            typer.echo(as_json(fields | {"record": msgspec.json.decode(one.record)}))
        return
    rows = ((str(one.version), one.at[:19] + "Z", one.agent, one.action, one.note or "") for one in revisions)
    show_table(("version", "when", "who", "what", "note"), rows, whole=("version", "when"))


def diff(
    name: Name,
    one: Annotated[int, typer.Argument(metavar="V1", help="A version.")],
    other: Annotated[int, typer.Argument(metavar="V2", help="Another.")],
    folder: Folder = None,
    json: Json = False,
) -> None:
    """What changed between two versions."""
    found = look(folder, lambda registry, by: use.diff(registry, name, one, other, by=by))
    if json:
        typer.echo(as_json([difference._asdict() for difference in found]))
        return
    screen = console()
    if not found:
        screen.print(f"Versions {one} and {other} say the same")
    for part, before, after in found:
        screen.print(Text(part, style="bold"))
        if before is not None:
            screen.print(Text(f"  - {_said(before)}", style="red"), soft_wrap=True)
        if after is not None:
            screen.print(Text(f"  + {_said(after)}", style="green"), soft_wrap=True)


def search(
    words: Annotated[list[str] | None, typer.Argument(metavar="WORD", help="Words that must all be there.")] = None,
    target: Annotated[str | None, typer.Option(help="Find the identifiers that lead to exactly this URL.")] = None,
    type: Annotated[str, typer.Option(help="With --target: look among values of this type.")] = "URL",
    limit: Annotated[int, typer.Option(help="How many to list, the newest first.")] = 100,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Find identifiers by words in their names, targets, values and descriptions, or by where they lead."""
    if (target is None) == (not words):
        raise InvalidInput("search", "words", "give words to search for, or --target URL")
    if target is not None:
        found = read(folder, lambda registry: use.find_by_value(registry, target, type=type, limit=limit))
    else:
        found = read(folder, lambda registry: use.search(registry, words or [], limit=limit))
    for one in found:
        if json:
            typer.echo(as_json(msgspec.to_builtins(one)))
        else:
            typer.echo(f"{printable(one.name)}\t{printable(one.target or one.state)}")
    if not found:
        typer.echo("nothing was found", err=True)
        raise typer.Exit(_NOTHING_FOUND)


def resolve(name: Name, folder: Folder = None, json: Json = False) -> None:
    """Where an identifier leads."""
    found = read(folder, lambda registry: use.resolve(registry, name))
    typer.echo(as_json(found._asdict()) if json else printable(found.target))


def _view_json(view: View) -> dict[str, Any]:
    """Handle records are shown as Handle clients read them."""
    shown: dict[str, Any] = msgspec.to_builtins(view)
    shown["values"] = [handle_json(value) for value in view.values]
    shown["handle_record"] = [handle_json(value) for value in view.handle_record]
    return shown


def _facts(view: View) -> list[tuple[str, str]]:
    authority, about, tombstone = view.authority, view.about, view.tombstone
    facts: list[tuple[str, str | None]] = [
        ("name", view.name),
        ("also", ", ".join(name for name in view.names if name != view.name) or None),
        ("state", f"{view.state}, version {view.version}"),
        ("withdrawn because", tombstone.reason if tombstone else None),
        ("replaced by", tombstone.replaced_by if tombstone else None),
        ("leads to", " or ".join(view.locations) or view.target),
        ("created", authority.created or ("not bound to anything yet" if view.state == "reserved" else None)),
        ("last update", authority.updated),
        ("creator", authority.creator),
        ("owner", ", ".join(authority.owners) or None),
        ("who", about.who if about else None),
        ("what", about.what if about else None),
        ("when", about.when if about else None),
        ("where", about.where if about else None),
    ]
    facts += [("redacted", told_redaction(one)) for one in (view.redaction.acts if view.redaction else ())]
    for part in (view.observation, view.reconstruction):
        if part is not None:
            for field, said in msgspec.to_builtins(part).items():
                facts.append((field.replace("_", " "), _listed(said)))
    facts.append(("uuid of its inputs", view.uuid_raw))
    return [(label, said) for label, said in facts if said is not None]


def told_redaction(act: Redaction) -> str:
    """Return one line on what was taken out, when and why."""
    what = f", what was taken from {act.of}" if act.of else ""
    if act.indexes:
        what = f", value {', '.join(map(str, act.indexes))}"
    return f"{act.reason} ({act.at}{what})"


def _listed(said: Any) -> str:
    many = said if isinstance(said, list) else [said]
    return ", ".join(one if isinstance(one, str) else msgspec.json.encode(one).decode() for one in many)


def _values_table(values: tuple[Value, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("index", "type", "data", "timestamp"):
        table.add_column(heading, overflow="fold")
    for value in values:
        table.add_row(str(value.index), printable(value.type), printable(_data(value)), value.timestamp)
    return table


def _data(value: Value) -> str:
    data = value.data
    if isinstance(data, Binary):
        return f"{len(data.value)} bytes"
    if isinstance(data, Admin):
        return f"{data.value.index}:{data.value.handle} ({data.value.permissions})"
    if isinstance(data, ValueList):
        return ", ".join(f"{one.index}:{one.handle}" for one in data.value)
    return data.value


def _said(value: Any) -> str:
    return printable(value if isinstance(value, str) else as_json(value))
