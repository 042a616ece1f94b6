"""`python -m perdure` is the command."""

from perdure.cli import main

main()
