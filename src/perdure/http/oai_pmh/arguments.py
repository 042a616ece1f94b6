"""The arguments of a request (section 3.1): which ones each verb takes, and their dates."""

import re
from collections.abc import Mapping
from typing import Final

from perdure.errors import InvalidInput, InvalidName
from perdure.http.oai_pmh.protocol_errors import ProtocolError
from perdure.http.shared.query_string import Parameters
from perdure.names import instant

Arguments = Mapping[str, str]

_LIST: Final = (frozenset({"metadataPrefix"}), frozenset({"from", "until", "set"}), True)
# For each verb, its required and its optional arguments, and whether it takes a resumption token.
_VERBS: Final[dict[str, tuple[frozenset[str], frozenset[str], bool]]] = {
    "Identify": (frozenset(), frozenset(), False),
    "ListMetadataFormats": (frozenset(), frozenset({"identifier"}), False),
    "ListSets": (frozenset(), frozenset(), True),
    "GetRecord": (frozenset({"identifier", "metadataPrefix"}), frozenset(), False),
    "ListIdentifiers": _LIST,
    "ListRecords": _LIST,
}
_TOKEN: Final = "resumptionToken"  # noqa: S105  (the name of an argument)
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SECOND: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_SECONDS_OF_DAY: Final = 86_400


def read_arguments(parameters: Parameters) -> tuple[str, Arguments]:
    """Return the verb and the other arguments. Raise ProtocolError for a verb or an argument that is not allowed."""
    verbs = [value for name, value in parameters if name == "verb"]
    if len(verbs) != 1 or verbs[0] not in _VERBS:
        raise ProtocolError("badVerb", f"one verb is required: {', '.join(_VERBS)}")
    verb, arguments = verbs[0], {name: value for name, value in parameters if name != "verb"}
    if len(arguments) != len(parameters) - 1:
        raise ProtocolError("badArgument", "an argument is given more than once")
    required, optional, has_token = _VERBS[verb]
    if has_token and _TOKEN in arguments:
        if len(arguments) > 1:
            raise ProtocolError("badArgument", "a resumption token is the only argument beside the verb")
        return verb, arguments
    for name in arguments:
        if name not in required | optional:
            raise ProtocolError("badArgument", f"{verb} has no argument {name[:100]!a}")
    for name in sorted(required):
        if name not in arguments:
            raise ProtocolError("badArgument", f"{verb} requires the argument {name}")
    return verb, arguments


def read_period(arguments: Arguments) -> tuple[int | None, int | None]:
    """Return the first second of a list, and the one after its last, since 1970; None where it has no limit."""
    first, last = arguments.get("from"), arguments.get("until")
    if first is not None and last is not None and len(first) != len(last):
        raise ProtocolError("badArgument", "from and until must both be days, or both be seconds")
    start = None if first is None else _read_date(first, "from")[0]
    end = None if last is None else _read_date(last, "until")[1]
    if start is not None and end is not None and start >= end:
        raise ProtocolError("badArgument", "from is later than until")
    return start, end


def _read_date(text: str, name: str) -> tuple[int, int]:
    """Return the first second of a date, and the one after it."""
    is_day = _DAY.fullmatch(text) is not None
    if is_day or _SECOND.fullmatch(text):
        try:
            start = int(instant.from_iso(f"{text}T00:00:00Z" if is_day else text, "oai", name))
        except (InvalidInput, InvalidName):
            pass
        else:
            return start, start + (_SECONDS_OF_DAY if is_day else 1)
    raise ProtocolError("badArgument", f"{name} must be a date such as 2026-01-31 or 2026-01-31T12:00:00Z")
