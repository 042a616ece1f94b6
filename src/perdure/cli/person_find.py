"""`perdure person find`: persons by name, or by identifier in another system."""

from collections.abc import AsyncIterator
from typing import Annotated

import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_anonymous
from perdure.cli.exit_codes import NOTHING_FOUND
from perdure.cli.person_options import person_fields
from perdure.cli.registry_session import Folder, Json
from perdure.cli.terminal import escape_control, to_json
from perdure.errors import InvalidInput
from perdure.registry.persons import PersonHit

EXAMPLES = """
**Examples**

- `perdure person find jan vries`
- the beginning of a word: `perdure person find "vrie*" --limit 1000`
- by identifier in another system: `perdure person find --link wikidata:Q42`
"""

_PAGE_SIZE = 1000


def find(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Words of a name; all must match. WORD* matches the beginning of a word."),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(
            metavar="SYSTEM:ID", help="Find persons linked to this orcid:, isni:, viaf: or wikidata: identifier."
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of results: reconstructions first, newest first.")
    ] = 100,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Find persons by words of their names, or by a link to another system."""
    if (link is None) == (not words):
        raise InvalidInput("search", "words", "give words of a name, or --link SYSTEM:ID")
    if not run_anonymous(folder, lambda registry: _print_persons(registry, words or [], link, limit, json)):
        typer.echo("No persons found.", err=True)
        raise typer.Exit(NOTHING_FOUND)


async def _print_persons(registry: AnyRegistry, words: list[str], link: str | None, limit: int, json: bool) -> int:
    """Print persons one by one, because a search for a common name may take long; return their number."""
    count = 0
    async for one in (
        _find_all_by_name(registry, words, limit + 1) if link is None else _find_all_by_link(registry, link)
    ):
        if count == limit:
            typer.echo(f"More than {limit:,} results. Use --limit to list more.", err=True)
            break
        fields = person_fields(one.name, state=one.state, names=one.names)
        typer.echo(to_json(fields) if json else "\t".join(map(escape_control, (one.name, one.state, *one.names))))
        count += 1
    return count


async def _find_all_by_name(registry: AnyRegistry, words: list[str], count: int) -> AsyncIterator[PersonHit]:
    page = await use.find_by_name(registry, words, limit=min(count, _PAGE_SIZE))
    while True:
        for one in page.persons:
            yield one
        if page.next is None:
            return
        page = await use.find_by_name(registry, words, after=page.next, limit=min(count, _PAGE_SIZE))


async def _find_all_by_link(registry: AnyRegistry, link: str) -> AsyncIterator[PersonHit]:
    system, _, text = link.partition(":")
    for one in await use.find_by_link(registry, system, text, limit=_PAGE_SIZE):
        yield one
