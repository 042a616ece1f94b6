"""The key under which a store holds a name, from any text that a person writes. Every API uses it.

Handles are compared without ASCII case in their prefix, and in their suffix where the prefix is not case-sensitive; IBI
labels by case folding only, and exactly if they are legacy ones in base 53; PPIDs in their canonical form.
"""

from typing import Final, Protocol

import msgspec

from perdure.errors import InvalidName, NoSuchPrefix, OutOfRange
from perdure.names import handle, ibi, pilin, ppid, recognise, resolver_address, upn, urlib_address
from perdure.names.unwrap import unwrap
from perdure.records.frozen_struct import FrozenStruct
from perdure.records.validation import check_storable
from perdure.registry.entities import Prefix, Scheme
from perdure.registry.own_addresses import own_addresses

LONGEST_NAME: Final = 2048  # bytes; other Handle software supports it, and it fits an index of every engine


_IBI: Final = "ibi:"


class PrefixSource(Protocol):
    """A source of prefixes: a store, or a copy of its prefixes."""

    def prefix(self, key: str) -> Prefix | None: ...


class LocatedName(FrozenStruct, frozen=True):
    """A well-formed name under a prefix of this registry, whether it exists or not."""

    key: str
    name: str
    scheme: Scheme
    prefix: Prefix


def locate(prefixes: PrefixSource, text: str) -> LocatedName:
    """Find the key of a name, from any form in which people write it."""
    head, _, suffix = text.partition("/")
    is_plain = suffix and len(text) <= LONGEST_NAME and text.isascii() and text.isprintable()
    plain = prefixes.prefix(head.lower()) if is_plain else None
    if plain is not None and plain.scheme == "handle":
        return LocatedName(handle_key(plain, suffix), f"{plain.name}/{suffix}", "handle", plain)  # nearly all handles
    if ppid.validate_ppid_syntax(text):
        name = ppid.canonical(text)
        return LocatedName(name, name, "ppid", require_prefix(prefixes, name[:4]))
    try:
        parsed = handle.parse(text, joiners=True)
    except InvalidName:
        own = find_own_name(prefixes, text)
        if own is not None:
            return locate(prefixes, own)
        recognised = recognise(text)  # a resolver URL, an `ibi:` in front, a citation
        if recognised.scheme == "ppid" and not recognised.valid:
            ppid.parse(text)  # raises an error that says what is wrong with the PPID
        if not text.isprintable() or not recognised.valid or recognised.canonical in (None, text):
            raise
        return locate(prefixes, recognised.canonical or text)
    name = str(parsed)
    check_length(name)
    prefix = prefixes.prefix(handle.fold(parsed.prefix))
    if handle.has_joiners(name) and (prefix is None or not prefix.joiners):
        refuse_joiners(text, prefix)
    if prefix is not None and prefix.scheme == "handle":
        return LocatedName(handle_key(prefix, parsed.suffix), f"{prefix.name}/{parsed.suffix}", "handle", prefix)
    if upn.is_link(name):  # the item whose label it contains, whichever of its files
        return locate(prefixes, upn.parse(name).label)
    try:
        return _locate_label(prefixes, name, parsed.prefix)
    except NoSuchPrefix:
        inner = _find_name_at_host(prefixes, text) or _find_pasted_address(text)
        if inner is None or _find_name_at_host(prefixes, inner) is not None:  # addresses in addresses mean nothing
            raise
        return locate(prefixes, inner)


def _find_name_at_host(prefixes: PrefixSource, text: str) -> str | None:
    """Return the name in an address without its protocol, as people copy it from paper; None if it is no address."""
    address = f"https://{text}"
    try:
        return handle.canonical(address) if handle.is_proxy_address(address) else find_own_name(prefixes, address)
    except InvalidName:
        return None


def _find_pasted_address(text: str) -> str | None:
    """Return the web address in a text that has blanks, brackets or a full stop around it; None if it has none."""
    bare = unwrap(text)
    return bare if bare != text and handle.is_web_address(bare) else None


def find_own_name(prefixes: PrefixSource, text: str) -> str | None:
    """Return the name in a web address of this registry's own resolver; None if the text is not one."""
    name = resolver_address.find_name(text, own_addresses())
    if name is None or handle.is_web_address(name):
        return None
    old = urlib_address.read_url(text) if prefixes.prefix(handle.fold(name.partition("/")[0])) is None else None
    return without_handle_path(prefixes, name) or (name if old is None else old.label)


def without_handle_path(prefixes: PrefixSource, name: str) -> str | None:
    """Return the name that `hdl/NAME` means; None if it is a name itself, because a prefix `hdl` is registered."""
    rest = resolver_address.strip_handle_path(name)
    return None if rest is None or prefixes.prefix(resolver_address.HANDLE_PATH) is not None else rest


def refuse_joiners(text: str, prefix: Prefix | None) -> None:
    """Refuse a name with zero-width joiners, and say how an administrator can allow them."""
    try:
        handle.parse(text)
    except InvalidName as problem:
        if prefix is None or prefix.scheme != "handle":
            raise
        reason = f"{problem.reason}; to allow it in {prefix.name}: perdure prefix change {prefix.name} --joiners"
        raise InvalidName(problem.scheme, problem.part, problem.position, reason) from None


def check_length(name: str) -> None:
    """Refuse a name that some engine or other Handle software could not look up."""
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        raise OutOfRange("handle", "name", f"the name is longer than {LONGEST_NAME} bytes")


def handle_key(prefix: Prefix, suffix: str) -> str:
    """Return the key of a handle under this prefix."""
    return f"{prefix.key}/{suffix if prefix.case_sensitive else handle.fold(suffix)}"


def key_beginning(prefix: Prefix) -> str:
    """Return how the keys of all names under a prefix begin that is not an IBI subsystem."""
    return f"{prefix.name}-" if prefix.scheme == "ppid" else f"{prefix.key}/"


def key_beginnings(prefix: Prefix, text: str) -> tuple[str, ...]:
    """Return how the keys of the names begin that a text means: the prefix, or one of its label prefixes, with a slash.

    An IBI subsystem may have several label prefixes. Each of them means the subsystem, with all that it has ever
    issued. With a slash at its end (`8JMKD3MGP8W/`) it means the labels that begin so. In the order of keys.
    """
    if prefix.subsystem is None:
        return (key_beginning(prefix),)
    if text.endswith("/"):
        return (f"{handle.fold(text).rstrip('/')}/",)
    return tuple(sorted(f"{key}/" for key in prefix.lookup_keys))


def find_beginnings(prefixes: PrefixSource, text: str) -> tuple[Prefix, tuple[str, ...]]:
    """Return the prefix that a text names or begins with, and how the keys of the names under this text begin.

    The text is a prefix, or the beginning of names under one, as in `12345/thesis-`.
    """
    folded = handle.fold(check_storable(text, "prefix"))
    prefix = prefixes.prefix(folded.rstrip("/")) or prefixes.prefix(text.rstrip("/"))
    if prefix is not None:
        return prefix, key_beginnings(prefix, text)
    end = len(folded)
    while (end := folded.rfind("/", 0, end)) > 0:
        prefix = prefixes.prefix(folded[:end]) or prefixes.prefix(text[:end])
        if prefix is not None and prefix.scheme == "handle":
            return prefix, (handle_key(prefix, text[end + 1 :]),)
        if prefix is not None:
            return prefix, (text if prefix.case_sensitive else folded,)
    raise NoSuchPrefix(text)


def correct_pilin_spelling(located: LocatedName) -> LocatedName | None:
    """Return the name with its PILIN suffix in canonical spelling; None if that changes nothing."""
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


def require_prefix(prefixes: PrefixSource, text: str) -> Prefix:
    """Return the prefix with this name, as handles or IBI labels write it. Raise NoSuchPrefix if it is unknown."""
    name = check_storable(text, "prefix").rstrip("/")
    prefix = prefixes.prefix(handle.fold(name)) or prefixes.prefix(name)  # in legacy labels, case matters
    if prefix is None:
        raise NoSuchPrefix(text)
    return prefix


def _locate_label(prefixes: PrefixSource, text: str, prefix_text: str) -> LocatedName:
    """Locate an IBI label: it belongs to the subsystem with its host and port, or with its address and port."""
    label_text = text[len(_IBI) :] if handle.fold(text).startswith(_IBI) else text
    try:
        label = ibi.parse_any(ibi.split_document_type(label_text)[0])
    except InvalidName:
        raise NoSuchPrefix(prefix_text, whole_name=text) from None
    is_legacy = isinstance(label, ibi.LegacyName)
    key = label_prefix_key(label)
    prefix = prefixes.prefix(key)
    if prefix is None or prefix.scheme != "ibi":
        raise NoSuchPrefix(key, whole_name=label_text)
    # A citation's document type stays part of the name.
    return LocatedName(label_text if is_legacy else handle.fold(label_text), label_text, "ibi", prefix)


def label_prefix_key(label: ibi.RepositoryName | ibi.OpaqueName | ibi.LegacyName) -> str:
    """Return the key of the prefix of an IBI label. In base 53, case matters, also in the prefix."""
    return label.prefix if isinstance(label, ibi.LegacyName) else handle.fold(label.prefix)
