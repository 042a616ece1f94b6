"""A label and an agent."""

from typing import Final

from perdure.collections.item import Agent

LABEL: Final = "sid.inpe.br/mtc-m18/2009/02.16.17.46"
ANNA: Final = Agent("Anna", "mailto:anna@example.org")
