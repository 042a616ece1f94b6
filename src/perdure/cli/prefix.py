"""`perdure prefix`: the namespaces that a registry keeps."""

from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from perdure import registry as use
from perdure.cli.screen import as_json, printable, show_table
from perdure.cli.session import Folder, Json, act, read, say
from perdure.errors import InvalidInput
from perdure.names import instant
from perdure.names.instant import Exact
from perdure.registry.entities import Agent, Prefix, counter, known_count
from perdure.registry.naming import known_prefix
from perdure.registry.registry import Registry

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="Keep prefixes, and say how names under them are made."
)

EXAMPLES = """
**Examples**

- `perdure prefix add 12345`
- `perdure prefix add 12345 --minter sequential --pattern 'thesis-####' --ignore-case`
- `perdure prefix add --host mtc-m18.sid.inpe.br --ip 150.163.34.243 --granularity 0.1`
- `perdure prefix derive 12345.1 --policy-file policy.txt`
"""

CHANGE_EXAMPLES = """
**Examples**

- `perdure prefix change 12345 --policy 'Names are never used again.'`
- `perdure prefix change sid.inpe.br/mtc-m18 --granularity 0.01`
- `perdure prefix change 12345 --pass-through`
"""


class MinterName(StrEnum):
    pilin = "pilin"
    uuid = "uuid"
    sequential = "sequential"
    chosen = "chosen"


Minter = Annotated[
    MinterName,
    typer.Option(
        help="How suffixes are made: pilin (nine characters from a millisecond), uuid, sequential, or chosen."
    ),
]
Pattern = Annotated[str | None, typer.Option(help="For sequential: where the number goes, as in 'thesis-####'.")]
IgnoreCase = Annotated[
    bool, typer.Option("--ignore-case", help="Compare suffixes without ASCII case. This is fixed for life.")
]
Policy = Annotated[
    str | None, typer.Option(help="What is promised about names under the prefix; the public can read it.")
]
PolicyFile = Annotated[Path | None, typer.Option(help="The same, from a file.", exists=True, dir_okay=False)]
Granularity = Annotated[
    str | None, typer.Option(help="For IBI: the finest step between two dates, in seconds: 60, 1, 0.1, 0.01 …")
]
Passing = Annotated[
    bool,
    typer.Option(
        "--pass-through/--no-pass-through",
        help="Let a longer name than one that is registered lead where that does, the rest appended.",
    ),
]
PrefixName = Annotated[str, typer.Argument(metavar="PREFIX", help="The prefix.")]


@app.command("add", epilog=EXAMPLES)
def add(
    prefix: Annotated[str | None, typer.Argument(metavar="PREFIX", help="A Handle prefix, like 12345.")] = None,
    minter: Minter = MinterName.pilin,
    pattern: Pattern = None,
    ignore_case: IgnoreCase = False,
    host: Annotated[str | None, typer.Option(help="For an IBI subsystem, instead of a prefix: its host name.")] = None,
    port: Annotated[int, typer.Option(help="The port of the host.")] = 80,
    ip: Annotated[str | None, typer.Option(help="The IP address of the IBI subsystem.")] = None,
    ip_port: Annotated[int, typer.Option(help="The port number in its opaque labels, one per virtual host.")] = 800,
    granularity: Granularity = None,
    private: Annotated[
        bool, typer.Option("--private", help="Mint IBI labels from an address that is not global, like 127.0.0.1.")
    ] = False,
    policy: Policy = None,
    policy_file: PolicyFile = None,
    pass_through: Passing = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Keep a Handle prefix, or an IBI subsystem (--host and --ip)."""
    text = _policy(policy, policy_file) or ""
    if (host is None) != (ip is None) or (host is None) == (prefix is None):
        raise InvalidInput("prefix", "prefix", "give a Handle prefix, or --host and --ip of an IBI subsystem")

    if host is not None and pass_through:
        raise InvalidInput("prefix", "pass_through", "--pass-through is for a Handle prefix")
    if host is None and (granularity is not None or private):
        raise InvalidInput(
            "prefix", "granularity", "--granularity and --private are for an IBI subsystem (--host and --ip)"
        )

    async def work(registry: Registry, by: Agent) -> Prefix:
        if host is not None and ip is not None:
            return await use.add_subsystem(
                registry,
                by,
                host,
                ip,
                port=port,
                ip_port=ip_port,
                granularity=_granularity(granularity) if granularity is not None else 1,
                private=private,
                policy=text,
            )
        return await use.add_prefix(
            registry,
            by,
            prefix or "",
            minter=minter.value,
            case_sensitive=not ignore_case,
            policy=text,
            pattern=pattern,
            pass_through=pass_through,
        )

    made = act(folder, work)
    how = " --suffix …" if made.minter == "chosen" else ""
    say(made, json, f"{made.name} is kept here now. Next:  perdure mint {made.name}{how}")


@app.command("derive", epilog="**Example**\n\n- `perdure prefix derive 12345.1`")
def derive(
    prefix: PrefixName,
    minter: Minter = MinterName.pilin,
    pattern: Pattern = None,
    ignore_case: IgnoreCase = False,
    policy: Policy = None,
    policy_file: PolicyFile = None,
    pass_through: Passing = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Keep a prefix that is derived from another, like 12345.1 from 12345; needs authority over that one."""
    text = _policy(policy, policy_file) or ""

    async def work(registry: Registry, by: Agent) -> Prefix:
        return await use.derive_prefix(
            registry,
            by,
            prefix,
            minter=minter.value,
            case_sensitive=not ignore_case,
            policy=text,
            pattern=pattern,
            pass_through=pass_through,
        )

    made = act(folder, work)
    say(made, json, f"{made.name} is kept here now, derived from {made.parent}")


@app.command("list", epilog="**Example**\n\n- `perdure prefix list`")
def list_prefixes(folder: Folder = None, json: Json = False) -> None:
    """All prefixes, one per line."""
    prefixes = read(folder, lambda registry: registry.store.read(lambda reader: reader.prefixes()))
    if json:
        for prefix in prefixes:
            typer.echo(as_json(_shown(prefix)))
        return
    rows = (
        (
            one.name,
            one.scheme,
            one.minter,
            "told apart" if one.case_sensitive else "ignored",
            one.parent or "",
            "pass through" if one.pass_through else "",
        )
        for one in prefixes
    )
    show_table(("prefix", "scheme", "minter", "case", "derived from", "longer names"), rows, whole=("prefix",))


@app.command("show", epilog="**Example**\n\n- `perdure prefix show 12345`")
def show(prefix: PrefixName, folder: Folder = None, json: Json = False) -> None:
    """One prefix: its settings, its last date, and its policy."""

    def look_up(reader: Any) -> tuple[Prefix, Fraction | None]:
        found = known_prefix(reader, prefix)
        return found, reader.timeline(counter(found) if found.minter == "sequential" else found.key)

    found, last = read(folder, lambda registry: registry.store.read(look_up))
    shown = _shown(found)
    if last is not None:
        shown["last"] = _count(last) if found.minter == "sequential" else instant.to_iso(last)
    if json:
        typer.echo(as_json(shown))
        return
    width = max(len(name) for name in shown)
    for name, value in shown.items():
        if name != "policy" and value is not None:
            typer.echo(f"{name.replace('_', ' '):{width}}  {printable(str(value))}")
    typer.echo(f"\n{found.policy}" if found.policy else "\nThere is no policy yet: perdure prefix change --policy …")


def _count(last: Fraction) -> str:
    return (
        str(last) if last >= 0 else f"{known_count(last)}, or more: it counts again after perdure prefix reset --number"
    )


@app.command("change", epilog=CHANGE_EXAMPLES)
def change(
    prefix: PrefixName,
    policy: Policy = None,
    policy_file: PolicyFile = None,
    granularity: Granularity = None,
    minter: Annotated[MinterName | None, typer.Option(help="Make suffixes in another way from now on.")] = None,
    pattern: Pattern = None,
    pass_through: Annotated[
        bool | None,
        typer.Option(
            "--pass-through/--no-pass-through",
            help="Let a longer name than one that is registered lead where that does, the rest appended; or not.",
        ),
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Change the policy, the granularity, the minter or the pass-through. The case policy is fixed for life."""
    text = _policy(policy, policy_file)
    step = None if granularity is None else _granularity(granularity)

    async def work(registry: Registry, by: Agent) -> Prefix:
        return await use.change_prefix(
            registry,
            by,
            prefix,
            policy=text,
            granularity=step,
            minter=None if minter is None else minter.value,
            pattern=pattern,
            pass_through=pass_through,
        )

    changed = act(folder, work)
    say(changed, json, f"{changed.name} was changed")


@app.command("reset", epilog="**Example**\n\n- `perdure prefix reset 12345 --reason 'the clock was ten years ahead'`")
def reset(
    prefix: PrefixName,
    reason: Annotated[str, typer.Option(help="Why; it is recorded.")],
    number: Annotated[int | None, typer.Option(help="For a sequential prefix: the number to go on after.")] = None,
    folder: Folder = None,
) -> None:
    """Let a timeline go on from now, after a wrong clock drove it into the future.

    Names that were issued meanwhile stay what they are, and are never issued again.
    """
    act(folder, lambda registry, by: use.reset_timeline(registry, by, prefix, reason, number=number))
    typer.echo(f"The timeline of {prefix} goes on from now" if number is None else f"{prefix} goes on after {number}")


def _shown(prefix: Prefix) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(prefix, enc_hook=str)
    place = fields.pop("subsystem") or {}
    return {name: value for name, value in (fields | place).items() if name != "key"}


def _policy(text: str | None, file: Path | None) -> str | None:
    if text is not None and file is not None:
        raise InvalidInput("prefix", "policy", "give either --policy or --policy-file")
    return file.read_text("utf-8") if file is not None else text


def _granularity(text: str) -> Exact:
    try:
        return Fraction(text) if "/" in text else Decimal(text)
    except (InvalidOperation, ValueError, ZeroDivisionError):
        raise InvalidInput("ibi", "granularity", "the granularity must be a number of seconds: 60, 1, 0.1 …") from None
