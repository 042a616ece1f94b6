"""Prefixes that an import adds, because names of its file need them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

import msgspec

from perdure.errors import Conflict, InvalidName, PerdureError
from perdure.formats.import_entries import Entry, ImportPut, Notice
from perdure.names import handle, recognise
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Prefix
from perdure.registry.importing.import_options import ImportOptions
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.prefixes.label_prefixes import label_prefix
from perdure.registry.prefixes.na_names import NA_KEY
from perdure.registry.prefixes.na_records import build_na_prefix
from perdure.registry.prefixes.new_prefix import insert_prefix
from perdure.registry.prefixes.prefixes import build_handle_prefix, prefix_parents
from perdure.registry.store_interface import Transaction

# A name that is not a handle (a URL, a title) must not add a prefix, which stays for ever.
_USUAL_PREFIX: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")


class NewPrefix(msgspec.Struct, frozen=True):
    """A prefix to add, and the first line that needs it."""

    prefix: Prefix
    line: int


def find_new_prefixes(
    entries: Iterable[Entry], known: Mapping[str, Prefix], options: ImportOptions, at: str
) -> list[NewPrefix]:
    """Return a new prefix for each one that the entries need and that is not known. Others are left to the entries."""
    if options.new_prefixes is None:
        return []
    found: dict[str, NewPrefix] = {}
    refused: set[str] = set()
    for entry in entries:
        if not isinstance(entry, ImportPut):
            continue
        key = handle.fold(entry.name.partition("/")[0])
        if not entry.is_label and (key in known or key in found or key in refused):
            continue  # nearly all
        if entry.is_label or _is_label(entry.name):
            for of_labels in _label_prefixes(entry, known, at):
                if of_labels.key not in found and not _is_ambiguous(of_labels, known, found):
                    found[of_labels.key] = NewPrefix(of_labels, entry.line)
            continue
        prefix = build_na_prefix(at) if key == NA_KEY else _build_prefix(entry.name, options, at)
        if prefix is not None and _is_ambiguous(prefix, known, found):
            prefix = None
        if prefix is None:
            refused.add(key)
        elif prefix.key not in known and prefix.key not in found and prefix.key not in refused:
            found[prefix.key] = NewPrefix(prefix, entry.line)
    return list(found.values())


def insert_new_prefixes(tx: Transaction, by: Agent, prefixes: Iterable[NewPrefix], at: str) -> list[Notice]:
    """Add the prefixes that do not exist yet. This requires the same permission as to add them by a command."""
    notices = []
    for one in sorted(prefixes, key=_depth):
        prefix = one.prefix
        existing = tx.prefix(prefix.key)
        if existing is None:
            require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
            parent = None if prefix.key == NA_KEY else next(iter(prefix_parents(tx, prefix.name)), None)
            insert_prefix(tx, msgspec.structs.replace(prefix, parent=parent), by)
            case = "case-sensitive" if prefix.case_sensitive else "case is ignored"
            case = f"{case}; for these labels only, it mints none" if prefix.scheme == "ibi" else case
            notices.append(Notice(one.line, f"added the prefix {prefix.name} ({case})", None, "prefix"))
        elif (existing.scheme, existing.case_sensitive) != (prefix.scheme, prefix.case_sensitive):
            raise Conflict(prefix.name, "a new prefix", "one that was added meanwhile: import again")
    return notices


def _is_label(name: str) -> bool:
    """Return whether a name is an IBI label: then it has a prefix of labels, also if its table says nothing of IBIs."""
    recognised = recognise(name)
    return recognised.scheme == "ibi" and recognised.valid


def _is_ambiguous(prefix: Prefix, known: Mapping[str, Prefix], found: Mapping[str, NewPrefix]) -> bool:
    """Return whether a prefix of another scheme has the same beginning: a name under both could be read in two ways."""
    first = handle.fold(prefix.key.partition("/")[0])
    others = chain(known.items(), ((key, one.prefix) for key, one in found.items()))
    return any(other.scheme != prefix.scheme and handle.fold(key.partition("/")[0]) == first for key, other in others)


def _depth(one: NewPrefix) -> int:
    """Return how many segments a prefix has: 12345 is added before 12345.1, which is derived from it."""
    return one.prefix.key.count(".")


def _label_prefixes(entry: ImportPut, known: Mapping[str, Prefix], at: str) -> Iterator[Prefix]:
    """Yield the unknown prefixes of IBI labels. An entry whose label is wrong, or a handle here, is left alone."""
    for label in entry.names:
        try:
            prefix = label_prefix(label, at)
        except InvalidName:
            continue
        handles = known.get(handle.fold(prefix.key.partition("/")[0]))
        if prefix.key not in known and (handles is None or handles.scheme == "ibi"):
            yield prefix


def _build_prefix(text: str, options: ImportOptions, at: str) -> Prefix | None:
    try:
        name = handle.parse(text, joiners=True).prefix
        if _USUAL_PREFIX.fullmatch(name) is None:
            return None
        is_case_sensitive = options.new_prefixes == "case-sensitive"
        return build_handle_prefix(
            name, "chosen", is_case_sensitive, "", None, at, None, pass_through=False, ttl=None, joiners=False
        )
    except PerdureError:
        return None
