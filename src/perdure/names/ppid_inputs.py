"""Checks of the inputs of person identifiers, which are brought to one form before they are hashed.

The checks also keep the `|` between the inputs unambiguous: a timestamp or a hash cannot contain it, and a curator must
not.
"""

import re
from typing import Final

from perdure.errors import InvalidInput, OutOfRange, quote_text
from perdure.names import instant

_CONTROLS_AND_SPACES: Final = (
    r"\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\udfff\ufeff"
)
# At least two letters, so that the drive letter of a path is not a scheme. http and https need a host.
_URL: Final = re.compile(rf"(?![Hh][Tt][Tt][Pp][Ss]?:(?!//[^/?#]))[A-Za-z][A-Za-z0-9+.-]+:[^{_CONTROLS_AND_SPACES}]+")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_CURATOR: Final = re.compile(r"[^|\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
# Already in the form that is hashed. For the 29th of February the slow path has a calendar.
_CANONICAL_TIMESTAMP: Final = re.compile(
    r"(?!0000)[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{0,5}[1-9])?Z"
)
# The rules of section 11.2, quoted.
SOURCE_RULE: Final = "POID must have source"
TIMESTAMP_RULE: Final = "Valid timestamps"
_MICROSECONDS: Final = 1_000_000


def check_url(url: str) -> str:
    """Return the source URL unchanged. Raise InvalidInput if it is relative or has spaces or control characters."""
    if isinstance(url, str) and _URL.fullmatch(url):
        return url
    raise InvalidInput(
        "ppid", "source_url", f"the source must be an absolute URL without spaces, not {quote_text(url)}", SOURCE_RULE
    )


def check_hash(content_hash: str) -> str:
    """Return the SHA-256 of the content unchanged. Raise InvalidInput if it is not 64 lower-case hex digits."""
    if isinstance(content_hash, str) and _SHA256.fullmatch(content_hash):
        return content_hash
    raise InvalidInput(
        "ppid",
        "content_hash",
        f"the content hash must be a SHA-256 in 64 lower-case hexadecimal digits, not {quote_text(content_hash)}",
    )


def check_curator(curator_id: str) -> str:
    """Return the curator's identifier unchanged. Raise InvalidInput for several lines, `|`, or spaces around it."""
    if isinstance(curator_id, str) and _CURATOR.fullmatch(curator_id) and curator_id == curator_id.strip():
        return curator_id
    found = quote_text(curator_id)
    raise InvalidInput(
        "ppid",
        "curator_id",
        f"the curator must be an identifier on one line, without | and surrounding spaces, not {found}",
    )


def check_timestamp(timestamp: str, part: str = "timestamp") -> str:
    """Return the timestamp in UTC, as `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`, without trailing zeros of the fraction.

    `part` is the caller's name of the field.

    >>> check_timestamp("2025-01-09T11:30:00.250+01:00")
    '2025-01-09T10:30:00.25Z'
    """
    if isinstance(timestamp, str) and _CANONICAL_TIMESTAMP.fullmatch(timestamp):
        return timestamp
    try:
        value = instant.from_iso(timestamp, "ppid", part)
    except InvalidInput as problem:
        raise type(problem)(problem.scheme, problem.part, problem.reason, TIMESTAMP_RULE) from None
    if _MICROSECONDS % value.denominator:
        raise InvalidInput("ppid", part, f"{part} {quote_text(timestamp)} is finer than microseconds", TIMESTAMP_RULE)
    text = instant.to_iso(value)
    if not re.match(r"(?!0000)[0-9]{4}-", text):
        reason = f"{part} {quote_text(timestamp)} is outside the years 1 to 9999 in UTC"
        raise OutOfRange("ppid", part, reason, TIMESTAMP_RULE)
    return text
