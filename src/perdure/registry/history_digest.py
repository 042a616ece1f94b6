"""The digests that chain a history. Each covers the content of one revision or event, and the digest before it.

    content  = SHA-256(record, note)
    revision = SHA-256(digest of the version before, key, version, at, agent, action, content)
    event    = SHA-256(digest of the event before, at, agent, action, subject, detail)

Every part is written as a netstring (its length in bytes, a colon, the bytes, a comma), so that no two lists of parts
give the same bytes. The first revision of a name and the first event have an empty digest before them. A redaction
removes the record and the note, and leaves their content digest: the chain can still be computed.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256

import msgspec

from perdure.registry.entities import Event, Revision


def content_digest(record: bytes, note: str | None) -> bytes:
    """Compute the digest of the content that a redaction may remove."""
    parts = _to_netstring(record) if note is None else _to_netstring(record) + _to_netstring(note.encode())
    return sha256(parts).digest()


def revision_digest(
    key: str, version: int, at: str, agent: str, action: str, content: bytes, before: bytes = b""
) -> bytes:
    """Compute the digest of one version of the name with this key."""
    texts = (key, str(version), at, agent, action)
    parts = [before, *(text.encode() for text in texts), content]
    return sha256(b"".join(map(_to_netstring, parts))).digest()


def event_digest(event: Event, before: bytes) -> bytes:
    """Compute the digest of one event."""
    texts = (event.at, event.agent, event.action, event.subject, event.detail)
    return sha256(b"".join(map(_to_netstring, [before, *(text.encode() for text in texts)]))).digest()


def original_digest(one: Revision) -> bytes:
    """Return the digest of the content of a revision before any redaction."""
    return content_digest(one.record, one.note) if one.original is None else one.original


def expected_digest(key: str, one: Revision, before: bytes) -> bytes:
    """Compute the digest that a revision must have."""
    return revision_digest(key, one.version, one.at, one.agent, one.action, original_digest(one), before)


def add_digests(key: str, revisions: Iterable[Revision], before: bytes = b"") -> Iterator[Revision]:
    """Yield each revision of a history with its digest; `before` is the digest of the version before the first."""
    for one in revisions:
        before = expected_digest(key, one, before)
        yield msgspec.structs.replace(one, digest=before)


def _to_netstring(part: bytes) -> bytes:
    return b"%d:%b," % (len(part), part)
