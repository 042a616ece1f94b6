"""Claims given field by field, as in the columns of a table: `name`, `name.given_name`, `birth_date`, …"""

from collections.abc import Mapping, Sequence
from typing import Final

from perdure.errors import InvalidInput, quote_text
from perdure.records.person import CLAIM_TYPES, Claim, InSource, PersonName

NAME_PARTS: Final = tuple(f"name.{part}" for part in PersonName.__struct_fields__ if part != "literal_name")
# Fields that apply to all claims of a row.
ABOUT_CLAIMS: Final = ("language", "confidence", "agent", *InSource.__struct_fields__)

FieldText = tuple[str, str]  # a field, and its text


def is_claim_field(field: str) -> bool:
    """Return whether the field is a claim, or a part of one."""
    return field in CLAIM_TYPES or field in NAME_PARTS or field.startswith(("http://", "https://"))


def split_assignment(text: str) -> FieldText | None:
    """Split `FIELD=TEXT` into field and text. Return None if one is missing.

    >>> split_assignment("https://example.org/?a=b=Jan"), split_assignment("name= Jan = J."), split_assignment("name=")
    (('https://example.org/?a=b', 'Jan'), ('name', 'Jan = J.'), None)
    """
    is_iri = text.startswith(("http://", "https://"))  # an IRI may contain = itself
    field, _, rest = text.rpartition("=") if is_iri else text.partition("=")
    return (field.strip(), rest.strip()) if field.strip() and rest.strip() else None


def parse_pairs(texts: Sequence[str] | None, scheme: str, option: str, written: str, right: str) -> list[FieldText]:
    """Split each text of the form `FIELD=TEXT`.

    An error names the option. Its message starts with the option as `written` by the user, as in `--map ` or `map=`,
    and calls the text `right`.
    """
    pairs = []
    for text in texts or ():
        pair = split_assignment(text)
        if pair is None:
            raise InvalidInput(scheme, option, f"{written}{quote_text(text)}: write it as FIELD={right}")
        pairs.append(pair)
    return pairs


def build_claims(fields: Sequence[FieldText], about: Mapping[str, str] | None = None) -> tuple[Claim, ...]:
    """Return the claims in the order of their fields. The parts of a name, and the whole name, become one claim."""
    parts = {field.partition(".")[2]: text for field, text in fields if field in NAME_PARTS}
    if parts:
        whole = [text for field, text in fields if field == "name"]
        if len(whole) > 1 or len(parts) < sum(field in NAME_PARTS for field, _ in fields):
            raise InvalidInput("person", "name", "only one name can be given in parts: give each part once")
        name = PersonName(literal_name=whole[0] if whole else None, **parts)
    claims: list[Claim] = []
    more = _ClaimDefaults(about or {})
    is_named = False
    for field, text in fields:
        if not is_claim_field(field):
            known = ", ".join((*CLAIM_TYPES, *NAME_PARTS))
            reason = f"{quote_text(field)} is not a type of claim: use one of {known}, or the IRI of another"
            raise InvalidInput("person", "claim", reason)
        if not parts or not (field == "name" or field in NAME_PARTS):
            claims.append(more.build_claim(field, text))
        elif not is_named:
            claims.append(more.build_claim("name", name))
            is_named = True
    return tuple(claims)


class _ClaimDefaults:
    """The fields that all claims of a row have in common."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        location = {field: fields[field] for field in InSource.__struct_fields__ if field in fields}
        self._language = fields.get("language")
        self._agent = fields.get("agent")
        self._where = InSource(**location) if location else None
        self._confidence = _parse_confidence(fields["confidence"]) if "confidence" in fields else None

    def build_claim(self, type: str, value: str | PersonName) -> Claim:
        has_language = CLAIM_TYPES.get(type) != "date"
        return Claim(
            type=type,
            value=value,
            language=self._language if has_language else None,
            confidence=self._confidence,
            where=self._where,
            agent=self._agent,
        )


def _parse_confidence(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        reason = f"confidence must be a number between 0 and 1, as in 0.8, not {quote_text(text)}"
        raise InvalidInput("person", "confidence", reason) from None
