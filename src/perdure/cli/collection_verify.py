"""`perdure collection verify`: a check of every byte in a collection."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Annotated, Final

import typer

from perdure.cli.collection_options import CollectionName, count_text
from perdure.cli.exit_codes import PROBLEMS_FOUND
from perdure.cli.registry_session import Folder, Json, run_as_agent
from perdure.cli.terminal import escape_control, to_json
from perdure.cli.transfer_progress import show_steps
from perdure.collections.collection_admin import find_collection
from perdure.collections.verification import CheckedItem, verify_collection, verify_rolling
from perdure.errors import InvalidInput, quote_text
from perdure.registry import Registry
from perdure.registry.entities import Agent

EXAMPLES = """
**Examples**

- everything, now: `perdure collection verify archive`
- every night, what was not checked for 30 days: `perdure collection verify archive --rolling 30d --rate 50MB`
"""
_PERIOD: Final = re.compile(r"([1-9][0-9]{0,4}) ?([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_RATE: Final = re.compile(r"([1-9][0-9]{0,8}) ?(k|M|G)?i?B?(?:/s)?", re.IGNORECASE)
_FACTORS: Final = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3}


def verify(
    collection: CollectionName,
    rolling: Annotated[
        str | None,
        typer.Option(metavar="PERIOD", help="Check only what was not checked within this period: 30d, 12h, 4w."),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="SPEED", help="Read at most this much per second: 50MB, 500kB.")
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Compare every file of a collection with its digest, and find what is missing, changed, foreign or misplaced.

    Without --rolling, everything is checked, also the directories between the items. The outcome is recorded with each
    item, and problems in the log. With --rolling, known problems count until a later check finds none. A file that
    could not be read is not called changed: the next check may read it.
    Exit code 0: no problems; 1: problems found.
    """
    period = None if rolling is None else parse_period(rolling)
    limit = None if rate is None else float(parse_rate(rate))
    found = run_as_agent(folder, lambda registry, by: _verify(registry, by, collection, period, limit, json))
    if found:
        raise typer.Exit(PROBLEMS_FOUND)


async def _verify(
    registry: Registry, by: Agent, name: str, period: timedelta | None, rate: float | None, as_json: bool
) -> int:
    items = size = problems = 0
    total = (await find_collection(registry, name)).totals.size
    with show_steps(None if period is not None else total) as report:
        steps: AsyncIterator[CheckedItem]
        if period is None:
            steps = verify_collection(registry, by, name, rate=rate, report=report)
        else:
            steps = verify_rolling(registry, by, name, period, rate=rate, report=report)
        async for one in steps:
            items, size = items + bool(one.label), size + one.size
            problems += len(one.problems)
            if as_json and (one.problems or one.label):
                report.echo(to_json(one._asdict()))
                continue
            for problem in one.problems:
                report.echo(escape_control(f"{one.label}: {problem}" if one.label else problem))
    known = (await find_collection(registry, name)).totals.problems if period is not None else 0
    if not as_json:
        outcome = count_text(problems, "problem") if problems else "no problems"
        typer.echo(f"Checked {count_text(items, 'item')} of {name} ({count_text(size, 'byte')}): {outcome} found.")
        if known:
            listed = f"perdure collection list {name} --problems"
            typer.echo(f"With problems, by their last checks: {count_text(known, 'item')} ({listed}).")
    return problems or known


def parse_period(text: str) -> timedelta:
    """Read a period.

    >>> parse_period("30d")
    datetime.timedelta(days=30)
    """
    match = _PERIOD.fullmatch(text.strip())
    if match is None:
        raise InvalidInput("collection", "rolling", f"{quote_text(text)} is not a period such as 30d, 12h or 4w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def parse_rate(text: str) -> int:
    """Read a speed, in bytes per second.

    >>> parse_rate("50MB"), parse_rate("500 kB/s"), parse_rate("1000")
    (50000000, 500000, 1000)
    """
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise InvalidInput("collection", "rate", f"{quote_text(text)} is not a speed such as 50MB or 500kB")
    return int(match[1]) * _FACTORS[(match[2] or "").lower()]
