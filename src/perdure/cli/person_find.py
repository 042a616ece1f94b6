"""`perdure person find`: persons by words of their names, or by who they are in another system."""

from collections.abc import AsyncIterator
from typing import Annotated

import typer

from perdure.cli.person_said import as_person
from perdure.cli.screen import as_json, printable
from perdure.cli.session import Folder, Json, read
from perdure.errors import InvalidInput
from perdure.registry.persons import FoundPerson, find_by_link, find_by_name
from perdure.registry.registry import Registry

EXAMPLES = """
**Examples**

- `perdure person find jan vries`
- the beginning of a word: `perdure person find "vrie*" --limit 1000`
- by who they are elsewhere: `perdure person find --link wikidata:Q42`
"""

_NOTHING_FOUND = 1
_AT_ONCE = 1000


def find(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Words that are all in one name; WORD* is the beginning of one."),
    ] = None,
    link: Annotated[
        str | None, typer.Option(metavar="SYSTEM:ID", help="Who is linked to this orcid:, isni:, viaf: or wikidata:.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many to list: reconstructions first, the newest first.")] = 100,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Find persons by words of their names, or by a link."""
    if (link is None) == (not words):
        raise InvalidInput("search", "words", "give words of a name, or --link SYSTEM:ID")
    if not read(folder, lambda registry: _list(registry, words or [], link, limit, json)):
        typer.echo("nobody was found", err=True)
        raise typer.Exit(_NOTHING_FOUND)


async def _list(registry: Registry, words: list[str], link: str | None, limit: int, json: bool) -> int:
    """Each is told when it is found: to look through everybody who has a common name may take a while."""
    count = 0
    async for one in _named(registry, words, limit + 1) if link is None else _linked(registry, link):
        if count == limit:
            typer.echo(f"There are more than {limit:,}: say how many to list with --limit", err=True)
            break
        fields = as_person(one.name, state=one.state, names=one.names)
        typer.echo(as_json(fields) if json else "\t".join(map(printable, (one.name, one.state, *one.names))))
        count += 1
    return count


async def _named(registry: Registry, words: list[str], wanted: int) -> AsyncIterator[FoundPerson]:
    page = await find_by_name(registry, words, limit=min(wanted, _AT_ONCE))
    while True:
        for one in page.persons:
            yield one
        if page.next is None:
            return
        page = await find_by_name(registry, words, after=page.next, limit=min(wanted, _AT_ONCE))


async def _linked(registry: Registry, link: str) -> AsyncIterator[FoundPerson]:
    system, _, text = link.partition(":")
    for one in await find_by_link(registry, system, text, limit=_AT_ONCE):
        yield one
