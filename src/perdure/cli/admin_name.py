"""The name of the administrator of a new registry. It is never the login name, which should not become public."""

import socket
from typing import Final

import typer

from perdure.cli.terminal import is_at_terminal
from perdure.errors import InvalidInput
from perdure.records.validation import check_one_line

_LONGEST_HOST: Final = 255


def default_admin_name() -> str:
    """Return a name that says which machine the administrator looks after."""
    host = "".join(character for character in socket.gethostname()[:_LONGEST_HOST] if character.isprintable()).strip()
    return f"Administrator of {host or 'this registry'}"


def choose_admin_name(given: str | None, *, may_ask: bool = True) -> str:
    """Return the given name, or the answer of the operator at a terminal, or the default name."""
    if given is not None:
        return check_one_line(given, "name", 500)
    default = default_admin_name()
    if not (may_ask and is_at_terminal()):
        return default
    while True:
        answer = typer.prompt("Your name, or that of your organisation, for the history", default=default, err=True)
        try:
            return check_one_line(str(answer), "name", 500)
        except InvalidInput as problem:
            typer.echo(str(problem), err=True)
