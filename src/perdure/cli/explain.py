"""`perdure explain`: what an identifier is, whether it is right, and what can be read from it."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perdure import Recognition, recognise
from perdure.cli.lines import plain_lines
from perdure.cli.screen import as_json, console, printable, standard_input
from perdure.names.handle import is_doi

EXAMPLES = """
**Examples**

- `perdure explain 8JMKD3MGP8W/34PGRBS`
- `perdure explain "https://doi.org/10.1045/april2006-paskin" POID-93b0-4476-560e-5ac1`
- `pbpaste | perdure explain --json`
"""

_SCHEMES = {
    "handle": "Handle",
    "pilin": "Handle with a PILIN suffix",
    "ibi": "Internet Based Identifier",
    "ppid": "Person identifier (PPID)",
    "orcid": "ORCID iD",
    "isni": "ISNI",
    "viaf": "VIAF number",
    "wikidata": "Wikidata item",
    "ghcid": "Heritage custodian (GHCID)",
    "unknown": "Not recognised",
}
_LONGEST_SHOWN = 400
_BARE_PILIN = "PILIN suffix"
_LABELS = {
    "ip": "IP address",
    "iri": "IRI",
    "url": "web address",
    "suggestion": "did you mean",
    "parents": "derived from",
    "part": "",  # the reason says it in a sentence
    "milliseconds": "ms since 1582-10-15",
}


def explain(
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Identifiers, pasted in any form. None: one per line from standard input."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Tell what an identifier is, and when and where it was made.

    Takes any text that may be an identifier: bare, as a web address, with hdl: or doi: in front, in brackets, with
    a full stop behind, or as a QR scanner gives it. If a text can be read in several ways, all of them are shown,
    the likeliest first.

    The exit code is 0 whether the identifiers are valid or not; `perdure check` has one that tells.
    """
    screen = console()
    for number, text in enumerate(texts or _piped()):
        recognition = recognise(text)
        if json:
            typer.echo(as_json({"input": text, **as_object(recognition)}))
        else:
            if number:
                screen.print()
            _print(screen, text, recognition)


def _piped() -> Iterable[str]:
    for batch in plain_lines(standard_input(), lambda _size: None):
        yield from (line for line in batch.lines if line.strip())


def as_object(recognition: Recognition) -> dict[str, Any]:
    """A recognition as it is written in JSON."""
    return {
        "scheme": recognition.scheme,
        "canonical": recognition.canonical,
        "valid": recognition.valid,
        "reason": recognition.reason,
        "details": recognition.details,
        "alternatives": [as_object(other) for other in recognition.alternatives],
    }


def _print(screen: Console, text: str, recognition: Recognition) -> None:
    name = recognition.canonical or text.strip()
    heading = Text(f" {printable(name[:_LONGEST_SHOWN])}{'…' if len(name) > _LONGEST_SHOWN else ''}", style="bold")
    table = Table(title=heading, title_justify="left", box=box.HORIZONTALS, show_header=False, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("what it is", _name(recognition))
    verdict = Text("yes", style="green") if recognition.valid else Text("no", style="bold red")
    table.add_row("valid", verdict.append(f": {printable(recognition.reason)}", style="default"))
    for key, value in recognition.details.items():
        label = _LABELS.get(key, key.replace("_", " "))
        if label:
            table.add_row(label, Text(printable(", ".join(value) if isinstance(value, tuple) else str(value))))
    for other in recognition.alternatives:
        table.add_row("could also be", _alternative(other, recognition))
    screen.print(table)


def _name(recognition: Recognition) -> str:
    if recognition.scheme == "pilin" and "prefix" not in recognition.details:
        return _BARE_PILIN
    if recognition.scheme == "handle" and is_doi(str(recognition.details.get("prefix", ""))):
        return "DOI (a handle)"
    return _SCHEMES[recognition.scheme]


def _alternative(other: Recognition, first: Recognition) -> Text:
    text = Text(_name(other))
    if other.canonical and other.canonical != first.canonical:
        text.append(f" {printable(other.canonical)}")
    if not other.valid:
        text.append(f" (not valid: {printable(other.reason)})")
    return text
