"""`perdure prefix`: the prefixes that a registry manages."""

from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from perdure.cli import registry_session
from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_anonymous, run_as_agent
from perdure.cli.granularity_option import parse_granularity
from perdure.cli.help import CommandGroup
from perdure.cli.registry_session import Folder, Json, print_result
from perdure.cli.terminal import escape_control, is_at_terminal, print_table, to_json
from perdure.errors import InvalidInput
from perdure.names import instant
from perdure.registry import reset_timeline
from perdure.registry.entities import Agent, Prefix, from_count
from perdure.registry.prefixes.subsystem_address import SAME_ADDRESS, AddressChange

app = CommandGroup(help="Manage prefixes, and how suffixes under them are generated.")

EXAMPLES = """
**Examples**

- `perdure prefix add 12345`
- for names of a Handle server: `perdure prefix add 20.500.99999 --minter chosen --ignore-case`
- `perdure prefix add 12345 --minter sequential --pattern 'thesis-####' --ignore-case`
- `perdure prefix add --host mtc-m18.sid.inpe.br --ip 150.163.34.243 --granularity 0.1`
- labels of a host alone: `perdure prefix add --host mtc-m19.sid.inpe.br`
- `perdure prefix derive 12345.1 --policy-file policy.txt`
"""

CHANGE_EXAMPLES = """
**Examples**

- `perdure prefix change 12345 --policy 'Names are never used again.'`
- `perdure prefix change sid.inpe.br/mtc-m18 --granularity 0.01`
- after a move to another machine: `perdure prefix change sid.inpe.br/mtc-m18 --host mtc-m21.sid.inpe.br`
- `perdure prefix change sid.inpe.br/mtc-m18 --ip 150.163.34.250`
- `perdure prefix change 12345 --pass-through`
- an hour instead of a day, for names that move often: `perdure prefix change 12345 --ttl 3600`
"""


class MinterName(StrEnum):
    pilin = "pilin"
    uuid = "uuid"
    sequential = "sequential"
    chosen = "chosen"


Minter = Annotated[
    MinterName,
    typer.Option(
        metavar="MINTER",
        help="How suffixes are generated: pilin (nine characters for the time), uuid, sequential, or chosen (by you).",
    ),
]
Pattern = Annotated[
    str | None, typer.Option(metavar="PATTERN", help="For sequential: position of the number, as in 'thesis-####'.")
]
IgnoreCase = Annotated[
    bool | None,
    typer.Option(
        "--ignore-case/--case-sensitive",
        help="Whether suffixes are case-insensitive (ASCII letters only), as on most Handle servers. "
        "This can never be changed. Default: case-sensitive.",
    ),
]
Policy = Annotated[str | None, typer.Option(metavar="TEXT", help="Public policy for names under the prefix.")]
PolicyFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Read the policy from a file.", exists=True, dir_okay=False)
]
Granularity = Annotated[
    str | None, typer.Option(metavar="SECONDS", help="For IBI: smallest step between two dates: 60, 1, 0.1, 0.01 …")
]
PassThrough = Annotated[
    bool,
    typer.Option(
        "--pass-through/--no-pass-through",
        help="Resolve a name that extends a registered one to the target of that one, with the rest appended.",
    ),
]
Joiners = Annotated[
    bool,
    typer.Option(
        "--joiners",
        help="Allow zero-width joiners in suffixes, as Persian and Indic words need them. This cannot be withdrawn.",
    ),
]
DefaultTtl = Annotated[
    int | None,
    typer.Option(
        metavar="SECONDS", min=0, help="TTL of values for which none is given: how long Handle clients cache them."
    ),
]
PrefixName = Annotated[str, typer.Argument(metavar="PREFIX", help="Handle prefix or IBI subsystem.")]


@app.command("add", epilog=EXAMPLES)
def add(
    prefix: Annotated[str | None, typer.Argument(metavar="PREFIX", help="Handle prefix, such as 12345.")] = None,
    minter: Minter = MinterName.pilin,
    pattern: Pattern = None,
    ignore_case: IgnoreCase = None,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="For an IBI subsystem, instead of a prefix: host name.")
    ] = None,
    port: Annotated[int | None, typer.Option(metavar="PORT", help="Port of the host. Default: 80.")] = None,
    ip: Annotated[str | None, typer.Option(metavar="ADDRESS", help="IP address of the IBI subsystem.")] = None,
    ip_port: Annotated[
        int | None,
        typer.Option(metavar="PORT", help="Port number in opaque labels, one per virtual host. Default: 800."),
    ] = None,
    granularity: Granularity = None,
    private: Annotated[
        bool, typer.Option("--private", help="Allow an IP address that is not global, such as 127.0.0.1.")
    ] = False,
    policy: Policy = None,
    policy_file: PolicyFile = None,
    pass_through: PassThrough = False,
    ttl: DefaultTtl = None,
    joiners: Joiners = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Add a Handle prefix, or an IBI subsystem (--host, --ip, or both).

    A subsystem with both mints two labels for each item, a readable and an opaque one. With one of them, it mints that
    label alone.

    If names under the prefix come from a Handle server, add --minter chosen --ignore-case, unless that server was
    configured as case-sensitive.
    """
    text = _read_policy(policy, policy_file) or ""
    is_subsystem = host is not None or ip is not None
    if is_subsystem == (prefix is not None):
        reason = "required: a Handle prefix, or --host or --ip of an IBI subsystem, or both"
        raise InvalidInput("prefix", "prefix", reason)
    if is_subsystem and (pass_through or joiners):
        raise InvalidInput("prefix", "pass_through", "--pass-through and --joiners are only for a Handle prefix")
    if not is_subsystem and (granularity is not None or private or port is not None or ip_port is not None):
        reason = "--granularity, --private, --port and --ip-port are only for an IBI subsystem (--host or --ip)"
        raise InvalidInput("prefix", "granularity", reason)

    async def work(registry: AnyRegistry, by: Agent) -> Prefix:
        if is_subsystem:
            return await use.add_subsystem(
                registry,
                by,
                host,
                ip,
                port=port,
                ip_port=ip_port,
                granularity=parse_granularity(granularity) if granularity is not None else 1,
                private=private,
                policy=text,
                ttl=ttl,
            )
        return await use.add_prefix(
            registry,
            by,
            prefix or "",
            minter=minter.value,
            case_sensitive=not ignores_case,
            policy=text,
            pattern=pattern,
            pass_through=pass_through,
            ttl=ttl,
            joiners=joiners,
        )

    ignores_case = True if is_subsystem else _choose_case(ignore_case, minter)
    added = run_as_agent(folder, work)
    how = " --suffix SUFFIX" if added.minter == "chosen" else ""
    print_result(added, json, f"Added prefix {added.name}. Next:  perdure mint {added.name}{how}")


@app.command("derive", epilog="**Example**\n\n- `perdure prefix derive 12345.1`")
def derive(
    prefix: PrefixName,
    minter: Minter = MinterName.pilin,
    pattern: Pattern = None,
    ignore_case: IgnoreCase = None,
    policy: Policy = None,
    policy_file: PolicyFile = None,
    pass_through: PassThrough = False,
    ttl: DefaultTtl = None,
    joiners: Joiners = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Add a prefix derived from another, such as 12345.1 from 12345. Requires the permission derive on that one."""
    text = _read_policy(policy, policy_file) or ""

    async def work(registry: AnyRegistry, by: Agent) -> Prefix:
        return await use.derive_prefix(
            registry,
            by,
            prefix,
            minter=minter.value,
            case_sensitive=not ignores_case,
            policy=text,
            pattern=pattern,
            pass_through=pass_through,
            ttl=ttl,
            joiners=joiners,
        )

    ignores_case = _choose_case(ignore_case, minter)
    added = run_as_agent(folder, work)
    print_result(added, json, f"Added prefix {added.name}, derived from {added.parent}.")


@app.command("list", epilog="**Example**\n\n- `perdure prefix list`")
def list_prefixes(folder: Folder = None, json: Json = False) -> None:
    """List all prefixes."""
    prefixes = run_anonymous(folder, use.list_prefixes)
    if json:
        for prefix in prefixes:
            typer.echo(to_json(_prefix_fields(prefix)))
        return
    rows = (
        (
            one.name,
            one.scheme,
            one.minter,
            "sensitive" if one.case_sensitive else "ignored",
            one.parent or "",
            "yes" if one.pass_through else "",
            ", ".join(one.current_label_prefixes),
        )
        for one in prefixes
    )
    head = ("prefix", "scheme", "minter", "case", "derived from", "pass-through", "label prefixes")
    print_table(head, rows, whole=("prefix",))


@app.command("show", epilog="**Example**\n\n- `perdure prefix show 12345`")
def show(prefix: PrefixName, folder: Folder = None, json: Json = False) -> None:
    """Show a prefix: its settings, the date of its newest name, and its policy. With --server, without that date."""
    known, last = run_anonymous(folder, lambda registry: use.show_prefix(registry, prefix))
    fields = _prefix_fields(known)
    if last is not None:
        fields["last"] = _format_count(last) if known.minter == "sequential" else instant.to_iso(last)
    if json:
        typer.echo(to_json(fields))
        return
    width = max(len(name) for name in fields)
    for name, value in fields.items():
        if name not in ("policy", "periods") and value is not None:
            typer.echo(f"{name.replace('_', ' '):{width}}  {escape_control(str(value))}")
    if known.periods:
        typer.echo()
        rows = ((one.label_prefix, one.kind, one.started, one.ended or "in use") for one in known.periods)
        print_table(("label prefix", "made from", "from", "until"), rows, whole=("label prefix", "from", "until"))
    typer.echo(
        f"\n{known.policy}" if known.policy else "\nNo policy. Add one with: perdure prefix change PREFIX --policy TEXT"
    )


def _format_count(last: Fraction) -> str:
    return str(last) if last >= 0 else f"{from_count(last)}, or more: set it with perdure prefix reset --number"


@app.command("change", epilog=CHANGE_EXAMPLES)
def change(
    prefix: PrefixName,
    policy: Policy = None,
    policy_file: PolicyFile = None,
    granularity: Granularity = None,
    minter: Annotated[
        MinterName | None, typer.Option(metavar="MINTER", help="New minter: pilin, uuid, sequential or chosen.")
    ] = None,
    pattern: Pattern = None,
    pass_through: Annotated[
        bool | None,
        typer.Option(
            "--pass-through/--no-pass-through",
            help="Resolve a name that extends a registered one to the target of that one, with the rest appended.",
        ),
    ] = None,
    ttl: DefaultTtl = None,
    joiners: Joiners = False,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="For an IBI subsystem: new host name, for its next labels.")
    ] = None,
    port: Annotated[int | None, typer.Option(metavar="PORT", help="New port of the host.")] = None,
    ip: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="For an IBI subsystem: new IP address, for its next labels.")
    ] = None,
    ip_port: Annotated[int | None, typer.Option(metavar="PORT", help="New port number in opaque labels.")] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Allow an IP address that is not global, such as 127.0.0.1.")
    ] = False,
    no_host: Annotated[bool, typer.Option("--no-host", help="Mint no readable labels any more.")] = False,
    no_ip: Annotated[bool, typer.Option("--no-ip", help="Mint no opaque labels any more.")] = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Change the policy, minter and other settings of a prefix. Case sensitivity can never be changed.

    If an IBI subsystem moves to another host or IP address, its next labels have another label prefix. All labels that
    it has issued keep resolving, and the dates of the new ones follow theirs. The old label prefix stays with it.
    """
    text = _read_policy(policy, policy_file)
    address = AddressChange(host=host, port=port, ip=ip, ip_port=ip_port, private=private, no_host=no_host, no_ip=no_ip)
    step = None if granularity is None else parse_granularity(granularity)

    async def work(registry: AnyRegistry, by: Agent) -> Prefix:
        return await use.change_prefix(
            registry,
            by,
            prefix,
            policy=text,
            granularity=step,
            minter=None if minter is None else minter.value,
            pattern=pattern,
            pass_through=pass_through,
            ttl=ttl,
            joiners=joiners or None,
            address=address,
        )

    changed = run_as_agent(folder, work)
    next_labels = " and ".join(f"{one}/…" for one in changed.current_label_prefixes)
    labels = f" Next labels: {next_labels}" if address != SAME_ADDRESS else ""
    print_result(changed, json, f"Changed prefix {changed.name}.{labels}")


@app.command("reset", epilog="**Example**\n\n- `perdure prefix reset 12345 --reason 'the clock was ten years ahead'`")
def reset(
    prefix: PrefixName,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Reason, for the log.")],
    number: Annotated[int | None, typer.Option(metavar="N", help="For a sequential prefix: last number used.")] = None,
    folder: Folder = None,
) -> None:
    """Reset the timeline of a prefix to the current time, after a wrong clock moved it into the future.

    Names that were issued meanwhile stay valid, and are never issued again.
    """
    registry_session.run_as_agent(
        folder, lambda registry, by: reset_timeline(registry, by, prefix, reason, number=number)
    )
    typer.echo(f"Reset the timeline of {prefix} to now." if number is None else f"{prefix} continues after {number}.")


def _prefix_fields(prefix: Prefix) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(prefix, enc_hook=str)
    subsystem = fields.pop("subsystem") or {}
    return {name: value for name, value in (fields | subsystem).items() if name != "key"}


def _choose_case(ignore_case: bool | None, minter: MinterName) -> bool:
    """Return whether case is ignored. Ask at a terminal, if names that people chose may come from another server."""
    if ignore_case is not None:
        return ignore_case
    if minter is not MinterName.chosen or not is_at_terminal():
        return False
    return typer.confirm(
        "Handle servers ignore case in suffixes: AB and ab are one name there. This can never be changed.\n"
        "Ignore case under this prefix?",
        default=False,
        err=True,
    )


def _read_policy(text: str | None, file: Path | None) -> str | None:
    if text is not None and file is not None:
        raise InvalidInput("prefix", "policy", "--policy and --policy-file cannot be combined")
    return file.read_text("utf-8") if file is not None else text
