"""PPIDs: identifiers of persons as a source describes them (POID) and as a curator reconstructs them (PRID).

Specification: "PPID: Identifier Structure Design", version 0.1.0. Sections below are sections of that document.

A PPID is computed from its inputs: the first 15 hexadecimal digits of a UUIDv5 over them, and a check digit. Equal
inputs always give an equal identifier.

>>> generate_poid("https://example.org/staff/jan", "2025-01-09T10:30:00Z", "0" * 64)
'POID-93b0-4476-560e-5ac1'
>>> parse("poid-93B0-4476-560E-5AC1")
Ppid(type='POID', hex='93b04476560e5ac', checksum='1')
>>> canonical("poid-93B0-4476-560E-5AC1"), is_valid("POID-93b0-4476-560e-5ac2")
('POID-93b0-4476-560e-5ac1', False)
>>> validate_ppid_full("POID-7a3b-c4d5-e6f7-890X")
(False, 'Invalid checksum')
>>> parse_ppid("POID-93b0-4476-560e-5ac1")
{'type': 'POID', 'hex': '93b04476560e5ac', 'checksum': '1'}
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypedDict
from uuid import UUID

from perdure.errors import InvalidInput, InvalidName, NoSuchName, quote_text
from perdure.names.check_digit import check_digit
from perdure.names.ppid_inputs import check_curator, check_hash, check_timestamp, check_url
from perdure.names.uuid5 import PPID_NAMESPACE, poid_digest, prid_digest, type_digest, uuid_from_digest

PpidType = Literal["POID", "PRID"]

# Rules of section 11.2, in its words.
_OBSERVATIONS: Final = "PRID must have observations"
_CIRCULAR: Final = "No circular references"

MAX_COLLISIONS: Final = 1_000_000  # far more than one name can have

TYPES: Final[tuple[PpidType, ...]] = ("POID", "PRID")

# Section 3.2 overrides the looser pattern of section 11.1: the check digit is never a–f.
_matches: Final = re.compile(
    r"[Pp][OoRr][Ii][Dd]-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{3}[0-9Xx]"
).fullmatch

# Pairs of digits that are congruent modulo 11: the check digit cannot distinguish them.
_CONGRUENT: Final = dict(zip("01234bcdef", "bcdef01234", strict=True))


class ParsedPpid(TypedDict):
    """The parts of a PPID."""

    type: PpidType
    hex: str
    checksum: str


@dataclass(frozen=True, slots=True, order=True)
class Ppid:
    """A well-formed PPID with the right check digit, in canonical case. `str()` returns its canonical spelling."""

    type: PpidType
    hex: str  # 15 digits
    checksum: str

    def __str__(self) -> str:
        return _format_ppid(self.type, self.hex, self.checksum)


def parse(text: str) -> Ppid:
    """Parse a PPID of either type and in any case. InvalidName suggests the right one where there is only one."""
    return Ppid(*_split(text))


def canonical(text: str) -> str:
    """Return the PPID with its type in upper case, its hexadecimal digits in lower case, and X in upper case."""
    return _format_ppid(*_split(text))


def is_valid(text: str) -> bool:
    """Return whether `parse` accepts the text."""
    return validate_ppid(text)


def validate_ppid(text: str) -> bool:
    """Section 4.1: return whether the text is a PPID, of either type and in any case, with the right check digit."""
    if not isinstance(text, str) or _matches(text) is None:
        return False
    return check_digit(text.replace("-", "")[4:19]) == text[23].upper()


def validate_ppid_syntax(text: str) -> bool:
    """Section 11.1: return whether the text has the form of a PPID, whatever its check digit is."""
    return isinstance(text, str) and _matches(text) is not None


def validate_ppid_full(text: str) -> tuple[bool, str]:
    """Section 11.1: return whether the text is a PPID, and the message that the specification has for it."""
    if not validate_ppid_syntax(text):
        return False, "Invalid syntax"
    return (True, "Valid") if validate_ppid(text) else (False, "Invalid checksum")


def parse_ppid(text: str) -> ParsedPpid:
    """Section 12.1: return the parts of a PPID in canonical case. Raise InvalidName as `parse` does."""
    kind, digits, check = _split(text)
    return {"type": kind, "hex": digits, "checksum": check}


def _split(text: str) -> tuple[PpidType, str, str]:
    """Return the type, the digits and the check digit of a PPID, in canonical case."""
    if not isinstance(text, str):
        raise InvalidInput("ppid", "name", f"a PPID must be text, not {type(text).__name__}")
    if _matches(text) is None:
        raise _syntax_error(text)
    digits, check = text.replace("-", "")[4:19].lower(), text[23].upper()
    kind: PpidType = "POID" if text[1] in "Oo" else "PRID"
    right = check_digit(digits)
    if right != check:
        reason = f"the check digit is {check} and should be {right}"
        raise InvalidName("ppid", "check digit", len(text) - 1, reason, _format_ppid(kind, digits, right))
    return kind, digits, right


def uuid_to_ppid(uuid: UUID, type: PpidType) -> str:
    """Section 5.1: return the PPID of the first 15 digits of a UUID."""
    if not isinstance(uuid, UUID):
        raise InvalidInput("ppid", "uuid", f"the UUID must be a uuid.UUID, not {uuid.__class__.__name__}")
    if type not in TYPES:
        raise InvalidInput("ppid", "type", "the type must be POID or PRID")
    digits = uuid.hex[:15]
    return _format_ppid(type, digits, check_digit(digits))


class _UuidReader(Protocol):
    def input_uuid(self, name: str) -> str | None: ...


class _UuidStore(Protocol):
    async def read(self, work: Callable[[_UuidReader], str | None]) -> str | None: ...


class OpenRegistry(Protocol):
    """The part of an open registry that `ppid_to_uuid` needs: its store. This module knows no other part of it."""

    @property
    def store(self) -> _UuidStore: ...


async def ppid_to_uuid(text: str, registry: OpenRegistry) -> UUID:
    """Section 12.1: look up the UUID of the inputs of a registered PPID.

    It cannot be computed: a PPID has only 15 digits of the UUID, and none of it after a collision. Raise NoSuchName if
    the PPID is not registered, and InvalidName as `parse` does.
    """
    name = canonical(text)
    raw = await registry.store.read(lambda reader: reader.input_uuid(name))
    if raw is None:
        raise NoSuchName(name)
    return UUID(raw)


def generate_poid(source_url: str, timestamp: str, content_hash: str, *, namespace: UUID = PPID_NAMESPACE) -> str:
    """Return the POID of an observation: the source, when it was retrieved, and the SHA-256 of its content."""
    digest = poid_digest(namespace, check_url(source_url), check_timestamp(timestamp), check_hash(content_hash))
    # The 13th digit of a version-5 UUID is a 5. Creating the UUID object would double the cost.
    digits = f"{digest[:12]}5{digest[13:15]}"
    return f"POID-{digits[:4]}-{digits[4:8]}-{digits[8:12]}-{digits[12:]}{check_digit(digits)}"


def generate_prid(
    observation_ids: Iterable[str], curator_id: str, timestamp: str, *, namespace: UUID = PPID_NAMESPACE
) -> str:
    """Return the PRID of a reconstruction: from which observations, by which curator, and when."""
    return uuid_to_ppid(prid_uuid(observation_ids, curator_id, timestamp, namespace=namespace), "PRID")


def poid_uuid(source_url: str, timestamp: str, content_hash: str, *, namespace: UUID = PPID_NAMESPACE) -> UUID:
    """Return the UUID of a POID's inputs (`uuid_raw`). It distinguishes an equal observation from a collision."""
    return uuid_from_digest(
        poid_digest(namespace, check_url(source_url), check_timestamp(timestamp), check_hash(content_hash))
    )


def prid_uuid(
    observation_ids: Iterable[str], curator_id: str, timestamp: str, *, namespace: UUID = PPID_NAMESPACE
) -> UUID:
    """Return the UUID of a PRID's inputs (`uuid_raw`)."""
    return uuid_from_digest(
        prid_digest(
            namespace,
            canonical_observations(observation_ids),
            check_curator(curator_id),
            check_timestamp(timestamp),
        )
    )


def canonical_observations(observation_ids: Iterable[str]) -> list[str]:
    """Return POIDs as a PRID is computed from them: in canonical form, sorted, without repeats, at least one."""
    if isinstance(observation_ids, str | bytes) or not isinstance(observation_ids, Iterable):
        raise InvalidInput("ppid", "observation_ids", "the observations must be a list of POIDs", _OBSERVATIONS)
    observations = set()
    for text in observation_ids:
        try:
            name = canonical(text)
        except InvalidName as problem:
            raise InvalidInput(
                "ppid", "observation_ids", f"{quote_text(text)} is not a POID: {problem.reason}"
            ) from None
        if not name.startswith("POID"):
            raise InvalidInput(
                "ppid", "observation_ids", f"{name} is not an observation: a PRID is made from POIDs", _CIRCULAR
            )
        observations.add(name)
    if not observations:
        raise InvalidInput("ppid", "observation_ids", "a PRID needs at least one POID", _OBSERVATIONS)
    return sorted(observations)


def successor(ppid: str, n: int, *, namespace: UUID = PPID_NAMESPACE) -> str:
    """Section 9.3: return the name for the n-th identifier whose own name, `ppid`, is taken by other inputs."""
    parts = parse_ppid(ppid)
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MAX_COLLISIONS:
        raise InvalidInput("ppid", "n", f"collisions are counted from 1 to {MAX_COLLISIONS}")
    name = _format_ppid(parts["type"], parts["hex"], parts["checksum"])
    return uuid_to_ppid(uuid_from_digest(type_digest(namespace, parts["type"], f"{name}|collision:{n}")), parts["type"])


def neighbours(ppid: str) -> tuple[str, ...]:
    """Return the identifiers that one typing error makes of this one without a change of the check digit.

    Such an error is one substitution, or one swap of adjacent digits, within the pairs 0/b, 1/c, 2/d, 3/e and 4/f.

    >>> neighbours("POID-93b0-4476-560e-5ac1")[:2]
    ('POID-9eb0-4476-560e-5ac1', 'POID-9300-4476-560e-5ac1')
    """
    parts = parse_ppid(ppid)
    digits = parts["hex"]
    slips = []
    for at, digit in enumerate(digits):
        other = _CONGRUENT.get(digit)
        if other is None:
            continue
        slips.append(digits[:at] + other + digits[at + 1 :])
        if digits[at + 1 : at + 2] == other:
            slips.append(digits[:at] + other + digit + digits[at + 2 :])
    return tuple(_format_ppid(parts["type"], slip, parts["checksum"]) for slip in slips)


def _format_ppid(kind: PpidType, digits: str, check: str) -> str:
    return f"{kind}-{digits[:4]}-{digits[4:8]}-{digits[8:12]}-{digits[12:]}{check}"


_TEMPLATE: Final = "TTTT-hhhh-hhhh-hhhh-hhhc"
_ALLOWED: Final = {"h": "0123456789abcdefABCDEF", "c": "0123456789xX", "-": "-"}
_EXPECTED: Final = {"h": "a hexadecimal digit", "c": "a check digit (0-9 or X)", "-": "a hyphen"}


def _syntax_error(text: str) -> InvalidName:
    """Return an error for the first character that does not fit the form of section 3."""
    if text[:4].upper() not in TYPES:
        return InvalidName("ppid", "type", 0, "a PPID begins with POID- or PRID-")
    for position, (expected, found) in enumerate(zip(_TEMPLATE, text, strict=False)):
        if expected in _ALLOWED and found not in _ALLOWED[expected]:
            reason = f"{found!a} at position {position} should be {_EXPECTED[expected]}"
            return InvalidName("ppid", "digits", position, reason)
    reason = f"a PPID has {len(_TEMPLATE)} characters, as in POID-93b0-4476-560e-5ac1; this has {len(text)}"
    return InvalidName("ppid", "length", min(len(text), len(_TEMPLATE)), reason)
