"""From what a person wrote to the key that a store looks up: one way in, for every door.

Handles are compared without ASCII case in their prefix, and in their suffix where the prefix says so; IBI labels by
case folding only; PPIDs in their canonical form.
"""

from typing import Final, Protocol

import msgspec

from perdure.errors import InvalidName, NoSuchPrefix, OutOfRange
from perdure.names import handle, ibi, pilin, ppid, recognise
from perdure.records.checks import storable
from perdure.records.plain import Plain
from perdure.registry.entities import Prefix, Scheme

LONGEST_NAME: Final = 2048  # bytes; what other Handle software can bear, and what fits an index of every engine


_IBI: Final = "ibi:"


class PrefixSource(Protocol):
    """Whatever knows the prefixes: a store, or a copy of them."""

    def prefix(self, key: str) -> Prefix | None: ...


class Located(Plain, frozen=True):
    """A well-formed name under a prefix of this registry, whether it exists or not."""

    key: str
    name: str
    scheme: Scheme
    prefix: Prefix


def locate(prefixes: PrefixSource, text: str) -> Located:
    """The key of a name, from any form in which people write it."""
    head, _, suffix = text.partition("/")
    is_plain = suffix and len(text) <= LONGEST_NAME and text.isascii() and text.isprintable()
    plain = prefixes.prefix(head.lower()) if is_plain else None
    if plain is not None and plain.scheme == "handle":
        return Located(handle_key(plain, suffix), f"{plain.name}/{suffix}", "handle", plain)  # nearly all handles
    if ppid.validate_ppid_syntax(text):
        name = ppid.canonical(text)
        return Located(name, name, "ppid", known_prefix(prefixes, name[:4]))
    try:
        parsed = handle.parse(text)
    except InvalidName:
        recognised = recognise(text)  # an address of a resolver, an `ibi:` in front, a citation
        if not text.isprintable() or not recognised.valid or recognised.canonical in (None, text):
            raise
        return locate(prefixes, recognised.canonical or text)
    name = str(parsed)
    check_length(name)
    prefix = prefixes.prefix(handle.fold(parsed.prefix))
    if prefix is not None and prefix.scheme == "handle":
        return Located(handle_key(prefix, parsed.suffix), f"{prefix.name}/{parsed.suffix}", "handle", prefix)
    return _locate_label(prefixes, name, parsed.prefix)


def check_length(name: str) -> None:
    """A name that is too long could be kept, but not looked up everywhere."""
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        raise OutOfRange("handle", "name", f"the name is longer than {LONGEST_NAME} bytes")


def handle_key(prefix: Prefix, suffix: str) -> str:
    """What a handle under this prefix is looked up by."""
    return f"{prefix.key}/{suffix if prefix.case_sensitive else handle.fold(suffix)}"


def keys_under(prefix: Prefix) -> str:
    """How the keys of all names under this prefix begin."""
    return f"{prefix.name}-" if prefix.scheme == "ppid" else f"{prefix.key}/"


def forgiven(located: Located) -> Located | None:
    """The name that a PILIN suffix was probably meant to be, where it is typed as people type it."""
    if located.prefix.minter != "pilin":
        return None
    suffix = located.name.partition("/")[2]
    try:
        right = pilin.canonical(suffix)
    except InvalidName:
        return None
    name = f"{located.prefix.name}/{right}"
    if right == suffix:
        return None
    return msgspec.structs.replace(located, key=handle_key(located.prefix, right), name=name)


def known_prefix(prefixes: PrefixSource, text: str) -> Prefix:
    """The prefix that goes by this name, as handles write it, or as IBI labels do."""
    prefix = prefixes.prefix(handle.fold(storable(text, "prefix").rstrip("/")))
    if prefix is None:
        raise NoSuchPrefix(text)
    return prefix


def _locate_label(prefixes: PrefixSource, text: str, prefix_text: str) -> Located:
    """An IBI label belongs to the subsystem of its host and port, or address and port, however it writes those."""
    bare = text[len(_IBI) :] if handle.fold(text).startswith(_IBI) else text
    try:
        label = ibi.parse(ibi.split_document_type(bare)[0])
    except InvalidName:
        raise NoSuchPrefix(prefix_text) from None
    if isinstance(label, ibi.RepositoryName):
        key = ibi.repository_prefix(label.host, label.port)
    else:
        key = handle.fold(ibi.opaque_prefix(label.ip, label.port))
    prefix = prefixes.prefix(key)
    if prefix is None or prefix.scheme != "ibi":
        raise NoSuchPrefix(key)
    return Located(handle.fold(bare), bare, "ibi", prefix)  # with the document type, if a citation has one
