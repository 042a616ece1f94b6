"""Claims as RDF: each as a node, and all of them as properties of the person."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from perdure.rdf.iris import iri
from perdure.rdf.jsonld_context import UNKNOWN_LANGUAGE
from perdure.rdf.literals import RdfValue, language_tag, to_date_literal, to_decimal, to_text_literal
from perdure.rdf.serializer import Tree
from perdure.records.person import CLAIM_TYPES, Claim, PersonName

# The property for each type of claim.
PROPERTY_OF_CLAIM: Final = {
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


class NumberedClaim(NamedTuple):
    """A claim with its observation and its number there."""

    observation: str  # its IRI
    number: int
    claim: Claim

    @property
    def name_iri(self) -> str:
        return f"{self.observation}#name-{self.number}"


def claim_node(numbered: NumberedClaim) -> Tree:
    """Return the node of a claim. It is equal in its observation and wherever it was chosen."""
    observation, number, claim = numbered
    node: Tree = {
        "id": f"{observation}#claim-{number}",
        "type": _CLAIM,
        "claimNumber": number,
        "claimOf": observation,
        "claimType": PROPERTY_OF_CLAIM.get(claim.type) or iri(claim.type),
        "claimValue": _claim_value(claim),
        "claimStatus": claim.status,
    }
    if claim.type == "name":
        node["claimedName"] = _name_node(numbered)
    if claim.confidence is not None:
        node["confidence"] = to_decimal(claim.confidence)
    if claim.agent is not None:
        node["retrievalAgent"] = claim.agent
    if claim.reasoning is not None:
        node["reasoning"] = claim.reasoning
    if claim.where is not None:
        for key in claim.where.__struct_fields__:
            if (text := getattr(claim.where, key)) is not None:
                node[key] = text
    return node


def _claim_value(claim: Claim) -> RdfValue:
    kind = CLAIM_TYPES.get(claim.type)
    words = str(claim.value)
    if kind == "date":
        return {"value": words, "type": "EDTF"}
    return to_text_literal(words, claim.language or (UNKNOWN_LANGUAGE if kind == "name" else None))


def claim_properties(claims: Sequence[NumberedClaim]) -> Tree:
    """Return the properties of the person. Inferred claims are left out if there are verified ones of their type."""
    verified = {numbered.claim.type for numbered in claims if numbered.claim.status == "verified"}
    properties: Tree = {}
    for numbered in claims:
        claim = numbered.claim
        key = PROPERTY_OF_CLAIM.get(claim.type)
        if key is None or (claim.status != "verified" and claim.type in verified):
            continue
        values = properties.setdefault(key, [])
        if (value := _property_value(claim)) not in values:
            values.append(value)
        if key == "name":
            properties.setdefault("hasName", []).append(numbered.name_iri)
    for key in _AT_MOST_ONE:
        if key in properties and (len(properties[key]) > 1 or properties[key] == [None]):
            del properties[key]  # PiCo allows one value that it knows; there are several, or an unknown one
    return properties


def _property_value(claim: Claim) -> RdfValue | None:
    words = str(claim.value)
    if claim.type == "gender":
        return _GENDERS.get(words.strip().lower())
    if claim.type == "age":
        return words
    return to_date_literal(words) if CLAIM_TYPES[claim.type] == "date" else to_text_literal(words, claim.language)


def _name_node(numbered: NumberedClaim) -> Tree:
    name, language = numbered.claim.value, numbered.claim.language
    tag = None if language is None else language_tag(language)
    node: Tree = {"id": numbered.name_iri, "type": _NAME, "literalName": to_text_literal(str(name), tag)}
    if isinstance(name, PersonName):
        for field, key in _NAME_PARTS:
            if (part := getattr(name, field)) is not None:
                node[key] = to_text_literal(part, tag)
    return node
