"""The IRIs under which persons, and the words about them, are known in linked data."""

import re
from typing import Final

import msgspec

from perdure.errors import InvalidInput, shown

_IRI: Final = re.compile(r"https?://[^\s<>\"{}|\\^`]+[/#]")


class Namespaces(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a registry calls persons (`ppid`), its properties and classes, and the model that those build upon."""

    ppid: str = "https://ppid.org/"
    ppidv: str = "https://ppid.org/vocab#"
    ppidt: str = "https://ppid.org/type#"
    picom: str = "https://personsincontext.org/model#"

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            if _IRI.fullmatch(getattr(self, field)) is None:
                reason = f"{field} must be a web address that ends in / or #, not {shown(getattr(self, field))}"
                raise InvalidInput("settings", field, reason)
