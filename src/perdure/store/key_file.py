"""The file of the key that secrets are sealed with: made when the first secret is, and never replaced."""

import os
import secrets
from pathlib import Path

from perdure.errors import StoreDamaged, StoreUnavailable
from perdure.registry.sealing import KEY_BYTES, Sealer, missing_key
from perdure.store.folders import sync_folder


class FileSealer(Sealer):
    """Seals with the key in a file, which is read when it is needed: most registries never need one."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read: bytes | None = None

    def _key(self) -> bytes:
        if self._read is None:
            self._read = _key_in(self._file)
        return self._read

    def _make(self) -> None:
        if self._read is None and not self._file.exists():
            try:
                _make(self._file)
            except OSError as problem:
                reason = f"the key {self._file.name} cannot be made ({problem.strerror}): nothing was written"
                raise StoreUnavailable(reason) from None


def _make(file: Path) -> None:
    """There whole or not at all. Of several processes that make one at once, the first one's stays, for all of them."""
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(f"{secrets.token_bytes(KEY_BYTES).hex()}\n")
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(fresh, file)
        except FileExistsError:
            return
    finally:
        fresh.unlink(missing_ok=True)
    sync_folder(file.parent)


def _key_in(file: Path) -> bytes:
    try:
        key = bytes.fromhex(file.read_text("ascii").strip())
    except FileNotFoundError:
        raise missing_key() from None
    except OSError as problem:
        raise StoreUnavailable(f"the key {file.name} cannot be read ({problem.strerror})") from None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise StoreDamaged(f"{file.name} holds no key: it should be {2 * KEY_BYTES} hexadecimal digits. Bring it back")
    return key
