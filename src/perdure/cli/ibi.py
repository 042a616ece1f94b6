"""`perdure ibi`: how the temporal distributor of IBI issues dates."""

from fractions import Fraction
from typing import Annotated, Final

import typer

from perdure.cli.distributor_table import print_traces, trace_fields
from perdure.cli.granularity_option import parse_granularity
from perdure.cli.help import CommandGroup
from perdure.cli.instant_text import parse_instant
from perdure.cli.terminal import to_json
from perdure.errors import InvalidInput
from perdure.names import ibi

app = CommandGroup(help="Learn how IBI labels get their dates.")

EXAMPLES: Final = """
**Examples**

- the example of the standard, its Table 6.2: `perdure ibi simulate`
- `perdure ibi simulate 2026-03-01T12:00:00.2Z 2026-03-01T12:00:00.9Z 2026-03-01T12:00:01Z --granularity 1`
- every line of Algorithm 4: `perdure ibi simulate --steps 1287588115.186234`
"""

# Requests d, b, a, c, g, e and f of the standard.
_TABLE_6_2: Final = (
    "1287587646.394023",
    "1287588012.2930",
    "1287588115.186234",
    "1287588115.3462",
    "1287588115.99623",
    "1287588116.72",
    "1287588539.788342",
)
_MOST_REQUESTS: Final = 10_000


@app.command("simulate", epilog=EXAMPLES)
def simulate(
    dates: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATE",
            help="Dates of the requests, in their order: ISO 8601 with a time zone, or POSIX seconds. "
            "Default: the example of the standard, Table 6.2.",
        ),
    ] = None,
    granularity: Annotated[
        str, typer.Option(metavar="SECONDS", help="Smallest step between two dates: 60, 1, 0.1, 0.01 …")
    ] = "1",
    last: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Date that the subsystem issued before. Default: none, it is new."),
    ] = None,
    steps: Annotated[bool, typer.Option("--steps", help="Show every line of Algorithm 4 with its values.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per request.")] = False,
) -> None:
    """Simulate requests to one IBI subsystem: the date that Algorithm 4 gives to each, and how long it waits.

    The columns are those of Table 6.2: the date of the request, the date of creation, the last date, the largest step
    that the new date fits, the new date, and the suffix of the repository name. Nothing is recorded.
    """
    texts = dates or list(_TABLE_6_2)
    if len(texts) > _MOST_REQUESTS:
        raise InvalidInput("ibi", "dates", f"at most {_MOST_REQUESTS} requests can be simulated at once")
    requests = [parse_instant(text, "ibi") for text in texts]
    before: Fraction | None = None if last is None else parse_instant(last, "ibi")
    traces = ibi.trace_requests(requests, parse_granularity(granularity), before)
    if not json:
        print_traces(traces, with_steps=steps)
        return
    for trace in traces:
        typer.echo(to_json(trace_fields(trace, with_steps=steps)))
