"""`perdure tour`: an example of each kind of identifier."""

from rich.text import Text

from perdure.cli.explain import explain
from perdure.cli.terminal import make_console

EXAMPLES = """
**Example**

- `perdure tour`
"""

_EXAMPLE_IDENTIFIERS = (
    ("A Handle (DOIs are Handles)", "https://doi.org/10.1045/april2006-paskin"),
    ("A Handle with a PILIN suffix, which encodes a millisecond", "hdl:102.100.272/Y35XYS0QH"),
    ("An IBI label: host and instant, readable …", "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"),
    ("… and opaque", "8JMKD3MGP8W/34PGRBS"),
    ("A person as described by one source (POID)", "POID-93b0-4476-560e-5ac1"),
    ("The same with a typing error", "POID-93b0-4476-560e-5ac2"),
)


def tour() -> None:
    """Show and explain one identifier of each kind."""
    screen = make_console()
    for title, text in _EXAMPLE_IDENTIFIERS:
        screen.rule(Text(title), align="left", style="dim") if screen.is_terminal else screen.print(f"# {title}")
        screen.print(f"[dim]$[/dim] perdure explain {text}\n")
        explain([text])
        screen.print()
    screen.print("Try it yourself:  perdure explain IDENTIFIER   ·   perdure --help")
