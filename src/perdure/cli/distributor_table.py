"""Algorithm 4 on the terminal: its lines with their values, and the table of several requests."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import typer

from perdure.cli.instant_text import format_seconds
from perdure.names import ibi, instant
from perdure.names.ibi.distributor_steps import Step, Trace

# As in Table 6.2, with the wait.
HEADINGS: Final = ("request", "creation date", "last date", "step", "date", "suffix", "wait")
_FIELDS: Final = ("request", "creation", "last", "step", "date", "suffix", "wait")


def print_traces(traces: Iterable[Trace], *, with_steps: bool) -> None:
    """Print one row for each request, and its lines below it if `with_steps`."""
    rows = [(_row(trace), trace) for trace in traces]
    cells = [HEADINGS, *(row for row, _ in rows)]
    widths = [max(len(one[column]) for one in cells) for column in range(len(HEADINGS))]
    typer.echo(_align(HEADINGS, widths))
    for row, trace in rows:
        typer.echo(_align(row, widths))
        if with_steps:
            for line in step_lines(trace):
                typer.echo(f"    {line}")


def step_lines(trace: Trace) -> list[str]:
    """Return each line that was run: its number, its text, and the value or the result of the condition."""
    width = max(len(step.text) for step in trace.steps)
    return [f"{step.line:>2}  {step.text:{width}}  {_result(step)}" for step in trace.steps]


def trace_fields(trace: Trace, *, with_steps: bool) -> dict[str, Any]:
    """Return a trace as a JSON object. Seconds are text, because they are exact."""
    fields: dict[str, Any] = dict(zip(_FIELDS, _row(trace), strict=True))
    fields["instant"] = instant.to_iso(trace.date)
    if with_steps:
        fields["steps"] = [{"line": step.line, "text": step.text, "result": _result(step)} for step in trace.steps]
    return fields


def _row(trace: Trace) -> tuple[str, ...]:
    numbers = (trace.request, trace.creation, trace.last, trace.step_of_date, trace.date)
    return (*map(format_seconds, numbers), ibi.repository_suffix(trace.date), format_seconds(trace.wait))


def _result(step: Step) -> str:
    if step.value is not None:
        return format_seconds(step.value)
    return "yes" if step.holds else "no"


def _align(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
