"""Namespaces of persons, and of the vocabulary about them, in linked data."""

import re
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from perdure.errors import InvalidInput, quote_text

_IRI: Final = re.compile(r"https?://[^\s<>\"{}|\\^`]+[/#]")


class Namespaces(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The namespaces of persons (`ppid`), of our properties and classes, and of the model that they extend."""

    ppid: Annotated[str, Meta(description="Namespace IRI of persons.")] = "https://ppid.org/"
    ppidv: Annotated[str, Meta(description="Namespace IRI of the properties of persons.")] = "https://ppid.org/vocab#"
    ppidt: Annotated[str, Meta(description="Namespace IRI of the classes of persons.")] = "https://ppid.org/type#"
    picom: Annotated[str, Meta(description="Namespace IRI of the Persons in Context model.")] = (
        "https://personsincontext.org/model#"
    )

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            if _IRI.fullmatch(getattr(self, field)) is None:
                reason = f"{field} must be a web address that ends in / or #, not {quote_text(getattr(self, field))}"
                raise InvalidInput("settings", field, reason)
