"""`perdure explain`: the scheme of an identifier, its validity, and the data that it encodes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perdure import Recognition, recognise
from perdure.cli.label_steps import label_fields, print_label_steps
from perdure.cli.line_input import plain_lines
from perdure.cli.registry_session import Folder, find_own_addresses, run_anonymous
from perdure.cli.terminal import escape_control, make_console, open_standard_input, to_json
from perdure.errors import PerdureError
from perdure.names import handle
from perdure.names.scheme_readers import handle_recognition
from perdure.registry.name_keys import locate

EXAMPLES = """
**Examples**

- `perdure explain 8JMKD3MGP8W/34PGRBS`
- how its date was encoded, step by step: `perdure explain --steps 8JMKD3MGP8W/34PGRBS`
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
_MAX_SHOWN_LENGTH = 400
_BARE_PILIN = "PILIN suffix"
_LABELS = {
    "ip": "IP address",
    "iri": "IRI",
    "url": "URL",
    "suggestion": "did you mean",
    "parents": "derived from",
    "part": "",  # the reason names it
    "milliseconds": "ms since 1582-10-15",
}


def explain(
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Identifiers in any form. Default: one per line from standard input."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    steps: Annotated[
        bool,
        typer.Option(
            "--steps",
            help="For IBI labels: decode them part by part. In a registry, show the labels before and after, and how "
            "Algorithm 4 arrived at the date.",
        ),
    ] = False,
    folder: Folder = None,
) -> None:
    """Explain an identifier: its scheme, its validity, and when and where it was created.

    Accepts any text that contains an identifier: the bare name, a URL, with hdl: or doi:, in brackets, with a full
    stop at the end, or from a QR scanner. If a text has several meanings, all are shown, the most likely first.

    No registry is needed. If there is one, URLs of its own resolver (public_url in its settings) are explained too.

    The exit code is 0 for invalid identifiers too. For an exit code that depends on validity, use `perdure check`.
    """
    screen = make_console()
    addresses = find_own_addresses(folder)
    for number, text in enumerate(texts or _read_standard_input()):
        recognition = recognise(text, addresses)
        if not recognition.valid:
            recognition = _recognise_joiners(text, folder) or recognition
        if json:
            fields = {"input": text, **to_dict(recognition)}
            typer.echo(to_json(fields | label_fields(recognition, folder) if steps else fields))
        else:
            if number:
                screen.print()
            _print_recognition(screen, text, recognition)
            if steps:
                print_label_steps(recognition, folder)


def _recognise_joiners(text: str, folder: Path | None) -> Recognition | None:
    """Return a valid name with zero-width joiners; None for other texts. The prefix in the registry must allow them."""
    if not handle.has_joiners(unquote(text)):
        return None
    try:
        located = run_anonymous(folder, lambda registry: registry.store.read(lambda reader: locate(reader, text)))
    except PerdureError:
        return None
    return handle_recognition(handle.parse(located.name, joiners=True))


def _read_standard_input() -> Iterable[str]:
    for batch in plain_lines(open_standard_input(), lambda _size: None):
        yield from (line for line in batch.lines if line.strip())


def to_dict(recognition: Recognition) -> dict[str, Any]:
    """Return a recognition as a JSON object."""
    return {
        "scheme": recognition.scheme,
        "canonical": recognition.canonical,
        "valid": recognition.valid,
        "reason": recognition.reason,
        "details": recognition.details,
        "alternatives": [to_dict(other) for other in recognition.alternatives],
    }


def _print_recognition(screen: Console, text: str, recognition: Recognition) -> None:
    name = recognition.canonical or text.strip()
    heading = Text(
        f" {escape_control(name[:_MAX_SHOWN_LENGTH])}{'…' if len(name) > _MAX_SHOWN_LENGTH else ''}", style="bold"
    )
    table = Table(title=heading, title_justify="left", box=box.HORIZONTALS, show_header=False, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("scheme", _scheme_label(recognition))
    verdict = Text("yes", style="green") if recognition.valid else Text("no", style="bold red")
    table.add_row("valid", verdict.append(f": {escape_control(recognition.reason)}", style="default"))
    for key, value in recognition.details.items():
        label = _LABELS.get(key, key.replace("_", " "))
        if label:
            table.add_row(label, Text(escape_control(", ".join(value) if isinstance(value, tuple) else str(value))))
    for other in recognition.alternatives:
        table.add_row("could also be", _format_alternative(other, recognition))
    screen.print(table)


def _scheme_label(recognition: Recognition) -> str:
    if recognition.scheme == "pilin" and "prefix" not in recognition.details:
        return _BARE_PILIN
    if recognition.scheme == "handle" and handle.is_doi(str(recognition.details.get("prefix", ""))):
        return "DOI (a handle)"
    return _SCHEMES[recognition.scheme]


def _format_alternative(other: Recognition, first: Recognition) -> Text:
    text = Text(_scheme_label(other))
    if other.canonical and other.canonical != first.canonical:
        text.append(f" {escape_control(other.canonical)}")
    if not other.valid:
        text.append(f" (not valid: {escape_control(other.reason)})")
    return text
