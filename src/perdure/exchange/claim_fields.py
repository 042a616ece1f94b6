"""Claims that are said field by field, as in the columns of a table: `name`, `name.given_name`, `birth_date`, …"""

from collections.abc import Mapping, Sequence
from typing import Final

from perdure.errors import InvalidInput, shown
from perdure.records.person import CLAIM_TYPES, Claim, InSource, PersonName

NAME_PARTS: Final = tuple(f"name.{part}" for part in PersonName.__struct_fields__ if part != "literal_name")
# What is said once, of all the claims of a row.
ABOUT_CLAIMS: Final = ("language", "confidence", "agent", *InSource.__struct_fields__)

Said = tuple[str, str]  # a field, and what is said of it


def is_claim_field(field: str) -> bool:
    """Whether a claim, or a part of one, is said by this field."""
    return field in CLAIM_TYPES or field in NAME_PARTS or field.startswith(("http://", "https://"))


def taken_apart(text: str) -> Said | None:
    """`FIELD=TEXT` as the two that it is made of; None, if one is missing.

    >>> taken_apart("https://example.org/?a=b=Jan"), taken_apart("name= Jan = Johannes"), taken_apart("name=")
    (('https://example.org/?a=b', 'Jan'), ('name', 'Jan = Johannes'), None)
    """
    is_iri = text.startswith(("http://", "https://"))  # which may hold such a sign itself
    field, _, rest = text.rpartition("=") if is_iri else text.partition("=")
    return (field.strip(), rest.strip()) if field.strip() and rest.strip() else None


def claims_of(said: Sequence[Said], about: Mapping[str, str] | None = None) -> tuple[Claim, ...]:
    """The claims, in the order of their fields; the parts of a name become one name, with the whole of it beside."""
    parts = {field.partition(".")[2]: text for field, text in said if field in NAME_PARTS}
    if parts:
        whole = [text for field, text in said if field == "name"]
        if len(whole) > 1 or len(parts) < sum(field in NAME_PARTS for field, _ in said):
            raise InvalidInput("person", "name", "a name that is given in parts can be only one: say each part once")
        name = PersonName(literal_name=whole[0] if whole else None, **parts)
    claims: list[Claim] = []
    more = _About(about or {})
    is_named = False
    for field, text in said:
        if not is_claim_field(field):
            known = ", ".join((*CLAIM_TYPES, *NAME_PARTS))
            reason = f"{shown(field)} is no type of claim: take one of {known}, or the IRI of another"
            raise InvalidInput("person", "claim", reason)
        if not parts or not (field == "name" or field in NAME_PARTS):
            claims.append(more.claim(field, text))
        elif not is_named:
            claims.append(more.claim("name", name))
            is_named = True
    return tuple(claims)


class _About:
    """What all the claims of a row have in common."""

    def __init__(self, said: Mapping[str, str]) -> None:
        place = {field: said[field] for field in InSource.__struct_fields__ if field in said}
        self._language = said.get("language")
        self._agent = said.get("agent")
        self._where = InSource(**place) if place else None
        self._confidence = _confidence(said["confidence"]) if "confidence" in said else None

    def claim(self, type: str, value: str | PersonName) -> Claim:
        has_language = CLAIM_TYPES.get(type) != "date"
        return Claim(
            type=type,
            value=value,
            language=self._language if has_language else None,
            confidence=self._confidence,
            where=self._where,
            agent=self._agent,
        )


def _confidence(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        reason = f"confidence is a number between 0 and 1, as in 0.8, not {shown(text)}"
        raise InvalidInput("person", "confidence", reason) from None
