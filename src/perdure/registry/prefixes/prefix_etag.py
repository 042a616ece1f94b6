"""The digest of a prefix's settings, for preconditions: concurrent changes never overwrite each other unnoticed."""

from hashlib import sha256
from typing import Final

import msgspec

from perdure.errors import Conflict
from perdure.registry.entities import Prefix

_CHARACTERS: Final = 16


def settings_digest(prefix: Prefix) -> str:
    """Compute a digest of all that can change in a prefix; the rest can never be changed."""
    step = None if prefix.subsystem is None else str(prefix.subsystem.granularity)
    settings = (
        prefix.policy,
        prefix.minter,
        prefix.pattern,
        prefix.pass_through,
        step,
        prefix.ttl,
        prefix.joiners,
        prefix.periods,
    )
    return sha256(msgspec.json.encode(settings)).hexdigest()[:_CHARACTERS]


def check_digest(prefix: Prefix, expected: str | None) -> None:
    """Raise Conflict if the settings have changed since the caller read them; None expects nothing."""
    current = settings_digest(prefix)
    if expected is not None and expected != current:
        raise Conflict(prefix.name, f"settings {expected}", f"settings {current}")
