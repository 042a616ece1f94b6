"""`perdure peer`: other servers, to which names are sent on."""

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_anonymous, run_as_agent
from perdure.cli.help import CommandGroup
from perdure.cli.registry_session import Folder, Json, find_folder, print_result
from perdure.cli.registry_session import run_anonymous as run_on_folder
from perdure.cli.registry_session import run_as_agent as run_on_folder_as_agent
from perdure.cli.server_option import chosen_server
from perdure.cli.terminal import print_error, print_table, to_json
from perdure.errors import InvalidInput
from perdure.federation.peer_csv import LARGEST_FILE, parse_peers, write_peers
from perdure.federation.registration import PeerCheck
from perdure.registry import Registry
from perdure.registry.entities import Agent, Peer
from perdure.registry.peers.peer_fields import ALL_NAMES, UPSTREAM
from perdure.registry.server_key import ServerKey, fingerprint, open_server_key, replace_server_key
from perdure.settings_file import read_settings

app = CommandGroup(help="Manage other servers (peers), to which names are sent on.")

EXAMPLES = """
**Examples**

- `perdure peer add https://id.example.org --prefix sid.inpe.br/mtc-m18`
- all other handles: `perdure peer add https://hdl.handle.net --plain --prefix '*'`
- `perdure peer list`
"""
ADD_EXAMPLES = """
**Examples**

- `perdure peer add https://id.example.org`
- `perdure peer add https://id.example.org --name inpe --prefix sid.inpe.br/mtc-m18 --prefix ppid`
- a server in the same building: `perdure peer add http://10.0.0.7:8080 --private`
- a resolver of another kind: `perdure peer add https://doi.org --plain --prefix 10`
"""
CHANGE_EXAMPLES = """
**Examples**

- `perdure peer change inpe --add-prefix 12345 --drop-prefix ppid`
- after its operator has told you the new fingerprint: `perdure peer change inpe --accept-key`
"""

_MOST_SHOWN = 6

PeerName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the server, as perdure peer list shows it.")]
Prefix = Annotated[
    list[str] | None,
    typer.Option(
        "--prefix",
        metavar="PREFIX",
        help="Send names with this prefix there: that of IBI labels or handles, upn: with a resolver ID, ppid for "
        "persons, or * for all names. Can be repeated.",
    ),
]
Private = Annotated[
    bool, typer.Option("--private", help="Its address may be one of a private network, or of this machine.")
]


@app.command("add", epilog=ADD_EXAMPLES)
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="Base URL of the server.")],
    prefix: Prefix = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Short name. Default: the host.")] = None,
    private: Private = False,
    plain: Annotated[
        bool,
        typer.Option("--plain", help="A resolver of another kind: readers are redirected to it, without a question."),
    ] = False,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Its public key. Then it is not contacted now.")
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Add another server, and pin the key with which it signs.

    Compare the fingerprint with the operator of that server: `perdure peer identity` shows it there. The server also
    states which prefixes it has names of. Names with these prefixes need no --prefix.
    """

    async def work(registry: AnyRegistry, by: Agent) -> Peer:
        return await use.add_peer(
            registry, by, url, name=name, prefixes=prefix or (), private=private, plain=plain, key=key
        )

    added = run_as_agent(folder, work)
    lines = [f"Added {added.name} ({added.url})."]
    if added.key is None:
        lines.append("It is a plain resolver: readers are redirected to it, and it is never asked.")
    else:
        lines.append(f"Fingerprint of its key:  {fingerprint(added.key)}")
        lines.append("Compare it with the one that its operator sees:  perdure peer identity")
        lines.append(f"It announces names under {_format_prefixes([one.prefix for one in added.announced])}.")
    if added.prefixes:
        lines.append(f"Names with these prefixes are sent there: {_format_prefixes(added.prefixes)}")
    print_result(_fields(added), json, "\n".join(lines))


@app.command("list", epilog="**Example**\n\n- `perdure peer list`")
def list_peers(folder: Folder = None, json: Json = False) -> None:
    """List all other servers, with the prefixes that are sent on to them."""
    found = _list_all(folder)
    if json:
        for peer in found:
            fields = _fields(peer)
            del fields["announced"]  # it may be long: perdure peer show prints it
            typer.echo(to_json(fields))
        return
    rows = [(peer.name, peer.url, _kind(peer), _format_prefixes(peer.prefixes, empty="")) for peer in found]
    print_table(("name", "url", "kind", "prefixes"), rows, whole=("name", "url"))


@app.command("show", epilog="**Example**\n\n- `perdure peer show inpe`")
def show(name: PeerName, folder: Folder = None, json: Json = False) -> None:
    """Show another server: its key, its prefixes, and what it announced to hold."""
    peer = (
        run_anonymous(folder, lambda registry: use.show_peer(registry, None, name))
        if chosen_server() is None  # who can read the files of a registry needs no key
        else run_as_agent(folder, lambda registry, by: use.show_peer(registry, by, name))
    )
    lines = [
        f"{peer.name}: {peer.url} ({_kind(peer)}), added {peer.added[:10]}",
        f"Prefixes in the table:  {_format_prefixes(peer.prefixes, empty='none')}",
    ]
    if peer.key is not None:
        lines.append(f"Key:  {peer.key}")
        lines.append(f"Fingerprint:  {fingerprint(peer.key)}")
        lines.append(f"Announced at {peer.seen or 'no time'}, up to its change {peer.checkpoint}:")
        lines += [f"  {one.prefix} ({one.role})" for one in peer.announced]
    print_result(_fields(peer), json, "\n".join(lines))


@app.command("change", epilog=CHANGE_EXAMPLES)
def change(
    name: PeerName,
    prefix: Prefix = None,
    add_prefix: Annotated[list[str] | None, typer.Option(metavar="PREFIX", help="Add this prefix.")] = None,
    drop_prefix: Annotated[list[str] | None, typer.Option(metavar="PREFIX", help="Drop this prefix.")] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="New base URL.")] = None,
    private: Annotated[
        bool | None,
        typer.Option("--private/--public", help="Whether its address may be one of a private network."),
    ] = None,
    accept_key: Annotated[
        bool, typer.Option("--accept-key", help="Contact it, and pin the key with which it signs now.")
    ] = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Change another server: its prefixes, its URL, or its key.

    --prefix replaces all prefixes. A server whose key has changed is refused until you accept the new key.
    """

    if not accept_key and url is None and private is None and not (prefix or add_prefix or drop_prefix):
        raise InvalidInput(
            "peer", "change", f"say what to change of {name}: perdure peer change --help lists the options"
        )

    async def work(registry: AnyRegistry, by: Agent) -> Peer:
        return await use.change_peer(
            registry,
            by,
            name,
            prefixes=prefix,
            added=add_prefix or (),
            dropped=drop_prefix or (),
            url=url,
            private=private,
            accept_key=accept_key,
        )

    changed = run_as_agent(folder, work)
    lines = [f"Changed {changed.name} ({changed.url}): {_format_prefixes(changed.prefixes, 'no prefix in the table')}"]
    if accept_key and changed.key is not None:
        lines.append(f"Fingerprint of its key:  {fingerprint(changed.key)}")
    print_result(_fields(changed), json, "\n".join(lines))


@app.command("remove", epilog="**Example**\n\n- `perdure peer remove inpe`")
def remove(name: PeerName, folder: Folder = None) -> None:
    """Remove another server. Names are no longer sent on to it. `perdure log` keeps what it was."""
    removed = run_as_agent(folder, lambda registry, by: use.remove_peer(registry, by, name))
    typer.echo(f"Removed {removed.name} ({removed.url}).")


@app.command("check", epilog="**Examples**\n\n- `perdure peer check`\n- `perdure peer check inpe`")
def check(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One server. Default: all with a key.")] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Contact other servers: compare their keys, and store what they announce to hold.

    A running server does this by itself every fifteen minutes. The exit status is 1 if a server has a problem.
    """

    async def work(registry: AnyRegistry, by: Agent) -> list[PeerCheck]:
        names = [name] if name else [peer.name for peer in await use.list_peers(registry, by) if peer.key is not None]
        return [await use.check_peer(registry, by, one) for one in names]

    checked = run_as_agent(folder, work)
    for peer, problem in checked:
        if json:
            typer.echo(to_json(_fields(peer) | {"problem": problem}))
        elif problem is not None:
            typer.echo(f"{peer.name}: {problem}")
        else:
            typer.echo(
                f"{peer.name}: fine, with names under {_format_prefixes([one.prefix for one in peer.announced])}"
            )
    if any(problem is not None for _, problem in checked):
        raise typer.Exit(1)


@app.command("export", epilog="**Example**\n\n- `perdure peer export peers.csv`")
def export(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV file to write; - for standard output.", allow_dash=True)
    ],
    folder: Folder = None,
) -> None:
    """Write the table of prefixes and servers to a CSV file, which another registry can import."""
    peers = _list_all(folder)
    data = write_peers(peers)
    if str(file) == "-":
        typer.echo(data.decode(), nl=False)
        return
    file.write_bytes(data)
    typer.echo(f"Wrote {len(peers)} servers to {file}.")


@app.command("import", epilog="**Example**\n\n- `perdure peer import peers.csv`")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV file; - for standard input.", dir_okay=False)],
    private: Private = False,
    folder: Folder = None,
) -> None:
    """Add the servers of a CSV file, and the prefixes that servers in the table do not have yet.

    The first line names the columns: prefix, url, name, key, private. Only prefix and url are required. A server with a
    key in the file is not contacted; one without a key is a plain resolver. Nothing is removed, and a key in the table
    is never replaced, so the same file can be imported again.
    """
    with sys.stdin.buffer if str(file) == "-" else file.open("rb") as stream:
        rows = parse_peers(stream.read(LARGEST_FILE + 1))

    async def work(registry: AnyRegistry, by: Agent) -> tuple[int, int]:
        known = {peer.url: peer for peer in await use.list_peers(registry, by)}
        added = changed = 0
        for row in rows:
            before = known.get(row.url)
            if before is None:
                await use.add_peer(
                    registry,
                    by,
                    row.url,
                    name=row.name,
                    prefixes=row.prefixes,
                    private=row.private or private,
                    plain=row.key is None,
                    key=row.key,
                )
                added += 1
                continue
            if row.key not in (None, before.key):
                accept = f"to replace it: perdure peer change {before.name} --accept-key"
                print_error(f"{row.url} has another key in the file. The key in the table stays; {accept}")
            if missing := [prefix for prefix in row.prefixes if prefix not in before.prefixes]:
                await use.change_peer(registry, by, before.name, added=missing)
                changed += 1
        return added, changed

    added, changed = run_as_agent(folder, work)
    typer.echo(f"Added {added} servers; added prefixes to {changed}; left {len(rows) - added - changed} unchanged.")


@app.command("identity", epilog="**Example**\n\n- `perdure peer identity`")
def identity(
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Make a new key. Each peer must then accept it (--accept-key).")
    ] = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Show the identity and the key of this server, for the operators of other servers to compare.

    The key is made when it is first needed. It is in the file server.key of the registry's folder, and in no backup.
    """

    async def make(registry: Registry, by: Agent) -> tuple[str, ServerKey]:
        return registry.id, await replace_server_key(registry, by)

    async def open_(registry: Registry) -> tuple[str, ServerKey]:
        return registry.id, await open_server_key(registry)

    server, key = run_on_folder_as_agent(folder, make) if new_key else run_on_folder(folder, open_)
    fields = {"server": server, "key": key.public, "fingerprint": fingerprint(key.public)}
    text = f"Registry:     {server}\nKey:          {key.public}\nFingerprint:  {fingerprint(key.public)}"
    print_result(fields, json, text)


def _list_all(folder: Path | None) -> list[Peer]:
    """Return all servers, and the upstream of the settings as the last one."""
    if chosen_server() is not None:
        return run_as_agent(folder, lambda registry, by: use.list_peers(registry, by))
    found = run_anonymous(folder, lambda registry: use.list_peers(registry, None))
    upstream = read_settings(find_folder(folder)).http.upstream
    return [*found, *([Peer(name=UPSTREAM, url=upstream, prefixes=(ALL_NAMES,))] if upstream else [])]


def _kind(peer: Peer) -> str:
    if peer.name == UPSTREAM:
        return "from the settings"
    kind = "plain resolver" if peer.key is None else "signs its answers"
    return f"{kind}, private" if peer.private else kind


def _format_prefixes(prefixes: list[str] | tuple[str, ...], empty: str = "no prefix") -> str:
    shown = ", ".join(prefixes[:_MOST_SHOWN]) or empty
    return shown if len(prefixes) <= _MOST_SHOWN else f"{shown} and {len(prefixes) - _MOST_SHOWN} more"


def _fields(peer: Peer) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(peer)
    return fields | {"fingerprint": None if peer.key is None else fingerprint(peer.key)}
