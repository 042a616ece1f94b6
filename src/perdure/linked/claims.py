"""Claims: each as a node of its own, and what they say together as properties of the person."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from perdure.linked.iris import iri
from perdure.linked.terms import UNKNOWN_LANGUAGE
from perdure.linked.values import Written, calendar, decimal, language_tag, text
from perdure.linked.writing import Tree
from perdure.records.person import CLAIM_TYPES, Claim, PersonName

# The property that each type of claim states.
STATED: Final = {
    "name": "name",
    "gender": "gender",
    "birth_date": "birthDate",
    "birth_place": "birthPlace",
    "baptism_date": "baptismDate",
    "baptism_place": "baptismPlace",
    "death_date": "deathDate",
    "death_place": "deathPlace",
    "burial_date": "burialDate",
    "burial_place": "burialPlace",
    "marriage_date": "marriageDate",
    "marriage_place": "marriagePlace",
    "age": "hasAge",
    "residence": "residence",
    "occupation": "hasOccupation",
    "employer": "employer",
    "role": "role",
    "education": "education",
    "nationality": "nationality",
    "religion": "religion",
    "relation": "relation",
    "description": "description",
}
_MALE, _FEMALE = "Male", "Female"
_GENDERS: Final = {
    **dict.fromkeys(("male", "m", "man", "mannelijk", "https://schema.org/male"), _MALE),
    **dict.fromkeys(("female", "f", "v", "vrouw", "woman", "vrouwelijk", "https://schema.org/female"), _FEMALE),
}
_AT_MOST_ONE: Final = ("gender", "hasAge")
_NAME_PARTS: Final = (
    ("given_name", "givenName"),
    ("initials", "initials"),
    ("patronym", "patronym"),
    ("surname_prefix", "surnamePrefix"),
    ("base_surname", "baseSurname"),
)
_CLAIM: Final = ["Claim"]
_NAME: Final = ["PersonName"]


class Made(NamedTuple):
    """A claim, where it was made: by an observation, under a number."""

    observation: str  # its IRI
    number: int
    claim: Claim

    @property
    def name_iri(self) -> str:
        return f"{self.observation}#name-{self.number}"


def claim_node(made: Made) -> Tree:
    """All that a claim says, and of itself: the same in its observation and wherever it was chosen."""
    observation, number, claim = made
    node: Tree = {
        "id": f"{observation}#claim-{number}",
        "type": _CLAIM,
        "claimNumber": number,
        "claimOf": observation,
        "claimType": STATED.get(claim.type) or iri(claim.type),
        "claimValue": _value(claim),
        "claimStatus": claim.status,
    }
    if claim.type == "name":
        node["claimedName"] = _name(made)
    if claim.confidence is not None:
        node["confidence"] = decimal(claim.confidence)
    if claim.agent is not None:
        node["retrievalAgent"] = claim.agent
    if claim.reasoning is not None:
        node["reasoning"] = claim.reasoning
    if claim.where is not None:
        for key in claim.where.__struct_fields__:
            if (said := getattr(claim.where, key)) is not None:
                node[key] = said
    return node


def _value(claim: Claim) -> Written:
    kind = CLAIM_TYPES.get(claim.type)
    words = str(claim.value)
    if kind == "date":
        return {"value": words, "type": "EDTF"}
    return text(words, claim.language or (UNKNOWN_LANGUAGE if kind == "name" else None))


def told(claims: Sequence[Made]) -> Tree:
    """What the claims say of the person. What was inferred does not count where something was verified."""
    verified = {made.claim.type for made in claims if made.claim.status == "verified"}
    found: Tree = {}
    for made in claims:
        claim = made.claim
        key = STATED.get(claim.type)
        if key is None or (claim.status != "verified" and claim.type in verified):
            continue
        values = found.setdefault(key, [])
        if (value := _stated(claim)) not in values:
            values.append(value)
        if key == "name":
            found.setdefault("hasName", []).append(made.name_iri)
    for key in _AT_MOST_ONE:
        if key in found and (len(found[key]) > 1 or found[key] == [None]):
            del found[key]  # what PiCo takes one of cannot be told where there are several, or none that it knows
    return found


def _stated(claim: Claim) -> Written | None:
    words = str(claim.value)
    if claim.type == "gender":
        return _GENDERS.get(words.strip().lower())
    if claim.type == "age":
        return words
    return calendar(words) if CLAIM_TYPES[claim.type] == "date" else text(words, claim.language)


def _name(made: Made) -> Tree:
    name, language = made.claim.value, made.claim.language
    tag = None if language is None else language_tag(language)
    node: Tree = {"id": made.name_iri, "type": _NAME, "literalName": text(str(name), tag)}
    if isinstance(name, PersonName):
        for field, key in _NAME_PARTS:
            if (part := getattr(name, field)) is not None:
                node[key] = text(part, tag)
    return node
