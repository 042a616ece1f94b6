"""`perdure person export`: all persons of the registry as one document."""

import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
import typer

from perdure.cli.file_formats import PersonFormat, format_from_suffix
from perdure.cli.output_file import Overwrite, check_output
from perdure.cli.progress import count_progress
from perdure.cli.registry_session import Folder, run_anonymous
from perdure.records.namespaces import Namespaces
from perdure.registry.persons import PersonView, count_persons, iterate_persons
from perdure.registry.registry import Registry
from perdure.store.file_sync import open_private

EXAMPLES = """
**Examples**

- `perdure person export --format nt --output persons.nt`
- `perdure person export --format ndjson | gzip > persons.ndjson.gz`
- format by file suffix: `perdure person export --output persons.ttl`
"""


def export(
    format: Annotated[
        PersonFormat | None,
        typer.Option(
            metavar="FORMAT",
            help="nt (N-Triples), ttl (Turtle), jsonld (JSON-LD) or ndjson (records, one per line). "
            "Default: by the suffix of the file.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write. Default: standard output.", dir_okay=False),
    ] = None,
    overwrite: Overwrite = False,
    folder: Folder = None,
) -> None:
    """Export the public data of all persons, in their newest versions.

    For a restricted person, only the reason of the restriction is exported. For a transfer to another registry, with
    all versions, use `perdure export`.
    """
    chosen = format or format_from_suffix(output, PersonFormat)
    if output is None or str(output) == "-":
        run_anonymous(folder, lambda registry: _write_persons(registry, chosen, sys.stdout.buffer))
        return
    check_output(output, overwrite, "export")
    partial = output.with_name(f".{output.name}.new")
    try:
        with open_private(partial) as stream:
            count = run_anonymous(folder, lambda registry: _write_persons(registry, chosen, stream))
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    partial.replace(output)
    typer.echo(f"Exported {count:,} persons to {output}.")


async def _write_persons(registry: Registry, format: PersonFormat, stream: BinaryIO) -> int:
    """Write persons one by one, in constant memory, and return their number."""
    count = 0
    waiting: deque[PersonView] = deque()
    pieces = _document_chunks(_drain(waiting), format, registry.namespaces)
    with count_progress("persons") as bar:
        task = bar.add_task("exporting", total=await count_persons(registry))
        async for person in iterate_persons(registry):
            waiting.append(person)
            while waiting:
                stream.write(next(pieces))
            count += 1
            bar.advance(task)
    for piece in pieces:
        stream.write(piece)
    return count


def _drain(waiting: deque[PersonView]) -> Iterator[PersonView]:
    """Yield waiting persons. The writer is synchronous, so it runs only while a person is waiting."""
    while waiting:
        yield waiting.popleft()


def _document_chunks(persons: Iterator[PersonView], format: PersonFormat, namespaces: Namespaces) -> Iterator[bytes]:
    """Yield the document. JSON-LD contains its context, because readers may have no access to this registry."""
    from perdure.rdf import context, dump  # imported here because RDF is slow to load

    context_object = msgspec.json.decode(context(namespaces), type=dict[str, msgspec.Raw])["@context"]
    return dump(persons, format.value, namespaces, msgspec.Raw(msgspec.json.format(bytes(context_object), indent=-1)))
