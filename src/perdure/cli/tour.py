"""`perdure tour`: one identifier of each family, explained."""

from rich.text import Text

from perdure.cli.explain import explain
from perdure.cli.screen import console

EXAMPLES = """
**Example**

- `perdure tour`
"""

_STOPS = (
    ("A handle, as DOIs are", "https://doi.org/10.1045/april2006-paskin"),
    ("A handle whose suffix is a millisecond", "hdl:102.100.272/Y35XYS0QH"),
    ("A place and an instant, readable …", "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"),
    ("… and opaque", "8JMKD3MGP8W/34PGRBS"),
    ("A person, as one source shows her", "POID-93b0-4476-560e-5ac1"),
    ("The same with a slip of the pen", "POID-93b0-4476-560e-5ac2"),
)


def tour() -> None:
    """Show one identifier of each family, explained."""
    screen = console()
    for title, text in _STOPS:
        screen.rule(Text(title), align="left", style="dim") if screen.is_terminal else screen.print(f"# {title}")
        screen.print(f"[dim]$[/dim] perdure explain {text}\n")
        explain([text])
        screen.print()
    screen.print("Your turn:  perdure explain <anything>   ·   perdure --help")
