"""The SHA-256 digest of a backup file, by which the operator can verify that the file is unchanged."""

import hashlib
import re
from pathlib import Path
from typing import Final

from perdure.errors import InvalidInput, StoreFull, StoreUnavailable, is_full, quote_text
from perdure.store.file_sync import open_private

_CHUNK: Final = 1 << 20  # bytes
_ALGORITHM: Final = "sha256"


def parse_digest(text: str) -> str:
    """Parse a digest in upper or lower case, with or without its algorithm; return it as lower-case digits."""
    digest = text.strip().lower().removeprefix(f"{_ALGORITHM}:")
    if re.fullmatch("[0-9a-f]{64}", digest) is None:
        raise InvalidInput(
            "restore", "digest", f"{quote_text(text)} is not a valid SHA-256 digest: it must have 64 hexadecimal digits"
        )
    return digest


def digest_file(file: Path) -> str:
    """Return the digest of a file of any length."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, _ALGORITHM).hexdigest()


def check_digest(backup: Path, actual: str, expected: str | None) -> None:
    """Refuse a backup with another digest than the expected one, if there is one."""
    if expected not in (None, actual):
        reason = f"digest mismatch: {backup.name} has {actual}, expected {expected}; nothing was changed"
        raise StoreUnavailable(reason)


def copy_with_digest(source: Path, target: Path) -> str:
    """Copy a file to a new private one, and return the digest of exactly those bytes."""
    digest = hashlib.new(_ALGORITHM)
    try:
        with source.open("rb") as stream, open_private(target) as copy:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
                copy.write(chunk)
    except OSError as problem:
        if is_full(problem.errno):
            raise StoreFull("the disk of the registry's folder") from problem
        raise StoreUnavailable(f"{quote_text(str(source))} cannot be copied: {problem.strerror}") from None
    return digest.hexdigest()
