"""`perdure generate`: labels for a given instant and inputs, for people who want a label and no registry."""

import re
import time
from decimal import Decimal
from fractions import Fraction
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Annotated

import typer

from perdure import handle, ibi, pilin, ppid, recognise
from perdure.cli.screen import as_json, standard_input
from perdure.errors import InvalidInput
from perdure.names import instant

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Make a label from an instant and its inputs, without a registry.

    The same inputs give the same label. Nothing is recorded, so nobody will know that the label is taken:
    where labels must be unique, let a registry mint them.""",
)

_POSIX = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_NANOSECONDS = 1_000_000_000

At = Annotated[str | None, typer.Option(help="The instant: ISO 8601 with a zone, or POSIX seconds. Default: now.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object per label.")]


_EXAMPLES = {
    "pilin": "--prefix 102.100.272 --at 2007-05-25T03:49:52.865Z",
    "ibi": "--host mtc-m18.sid.inpe.br --ip 150.163.34.243 --at 2009-02-16T17:46:00Z",
    "poid": "https://example.org/staff/jan --at 2025-01-09T10:30:00Z --content page.html",
    "prid": "POID-93b0-4476-560e-5ac1 --curator https://orcid.org/0000-0002-1825-0097 --at 2025-01-09T10:30:00Z",
}


def _example(command: str) -> str:
    return f"**Example**\n\n- `perdure generate {command} {_EXAMPLES[command]}`"


EXAMPLES = _example("pilin")


def _instant(text: str | None, scheme: str) -> Fraction:
    if text is None:
        return Fraction(time.time_ns(), _NANOSECONDS)
    if _POSIX.fullmatch(text):
        return instant.exact(Decimal(text), scheme, "instant")
    return instant.from_iso(text.replace(" ", "T", 1), scheme, "instant")


def _say(label: str, json: bool, **details: str | int) -> None:
    typer.echo(as_json({"label": label, **details}) if json else label)


@app.command("pilin", epilog=_example("pilin"))
def generate_pilin(
    at: At = None,
    prefix: Annotated[str | None, typer.Option(help="A handle prefix to put in front.")] = None,
    json: Json = False,
) -> None:
    """The nine-character PILIN suffix of a millisecond."""
    when = _instant(at, "pilin")
    milliseconds = (when - pilin.EPOCH_POSIX) * 1000 // 1
    suffix = pilin.encode(milliseconds)
    exact = instant.to_iso(pilin.to_posix(suffix))
    _say(
        str(handle.Handle(prefix, suffix)) if prefix is not None else suffix,
        json,
        instant=exact,
        milliseconds=milliseconds,
    )


@app.command("ibi", epilog=_example("ibi"))
def generate_ibi(
    host: Annotated[str | None, typer.Option(help="The host name: gives the repository name.")] = None,
    port: Annotated[int, typer.Option(help="The port of the host.")] = 80,
    ip: Annotated[str | None, typer.Option(help="The IP address: gives the opaque IBIp.")] = None,
    ip_port: Annotated[int, typer.Option(help="The port number of the IBIp, one per virtual host.")] = 800,
    at: Annotated[
        str | None,
        typer.Option(help="The instant, exactly: ISO 8601 with a zone, or POSIX seconds. Default: this second."),
    ] = None,
    json: Json = False,
) -> None:
    """The readable and the opaque label of a place and an instant."""
    if host is None and ip is None:
        raise InvalidInput("ibi", "host", "say where: --host for the repository name, --ip for the IBIp, or both")
    date = _instant(at, "ibi")
    date = Fraction(date // 1) if at is None else date
    labels: list[ibi.RepositoryName | ibi.OpaqueName] = []
    if host is not None:
        labels.append(ibi.repository_name(host, port, date))
    if ip is not None:
        labels.append(ibi.opaque_name(ip, ip_port, date))
    for label in labels:
        form = "repository name" if isinstance(label, ibi.RepositoryName) else "opaque (IBIp)"
        _say(str(label), json, form=form, instant=instant.to_iso(date))


@app.command("poid", epilog=_example("poid"))
def generate_poid(
    source_url: Annotated[str, typer.Argument(metavar="URL", help="Where the observation was found.")],
    at: Annotated[str, typer.Option(help="When it was retrieved: ISO 8601 with a zone.")],
    hash: Annotated[str | None, typer.Option(help="The SHA-256 of what was found.")] = None,
    content: Annotated[
        Path | None, typer.Option(help="The file that was found, to be hashed; - for standard input.", allow_dash=True)
    ] = None,
    json: Json = False,
) -> None:
    """The POID of an observation: a person as one source shows them."""
    if (hash is None) == (content is None):
        raise InvalidInput("ppid", "content_hash", "give either --hash or --content")
    content_hash = _sha256(content) if content is not None else hash or ""
    raw = ppid.poid_uuid(source_url, at, content_hash)
    _say(ppid.uuid_to_ppid(raw, "POID"), json, uuid=str(raw), content_hash=content_hash)


@app.command("prid", epilog=_example("prid"))
def generate_prid(
    observations: Annotated[list[str], typer.Argument(metavar="POID", help="The observations it is made from.")],
    curator: Annotated[str, typer.Option(help="Who made it: an identifier of a person or a program.")],
    at: Annotated[str, typer.Option(help="When it was made: ISO 8601 with a zone.")],
    json: Json = False,
) -> None:
    """The PRID of a reconstruction: a person put together from observations."""
    names = [recognise(text).canonical or text for text in observations]
    raw = ppid.prid_uuid(names, curator, at)
    _say(ppid.uuid_to_ppid(raw, "PRID"), json, uuid=str(raw))


def _sha256(path: Path) -> str:
    if str(path) == "-":
        return sha256(standard_input("the content").read()).hexdigest()
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
