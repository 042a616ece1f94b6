"""`perdure retarget`: another beginning for many URLs."""

from typing import Annotated

import typer

from perdure.cli.any_registry import run_as_agent
from perdure.cli.bulk_session import (
    BulkOptions,
    DryRun,
    Problems,
    Yes,
    change_after_preview,
    exit_if_refused,
)
from perdure.cli.query_options import Under
from perdure.cli.registry_session import Folder, Json
from perdure.registry import BulkRequest, IdentifierQuery, QuerySource

EXAMPLES = r"""
**Examples**

- `perdure retarget --from http://old.example.org/ --to https://new.example.org/ --dry-run`
- under one prefix: `perdure retarget --from http://old.example.org/ --to https://new.example.org/ --under 12345`
- a regular expression: `perdure retarget --regex --from 'http://old\.example\.org/(\d+)' --to 'https://new.example.org/\1'`
"""


def retarget(
    old: Annotated[str, typer.Option("--from", metavar="URL", help="Beginning of the URLs to change.")],
    new: Annotated[str, typer.Option("--to", metavar="URL", help="What to write in its stead.")],
    under: Under = None,
    regex: Annotated[
        bool,
        typer.Option(
            "--regex",
            help=r"--from is a regular expression, matched at the beginning; --to may contain `\1` and `\g<name>`.",
        ),
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    problems: Problems = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Change the beginning of every URL: of URL values, of their subtypes, and inside 10320/loc. Can be undone.

    Scheme and host are compared without case, and the host as a whole; `http://` alone means every URL of it. Each
    identifier gets one new version. Withdrawn identifiers and persons stay as they are. After an interruption, run the
    same command again: it continues where it stopped.
    """
    query = IdentifierQuery(prefix=under)
    request = BulkRequest(kind="retarget", query=query, old=old, new=new, is_pattern=regex)
    options = BulkOptions(dry_run, yes, problems, json)
    change = run_as_agent(
        folder, lambda registry, by: change_after_preview(registry, by, request, QuerySource(query), options)
    )
    exit_if_refused(change.refused)
