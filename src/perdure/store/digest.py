"""The digest of a backup file, by which a person can tell that it is the file that was made."""

import hashlib
import os
import re
from pathlib import Path
from typing import Final

from perdure.errors import InvalidInput, StoreUnavailable, shown

_CHUNK: Final = 1 << 20  # bytes
_ALGORITHM: Final = "sha256"


def read_digest(text: str) -> str:
    """Return a digest that a person gives, in any case and with or without its algorithm, as lower-case digits."""
    digest = text.strip().lower().removeprefix(f"{_ALGORITHM}:")
    if re.fullmatch("[0-9a-f]{64}", digest) is None:
        raise InvalidInput("restore", "digest", f"{shown(text)} is no SHA-256 digest: it has 64 hexadecimal digits")
    return digest


def digest_file(file: Path) -> str:
    """Return the digest of a file, whatever its length."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, _ALGORITHM).hexdigest()


def copy_with_digest(source: Path, target: Path) -> str:
    """Copy a file to a new private one, and return the digest of exactly those bytes."""
    digest = hashlib.new(_ALGORITHM)
    try:
        with source.open("rb") as stream, os.fdopen(_create_private(target), "wb") as copy:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
                copy.write(chunk)
    except OSError as problem:
        raise StoreUnavailable(f"{shown(str(source))} cannot be copied: {problem.strerror}") from None
    return digest.hexdigest()


def _create_private(file: Path) -> int:
    return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
