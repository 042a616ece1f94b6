"""Observations as JSON: one a line, or the claims of one in a file. The fields are those of the API.

A field that is not known is refused: a claim that was misspelt must not be lost without a word.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from perdure.errors import InvalidInput, shown
from perdure.exchange.entry import Refused
from perdure.exchange.json_text import refuse_duplicate_keys
from perdure.names.ppid_inputs import SOURCE_RULE, TIMESTAMP_RULE
from perdure.records.person import Claim, InSource, Observation, PersonName
from perdure.records.plain import Plain

T = TypeVar("T")

_PLACE: Final = re.compile(r" - at `\$\.?([^`]*)`")
_INDEX: Final = re.compile(r"\[([0-9]+)\]")
_MISSING: Final = re.compile(r"Object missing required field `(\w+)`")
# The rules of section 11.2 that an observation breaks when one of these is missing, or of another kind.
RULES: Final = {"source_url": SOURCE_RULE, "retrieval_timestamp": TIMESTAMP_RULE}
_DEEP: Final = "it is nested too deeply"


class Seen(Plain, frozen=True):
    """An observation, and the line that it stands on."""

    line: int
    observation: Observation


def read(lines: Iterable[tuple[int, bytes]]) -> Iterator[Seen | Refused]:
    """The observations of a file, given its lines and their numbers."""
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            yield Seen(number, _observation(_parsed(line)))
        except InvalidInput as problem:
            yield Refused(number, problem.reason, part=problem.part, rule=problem.rule)


def read_claims(data: bytes) -> tuple[Claim, ...]:
    """The claims of one observation: a list of them, or an object that has them in its field `claims`."""
    said = _parsed(data)
    if isinstance(said, dict):
        _refuse_unknown(said, ("claims",), "")
        said = said.get("claims")
    _check_claims(said)
    return _converted(said, tuple[Claim, ...])


def _observation(said: Any) -> Observation:
    if not isinstance(said, dict):
        raise InvalidInput("person", "observation", 'an observation is a JSON object, as in {"source_url": …}')
    _refuse_unknown(said, Observation.__struct_fields__, "")
    _check_claims(said.get("claims", []))
    return _converted(said, Observation)


def _check_claims(claims: Any) -> None:
    if not isinstance(claims, list):
        raise InvalidInput("person", "claims", "claims must be a list of JSON objects")
    for number, claim in enumerate(claims, 1):
        if not isinstance(claim, dict):
            raise InvalidInput("person", f"claims[{number}]", f"claims[{number}] is no JSON object")
        _refuse_unknown(claim, Claim.__struct_fields__, f"claims[{number}].")
        for field, parts in (("value", PersonName), ("where", InSource)):
            if isinstance(claim.get(field), dict):
                _refuse_unknown(claim[field], parts.__struct_fields__, f"claims[{number}].{field}.")


def _refuse_unknown(said: dict[str, Any], known: Iterable[str], where: str) -> None:
    for field in said:
        if field not in known:
            reason = f"there is no field {where}{shown(field)[1:-1]}: there are {', '.join(known)}"
            raise InvalidInput("person", f"{where}{field}", reason)


def _parsed(data: bytes) -> Any:
    try:
        said = msgspec.json.decode(data)
        refuse_duplicate_keys(data)
        return said
    except msgspec.ValidationError as problem:
        where, what = _blamed(str(problem))
        raise InvalidInput("person", where or "json", what) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InvalidInput("person", "json", f"this is not JSON: {problem}") from None
    except RecursionError:
        raise InvalidInput("person", "json", f"this is not JSON that can be read: {_DEEP}") from None


def _converted(said: Any, type: type[T]) -> T:
    try:
        return msgspec.convert(said, type)
    except msgspec.ValidationError as problem:
        where, what = _blamed(str(problem))
        raise InvalidInput("person", where or "observation", what, RULES.get(where)) from None


def _blamed(problem: str) -> tuple[str, str]:
    """Which field is wrong or missing, with claims counted from 1 as everywhere else; and how."""
    place = _PLACE.search(problem)
    where = _INDEX.sub(lambda found: f"[{int(found[1]) + 1}]", place[1]) if place else ""
    if where.startswith("["):
        where = f"claims{where}"
    what = _PLACE.sub("", problem)
    missing = _MISSING.fullmatch(what)
    if missing is not None:
        where = ".".join(filter(None, (where, missing[1])))
        return where, f"the {where} is missing"
    what = what[:1].lower() + what[1:]
    return where, f"{where}: {what}" if where else what
