"""`perdure stats`: the content of a registry in numbers, and how often identifiers were resolved."""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import run_as_agent
from perdure.cli.registry_session import Folder, Json, run_anonymous
from perdure.cli.server_option import chosen_server
from perdure.cli.terminal import escape_control, make_console, print_table, to_json
from perdure.errors import InvalidInput
from perdure.registry.statistics import (
    CLIENT_KINDS,
    FIRST_DAY,
    LAST_DAY,
    NameStatistics,
    Period,
    PrefixStatistics,
    write_csv,
)

EXAMPLES = """
**Examples**

- numbers of identifiers, prefixes and agents: `perdure stats`
- resolutions of one identifier, day by day: `perdure stats 12345/Y35XYS0QH`
- resolutions under a prefix, and the names resolved most: `perdure stats 12345 --by month --since 2026-01-01`
- for a spreadsheet: `perdure stats 12345/Y35XYS0QH --csv > resolutions.csv`
"""


class PeriodLength(StrEnum):
    day = "day"
    month = "month"


def stats(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Identifier or prefix, to see how often it was resolved."),
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="DAY", help="First day, as in 2026-01-01.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DAY", help="Last day, as in 2026-12-31.")] = None,
    by: Annotated[
        PeriodLength, typer.Option(metavar="PERIOD", help="Add the resolutions up by day or by month.")
    ] = PeriodLength.day,
    csv: Annotated[bool, typer.Option("--csv", help="Print a CSV table.")] = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Print the number of identifiers, prefixes and so on; or how often an identifier was resolved.

    A server counts resolutions for each identifier, day (in UTC) and kind of client: browser, robot, program, or client
    of the Handle System. It writes them every few minutes, and stores neither addresses nor user agents.
    """
    if name is None:
        if since or until or csv or by is not PeriodLength.day:
            raise InvalidInput("statistics", "name", "--since, --until, --by and --csv need an identifier or a prefix")
        if chosen_server() is not None:
            reason = "without an identifier or a prefix, perdure stats works on the machine of the registry only"
            raise InvalidInput("server", "server", reason)
        _print_counts(folder, json)
        return

    period = {"since": since or FIRST_DAY, "until": until or LAST_DAY}
    counted = run_as_agent(
        folder,
        lambda registry, agent: use.count_resolutions(
            registry, agent, name, **period, monthly=by is PeriodLength.month
        ),
    )
    if csv:
        typer.echo(write_csv(counted.periods), nl=False)
    elif json:
        typer.echo(to_json(_to_fields(counted)))
    else:
        _print_periods(counted)


def _print_counts(folder: Folder, json: bool) -> None:
    counts = run_anonymous(folder, lambda registry: registry.store.read(lambda reader: reader.counts()))
    if json:
        typer.echo(to_json(counts))
    else:
        form = "{:,}" if make_console().is_terminal else "{}"  # without separators for other programs
        print_table(("what", "count"), ((what, form.format(count)) for what, count in counts.items()))


def _print_periods(counted: NameStatistics | PrefixStatistics) -> None:
    if not counted.periods:
        what = counted.prefix if isinstance(counted, PrefixStatistics) else counted.name
        typer.echo(f"No resolutions of {escape_control(what)} were counted in this time.")
        return
    headings = ("period", *CLIENT_KINDS, "total without robots")
    rows = (
        (one.period, *(str(getattr(one, kind)) for kind in CLIENT_KINDS), str(one.total)) for one in counted.periods
    )
    print_table(headings, rows)
    if isinstance(counted, PrefixStatistics):
        print_table(("resolved most", "total"), ((one.name, str(one.total)) for one in counted.names), whole=("total",))


def _to_fields(counted: NameStatistics | PrefixStatistics) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(counted)
    return fields | {"periods": [_period_fields(period) for period in counted.periods]}


def _period_fields(period: Period) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(period)
    return fields | {"total": period.total}
