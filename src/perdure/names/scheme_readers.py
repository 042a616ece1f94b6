"""One reader per scheme, which yields the interpretations of a bare text and how likely each is.

A reader does not guess: it returns a name as valid only if the scheme's own module accepts it.
"""

import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from fractions import Fraction
from typing import Final, NamedTuple

from perdure.errors import InvalidName
from perdure.names import external, handle, ibi, instant, pilin, ppid
from perdure.names.handle import Handle
from perdure.names.recognition_result import (
    Detail,
    Recognition,
    invalid_recognition,
    recognition_of_error,
    valid_recognition,
)


class Rank(IntEnum):
    """The likelihood of an interpretation; lower is more likely."""

    NAMED = 0  # the text itself names the scheme
    UNMISTAKABLE = 1  # no other scheme has this form
    LIKELY = 2
    POSSIBLE = 3
    FAINT = 4


class Candidate(NamedTuple):
    """A possible interpretation of a text, with its rank."""

    rank: Rank
    recognition: Recognition


SchemeReader = Callable[[str], Iterator[Candidate]]

_SEPARATORS: Final = "\\s\u00ad\u2010-\u2015\u2060\u200b\u2212\ufe58\ufe63\uff0d-"
_SEPARATOR: Final = re.compile(f"[{_SEPARATORS}]+")
_PPID_LIKE: Final = re.compile(f"p[or0][il1]d[{_SEPARATORS}]", re.IGNORECASE)
_LOOKALIKES: Final = str.maketrans("OoIiLl", "001111")
_PPID_COMPACT_LENGTH: Final = 20


def read_ppid(text: str) -> Iterator[Candidate]:
    if _PPID_LIKE.match(text) or _is_compact_ppid(_SEPARATOR.sub("", text)):
        yield Candidate(Rank.UNMISTAKABLE, person_recognition(text))


def _is_compact_ppid(compact: str) -> bool:
    return len(compact) == _PPID_COMPACT_LENGTH and compact[:4].upper() in ppid.TYPES


def person_recognition(text: str) -> Recognition:
    """Recognise a text as a person identifier, however its digits are grouped."""
    compact = _SEPARATOR.sub("", text)
    name = "-".join(compact[at : at + 4] for at in range(0, 20, 4)) if _is_compact_ppid(compact) else text
    try:
        parts = ppid.parse_ppid(name)
    except InvalidName as problem:
        if problem.suggestion is None:
            return _person_with_letters(compact) or recognition_of_error(problem)
        meant = ppid.parse_ppid(problem.suggestion)
        return recognition_of_error(problem, type=meant["type"], digits=meant["hex"])
    name = ppid.canonical(name)
    details: dict[str, Detail] = {"type": parts["type"], "digits": parts["hex"], "check_digit": parts["checksum"]}
    details["iri"] = f"https://ppid.org/{name}"
    return valid_recognition("ppid", name, "the check digit agrees", **details)


def _person_with_letters(compact: str) -> Recognition | None:
    """Suggest the identifier in which letters are replaced by the digits that look like them, if it is valid."""
    kind = "PRID" if compact[1:2] in "Rr" else "POID"
    digits = compact[4:].translate(_LOOKALIKES)
    name = "-".join([kind, *(digits[at : at + 4] for at in range(0, len(digits), 4))])
    if not ppid.validate_ppid(name):
        return None
    return invalid_recognition(
        "ppid", "letter for a digit", "there is a letter where a digit should be", ppid.canonical(name)
    )


_SIXTEEN: Final = re.compile(
    f"(?=[{_SEPARATORS}]?[0-9])(?:[0-9OoIl]{{4}}[{_SEPARATORS}]?){{3}}[0-9OoIl]{{3}}[0-9OoIlXx]"
)
_NUMBER: Final = re.compile(r"[1-9][0-9]{1,21}")
_ITEM: Final = re.compile(r"[Qq][1-9][0-9]{0,14}")
_GHCID_LIKE: Final = re.compile(r"[A-Za-z]{2}-[A-Za-z0-9]{1,3}-[A-Za-z0-9]{3}-[A-Za-z]-[A-Za-z0-9]{2,64}")


def read_sixteen_digits(text: str) -> Iterator[Candidate]:
    """Yield ORCID and ISNI. ORCID iDs are ISNIs of certain blocks, so sixteen digits may be both."""
    if not _SIXTEEN.fullmatch(text):
        return
    orcid, isni = read_external("orcid", text), read_external("isni", text)
    if orcid.valid:
        yield Candidate(Rank.UNMISTAKABLE, orcid)
        yield Candidate(Rank.POSSIBLE, isni)
    elif isni.valid:
        yield Candidate(Rank.UNMISTAKABLE, isni)
    else:
        yield Candidate(Rank.LIKELY, orcid if _SEPARATOR.search(text.replace(" ", "")) else isni)


def read_external(scheme: str, text: str) -> Recognition:
    try:
        parsed = external.parse(scheme, text)
    except InvalidName as problem:
        return recognition_of_error(problem)
    reason = "the check digit agrees" if scheme in ("orcid", "isni") else "well-formed; there is no check digit"
    return valid_recognition(scheme, parsed.value, reason, iri=parsed.iri)


def read_other_externals(text: str) -> Iterator[Candidate]:
    if _GHCID_LIKE.fullmatch(text):
        yield Candidate(Rank.UNMISTAKABLE if text.isupper() else Rank.LIKELY, read_external("ghcid", text))
    if _ITEM.fullmatch(text):
        yield Candidate(Rank.LIKELY, read_external("wikidata", text))
    if _NUMBER.fullmatch(text):
        reading = read_external("viaf", text)
        if reading.valid:
            yield Candidate(Rank.POSSIBLE, reading)


_REPOSITORY_LIKE: Final = re.compile(r"[^/]+/[^/]+/[0-9]{4,}/[0-9]{2}\.[0-9]{2}\..*", re.DOTALL)
# Base-53 suffixes were issued from August 1995 to 2008: four digits in the first three months, then five.
_LEGACY_LIKE: Final = re.compile(r"(?=[^/]*[2-9])[^/]+/[^/-]{4,5}(?:-|$)")
_LEGACY_FORM: Final = "legacy opaque (base 53, case-sensitive)"


def read_ibi(text: str) -> Iterator[Candidate]:
    label = _without_spaces(text)
    recognition = label_recognition(label) if "/" in label else None
    if recognition is None:
        return
    if recognition.details.get("form") == _LEGACY_FORM:
        yield Candidate(Rank.LIKELY if _LEGACY_LIKE.match(label) else Rank.FAINT, recognition)
    elif recognition.valid or _REPOSITORY_LIKE.fullmatch(label):
        yield Candidate(Rank.UNMISTAKABLE, recognition)


def _without_spaces(text: str) -> str:
    """Remove spaces and trailing slashes. A label has none; they come from the page that it was copied from."""
    return re.sub(r"\s", "", text).rstrip("/")


def label_recognition(text: str) -> Recognition:
    """Recognise a text as a label of any form, or return why it is not one."""
    label, kind = ibi.split_document_type(_without_spaces(text))
    try:
        name = ibi.parse(label)
    except InvalidName as problem:
        try:
            return _legacy_recognition(ibi.parse_legacy(label), kind)
        except InvalidName:
            return recognition_of_error(problem)
    details: dict[str, Detail]
    if isinstance(name, ibi.RepositoryName):
        details = {"form": "repository name", "host": name.host, "port": name.port, "directory": name.directory}
    else:
        details = {"form": "opaque (IBIp)", "ip": name.ip, "port": name.port}
    details["instant"] = instant.to_iso(name.date)
    # "Found in the wild": a valid name of its own, although the algorithms would write another.
    reason, written = "re-encodes to itself", name.canonical
    if name.canonical_spelling != written:
        reason = "found in the wild: a valid name of its own"
        details["written_today"] = written
    return _citation_recognition(name.canonical_spelling, kind, reason, details)


def _legacy_recognition(name: ibi.LegacyName, kind: str | None) -> Recognition:
    details: dict[str, Detail] = {"form": _LEGACY_FORM}
    if name.ip is not None:
        details["ip"] = name.ip
    if name.port is not None:
        details["port"] = name.port
    details["instant"] = instant.to_iso(name.date)
    return _citation_recognition(name.label, kind, "the case-sensitive form used before about 2008", details)


def _citation_recognition(label: str, kind: str | None, reason: str, details: dict[str, Detail]) -> Recognition:
    """Return the recognition of a label, with the document type that a citation appended."""
    if kind is None:
        return valid_recognition("ibi", label, reason, **details)
    details |= {"label": label, "document_type": kind}
    return valid_recognition(
        "ibi", f"{label}-{kind}", f"a citation of the label with its document type, {kind}", **details
    )


_POLICY_YEAR: Final = instant.to_posix(2007, 1, 1, 0, 0, 0)  # no suffix of the policy is older than the policy
_POLICY_PREFIX: Final = "102.100.272"  # by the policy, every suffix under it is a PILIN suffix
_DICTATED: Final = re.compile(r"[0-9A-Za-z]{1,8}(?:[ -][0-9A-Za-z]{1,8}){1,8}")


def read_pilin(text: str) -> Iterator[Candidate]:
    """Yield a bare suffix, possibly in groups as it was dictated, or a handle whose suffix has the form of one."""
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
            yield Candidate(Rank.UNMISTAKABLE, recognition_of_error(problem))
        return
    rank = Rank.UNMISTAKABLE if by_policy else _pilin_rank(prefix, suffix, when)
    if rank is not None:
        yield Candidate(rank, _pilin_recognition(prefix, suffix, when, name))


def _pilin_rank(prefix: str, suffix: str, when: Fraction) -> Rank | None:
    """Return how likely this is a PILIN suffix, or None.

    Any nine consonants and digits have the form. One that was minted has a date after the policy, and a digit.
    """
    upper = suffix.upper()
    has_slips = any(letter in upper for letter in pilin.FORGIVEN)
    looks_minted = when >= _POLICY_YEAR and not suffix.isalpha()
    if not prefix:
        if looks_minted and suffix in (upper, suffix.lower()):
            return Rank.UNMISTAKABLE
        return None if has_slips else Rank.FAINT if suffix.isdigit() else Rank.POSSIBLE
    if handle.is_doi(prefix) or suffix != upper or not looks_minted:
        return None if has_slips else Rank.FAINT  # `hydrology` is a word, not a dictated suffix
    return Rank.FAINT if has_slips else Rank.UNMISTAKABLE


def _pilin_recognition(prefix: str, suffix: str, when: Fraction, name: str) -> Recognition:
    right = pilin.canonical(suffix)
    details: dict[str, Detail] = {"prefix": prefix} if prefix else {}
    details |= {"suffix": right, "instant": instant.to_iso(when), "milliseconds": pilin.decode(suffix)}
    slips = [f"{typed} for {right[at]}" for at, typed in enumerate(suffix) if typed.upper() != right[at]]
    if slips:
        reason = f"the suffix has the letter {' and '.join(dict.fromkeys(slips))}"
        return invalid_recognition("pilin", "letter for a digit", reason, name, **details)
    if prefix:
        details["url"] = Handle(prefix, right).url()
    return valid_recognition("pilin", name, "nine digits of the PILIN alphabet", **details)


_SPACED_SLASH: Final = re.compile(r"([0-9][0-9A-Za-z.]{0,60})(?: {1,3}/ {0,3}| {0,3}/ {1,3})(?=\S)")
_REGISTERED_LIKE: Final = re.compile(r"[0-9]+(?:\.[^./\s]+)*/")


def read_handle(text: str) -> Iterator[Candidate]:
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
            yield Candidate(Rank.LIKELY, recognition_of_error(problem))
        return
    rank = Rank.FAINT if spaced else Rank.LIKELY if usual else Rank.POSSIBLE
    yield Candidate(rank, handle_recognition(name, usual))


def handle_recognition(name: Handle, usual: bool = True) -> Recognition:
    details: dict[str, Detail] = {"prefix": name.prefix, "suffix": name.suffix}
    if name.parents:
        details["parents"] = name.parents
    details["url"] = name.url(handle.DOI_PROXY if handle.is_doi(name.prefix) else handle.HANDLE_PROXY)
    if not usual:
        details["doubt"] = "registered prefixes are numbers, with or without dots: this may not be a handle"
    return valid_recognition("handle", str(name), "well-formed; there is no check digit", **details)


BARE_READERS: Final[tuple[SchemeReader, ...]] = (
    read_ppid,
    read_sixteen_digits,
    read_ibi,
    read_pilin,
    read_other_externals,
    read_handle,
)
