"""`perdure collection show`: which collections hold an item, its versions, and their files."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import run_anonymous
from perdure.cli.collection_options import Label, content_text, count_text
from perdure.cli.item_overview import HoldingOverview, ItemOverview, VersionOverview
from perdure.cli.registry_session import Folder, Json
from perdure.cli.terminal import escape_control, to_json
from perdure.collections.item import ItemFile

EXAMPLES = """
**Examples**

- `perdure collection show sid.inpe.br/mtc-m18/2009/02.16.17.46`
- the files of its first version: `perdure collection show sid.inpe.br/mtc-m18/2009/02.16.17.46 --files --version 1`
"""


def show(
    label: Label,
    files: Annotated[bool, typer.Option("--files", help="List the files, with their sizes and digests.")] = False,
    version: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="With --files: of this version. Default: the newest.")
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Show an item: its original and its copies, with dates and where each came from, and its versions."""
    shown = run_anonymous(folder, lambda registry: use.show_item(registry, label))
    listed = shown.list_files(version) if files else None
    if json:
        typer.echo(to_json(_describe(shown, listed)))
        return
    typer.echo(escape_control(shown.label))
    for one in shown.holdings:
        _print_holding(one)
    for version_shown in shown.versions:
        typer.echo(escape_control(f"  {_version_line(version_shown)}"))
    for file in listed or ():
        size = "missing" if file.size < 0 else count_text(file.size, "byte")
        typer.echo(escape_control(f"    {file.path}  {size}, {file.media_type}, sha512 {file.sha512}"))


def _print_holding(one: HoldingOverview) -> None:
    typer.echo(escape_control(f"  {one.place}: {one.role} since {one.role_since[:19]}Z, {content_text(one)}"))
    lines = [
        ("address", one.address),
        ("main file", one.main_file),
        ("stored", f"{one.put_at[:19]}Z, from {one.source}"),
        ("checked", one.checked),
    ]
    for heading, text in lines:
        if text:
            typer.echo(f"    {heading:<10} {escape_control(text)}")


def _version_line(version: VersionOverview) -> str:
    agent = "" if version.agent is None else f", by {version.agent.name}"
    message = f": {version.message}" if version.message else ""
    return f"version {version.number}: {version.created}, {count_text(version.file_count, 'file')}{agent}{message}"


def _describe(shown: ItemOverview, listed: Sequence[ItemFile] | None) -> dict[str, Any]:
    versions = [
        {
            "version": one.number,
            "created": one.created,
            "agent": None if one.agent is None else one.agent._asdict(),
            "message": one.message,
            "files": one.file_count,
        }
        for one in shown.versions
    ]
    held = [one.fields for one in shown.holdings]
    described = {"label": shown.label, "name": shown.name, "holdings": held, "versions": versions}
    return described if listed is None else described | {"files": [one._asdict() for one in listed]}
