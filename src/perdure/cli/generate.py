"""`perdure generate`: labels from an instant and other inputs, without a registry."""

import time
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from perdure import handle, ibi, pilin, ppid, recognise
from perdure.cli.file_formats import hash_file
from perdure.cli.help import CommandGroup
from perdure.cli.instant_text import parse_instant
from perdure.cli.terminal import to_json
from perdure.errors import InvalidInput
from perdure.names import instant

app = CommandGroup(
    help="""Generate a label from an instant and other inputs, without a registry.

    The same inputs always give the same label. Nothing is recorded, so uniqueness is not guaranteed. If labels must
    be unique, use `perdure mint`.""",
)

_NANOSECONDS = 1_000_000_000

At = Annotated[
    str | None, typer.Option(metavar="DATE", help="Instant: ISO 8601 with a time zone, or POSIX seconds. Default: now.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per label.")]


_EXAMPLES = {
    "pilin": "--prefix 102.100.272 --at 2007-05-25T03:49:52.865Z",
    "ibi": "--host mtc-m18.sid.inpe.br --ip 150.163.34.243 --at 2009-02-16T17:46:00Z",
    "poid": "https://example.org/staff/jan --at 2025-01-09T10:30:00Z --content page.html",
    "prid": "POID-93b0-4476-560e-5ac1 --curator https://orcid.org/0000-0002-1825-0097 --at 2025-01-09T10:30:00Z",
}


def _format_example(command: str) -> str:
    return f"**Example**\n\n- `perdure generate {command} {_EXAMPLES[command]}`"


EXAMPLES = _format_example("pilin")


def _instant_or_now(text: str | None, scheme: str) -> Fraction:
    return Fraction(time.time_ns(), _NANOSECONDS) if text is None else parse_instant(text, scheme)


def _print_label(label: str, json: bool, **details: str | int) -> None:
    typer.echo(to_json({"label": label, **details}) if json else label)


@app.command("pilin", epilog=_format_example("pilin"))
def generate_pilin(
    at: At = None,
    prefix: Annotated[
        str | None, typer.Option(metavar="PREFIX", help="Handle prefix to put before the suffix.")
    ] = None,
    json: Json = False,
) -> None:
    """Generate the nine-character PILIN suffix for a point in time (to the millisecond)."""
    when = _instant_or_now(at, "pilin")
    milliseconds = (when - pilin.EPOCH_POSIX) * 1000 // 1
    suffix = pilin.encode(milliseconds)
    exact = instant.to_iso(pilin.to_posix(suffix))
    _print_label(
        str(handle.Handle(prefix, suffix)) if prefix is not None else suffix,
        json,
        instant=exact,
        milliseconds=milliseconds,
    )


@app.command("ibi", epilog=_format_example("ibi"))
def generate_ibi(
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Host name, for the repository name.")] = None,
    port: Annotated[int, typer.Option(metavar="PORT", help="Port of the host.")] = 80,
    ip: Annotated[str | None, typer.Option(metavar="ADDRESS", help="IP address, for the opaque IBIp.")] = None,
    ip_port: Annotated[int, typer.Option(metavar="PORT", help="Port number in the IBIp, one per virtual host.")] = 800,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="DATE", help="Exact instant: ISO 8601 with a time zone, or POSIX seconds. Default: this second."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Generate the readable and the opaque IBI label of a host and an instant."""
    if host is None and ip is None:
        raise InvalidInput("ibi", "host", "required: --host for the repository name, --ip for the IBIp, or both")
    date = _instant_or_now(at, "ibi")
    date = Fraction(date // 1) if at is None else date
    labels: list[ibi.RepositoryName | ibi.OpaqueName] = []
    if host is not None:
        labels.append(ibi.repository_name(host, port, date))
    if ip is not None:
        labels.append(ibi.opaque_name(ip, ip_port, date))
    for label in labels:
        form = "repository name" if isinstance(label, ibi.RepositoryName) else "opaque (IBIp)"
        _print_label(str(label), json, form=form, instant=instant.to_iso(date))


@app.command("poid", epilog=_format_example("poid"))
def generate_poid(
    source_url: Annotated[str, typer.Argument(metavar="URL", help="URL of the source.")],
    at: Annotated[str, typer.Option(metavar="DATE", help="Date of retrieval: ISO 8601 with a time zone.")],
    hash: Annotated[str | None, typer.Option(metavar="SHA256", help="SHA-256 digest of the content.")] = None,
    content: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File with the content, to be hashed; - for standard input.", allow_dash=True
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Generate the POID of an observation: a person as described by one source."""
    if (hash is None) == (content is None):
        raise InvalidInput("ppid", "content_hash", "exactly one of --hash and --content is required")
    content_hash = hash_file(content) if content is not None else hash or ""
    raw = ppid.poid_uuid(source_url, at, content_hash)
    _print_label(ppid.uuid_to_ppid(raw, "POID"), json, uuid=str(raw), content_hash=content_hash)


@app.command("prid", epilog=_format_example("prid"))
def generate_prid(
    observations: Annotated[list[str], typer.Argument(metavar="POID", help="Observations on which it is based.")],
    curator: Annotated[str, typer.Option(metavar="ID", help="Curator: identifier of a person or a program.")],
    at: Annotated[str, typer.Option(metavar="DATE", help="Date of the reconstruction: ISO 8601 with a time zone.")],
    json: Json = False,
) -> None:
    """Generate the PRID of a reconstruction: a person reconstructed from observations."""
    names = [recognise(text).canonical or text for text in observations]
    raw = ppid.prid_uuid(names, curator, at)
    _print_label(ppid.uuid_to_ppid(raw, "PRID"), json, uuid=str(raw))
