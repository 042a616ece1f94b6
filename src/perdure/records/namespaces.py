"""Namespaces of persons, and of the vocabulary about them, in linked data."""

import re
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from perdure.errors import InvalidInput, quote_text

_IRI: Final = re.compile(r"https?://[^\s<>\"{}|\\^`]+[/#]")
# The domain is reserved (RFC 6761): no such name ever resolves.
_LOCAL: Final = re.compile(r"https://local-[0-9a-f]{8}\.invalid/")


PropertiesNamespace = Annotated[str, Meta(description="Namespace IRI of the properties of persons.")]
ClassesNamespace = Annotated[str, Meta(description="Namespace IRI of the classes of persons.")]
ModelNamespace = Annotated[str, Meta(description="Namespace IRI of the Persons in Context model.")]


class Namespaces(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The namespaces of persons (`ppid`), of our properties and classes, and of the model that they extend."""

    ppid: str = "https://ppid.org/"
    ppidv: PropertiesNamespace = "https://ppid.org/vocab#"
    ppidt: ClassesNamespace = "https://ppid.org/type#"
    picom: ModelNamespace = "https://personsincontext.org/model#"

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            check_namespace(getattr(self, field), field)


def check_namespace(iri: str, field: str) -> str:
    """Return a namespace IRI unchanged. Raise InvalidInput if names cannot be appended to it."""
    if _IRI.fullmatch(iri) is None:
        reason = f"{field} must be a web address that ends in / or #, not {quote_text(iri)}"
        raise InvalidInput("settings", field, reason)
    return iri


def person_iris_at(public_url: str) -> str:
    """Return the base of the IRIs of persons that are published at this URL.

    >>> person_iris_at("https://id.example.org")
    'https://id.example.org/'
    """
    base = f"{public_url.rstrip('/')}/"
    try:
        parts = urlsplit(base)
        is_base = bool(parts.hostname) and not (parts.query or parts.fragment or parts.username)
    except ValueError:
        is_base = False
    if not is_base or _IRI.fullmatch(base) is None:
        reason = f"public_url must be an http or https URL without query and fragment, not {quote_text(public_url)}"
        raise InvalidInput("settings", "public_url", reason)
    return base


def local_person_iris(registry: str) -> str:
    """Return the base of the IRIs of persons of a registry without a public URL.

    No such address ever resolves, and no other registry has the same.

    >>> local_person_iris("0a1b2c3d4e5f60718293a4b5c6d7e8f9")
    'https://local-0a1b2c3d.invalid/'
    """
    return f"https://local-{registry[:8]}.invalid/"


def is_local(iri: str) -> bool:
    """Return whether an IRI is that of a registry without a public URL, so that it cannot be cited."""
    return _LOCAL.match(iri) is not None
