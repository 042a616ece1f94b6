"""One reader per scheme: a bare text in, its readings and how likely they are out.

Readers never guess at a name: what they call valid is what the scheme's own module accepts.
"""

import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from fractions import Fraction
from typing import Final, NamedTuple

from perdure.errors import InvalidName
from perdure.names import external, handle, ibi, instant, pilin, ppid
from perdure.names.handle import Handle
from perdure.names.recognition import Detail, Recognition, invalid, refused, valid


class Rank(IntEnum):
    """How likely a reading is; the lower, the likelier."""

    NAMED = 0  # the text says itself what it is
    UNMISTAKABLE = 1  # nothing else looks like this
    LIKELY = 2
    POSSIBLE = 3
    FAINT = 4


class Reading(NamedTuple):
    rank: Rank
    recognition: Recognition


Reader = Callable[[str], Iterator[Reading]]

_SEPARATORS: Final = "\\s\u00ad\u2010-\u2015\u2060\u200b\u2212\ufe58\ufe63\uff0d-"
_SEPARATOR: Final = re.compile(f"[{_SEPARATORS}]+")
_PPID_LIKE: Final = re.compile(f"p[or0][il1]d[{_SEPARATORS}]", re.IGNORECASE)
_LOOKALIKES: Final = str.maketrans("OoIiLl", "001111")
_PPID_COMPACT_LENGTH: Final = 20


def read_ppid(text: str) -> Iterator[Reading]:
    if _PPID_LIKE.match(text) or _is_compact_ppid(_SEPARATOR.sub("", text)):
        yield Reading(Rank.UNMISTAKABLE, person_recognition(text))


def _is_compact_ppid(compact: str) -> bool:
    return len(compact) == _PPID_COMPACT_LENGTH and compact[:4].upper() in ppid.TYPES


def person_recognition(text: str) -> Recognition:
    """A text that is said to be a person identifier, however its digits are grouped."""
    compact = _SEPARATOR.sub("", text)
    name = "-".join(compact[at : at + 4] for at in range(0, 20, 4)) if _is_compact_ppid(compact) else text
    try:
        parts = ppid.parse_ppid(name)
    except InvalidName as problem:
        if problem.suggestion is None:
            return _person_with_letters(compact) or refused(problem)
        meant = ppid.parse_ppid(problem.suggestion)
        return refused(problem, type=meant["type"], digits=meant["hex"])
    name = ppid.canonical(name)
    details: dict[str, Detail] = {"type": parts["type"], "digits": parts["hex"], "check_digit": parts["checksum"]}
    details["iri"] = f"https://ppid.org/{name}"
    return valid("ppid", name, "the check digit agrees", **details)


def _person_with_letters(compact: str) -> Recognition | None:
    """Letters that were taken for digits, or the other way round, if that makes a valid identifier."""
    kind = "PRID" if compact[1:2] in "Rr" else "POID"
    digits = compact[4:].translate(_LOOKALIKES)
    name = "-".join([kind, *(digits[at : at + 4] for at in range(0, len(digits), 4))])
    if not ppid.validate_ppid(name):
        return None
    return invalid("ppid", "letter for a digit", "there is a letter where a digit should be", ppid.canonical(name))


_SIXTEEN: Final = re.compile(
    f"(?=[{_SEPARATORS}]?[0-9])(?:[0-9OoIl]{{4}}[{_SEPARATORS}]?){{3}}[0-9OoIl]{{3}}[0-9OoIlXx]"
)
_NUMBER: Final = re.compile(r"[1-9][0-9]{1,21}")
_ITEM: Final = re.compile(r"[Qq][1-9][0-9]{0,14}")
_GHCID_LIKE: Final = re.compile(r"[A-Za-z]{2}-[A-Za-z0-9]{1,3}-[A-Za-z0-9]{3}-[A-Za-z]-[A-Za-z0-9]{2,64}")


def read_sixteen_digits(text: str) -> Iterator[Reading]:
    """ORCID iDs are ISNIs of certain blocks, so sixteen digits may be both."""
    if not _SIXTEEN.fullmatch(text):
        return
    orcid, isni = read_external("orcid", text), read_external("isni", text)
    if orcid.valid:
        yield Reading(Rank.UNMISTAKABLE, orcid)
        yield Reading(Rank.POSSIBLE, isni)
    elif isni.valid:
        yield Reading(Rank.UNMISTAKABLE, isni)
    else:
        yield Reading(Rank.LIKELY, orcid if _SEPARATOR.search(text.replace(" ", "")) else isni)


def read_external(scheme: str, text: str) -> Recognition:
    try:
        found = external.parse(scheme, text)
    except InvalidName as problem:
        return refused(problem)
    reason = "the check digit agrees" if scheme in ("orcid", "isni") else "well-formed; there is no check digit"
    return valid(scheme, found.value, reason, iri=found.iri)


def read_other_externals(text: str) -> Iterator[Reading]:
    if _GHCID_LIKE.fullmatch(text):
        yield Reading(Rank.UNMISTAKABLE if text.isupper() else Rank.LIKELY, read_external("ghcid", text))
    if _ITEM.fullmatch(text):
        yield Reading(Rank.LIKELY, read_external("wikidata", text))
    if _NUMBER.fullmatch(text):
        reading = read_external("viaf", text)
        if reading.valid:
            yield Reading(Rank.POSSIBLE, reading)


_REPOSITORY_LIKE: Final = re.compile(r"[^/]+/[^/]+/[0-9]{4,}/[0-9]{2}\.[0-9]{2}\..*", re.DOTALL)
# Base-53 suffixes of the years in which they were made, 1995 to 2008, have five digits.
_LEGACY_LIKE: Final = re.compile(r"(?=[^/]*[2-9])[^/]+/[^/-]{5}(?:-|$)")
_LEGACY_FORM: Final = "legacy opaque (base 53, case-sensitive)"


def read_ibi(text: str) -> Iterator[Reading]:
    label = _without_spaces(text)
    recognition = label_recognition(label) if "/" in label else None
    if recognition is None:
        return
    if recognition.details.get("form") == _LEGACY_FORM:
        yield Reading(Rank.LIKELY if _LEGACY_LIKE.match(label) else Rank.FAINT, recognition)
    elif recognition.valid or _REPOSITORY_LIKE.fullmatch(label):
        yield Reading(Rank.UNMISTAKABLE, recognition)


def _without_spaces(text: str) -> str:
    """A label has no spaces, and no slash behind it: both come from the page it was taken from."""
    return re.sub(r"\s", "", text).rstrip("/")


def label_recognition(text: str) -> Recognition:
    """A text that is said to be a label, of whatever form: what it says, or why it is none."""
    label, kind = ibi.split_document_type(_without_spaces(text))
    try:
        name = ibi.parse(label)
    except InvalidName as problem:
        try:
            return _legacy_recognition(ibi.parse_legacy(label), kind)
        except InvalidName:
            return refused(problem)
    details: dict[str, Detail]
    if isinstance(name, ibi.RepositoryName):
        canonical = name.key
        details = {"form": "repository name", "host": name.host, "port": name.port, "directory": name.directory}
    else:
        canonical = name.label.upper()
        details = {"form": "opaque (IBIp)", "ip": name.ip, "port": name.port}
    details["instant"] = instant.to_iso(name.date)
    # Found in the wild means: a valid name in its own right, though the algorithms would write another.
    reason, written = "re-encodes to itself", name.canonical
    if canonical != written:
        reason = "found in the wild: a valid name of its own"
        details["written_today"] = written
    return _cited(canonical, kind, reason, details)


def _legacy_recognition(name: ibi.LegacyName, kind: str | None) -> Recognition:
    details: dict[str, Detail] = {"form": _LEGACY_FORM}
    if name.ip is not None:
        details["ip"] = name.ip
    if name.port is not None:
        details["port"] = name.port
    details["instant"] = instant.to_iso(name.date)
    return _cited(name.label, kind, "the case-sensitive form used before about 2008", details)


def _cited(label: str, kind: str | None, reason: str, details: dict[str, Detail]) -> Recognition:
    """The label, with the document type that a citation put behind it."""
    if kind is None:
        return valid("ibi", label, reason, **details)
    details |= {"label": label, "document_type": kind}
    return valid("ibi", f"{label}-{kind}", f"a citation of the label with its document type, {kind}", **details)


_POLICY_YEAR: Final = instant.seconds(2007, 1, 1, 0, 0, 0)  # no suffix of the policy is older than the policy
_POLICY_PREFIX: Final = "102.100.272"  # every suffix below it is a PILIN suffix: the policy says so
_DICTATED: Final = re.compile(r"[0-9A-Za-z]{1,8}(?:[ -][0-9A-Za-z]{1,8}){1,8}")


def read_pilin(text: str) -> Iterator[Reading]:
    """A bare suffix, perhaps in the groups in which it was dictated, or a handle whose suffix reads as one."""
    prefix, slash, suffix = text.partition("/")
    if not slash:
        prefix, suffix = "", re.sub("[ -]", "", text) if _DICTATED.fullmatch(text) else text
    by_policy = prefix == _POLICY_PREFIX
    if (len(suffix) != pilin.LENGTH and not by_policy) or bool(slash) != bool(prefix):
        return
    try:
        when = pilin.to_posix(suffix)
        name = str(Handle(prefix, pilin.canonical(suffix))) if prefix else pilin.canonical(suffix)
    except InvalidName as problem:
        if by_policy:
            yield Reading(Rank.UNMISTAKABLE, refused(problem))
        return
    rank = Rank.UNMISTAKABLE if by_policy else _pilin_rank(prefix, suffix, when)
    if rank is not None:
        yield Reading(rank, _pilin_recognition(prefix, suffix, when, name))


def _pilin_rank(prefix: str, suffix: str, when: Fraction) -> Rank | None:
    """Any nine consonants and digits are a PILIN suffix; one that was minted is of our age and has a digit in it."""
    upper = suffix.upper()
    has_slips = any(letter in upper for letter in pilin.FORGIVEN)
    of_our_age = when >= _POLICY_YEAR and not suffix.isalpha()
    if not prefix:
        if of_our_age and suffix in (upper, suffix.lower()):
            return Rank.UNMISTAKABLE
        return None if has_slips else Rank.FAINT if suffix.isdigit() else Rank.POSSIBLE
    if handle.is_doi(prefix) or suffix != upper or not of_our_age:
        return None if has_slips else Rank.FAINT  # `hydrology` is no suffix that anyone dictated
    return Rank.FAINT if has_slips else Rank.UNMISTAKABLE


def _pilin_recognition(prefix: str, suffix: str, when: Fraction, name: str) -> Recognition:
    right = pilin.canonical(suffix)
    details: dict[str, Detail] = {"prefix": prefix} if prefix else {}
    details |= {"suffix": right, "instant": instant.to_iso(when), "milliseconds": pilin.decode(suffix)}
    slips = [f"{typed} for {right[at]}" for at, typed in enumerate(suffix) if typed.upper() != right[at]]
    if slips:
        reason = f"the suffix has the letter {' and '.join(dict.fromkeys(slips))}"
        return invalid("pilin", "letter for a digit", reason, name, **details)
    if prefix:
        details["url"] = Handle(prefix, right).url()
    return valid("pilin", name, "nine digits of the PILIN alphabet", **details)


_SPACED_SLASH: Final = re.compile(r"([0-9][0-9A-Za-z.]{0,60})(?: {1,3}/ {0,3}| {0,3}/ {1,3})(?=\S)")
_REGISTERED_LIKE: Final = re.compile(r"[0-9]+(?:\.[^./\s]+)*/")


def read_handle(text: str) -> Iterator[Reading]:
    if "/" not in text:
        return
    spaced = _SPACED_SLASH.match(text)
    if spaced:
        yield from read_handle(spaced[1] + "/" + text[spaced.end() :])
    usual = _REGISTERED_LIKE.match(text) is not None
    try:
        name = handle.parse(text)
    except InvalidName as problem:
        if usual:
            yield Reading(Rank.LIKELY, refused(problem))
        return
    rank = Rank.FAINT if spaced else Rank.LIKELY if usual else Rank.POSSIBLE
    yield Reading(rank, handle_recognition(name, usual))


def handle_recognition(name: Handle, usual: bool = True) -> Recognition:
    details: dict[str, Detail] = {"prefix": name.prefix, "suffix": name.suffix}
    if name.parents:
        details["parents"] = name.parents
    details["url"] = name.url(handle.DOI_PROXY if handle.is_doi(name.prefix) else handle.HANDLE_PROXY)
    if not usual:
        details["doubt"] = "registered prefixes are numbers, with or without dots: this may be no handle at all"
    return valid("handle", str(name), "well-formed; there is no check digit", **details)


BARE_READERS: Final[tuple[Reader, ...]] = (
    read_ppid,
    read_sixteen_digits,
    read_ibi,
    read_pilin,
    read_other_externals,
    read_handle,
)
