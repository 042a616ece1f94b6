"""The schemes of identifiers by their names, and the interface that all of them have.

>>> SCHEMES["orcid"].canonical("https://orcid.org/0000-0002-1694-233x")
'0000-0002-1694-233X'
>>> SCHEMES["pilin"].is_valid("y35xysoqh"), SCHEMES["pilin"].is_valid("Y35XYSAQH")
(True, False)
"""

from typing import Final, Protocol

from perdure.names import external, handle, ibi, pilin, ppid


class Scheme(Protocol):
    """A scheme of identifiers: a module, or one of the external systems."""

    def parse(self, text: str, /) -> object:
        """Return the parsed identifier, or raise InvalidName."""

    def canonical(self, text: str, /) -> str:
        """Return the one canonical spelling of an identifier, or raise InvalidName."""

    def is_valid(self, text: str, /) -> bool:
        """Return whether `parse` accepts the text."""


SCHEMES: Final[dict[str, Scheme]] = {"handle": handle, "pilin": pilin, "ibi": ibi, "ppid": ppid, **external.SYSTEMS}
