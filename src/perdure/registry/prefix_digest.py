"""What tells one state of a prefix from another, so that two who change it never overwrite each other unseen."""

from hashlib import sha256
from typing import Final

import msgspec

from perdure.errors import Conflict
from perdure.registry.entities import Prefix

_CHARACTERS: Final = 16


def settings_digest(prefix: Prefix) -> str:
    """The same as long as all that can change of a prefix is the same; the rest is fixed for life."""
    step = None if prefix.subsystem is None else str(prefix.subsystem.granularity)
    said = (prefix.policy, prefix.minter, prefix.pattern, prefix.pass_through, step)
    return sha256(msgspec.json.encode(said)).hexdigest()[:_CHARACTERS]


def check_digest(prefix: Prefix, expected: str | None) -> None:
    """Conflict, if its settings are others by now than somebody has read; None expects nothing."""
    found = settings_digest(prefix)
    if expected is not None and expected != found:
        raise Conflict(prefix.name, f"settings {expected}", f"settings {found}")
