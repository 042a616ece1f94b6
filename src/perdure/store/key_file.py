"""Files that hold one secret key: the key that encrypts secrets, and the key with which the server signs.

A file is created when its key is first needed. The key that encrypts secrets is never replaced.
"""

import os
import secrets
from pathlib import Path

from perdure.errors import StoreDamaged, StoreUnavailable
from perdure.registry.secret_box import KEY_BYTES, Sealer, missing_key_error
from perdure.registry.server_key_store import ServerKeyStore, missing_server_key_error
from perdure.store.file_sync import open_as_folder_owner, sync_folder, write_atomically


class FileSealer(Sealer):
    """A sealer with the key in a file. The key is read when it is first needed: most registries never need one."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read: bytes | None = None

    def _key(self) -> bytes:
        if self._read is None:
            self._read = _read_key_file(self._file, missing_key_error())
        return self._read

    def _create_key(self) -> None:
        if self._read is None and not self._file.exists():
            _create_key_file(self._file)


class FileServerKey(ServerKeyStore):
    """The key with which the server signs, in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> bytes:
        return _read_key_file(self._file, missing_server_key_error())

    def create(self) -> bytes:
        if not self._file.exists():
            _create_key_file(self._file)
        return self.read()

    def replace(self) -> bytes:
        try:
            write_atomically(self._file, _fresh_key(), 0o600)
        except OSError as problem:
            raise _cannot_create(self._file, problem) from None
        return self.read()


def _fresh_key() -> str:
    return f"{secrets.token_bytes(KEY_BYTES).hex()}\n"


def _cannot_create(file: Path, problem: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"the key file {file.name} cannot be created ({problem.strerror}): nothing was written")


def _create_key_file(file: Path) -> None:
    """Create the file, or raise StoreUnavailable."""
    try:
        _link_key_file(file)
    except OSError as problem:
        raise _cannot_create(file, problem) from None


def _link_key_file(file: Path) -> None:
    """Create the file atomically. If several processes create it at once, all of them use the first one's."""
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        descriptor = open_as_folder_owner(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(_fresh_key())
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(fresh, file)
        except FileExistsError:
            return
    finally:
        fresh.unlink(missing_ok=True)
    sync_folder(file.parent)


def _read_key_file(file: Path, missing: StoreDamaged) -> bytes:
    try:
        key = bytes.fromhex(file.read_text("ascii").strip())
    except FileNotFoundError:
        raise missing from None
    except OSError as problem:
        raise StoreUnavailable(f"the key file {file.name} cannot be read ({problem.strerror})") from None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise StoreDamaged(
            f"{file.name} is not a valid key: it must have {2 * KEY_BYTES} hexadecimal digits. Restore it from a copy"
        )
    return key
