"""Whether a history from elsewhere goes on from the one here, and what to do where a redaction keeps them apart.

A redaction does not travel with an import: what destroys for good is asked for by somebody, by name, where it is done.
"""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from perdure.errors import Conflict, shown
from perdure.records import record as records
from perdure.records.person import Redaction
from perdure.records.record import Record
from perdure.registry.entities import Revision


def refuse_another_history(name: str, kept: Sequence[Revision], told: Sequence[Revision]) -> None:
    """Conflict, unless `told` is the history that is kept here, or more of it."""
    kept = [msgspec.structs.replace(one, digest=b"", original=None) for one in kept]  # an import has none of these
    if [*kept, *told[len(kept) :]] == list(told):
        return
    versions = [(_read(here), _read(there)) for here, there in zip(kept, told, strict=False)]
    runs_on = not any(earlier.at > later.at for earlier, later in pairwise([*kept, *told[len(kept) :]]))
    if len(kept) <= len(told) and runs_on and all(_is_same(*version) for version in versions):
        return
    for (_, here), (_, there) in versions:
        for act in _missing(here, there):
            what = act.of or name
            chosen = "".join(f" --index {index}" for index in act.indexes)
            command = f"perdure {'' if chosen else 'person '}redact {what}{chosen}"
            raise Conflict(
                name,
                f"{what} to be redacted, as it was elsewhere at {act.at}, for {shown(act.reason)}",
                "what was taken out there: an import takes nothing out, so let somebody run "
                f'`{command} --reason "…" --for-good` here, and import again',
            )
        for act in _missing(there, here):
            raise Conflict(
                name,
                f"nothing of what was redacted here at {act.at}",
                "a history that still says it: what was redacted is not brought back",
            )
    raise Conflict(name, "the same history, or more of it", f"another one, of {len(kept)} versions")


def _read(revision: Revision) -> tuple[Revision, Record]:
    return revision, records.decode(revision.record)


def _is_same(here: tuple[Revision, Record], there: tuple[Revision, Record]) -> bool:
    """Where nothing more is left on one side than on the other, who redacted it, when and why makes no difference."""
    (one, said_here), (other, said_there) = here, there
    if one == other:
        return True
    if said_here.redaction is None or said_there.redaction is None:
        return False
    if msgspec.structs.replace(said_here, redaction=None) != msgspec.structs.replace(said_there, redaction=None):
        return False
    return one.action == other.action == "redact" or one == msgspec.structs.replace(other, record=one.record)


def _missing(here: Record, there: Record) -> Sequence[Redaction]:
    """What was taken out there, and not here; where everything is gone, nothing is left to be taken out."""
    if here.is_redacted or there.redaction is None:
        return ()
    done = set() if here.redaction is None else {(act.of, act.indexes) for act in here.redaction.acts}
    return [act for act in there.redaction.acts if (act.of, act.indexes) not in done]
