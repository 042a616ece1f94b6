"""The digest of a backup file, by which a person can tell that it is the file that was made."""

import hashlib
import re
from pathlib import Path
from typing import Final

from perdure.errors import InvalidInput, StoreFull, StoreUnavailable, is_full, shown
from perdure.store.folders import open_private

_CHUNK: Final = 1 << 20  # bytes
_ALGORITHM: Final = "sha256"


def read_digest(text: str) -> str:
    """Return a digest that a person gives, in any case and with or without its algorithm, as lower-case digits."""
    digest = text.strip().lower().removeprefix(f"{_ALGORITHM}:")
    if re.fullmatch("[0-9a-f]{64}", digest) is None:
        raise InvalidInput(
            "restore", "digest", f"{shown(text)} is not a SHA-256 digest, which has 64 hexadecimal digits"
        )
    return digest


def digest_file(file: Path) -> str:
    """Return the digest of a file, whatever its length."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, _ALGORITHM).hexdigest()


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
        raise StoreUnavailable(f"{shown(str(source))} cannot be copied: {problem.strerror}") from None
    return digest.hexdigest()
