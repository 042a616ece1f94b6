"""IRIs: of what users name by an address, an ORCID, a handle, a PPID or an IBI label.

>>> iri('https://example.org/a"b')
'https://example.org/a%22b'
>>> reference("hdl:20.500.1/ab", Namespaces())
'https://hdl.handle.net/20.500.1/ab'
>>> unmistakable("20.500.1/ab", Namespaces()), unmistakable("tesseract/5.3.0", Namespaces())
('https://hdl.handle.net/20.500.1/ab', None)
"""

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote

import pyoxigraph as ox

from perdure.errors import InvalidName
from perdure.linked.namespaces import Namespaces
from perdure.names import external, handle, ibi, ppid

IBI_RESOLVER: Final = "http://urlib.net/"
_PLAIN: Final = re.compile(r"https?://[a-z0-9.-]+(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?")
_STRAY_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
# What is allowed somewhere in an IRI and need not be touched; beyond ASCII, what only a private agreement explains is.
_UNTOUCHED: Final = "%:/?#@!$&'()*+,;=~"
_WHEREVER: Final = "%/"
_WEB: Final = re.compile(r"https?://\S+", re.IGNORECASE)
# Introduced as a handle, or with a prefix such as the Handle System gives out: 10.1234, 20.500.12345, 21.T11148.
_SURE_HANDLE: Final = re.compile(r"(?:(?:hdl|doi):|info:(?:hdl|doi)/).+|[0-9]+(?:\.T?[0-9]+)+/\S+", re.IGNORECASE)
# What a registry is called as long as nobody has given it a prefix: no resolver knows it but its own.
_LOCAL: Final = re.compile(r"local-[0-9a-f]{8}")
_ORCID: Final = re.compile(r"(?:https?://)?(?:www\.)?orcid\.org/|[0-9]{4}-[0-9X-]{10,}", re.IGNORECASE)


@lru_cache(maxsize=8192)
def iri(address: str) -> str:
    """An absolute address, with what may not stand in an IRI percent-encoded."""
    if _PLAIN.fullmatch(address) or _is_iri(address):
        return address
    escaped = _STRAY_PERCENT.sub("%25", address)
    before, mark, fragment = escaped.partition("#")
    gentle = quote(before, safe=_UNTOUCHED) + mark + quote(fragment, safe=_UNTOUCHED.replace("#", ""))
    if _is_iri(gentle):
        return gentle
    scheme, _, rest = escaped.partition(":")  # a port that is no number, say
    return f"{scheme}:{quote(rest, safe=_WHEREVER)}"


def _is_iri(text: str) -> bool:
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=8192)
def external_iri(scheme: str, value: str) -> str:
    """The IRI by which another system wants its identifier to be known."""
    return external.ExternalId(scheme, value).iri


@lru_cache(maxsize=8192)
def reference(identifier: str, namespaces: Namespaces, home: str = "") -> str | None:
    """The IRI of what the registry knows to be an identifier, or None if there is none that leads to it.

    `home` is where the registry's own names are found; left out, where its persons are.
    """
    sure = unmistakable(identifier, namespaces, home)
    if sure is not None:
        return sure
    for parse in (_ibi_iri, _handle_iri):
        try:
            return parse(identifier, home or namespaces.ppid)
        except InvalidName:
            continue
    return None


@lru_cache(maxsize=8192)
def unmistakable(text: str, namespaces: Namespaces, home: str = "") -> str | None:
    """The IRI of whoever is named in free text, if that can be nothing but an identifier.

    A slash alone makes no handle: `tesseract/5.3.0` is a program, and `J. Smith / A. Jones` are two people.
    """
    if ppid.validate_ppid(text):
        return namespaces.ppid + ppid.canonical(text)
    if _ORCID.match(text):
        try:
            return external.parse("orcid", text).iri
        except InvalidName:
            pass
    if _WEB.fullmatch(text):
        return iri(text)
    if _SURE_HANDLE.fullmatch(text) or _LOCAL.fullmatch(text.partition("/")[0]):
        try:
            return _handle_iri(text, home or namespaces.ppid)
        except InvalidName:
            pass
    return None


def _ibi_iri(label: str, _home: str) -> str:
    ibi.parse(label)
    return IBI_RESOLVER + handle.escape(label)


def _handle_iri(text: str, home: str) -> str:
    name = handle.parse(text)
    if ":" in name.prefix:  # an address of another kind, which only a browser should judge
        raise InvalidName("handle", "prefix", name.prefix.index(":"), "there is a colon in the prefix")
    return name.url(home if _LOCAL.fullmatch(name.prefix) else handle.HANDLE_PROXY)
