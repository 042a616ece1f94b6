"""Observations as JSON: one per line, or the claims of one in a file. The fields are those of the API.

Unknown fields are rejected, so that a misspelt claim is not lost silently.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from perdure.errors import InvalidInput, quote_text
from perdure.formats.import_entries import RejectedLine
from perdure.formats.strict_json import refuse_duplicate_keys
from perdure.names.ppid_inputs import SOURCE_RULE, TIMESTAMP_RULE
from perdure.records.frozen_struct import FrozenStruct
from perdure.records.person import Claim, InSource, Observation, PersonName

T = TypeVar("T")

_ERROR_PATH: Final = re.compile(r" - at `\$\.?([^`]*)`")
_INDEX: Final = re.compile(r"\[([0-9]+)\]")
_MISSING: Final = re.compile(r"Object missing required field `(\w+)`")
# The rules of section 11.2 that an observation violates when one of these is missing, or of another type.
RULES: Final = {"source_url": SOURCE_RULE, "retrieval_timestamp": TIMESTAMP_RULE}
_DEEP: Final = "it is nested too deeply"


class ObservationRow(FrozenStruct, frozen=True):
    """An observation with its line number."""

    line: int
    observation: Observation


def read(lines: Iterable[tuple[int, bytes]]) -> Iterator[ObservationRow | RejectedLine]:
    """Yield the observations of a file, given its lines and their numbers."""
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            yield ObservationRow(number, _parse_observation(_parse_json(line)))
        except InvalidInput as problem:
            yield RejectedLine(number, problem.reason, part=problem.part, rule=problem.rule)


def read_claims(data: bytes) -> tuple[Claim, ...]:
    """Return the claims of one observation: a list of them, or an object with a list in its field `claims`."""
    decoded = _parse_json(data)
    if isinstance(decoded, dict):
        _refuse_unknown(decoded, ("claims",), "")
        decoded = decoded.get("claims")
    _check_claims(decoded)
    return _convert(decoded, tuple[Claim, ...])


def _parse_observation(decoded: Any) -> Observation:
    if not isinstance(decoded, dict):
        raise InvalidInput("person", "observation", 'an observation must be a JSON object, as in {"source_url": …}')
    _refuse_unknown(decoded, Observation.__struct_fields__, "")
    _check_claims(decoded.get("claims", []))
    return _convert(decoded, Observation)


def _check_claims(claims: Any) -> None:
    if not isinstance(claims, list):
        raise InvalidInput("person", "claims", "claims must be a list of JSON objects")
    for number, claim in enumerate(claims, 1):
        if not isinstance(claim, dict):
            raise InvalidInput("person", f"claims[{number}]", f"claims[{number}] is not a JSON object")
        _refuse_unknown(claim, Claim.__struct_fields__, f"claims[{number}].")
        for field, parts in (("value", PersonName), ("where", InSource)):
            if isinstance(claim.get(field), dict):
                _refuse_unknown(claim[field], parts.__struct_fields__, f"claims[{number}].{field}.")


def _refuse_unknown(decoded: dict[str, Any], known: Iterable[str], where: str) -> None:
    for field in decoded:
        if field not in known:
            reason = f"unknown field {where}{quote_text(field)[1:-1]}: the fields are {', '.join(known)}"
            raise InvalidInput("person", f"{where}{field}", reason)


def _parse_json(data: bytes) -> Any:
    try:
        decoded = msgspec.json.decode(data)
        refuse_duplicate_keys(data)
        return decoded
    except msgspec.ValidationError as problem:
        where, what = _explain_error(str(problem))
        raise InvalidInput("person", where or "json", what) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InvalidInput("person", "json", f"invalid JSON: {problem}") from None
    except RecursionError:
        raise InvalidInput("person", "json", f"invalid JSON: {_DEEP}") from None


def _convert(decoded: Any, type: type[T]) -> T:
    try:
        return msgspec.convert(decoded, type)
    except msgspec.ValidationError as problem:
        where, what = _explain_error(str(problem))
        raise InvalidInput("person", where or "observation", what, RULES.get(where)) from None


def _explain_error(problem: str) -> tuple[str, str]:
    """Return the field that is wrong or missing, with claims counted from 1 as everywhere else, and the reason."""
    path = _ERROR_PATH.search(problem)
    where = _INDEX.sub(lambda index: f"[{int(index[1]) + 1}]", path[1]) if path else ""
    if where.startswith("["):
        where = f"claims{where}"
    what = _ERROR_PATH.sub("", problem)
    missing = _MISSING.fullmatch(what)
    if missing is not None:
        where = ".".join(filter(None, (where, missing[1])))
        return where, f"the {where} is missing"
    what = what[:1].lower() + what[1:]
    return where, f"{where}: {what}" if where else what
