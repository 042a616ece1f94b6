"""IRIs: of what users name by an address, an ORCID, a handle, a PPID or an IBI label.

>>> iri('https://example.org/a"b')
'https://example.org/a%22b'
>>> reference("hdl:20.500.1/ab", Namespaces())
'https://hdl.handle.net/20.500.1/ab'
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
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:\S+")
_HANDLE: Final = re.compile(r"(?:hdl|doi):|info:(?:hdl|doi)/", re.IGNORECASE)
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
def reference(identifier: str, namespaces: Namespaces) -> str | None:
    """The IRI of a party or of another identifier, or None if there is none that leads to it."""
    if ppid.validate_ppid(identifier):
        return namespaces.ppid + ppid.canonical(identifier)
    if _ORCID.match(identifier):
        try:
            return external.parse("orcid", identifier).iri
        except InvalidName:
            pass
    if _ABSOLUTE.fullmatch(identifier) and not _HANDLE.match(identifier):
        return iri(identifier)
    for parse in (_ibi_iri, _handle_iri):
        try:
            return parse(identifier)
        except InvalidName:
            continue
    return None


def _ibi_iri(label: str) -> str:
    ibi.parse(label)
    return IBI_RESOLVER + handle.escape(label)


def _handle_iri(name: str) -> str:
    return handle.HANDLE_PROXY + handle.escape(str(handle.parse(name)))
