"""The comparison of an imported history with the stored one, and the conflicts that a redaction causes.

An import never redacts: permanent deletion is requested explicitly, by name, in each registry.
"""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from perdure.errors import Conflict, quote_text
from perdure.records import record as records
from perdure.records.person import Redaction
from perdure.records.record import Record
from perdure.registry.entities import Revision


def refuse_different_history(name: str, stored: Sequence[Revision], imported: Sequence[Revision]) -> None:
    """Raise Conflict, unless `imported` is the stored history or an extension of it."""
    stored = [msgspec.structs.replace(one, digest=b"", original=None) for one in stored]  # not imported
    if [*stored, *imported[len(stored) :]] == list(imported):
        return
    versions = [(_decode_revision(old), _decode_revision(new)) for old, new in zip(stored, imported, strict=False)]
    runs_on = not any(earlier.at > later.at for earlier, later in pairwise([*stored, *imported[len(stored) :]]))
    if len(stored) <= len(imported) and runs_on and all(_is_same_version(*version) for version in versions):
        return
    for (_, old_record), (_, new_record) in versions:
        for act in _missing_redactions(old_record, new_record):
            what = act.of or name
            chosen = "".join(f" --index {index}" for index in act.indexes)
            command = f"perdure {'' if chosen else 'person '}redact {what}{chosen}"
            raise Conflict(
                name,
                f"{what} to be redacted, as it was elsewhere at {act.at}, for {quote_text(act.reason)}",
                "content that was redacted there. An import does not redact, so run "
                f'`{command} --reason "…" --for-good` here, and then import again',
            )
        for act in _missing_redactions(new_record, old_record):
            raise Conflict(
                name,
                f"no content that was redacted here at {act.at}",
                "a history that still contains it: redacted content is not restored",
            )
    raise Conflict(name, "the same history, or an extension of it", f"a different one, with {len(stored)} versions")


def _decode_revision(revision: Revision) -> tuple[Revision, Record]:
    return revision, records.decode(revision.record)


def _is_same_version(stored: tuple[Revision, Record], imported: tuple[Revision, Record]) -> bool:
    """Compare two versions. If both were redacted to the same content, agent, time and reason of that do not matter."""
    (old, old_record), (new, new_record) = stored, imported
    if old == new:
        return True
    if old_record.redaction is None or new_record.redaction is None:
        return False
    if msgspec.structs.replace(old_record, redaction=None) != msgspec.structs.replace(new_record, redaction=None):
        return False
    return old.action == new.action == "redact" or old == msgspec.structs.replace(new, record=old.record)


def _missing_redactions(record: Record, other: Record) -> Sequence[Redaction]:
    """Return the redactions of `other` that `record` lacks. None is missing if `record` is redacted completely."""
    if record.is_redacted or other.redaction is None:
        return ()
    done = set() if record.redaction is None else {(act.of, act.indexes) for act in record.redaction.acts}
    return [act for act in other.redaction.acts if (act.of, act.indexes) not in done]
