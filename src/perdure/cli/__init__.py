"""The command line interface: `perdure`."""

from perdure.cli.app import main

__all__ = ["main"]
