"""Identifiers of other systems that person records link to: ORCID, ISNI, VIAF, Wikidata and GHCID.

- ORCID, of researchers: https://support.orcid.org/hc/en-us/articles/360006897674
- ISNI, of public identities (ISO 27729): https://isni.org
- VIAF, of authority clusters of libraries: https://viaf.org
- Wikidata items: https://www.wikidata.org/wiki/Wikidata:Identifiers
- GHCID, of heritage institutions: https://w3id.org/heritage/custodian/

Every function has the scheme as its first argument. `SYSTEMS` has an object for each scheme, with the same functions
and without that argument.

>>> parse("orcid", "https://orcid.org/0000-0002-1694-233x")
ExternalId(scheme='orcid', value='0000-0002-1694-233X')
>>> canonical("viaf", "https://viaf.org/viaf/113230702"), is_valid("viaf", "0113230702")
('113230702', False)
>>> SYSTEMS["isni"].canonical("0000 0001 2103 2683")
'0000000121032683'
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

from perdure.errors import InvalidInput, InvalidName, quote_text

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
    """A well-formed identifier of another system. `str()` returns its canonical spelling."""

    scheme: str
    value: str

    def __post_init__(self) -> None:
        _find_system(self.scheme)

    @property
    def iri(self) -> str:
        """Return the IRI that the other system prescribes."""
        return SYSTEMS[self.scheme].template.format(self.value)

    def __str__(self) -> str:
        return self.value


def _parse_orcid(text: str) -> str:
    digits = _parse_sixteen_digits("orcid", text)
    if not any(low <= int(digits[:15]) <= high for low, high in ORCID_BLOCKS):
        raise InvalidName("orcid", "number", None, "the number is outside the blocks that ORCID issues from")
    return _group_digits("orcid", digits)


def _parse_isni(text: str) -> str:
    return _parse_sixteen_digits("isni", text)


def _parse_sixteen_digits(scheme: str, text: str) -> str:
    """Return fifteen digits and a check digit, however they are grouped in the text."""
    # Imported here: most names do not need it, and the package takes longer to load than all of this library.
    from stdnum.iso7064 import mod_11_2

    digits = re.sub(r"[\s-]", "", _DASHES.sub("-", text)).upper()
    if not _SIXTEEN.fullmatch(digits):
        meant = digits.translate(_LOOKALIKES)
        if _SIXTEEN.fullmatch(meant) and mod_11_2.is_valid(meant):
            reason = "there is a letter where a digit should be"
            raise InvalidName(scheme, "letter for a digit", None, reason, _group_digits(scheme, meant))
        raise InvalidName(scheme, "number", None, "there must be 16 digits, the last of which may be X")
    right = mod_11_2.calc_check_digit(digits[:15])
    if right != digits[15]:
        reason = f"the check digit is {digits[15]} and should be {right}"
        raise InvalidName(scheme, "check digit", len(text) - 1, reason, _group_digits(scheme, digits[:15] + right))
    return digits


def _group_digits(scheme: str, digits: str) -> str:
    return digits if scheme == "isni" else "-".join(digits[at : at + 4] for at in range(0, 16, 4))


def _parse_viaf(text: str) -> str:
    if not _VIAF.fullmatch(text):
        raise InvalidName("viaf", "number", None, "a VIAF number has 2 to 9, or 19 to 22, digits and no leading zero")
    return text


def _parse_wikidata(text: str) -> str:
    item = text.upper()
    if not _WIKIDATA.fullmatch(item):
        raise InvalidName("wikidata", "item", None, "a Wikidata item is a Q and a number without leading zeros")
    return item


def _parse_ghcid(text: str) -> str:
    code = _DASHES.sub("-", text).upper()
    if not _GHCID.fullmatch(code):
        raise InvalidName(
            "ghcid", "code", None, "a GHCID is country-region-place-type-abbreviation, as in NL-NH-AMS-M-RM"
        )
    return code


_AFTER_THE_IDENTIFIER: Final = re.compile(r"[/?#&].*|\.(?:json|ttl|rdf|nt|jsonld)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class System:
    """A system that issues identifiers."""

    scheme: str
    template: str  # of the IRI
    introduction: re.Pattern[str]  # what people write before the identifier
    read: Callable[[str], str]  # the canonical spelling of a bare identifier

    def parse(self, text: str) -> ExternalId:
        """Parse an identifier: bare, after its label, or as a web address of the system."""
        if not isinstance(text, str):
            raise InvalidInput(self.scheme, "name", f"an identifier must be text, not {type(text).__name__}")
        bare = text.strip()
        offset = len(text) - len(text.lstrip())
        introduction = self.introduction.match(bare)
        if introduction:
            bare = bare[introduction.end() :]
            offset += introduction.end()
            if introduction[0].endswith(("/", "=")):
                bare = _AFTER_THE_IDENTIFIER.sub("", bare)
        try:
            return ExternalId(self.scheme, self.read(bare))
        except InvalidName as problem:
            position = None if problem.position is None else offset + problem.position
            raise InvalidName(self.scheme, problem.part, position, problem.reason, problem.suggestion) from None

    def canonical(self, text: str) -> str:
        """Return an identifier as the system writes it. Raise InvalidName as `parse` does."""
        return self.parse(text).value

    def is_valid(self, text: str) -> bool:
        """Return whether `parse` accepts the text."""
        try:
            self.parse(text)
        except (InvalidName, InvalidInput):
            return False
        return True


_GAP: Final = r"\s{0,3}"  # limited, because backtracking over many spaces would be slow


def _introduction_pattern(label: str, address: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:{label}{_GAP}:?{_GAP})?(?:(?:https?://)?(?:www\.)?{address})|{label}{_GAP}[: ]{_GAP}", re.IGNORECASE
    )


_SYSTEMS: Final = (
    System(
        "orcid",
        "https://orcid.org/{}",
        _introduction_pattern(r"orcid(?:\s?id)?", r"(?:sandbox\.)?orcid\.org/"),
        _parse_orcid,
    ),
    System(
        "isni",
        "https://isni.org/isni/{}",
        _introduction_pattern(r"isni", r"(?:isni\.org/(?:isni/|page/)?|isni-url\.oclc\.nl/isni/)"),
        _parse_isni,
    ),
    System(
        "viaf",
        "http://viaf.org/viaf/{}",
        _introduction_pattern(r"viaf(?:\s?id)?", r"viaf\.org/(?:[a-z]{2}/)?viaf/"),
        _parse_viaf,
    ),
    System(
        "wikidata",
        "http://www.wikidata.org/entity/{}",
        _introduction_pattern(
            r"(?:wikidata|wd)", r"(?:m\.)?wikidata\.org/(?:wiki/(?:Special:[A-Za-z]+/)?|entity/|w/index\.php\?title=)"
        ),
        _parse_wikidata,
    ),
    System(
        "ghcid",
        "https://w3id.org/heritage/custodian/{}",
        _introduction_pattern(r"ghcid", r"w3id\.org/heritage/custodian/"),
        _parse_ghcid,
    ),
)
SYSTEMS: Final = {system.scheme: system for system in _SYSTEMS}


def parse(scheme: str, text: str) -> ExternalId:
    """Parse an identifier of `scheme`: bare, after its label, or as a web address of the system."""
    return _find_system(scheme).parse(text)


def canonical(scheme: str, text: str) -> str:
    """Return an identifier of `scheme` as the system writes it. Raise InvalidName as `parse` does."""
    return _find_system(scheme).canonical(text)


def is_valid(scheme: str, text: str) -> bool:
    """Return whether `parse` accepts the text for `scheme`."""
    return _find_system(scheme).is_valid(text)


def _find_system(scheme: str) -> System:
    system = SYSTEMS.get(scheme) if isinstance(scheme, str) else None
    if system is None:
        raise InvalidInput(
            "external", "scheme", f"the scheme must be one of {', '.join(SYSTEMS)}, not {quote_text(scheme)}"
        )
    return system


_INTRODUCTIONS: Final = re.compile(
    "|".join(f"(?P<{scheme}>{system.introduction.pattern})" for scheme, system in SYSTEMS.items()), re.IGNORECASE
)


def find_scheme(text: str) -> str | None:
    """Return the scheme whose label or web address begins the text, or None."""
    match = _INTRODUCTIONS.match(text)
    return match.lastgroup if match else None
