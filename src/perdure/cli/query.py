"""Queries: `perdure show`, `history`, `diff`, `search` and `resolve`."""

from typing import Annotated, Any

import msgspec
import typer
from rich import box
from rich.table import Table
from rich.text import Text

from perdure.cli import use_cases as use
from perdure.cli.any_registry import run_anonymous, run_maybe_as_agent
from perdure.cli.exit_codes import NOTHING_FOUND
from perdure.cli.registry_session import Folder, Json, Name
from perdure.cli.terminal import escape_control, make_console, print_table, to_json
from perdure.errors import InvalidInput
from perdure.records.person import Redaction
from perdure.records.value import DEFAULT_TTL, Admin, Binary, Value, ValueList, to_handle_json
from perdure.registry.identifier_view import View

SHOW_EXAMPLES = "**Examples**\n\n- `perdure show 12345/Y35XYS0QH`\n- `perdure show 12345/Y35XYS0QH --version 1 --json`"
HISTORY_EXAMPLES = "**Example**\n\n- `perdure history 12345/Y35XYS0QH`"
DIFF_EXAMPLES = "**Example**\n\n- `perdure diff 12345/Y35XYS0QH 1 2`"
SEARCH_EXAMPLES = """
**Examples**

- `perdure search lasting silva`
- the beginning of a word: `perdure search 'thes*'`
- a name, by its URL: `perdure search https://id.example.org/12345/thesis`, if public_url is https://id.example.org
- identifiers with a given target: `perdure search --target https://example.org/thesis.pdf`
"""
RESOLVE_EXAMPLES = """
**Examples**

- `perdure resolve hdl:12345/Y35XYS0QH`
- a URL of this registry's server: `perdure resolve http://localhost:8080/12345/Y35XYS0QH`
"""


def show(
    name: Name,
    version: Annotated[int | None, typer.Option(metavar="N", help="Show this version. Default: the newest.")] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Show an identifier: its values, description and authority metadata."""
    view = run_maybe_as_agent(folder, lambda registry, by: use.show(registry, name, version=version, by=by))
    if json:
        typer.echo(to_json(_view_json(view)))
        return
    screen = make_console()
    facts = _view_facts(view)
    width = max(len(label) for label, _ in facts)
    for label, text in facts:
        screen.print(
            Text(f"{label:{width}}  ", style="dim").append(escape_control(text), style="default"), soft_wrap=True
        )
    if view.values:
        screen.print(_values_table(view.values))


def history(name: Name, folder: Folder = None, json: Json = False) -> None:
    """Show all versions of an identifier: date, agent and action."""
    revisions = run_maybe_as_agent(folder, lambda registry, by: use.history(registry, name, by=by))
    if json:
        for one in revisions:
            fields = {field: getattr(one, field) for field in ("version", "at", "agent", "action", "note")}
            typer.echo(to_json(fields | {"record": msgspec.json.decode(one.record)}))
        return
    rows = ((str(one.version), one.at[:19] + "Z", one.agent, one.action, one.note or "") for one in revisions)
    print_table(("version", "date", "agent", "action", "note"), rows, whole=("version", "date"))


def diff(
    name: Name,
    one: Annotated[int, typer.Argument(metavar="V1", help="First version.")],
    other: Annotated[int, typer.Argument(metavar="V2", help="Second version.")],
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Show the differences between two versions of an identifier."""
    results = run_maybe_as_agent(folder, lambda registry, by: use.diff(registry, name, one, other, by=by))
    if json:
        typer.echo(to_json([difference._asdict() for difference in results]))
        return
    screen = make_console()
    if not results:
        screen.print(f"Versions {one} and {other} are the same.")
    for part, before, after in results:
        screen.print(Text(part, style="bold"))
        if before is not None:
            screen.print(Text(f"  - {_format_part(before)}", style="red"), soft_wrap=True)
        if after is not None:
            screen.print(Text(f"  + {_format_part(after)}", style="green"), soft_wrap=True)


def search(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD", help="Words to search for; all must match.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="URL", help="Find identifiers with exactly this target.")
    ] = None,
    type: Annotated[str, typer.Option(metavar="TYPE", help="With --target: type of the values to search.")] = "URL",
    limit: Annotated[int, typer.Option(metavar="N", help="Number of results, newest first.")] = 100,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Find identifiers by words in their names, targets, values and descriptions, or by target."""
    if (target is None) == (not words):
        raise InvalidInput("search", "words", "give words to search for, or --target URL")
    if target is not None:
        results = run_anonymous(folder, lambda registry: use.find_by_value(registry, target, type=type, limit=limit))
    else:
        results = run_anonymous(folder, lambda registry: use.search(registry, words or [], limit=limit))
    for one in results:
        if json:
            typer.echo(to_json(msgspec.to_builtins(one)))
        else:
            typer.echo(f"{escape_control(one.name)}\t{escape_control(one.target or one.state)}")
    if not results:
        typer.echo("No identifiers found.", err=True)
        raise typer.Exit(NOTHING_FOUND)


def resolve(name: Name, folder: Folder = None, json: Json = False) -> None:
    """Print the target of an identifier."""
    results = run_anonymous(folder, lambda registry: use.resolve(registry, name))
    typer.echo(to_json(results._asdict()) if json else escape_control(results.target))


def _view_json(view: View) -> dict[str, Any]:
    """Return the JSON object of an identifier. Values are written as in the Handle API."""
    fields: dict[str, Any] = msgspec.to_builtins(view)
    fields["values"] = [to_handle_json(value) for value in view.values]
    fields["handle_record"] = [to_handle_json(value) for value in view.handle_record]
    return fields


def _view_facts(view: View) -> list[tuple[str, str]]:
    authority, about, tombstone = view.authority, view.about, view.tombstone
    facts: list[tuple[str, str | None]] = [
        ("name", view.name),
        ("also", ", ".join(name for name in view.names if name != view.name) or None),
        ("state", f"{view.state}, version {view.version}"),
        ("withdrawn because", tombstone.reason if tombstone else None),
        ("replaced by", tombstone.replaced_by if tombstone else None),
        ("target", " or ".join(view.locations) or view.target or _explain_verbatim(view)),
        ("created", authority.created or ("not bound yet" if view.state == "reserved" else None)),
        ("last modified", authority.updated),
        ("creator", authority.creator),
        ("owner", ", ".join(authority.owners) or None),
        ("who", about.who if about else None),
        ("what", about.what if about else None),
        ("when", about.when if about else None),
        ("where", about.where if about else None),
    ]
    facts += [("redacted", format_redaction(one)) for one in (view.redaction.acts if view.redaction else ())]
    for part in (view.observation, view.reconstruction):
        if part is not None:
            for field, value in msgspec.to_builtins(part).items():
                facts.append((field.replace("_", " "), _format_list(value)))
    facts.append(("uuid of inputs", view.uuid_raw))
    return [(label, text) for label, text in facts if text is not None]


def _explain_verbatim(view: View) -> str | None:
    """Return why a record with an address has no target, or None if it has no address."""
    if view.state != "active" or not any(value.verbatim for value in view.values):
        return None
    return "none: the address was imported as it was, and is not valid (mend it: perdure set NAME https://…)"


def format_redaction(act: Redaction) -> str:
    """Return one line with the reason, the date and the scope of a redaction."""
    what = f", data from {act.of}" if act.of else ""
    if act.indexes:
        what = f", value {', '.join(map(str, act.indexes))}"
    return f"{act.reason} ({act.at}{what})"


def _format_list(value: Any) -> str:
    items = value if isinstance(value, list) else [value]
    return ", ".join(one if isinstance(one, str) else msgspec.json.encode(one).decode() for one in items)


def _values_table(values: tuple[Value, ...]) -> Table:
    """Return a table of values. TTLs have a column if one of them is not the usual one."""
    has_ttls = any(value.ttl != DEFAULT_TTL for value in values)
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("index", "type", "data", "timestamp", *(["ttl"] if has_ttls else [])):
        table.add_column(heading, overflow="fold")
    for value in values:
        data = escape_control(_format_data(value))
        cells = [str(value.index), escape_control(value.type), data, value.timestamp]
        table.add_row(*cells, *([str(value.ttl)] if has_ttls else []))
    return table


def _format_data(value: Value) -> str:
    data = value.data
    if isinstance(data, Binary):
        return f"{len(data.value)} bytes"
    if isinstance(data, Admin):
        return f"{data.value.index}:{data.value.handle} ({data.value.permissions})"
    if isinstance(data, ValueList):
        return ", ".join(f"{one.index}:{one.handle}" for one in data.value)
    return data.value


def _format_part(value: Any) -> str:
    return escape_control(value if isinstance(value, str) else to_json(value))
