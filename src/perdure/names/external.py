"""Identifiers of other systems that person records link to: ORCID, ISNI, VIAF, Wikidata and GHCID.

>>> parse("orcid", "https://orcid.org/0000-0002-1694-233x").value
'0000-0002-1694-233X'
>>> parse("wikidata", "www.wikidata.org/wiki/Q42").iri
'http://www.wikidata.org/entity/Q42'
>>> parse("isni", "0000 0001 2103 2684")
Traceback (most recent call last):
    ...
perdure.errors.InvalidName: not a valid isni name: the check digit is 4 and should be 3
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from perdure.errors import InvalidInput, InvalidName, shown

# The blocks of the ISNI range that ORCID issues from, without check digits.
ORCID_BLOCKS: Final = ((15_000_000, 35_000_000), (900_000_000_000, 900_100_000_000))

_DASHES: Final = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
_SIXTEEN: Final = re.compile(r"[0-9]{15}[0-9X]")
_LOOKALIKES: Final = str.maketrans("OIL", "011")
_VIAF: Final = re.compile(r"[1-9][0-9](?:[0-9]{0,7}|[0-9]{17,20})")
_WIKIDATA: Final = re.compile(r"Q[1-9][0-9]{0,14}")
_GHCID: Final = re.compile(r"[A-Z]{2}-[A-Z0-9]{1,3}-[A-Z0-9]{3}-[A-Z]-[A-Z0-9]{2,64}")


@dataclass(frozen=True, slots=True, order=True)
class ExternalId:
    """An identifier of another system that is known to be well-formed."""

    scheme: str
    value: str

    def __post_init__(self) -> None:
        _system(self.scheme)

    @property
    def iri(self) -> str:
        """The IRI by which the other system wants it to be known."""
        return SYSTEMS[self.scheme].iri.format(self.value)

    def __str__(self) -> str:
        return self.value


def _orcid(text: str) -> str:
    digits = _sixteen("orcid", text)
    if not any(low <= int(digits[:15]) <= high for low, high in ORCID_BLOCKS):
        raise InvalidName("orcid", "number", None, "the number is outside the blocks that ORCID issues from")
    return _grouped("orcid", digits)


def _isni(text: str) -> str:
    return _sixteen("isni", text)


def _sixteen(scheme: str, text: str) -> str:
    """Fifteen digits and a check digit, however they are grouped."""
    # Imported here because most names need no check of this kind and the package takes longer to load than all of ours.
    from stdnum.iso7064 import mod_11_2

    digits = re.sub(r"[\s-]", "", _DASHES.sub("-", text)).upper()
    if not _SIXTEEN.fullmatch(digits):
        meant = digits.translate(_LOOKALIKES)
        if _SIXTEEN.fullmatch(meant) and mod_11_2.is_valid(meant):
            reason = "there is a letter where a digit should be"
            raise InvalidName(scheme, "letter for a digit", None, reason, _grouped(scheme, meant))
        raise InvalidName(scheme, "number", None, "there must be 16 digits, the last of which may be X")
    right = mod_11_2.calc_check_digit(digits[:15])
    if right != digits[15]:
        reason = f"the check digit is {digits[15]} and should be {right}"
        raise InvalidName(scheme, "check digit", len(text) - 1, reason, _grouped(scheme, digits[:15] + right))
    return digits


def _grouped(scheme: str, digits: str) -> str:
    return digits if scheme == "isni" else "-".join(digits[at : at + 4] for at in range(0, 16, 4))


def _viaf(text: str) -> str:
    if not _VIAF.fullmatch(text):
        raise InvalidName("viaf", "number", None, "a VIAF number has 2 to 9, or 19 to 22, digits and no leading zero")
    return text


def _wikidata(text: str) -> str:
    item = text.upper()
    if not _WIKIDATA.fullmatch(item):
        raise InvalidName("wikidata", "item", None, "a Wikidata item is a Q and a number without leading zeros")
    return item


def _ghcid(text: str) -> str:
    code = _DASHES.sub("-", text).upper()
    if not _GHCID.fullmatch(code):
        raise InvalidName(
            "ghcid", "code", None, "a GHCID is country-region-place-type-abbreviation, as in NL-NH-AMS-M-RM"
        )
    return code


@dataclass(frozen=True, slots=True)
class _System:
    iri: str
    introduction: re.Pattern[str]  # what stands before the identifier when people write it
    read: Callable[[str], str]


_GAP: Final = r"\s{0,3}"  # bounded, so that no text of spaces takes long


def _introduction(label: str, address: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:{label}{_GAP}:?{_GAP})?(?:(?:https?://)?(?:www\.)?{address})|{label}{_GAP}[: ]{_GAP}", re.IGNORECASE
    )


SYSTEMS: Final = {
    "orcid": _System("https://orcid.org/{}", _introduction(r"orcid(?:\s?id)?", r"(?:sandbox\.)?orcid\.org/"), _orcid),
    "isni": _System(
        "https://isni.org/isni/{}",
        _introduction(r"isni", r"(?:isni\.org/(?:isni/|page/)?|isni-url\.oclc\.nl/isni/)"),
        _isni,
    ),
    "viaf": _System(
        "http://viaf.org/viaf/{}", _introduction(r"viaf(?:\s?id)?", r"viaf\.org/(?:[a-z]{2}/)?viaf/"), _viaf
    ),
    "wikidata": _System(
        "http://www.wikidata.org/entity/{}",
        _introduction(
            r"(?:wikidata|wd)", r"(?:m\.)?wikidata\.org/(?:wiki/(?:Special:[A-Za-z]+/)?|entity/|w/index\.php\?title=)"
        ),
        _wikidata,
    ),
    "ghcid": _System(
        "https://w3id.org/heritage/custodian/{}", _introduction(r"ghcid", r"w3id\.org/heritage/custodian/"), _ghcid
    ),
}

_AFTER_THE_IDENTIFIER: Final = re.compile(r"[/?#&].*|\.(?:json|ttl|rdf|nt|jsonld)$", re.DOTALL)


def parse(scheme: str, text: str) -> ExternalId:
    """Read an identifier of `scheme`: bare, behind its label, or as a web address of its home."""
    system = _system(scheme)
    if not isinstance(text, str):
        raise InvalidInput(scheme, "name", f"an identifier must be text, not {type(text).__name__}")
    bare = text.strip()
    offset = len(text) - len(text.lstrip())
    introduction = system.introduction.match(bare)
    if introduction:
        bare = bare[introduction.end() :]
        offset += introduction.end()
        if introduction[0].endswith(("/", "=")):
            bare = _AFTER_THE_IDENTIFIER.sub("", bare)
    try:
        return ExternalId(scheme, system.read(bare))
    except InvalidName as problem:
        position = None if problem.position is None else offset + problem.position
        raise InvalidName(scheme, problem.part, position, problem.reason, problem.suggestion) from None


def _system(scheme: str) -> _System:
    system = SYSTEMS.get(scheme) if isinstance(scheme, str) else None
    if system is None:
        raise InvalidInput("external", "scheme", f"the scheme must be one of {', '.join(SYSTEMS)}, not {shown(scheme)}")
    return system


_INTRODUCED: Final = re.compile(
    "|".join(f"(?P<{scheme}>{system.introduction.pattern})" for scheme, system in SYSTEMS.items()), re.IGNORECASE
)


def introduced(text: str) -> str | None:
    """The scheme that the text names itself, by a label or a web address."""
    match = _INTRODUCED.match(text)
    return match.lastgroup if match else None
