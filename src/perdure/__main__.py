"""Entry point of `python -m perdure`."""

from perdure.cli import main

main()
