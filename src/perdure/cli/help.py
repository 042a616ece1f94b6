"""Command groups whose help shows what to type: names of values, and no types of Python."""

from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from perdure.cli.server_option import choose_server

C = TypeVar("C", bound=Callable[..., Any])
P = TypeVar("P")


class PlainCommand(TyperCommand):
    """A command without types in its help, on a folder or on the server that was chosen before it."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        choose_server(ctx)
        return super().invoke(ctx)


class PlainGroup(TyperGroup):
    """A group of commands without types in its help."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


class CommandGroup(typer.Typer):
    """A group of commands, such as `perdure prefix`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=PlainGroup, no_args_is_help=True, rich_markup_mode="markdown", **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[C], C]:
        """Register a function as a command of this group."""
        return super().command(name, **{"cls": PlainCommand, **options})


def _without_types(params: list[P]) -> list[P]:
    """Hide the types that typer writes beside flags and arguments: <bool>, <str>, <path>."""
    for param in params:
        if isinstance(param, TyperArgument):
            param.display_type_rich = _no_type  # type: ignore[method-assign]
        elif isinstance(param, TyperOption) and param.is_flag:
            param.metavar = ""
    return params


def _no_type(ctx: Any) -> None:
    return None
