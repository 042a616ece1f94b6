"""IRIs of web addresses, ORCIDs, handles, PPIDs and IBI labels.

>>> iri('https://example.org/a"b')
'https://example.org/a%22b'
>>> find_iri("hdl:20.500.1/ab", Namespaces())
'https://hdl.handle.net/20.500.1/ab'
>>> find_certain_iri("20.500.1/ab", Namespaces()), find_certain_iri("tesseract/5.3.0", Namespaces())
('https://hdl.handle.net/20.500.1/ab', None)
"""

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote

import pyoxigraph as ox

from perdure.errors import InvalidName
from perdure.names import external, handle, ibi, ppid
from perdure.records.namespaces import Namespaces

IBI_RESOLVER: Final = "http://urlib.net/"
_PLAIN: Final = re.compile(r"https?://[a-z0-9.-]+(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?")
# Allowed in some position of an IRI, so left as they are. All else is encoded, private-use characters included.
_SAFE_IN_IRI: Final = "%:/?#@!$&'()*+,;=~"
_SAFE_ALWAYS: Final = "%/"
_WEB: Final = re.compile(r"https?://\S+", re.IGNORECASE)
# Introduced as a handle, or with a prefix of the Handle System: 10.1234, 20.500.12345, 21.T11148.
_SURE_HANDLE: Final = re.compile(r"(?:(?:hdl|doi):|info:(?:hdl|doi)/).+|[0-9]+(?:\.T?[0-9]+)+/\S+", re.IGNORECASE)
# The name of a registry that has no prefix yet. Only its own resolver knows it.
_LOCAL: Final = re.compile(r"local-[0-9a-f]{8}")
_ORCID: Final = re.compile(r"(?:https?://)?(?:www\.)?orcid\.org/|[0-9]{4}-[0-9X-]{10,}", re.IGNORECASE)


@lru_cache(maxsize=8192)
def iri(address: str) -> str:
    """Return an absolute address with all characters that are not allowed in an IRI percent-encoded."""
    if _PLAIN.fullmatch(address) or _is_iri(address):
        return address
    escaped = handle.STRAY_PERCENT.sub("%25", address)
    before, mark, fragment = escaped.partition("#")
    gentle = quote(before, safe=_SAFE_IN_IRI) + mark + quote(fragment, safe=_SAFE_IN_IRI.replace("#", ""))
    if _is_iri(gentle):
        return gentle
    scheme, _, rest = escaped.partition(":")  # for example with a port that is not a number
    return f"{scheme}:{quote(rest, safe=_SAFE_ALWAYS)}"


def _is_iri(text: str) -> bool:
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=8192)
def external_iri(scheme: str, value: str) -> str:
    """Return the IRI that another system prescribes for its identifier."""
    return external.ExternalId(scheme, value).iri


@lru_cache(maxsize=8192)
def find_iri(identifier: str, namespaces: Namespaces, home: str = "") -> str | None:
    """Return the IRI of an identifier, or None if no IRI resolves to it.

    `home` is the base IRI of the registry's own names. The default is that of its persons.
    """
    sure = find_certain_iri(identifier, namespaces, home)
    if sure is not None:
        return sure
    for parse in (_ibi_iri, _handle_iri):
        try:
            return parse(identifier, home or namespaces.ppid)
        except InvalidName:
            continue
    return None


@lru_cache(maxsize=8192)
def find_certain_iri(text: str, namespaces: Namespaces, home: str = "") -> str | None:
    """Return the IRI of an agent named in free text, if the text is certainly an identifier, or None.

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
    name = handle.parse(text, joiners=True)
    if ":" in name.prefix:  # an address of another kind
        raise InvalidName("handle", "prefix", name.prefix.index(":"), "there is a colon in the prefix")
    return name.url(home if _LOCAL.fullmatch(name.prefix) else handle.HANDLE_PROXY)
