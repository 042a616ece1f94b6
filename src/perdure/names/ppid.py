"""PPIDs: identifiers for persons as sources show them (POID) and as curators reconstruct them (PRID).

An identifier is made from what it stands for: the first 15 hexadecimal digits of a UUIDv5 over the inputs, and a
check digit. The same inputs give the same identifier, always and everywhere.

>>> generate_poid("https://example.org/staff/jan", "2025-01-09T10:30:00Z", "0" * 64)
'POID-93b0-4476-560e-5ac1'
>>> validate_ppid("poid-93B0-4476-560E-5AC1")
True
>>> validate_ppid_full("POID-7a3b-c4d5-e6f7-890X")
(False, 'Invalid checksum')
>>> parse_ppid("POID-93b0-4476-560e-5ac1")
{'type': 'POID', 'hex': '93b04476560e5ac', 'checksum': '1'}
"""

import re
from collections.abc import Iterable
from typing import Final, Literal, TypedDict
from uuid import UUID

from perdure.errors import InvalidInput, InvalidName, shown
from perdure.names.check_digit import check_digit
from perdure.names.ppid_inputs import checked_curator, checked_hash, checked_timestamp, checked_url
from perdure.names.uuid5 import PPID_NAMESPACE, poid_digest, prid_digest, type_digest, uuid_of

PpidType = Literal["POID", "PRID"]

# Rules of section 11.2, in its words.
_OBSERVATIONS: Final = "PRID must have observations"
_CIRCULAR: Final = "No circular references"

MAX_COLLISIONS: Final = 1_000_000  # far more than any name will see

TYPES: Final[tuple[PpidType, ...]] = ("POID", "PRID")

# Section 3.2, which governs over the looser pattern of section 11.1: the check digit is never a–f.
_matches: Final = re.compile(
    r"[Pp][OoRr][Ii][Dd]-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{3}[0-9Xx]"
).fullmatch

# Pairs of digits that are the same number modulo 11: the check digit cannot tell them apart.
_CONGRUENT: Final = dict(zip("01234bcdef", "bcdef01234", strict=True))


class ParsedPpid(TypedDict):
    type: PpidType
    hex: str
    checksum: str


def validate_ppid(text: str) -> bool:
    """Whether the text is a PPID, of either type and in any case, with the right check digit."""
    if not isinstance(text, str) or _matches(text) is None:
        return False
    return check_digit(text.replace("-", "")[4:19]) == text[23].upper()


def validate_ppid_syntax(text: str) -> bool:
    """Section 11.1: whether the text has the shape of a PPID, whatever its check digit."""
    return isinstance(text, str) and _matches(text) is not None


def validate_ppid_full(text: str) -> tuple[bool, str]:
    """Section 11.1: whether the text is a PPID, and the specification's message about it."""
    if not validate_ppid_syntax(text):
        return False, "Invalid syntax"
    return (True, "Valid") if validate_ppid(text) else (False, "Invalid checksum")


def parse_ppid(text: str) -> ParsedPpid:
    """The parts of a PPID in canonical case; an InvalidName says what is wrong and, where it can, what is right."""
    if not isinstance(text, str):
        raise InvalidInput("ppid", "name", f"a PPID must be text, not {type(text).__name__}")
    if _matches(text) is None:
        raise _syntax_error(text)
    digits, check = text.replace("-", "")[4:19].lower(), text[23].upper()
    kind: PpidType = "POID" if text[1] in "Oo" else "PRID"
    right = check_digit(digits)
    if right != check:
        reason = f"the check digit is {check} and should be {right}"
        raise InvalidName("ppid", "check digit", len(text) - 1, reason, _write(kind, digits, right))
    return {"type": kind, "hex": digits, "checksum": right}


def canonical(text: str) -> str:
    """The PPID with its type in upper case, its hexadecimal digits in lower case, and X in upper case."""
    parts = parse_ppid(text)
    return _write(parts["type"], parts["hex"], parts["checksum"])


def uuid_to_ppid(uuid: UUID, type: PpidType) -> str:
    """Section 5.1: the PPID made of the first 15 digits of a UUID."""
    if not isinstance(uuid, UUID):
        raise InvalidInput("ppid", "uuid", f"the UUID must be a uuid.UUID, not {uuid.__class__.__name__}")
    if type not in TYPES:
        raise InvalidInput("ppid", "type", "the type must be POID or PRID")
    digits = uuid.hex[:15]
    return _write(type, digits, check_digit(digits))


def generate_poid(source_url: str, timestamp: str, content_hash: str, *, namespace: UUID = PPID_NAMESPACE) -> str:
    """The POID of an observation: where it was found, when, and the SHA-256 of what was found."""
    digest = poid_digest(namespace, checked_url(source_url), checked_timestamp(timestamp), checked_hash(content_hash))
    # The 13th digit of a version-5 UUID is a 5. Making the UUID object as well would double the cost.
    digits = f"{digest[:12]}5{digest[13:15]}"
    return f"POID-{digits[:4]}-{digits[4:8]}-{digits[8:12]}-{digits[12:]}{check_digit(digits)}"


def generate_prid(
    observation_ids: Iterable[str], curator_id: str, timestamp: str, *, namespace: UUID = PPID_NAMESPACE
) -> str:
    """The PRID of a reconstruction: from which observations, by whom, and when."""
    return uuid_to_ppid(prid_uuid(observation_ids, curator_id, timestamp, namespace=namespace), "PRID")


def poid_uuid(source_url: str, timestamp: str, content_hash: str, *, namespace: UUID = PPID_NAMESPACE) -> UUID:
    """The UUID of a POID's inputs (`uuid_raw`), which tells the same observation from a collision."""
    return uuid_of(
        poid_digest(namespace, checked_url(source_url), checked_timestamp(timestamp), checked_hash(content_hash))
    )


def prid_uuid(
    observation_ids: Iterable[str], curator_id: str, timestamp: str, *, namespace: UUID = PPID_NAMESPACE
) -> UUID:
    """The UUID of a PRID's inputs (`uuid_raw`)."""
    return uuid_of(
        prid_digest(
            namespace,
            canonical_observations(observation_ids),
            checked_curator(curator_id),
            checked_timestamp(timestamp),
        )
    )


def canonical_observations(observation_ids: Iterable[str]) -> list[str]:
    """POIDs as a PRID is made from them: in canonical form, sorted, without repeats; at least one."""
    if isinstance(observation_ids, str | bytes) or not isinstance(observation_ids, Iterable):
        raise InvalidInput("ppid", "observation_ids", "the observations must be a list of POIDs", _OBSERVATIONS)
    observations = set()
    for text in observation_ids:
        try:
            name = canonical(text)
        except InvalidName as problem:
            raise InvalidInput("ppid", "observation_ids", f"{shown(text)} is no POID: {problem.reason}") from None
        if not name.startswith("POID"):
            raise InvalidInput(
                "ppid", "observation_ids", f"{name} is not an observation: a PRID is made from POIDs", _CIRCULAR
            )
        observations.add(name)
    if not observations:
        raise InvalidInput("ppid", "observation_ids", "a PRID needs at least one POID", _OBSERVATIONS)
    return sorted(observations)


def successor(ppid: str, n: int, *, namespace: UUID = PPID_NAMESPACE) -> str:
    """Section 9.3: the name that the n-th newcomer takes when its own, `ppid`, stands for something else already."""
    parts = parse_ppid(ppid)
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MAX_COLLISIONS:
        raise InvalidInput("ppid", "n", f"collisions are counted from 1 to {MAX_COLLISIONS}")
    name = _write(parts["type"], parts["hex"], parts["checksum"])
    return uuid_to_ppid(uuid_of(type_digest(namespace, parts["type"], f"{name}|collision:{n}")), parts["type"])


def neighbours(ppid: str) -> tuple[str, ...]:
    """The well-formed identifiers that the check digit cannot tell from this one after one slip.

    A slip is one substitution, or one swap of adjacent digits, within the pairs 0/b, 1/c, 2/d, 3/e and 4/f.

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
    return tuple(_write(parts["type"], slip, parts["checksum"]) for slip in slips)


def _write(kind: PpidType, digits: str, check: str) -> str:
    return f"{kind}-{digits[:4]}-{digits[4:8]}-{digits[8:12]}-{digits[12:]}{check}"


_TEMPLATE: Final = "TTTT-hhhh-hhhh-hhhh-hhhc"
_ALLOWED: Final = {"h": "0123456789abcdefABCDEF", "c": "0123456789xX", "-": "-"}
_EXPECTED: Final = {"h": "a hexadecimal digit", "c": "a check digit (0-9 or X)", "-": "a hyphen"}


def _syntax_error(text: str) -> InvalidName:
    """The first place where the text leaves the shape of section 3."""
    if text[:4].upper() not in TYPES:
        return InvalidName("ppid", "type", 0, "a PPID begins with POID- or PRID-")
    for position, (expected, found) in enumerate(zip(_TEMPLATE, text, strict=False)):
        if expected in _ALLOWED and found not in _ALLOWED[expected]:
            reason = f"{found!a} at position {position} should be {_EXPECTED[expected]}"
            return InvalidName("ppid", "digits", position, reason)
    reason = f"a PPID has {len(_TEMPLATE)} characters, as in POID-93b0-4476-560e-5ac1; this has {len(text)}"
    return InvalidName("ppid", "length", min(len(text), len(_TEMPLATE)), reason)
