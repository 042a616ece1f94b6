"""`perdure collection export`: a collection on a medium that needs neither a server nor a network."""

from pathlib import Path
from typing import Annotated

import typer

from perdure.cli.bulk_session import exit_if_refused
from perdure.cli.collection_options import CollectionName, count_text
from perdure.cli.registry_session import Folder, Json, find_folder, find_own_addresses, run_anonymous
from perdure.cli.terminal import escape_control, print_error, to_json
from perdure.cli.transfer_progress import show_steps
from perdure.collections.portable_export import export_portable
from perdure.settings_file import read_settings

EXAMPLES = """
**Example**

- `perdure collection export archive --portable /media/stick/archive`
"""


def export(
    name: CollectionName,
    portable: Annotated[
        Path, typer.Option("--portable", metavar="DIR", help="New directory, for example on a USB stick.")
    ],
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Copy a collection to a medium that anyone can read with a browser, without a server and without a network.

    The directory has the newest files of all items, and index.html, which lists them and opens links. Links between
    pages of the items (upn:…, old addresses of URLib, addresses of this registry) lead to the files on the medium; the
    unchanged pages are kept beside. Each file is compared with its digest. Exit code 1: some items were left out.
    """
    address = read_settings(find_folder(folder)).http.public_url
    with show_steps() as report:
        done = run_anonymous(
            folder,
            lambda registry: export_portable(
                registry, name, portable, public_url=address, own=find_own_addresses(folder), report=report
            ),
        )
    for problem in done.problems:
        print_error(str(problem))
    if json:
        typer.echo(to_json(done._asdict() | {"problems": [str(one) for one in done.problems], "path": str(portable)}))
    else:
        content = f"{count_text(done.items, 'item')}, {count_text(done.files, 'file')}, {count_text(done.size, 'byte')}"
        typer.echo(
            escape_control(f"Exported {name} to {portable}: {content}, {count_text(done.links, 'link')} replaced.")
        )
    exit_if_refused(len(done.problems))
