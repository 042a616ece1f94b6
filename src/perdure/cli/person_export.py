"""`perdure person export`: all persons of the registry as one document, for whoever wants the whole of it."""

import sys
from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
import typer

from perdure.cli.progress import count_bar
from perdure.cli.session import Folder, read
from perdure.errors import InvalidInput
from perdure.records.iris import Namespaces
from perdure.registry.persons import PersonView, count_persons, walk_persons
from perdure.registry.registry import Registry
from perdure.store.folders import open_private

EXAMPLES = """
**Examples**

- `perdure person export --format nt --output persons.nt`
- `perdure person export --format ndjson | gzip > persons.ndjson.gz`
- by its ending: `perdure person export --output persons.ttl`
"""


class Format(StrEnum):
    nt = "nt"
    ttl = "ttl"
    jsonld = "jsonld"
    ndjson = "ndjson"


def export(
    format: Annotated[
        Format | None,
        typer.Option(
            help="nt (N-Triples), ttl (Turtle), jsonld (JSON-LD) or ndjson (our own records, one a line). "
            "Default: by the ending of the file."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write. Default: standard output.", dir_okay=False
        ),
    ] = None,
    folder: Folder = None,
) -> None:
    """Write all persons out, each in its newest version, as anybody may see it.

    Of a restricted person this is no more than the reason. For another registry, with every version:
    `perdure export`.
    """
    chosen = format or _by_ending(output)
    if output is None or str(output) == "-":
        read(folder, lambda registry: _write(registry, chosen, sys.stdout.buffer))
        return
    if not output.parent.is_dir():
        raise InvalidInput("export", "output", f"there is no folder {output.parent} to write {output.name} into")
    fresh = output.with_name(f".{output.name}.new")
    try:
        with open_private(fresh) as stream:
            count = read(folder, lambda registry: _write(registry, chosen, stream))
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    fresh.replace(output)
    typer.echo(f"{count:,} persons were written to {output}")


async def _write(registry: Registry, format: Format, stream: BinaryIO) -> int:
    """One person is read, and written, after the other: nothing is kept."""
    count = 0
    waiting: deque[PersonView] = deque()
    pieces = _pieces(_taken(waiting), format, registry.settings.namespaces)
    with count_bar("persons") as bar:
        task = bar.add_task("exporting", total=await count_persons(registry))
        async for person in walk_persons(registry):
            waiting.append(person)
            while waiting:
                stream.write(next(pieces))
            count += 1
            bar.advance(task)
    for piece in pieces:
        stream.write(piece)
    return count


def _taken(waiting: deque[PersonView]) -> Iterator[PersonView]:
    """Whoever waits: what writes documents cannot wait for the registry, so it is asked only while somebody is here."""
    while waiting:
        yield waiting.popleft()


def _pieces(persons: Iterator[PersonView], format: Format, namespaces: Namespaces) -> Iterator[bytes]:
    """The document. JSON-LD has its context inside: it must be readable where this registry is not served."""
    from perdure.linked import context, dump  # what knows RDF takes a while to load

    words = msgspec.json.decode(context(namespaces), type=dict[str, msgspec.Raw])["@context"]
    return dump(persons, format.value, namespaces, msgspec.Raw(msgspec.json.format(bytes(words), indent=-1)))


def _by_ending(output: Path | None) -> Format:
    try:
        return Format("" if output is None else output.suffix.lower().removeprefix("."))
    except ValueError:
        raise InvalidInput("export", "format", "say which format it is: --format nt, ttl, jsonld or ndjson") from None
