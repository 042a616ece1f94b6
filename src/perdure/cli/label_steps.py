"""The steps of an IBI label: how the standard decodes it and, in a registry, how its date was issued."""

from pathlib import Path
from typing import Any

import typer

from perdure import Recognition
from perdure.cli.distributor_table import step_lines, trace_fields
from perdure.cli.instant_text import format_seconds
from perdure.cli.registry_session import find_folder, run_anonymous
from perdure.cli.terminal import escape_control
from perdure.errors import InvalidInput, NoSuchName
from perdure.names import ibi, instant
from perdure.names.ibi.label import Label
from perdure.registry.label_neighbours import LabelNeighbours, find_neighbours

_ALGORITHMS = {
    1: "Algorithm 1, prefix of a repository name",
    2: "Algorithm 2, suffix of a repository name",
    5: "Algorithm 5, prefix of an IBIp",
    6: "Algorithm 6, suffix of an IBIp",
}


def print_label_steps(recognition: Recognition, folder: Path | None) -> None:
    """Print the steps of a label; of any other text, that it has none."""
    label = _find_label(recognition)
    if label is None:
        typer.echo("No steps: this is not an IBI label that the algorithms of the standard write.")
        return
    algorithm = 0
    for step in ibi.decoding_steps(label):
        if step.algorithm != algorithm:
            algorithm = step.algorithm
            typer.echo(f"{_ALGORITHMS[algorithm]}, read backwards")
        typer.echo(f"  {escape_control(step.part) or '(nothing)':<20} {step.rule:<76} {escape_control(step.result)}")
    neighbours = _find_neighbours(label, folder)
    if neighbours is not None:
        _print_neighbours(neighbours)


def label_fields(recognition: Recognition, folder: Path | None) -> dict[str, Any]:
    """Return the steps of a label as the fields of a JSON object."""
    label = _find_label(recognition)
    if label is None:
        return {"steps": None}
    fields: dict[str, Any] = {"steps": [one._asdict() for one in ibi.decoding_steps(label)]}
    neighbours = _find_neighbours(label, folder)
    if neighbours is None:
        return fields
    timeline: dict[str, Any] = {
        "previous": None if neighbours.previous is None else neighbours.previous[0],
        "following": None if neighbours.following is None else neighbours.following[0],
        "granularity": None if neighbours.granularity is None else format_seconds(neighbours.granularity),
    }
    if neighbours.trace is not None:
        timeline["distributor"] = trace_fields(neighbours.trace, with_steps=True)
    return fields | {"timeline": timeline}


def _find_label(recognition: Recognition) -> Label | None:
    for one in (recognition, *recognition.alternatives):
        if one.scheme == "ibi" and one.canonical is not None:
            label = ibi.parse_any(one.canonical)
            return None if isinstance(label, ibi.LegacyName) else label
    return None


def _find_neighbours(label: Label, folder: Path | None) -> LabelNeighbours | None:
    """Look for the label in the registry, if there is one."""
    try:
        here = find_folder(folder)
    except InvalidInput:
        return None
    try:
        return run_anonymous(here, lambda registry: find_neighbours(registry, label.label))
    except NoSuchName:
        return None


def _print_neighbours(found: LabelNeighbours) -> None:
    typer.echo("In this registry")
    for what, one in (("before it", found.previous), ("after it", found.following)):
        text = "none of this timeline" if one is None else f"{one[0]}  ({instant.to_iso(one[1])})"
        typer.echo(f"  {what:<20} {escape_control(text)}")
    if found.trace is None or found.granularity is None:
        typer.echo("  The request for it is not known: the label was imported, or the timeline changed.")
        return
    step = format_seconds(found.granularity)
    typer.echo(f"Algorithm 4, with r = {step}, for a request at {instant.to_iso(found.trace.request)}")
    for line in step_lines(found.trace):
        typer.echo(f"  {line}")
