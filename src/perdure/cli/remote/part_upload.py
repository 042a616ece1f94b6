"""Uploads of large files in parts (tus 1.0.0), which continue after the bytes that the server has.

The address of an unfinished upload is remembered in a file of the user, so that another process can continue.
"""

import hashlib
import json
import os
import re
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from perdure.cli.remote import api_client
from perdure.cli.remote.api_client import API_ROOT, Reply, ServerFailed
from perdure.cli.remote.remote_registry import RemoteRegistry
from perdure.cli.remote.sent_files import read_blocks
from perdure.collections.source_files import LocalFile, SourceFile
from perdure.collections.work_progress import Progress

_UPLOADS: Final = f"{API_ROOT}/uploads"
_TUS: Final = {"Tus-Resumable": "1.0.0"}
_PART_BYTES: Final = 16 << 20  # compared with its digest as a whole, so it is in memory
_ATTEMPTS: Final = 6  # in a row without a byte
_PAUSE: Final = 1.0  # seconds before the second attempt; doubled before each further one
_MOST_BYTES: Final = 1 << 60
_UPLOAD_ID: Final = re.compile(r"[0-9A-Za-z_-]{1,100}")
_OK: Final = 200
_GONE: Final = (404, 410)
_IN_USE: Final = 423


def find_largest(remote: RemoteRegistry) -> int:
    """Return the largest number of bytes that a file, or a form, may have."""
    reply = api_client.transfer(remote.server, "OPTIONS", _UPLOADS, _TUS)
    stated = reply.headers.get("Tus-Max-Size", "")
    return int(stated) if re.fullmatch(r"[0-9]{1,18}", stated) else _MOST_BYTES


def begin_upload(remote: RemoteRegistry, size: int, fields: Mapping[str, str]) -> str:
    """Begin an upload, and return its path. The server refuses what it could not store."""
    pairs = (f"{key} {b64encode(text.encode()).decode()}" for key, text in fields.items())
    headers = {**_TUS, "Upload-Length": str(size), "Upload-Metadata": ",".join(pairs)}
    location = api_client.transfer(remote.server, "POST", _UPLOADS, headers, b"").headers.get("Location", "")
    number = location.rpartition("/")[2]
    if _UPLOAD_ID.fullmatch(number) is None:
        raise ServerFailed(remote.server.url, "its response is not what this version of perdure expects (Location)")
    return f"{_UPLOADS}/{number}"


def remove_upload(remote: RemoteRegistry, path: str) -> None:
    """Remove an upload with all its bytes."""
    api_client.transfer(remote.server, "DELETE", path, _TUS)


class PartUpload:
    """One file on its way into an item."""

    def __init__(
        self, remote: RemoteRegistry, source: SourceFile, fields: Mapping[str, str], progress: Progress
    ) -> None:
        self._remote = remote
        self._source = source
        self._size = source.size or 0
        self._fields = fields
        self._progress = progress
        self._memory = _memory_file(remote, source, fields)

    def send(self) -> None:
        """Send what the server does not have, until the file is in the item."""
        self._progress.begin_file(self._source.path)
        path, offset = self._find_earlier() or (self._begin(), 0)
        self._progress.add_bytes(offset)
        failures = 0
        while offset < self._size:
            before = offset
            try:
                for part in _join(read_blocks(self._source, offset)):
                    self._send_part(path, offset, part)
                    offset += len(part)
                    self._progress.add_bytes(len(part))
            except ServerFailed as problem:
                failures = failures + 1 if offset == before else 1
                if not problem.is_broken or failures == _ATTEMPTS:
                    raise
                time.sleep(_PAUSE * 2 ** (failures - 1))
                offset = self._find_offset(path, offset)
        self._forget()

    def _begin(self) -> str:
        path = begin_upload(self._remote, self._size, self._fields)
        if self._memory is not None:
            with suppress(OSError):  # then another process begins again
                self._memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._memory.write_text(path)
        return path

    def _forget(self) -> None:
        if self._memory is not None:
            with suppress(OSError):
                self._memory.unlink()

    def _find_earlier(self) -> tuple[str, int] | None:
        """Return an unfinished upload of the same file, and how many bytes of it the server has."""
        path = ""
        if self._memory is not None:
            with suppress(OSError, UnicodeDecodeError):
                path = self._memory.read_text()
        if not path.startswith(f"{_UPLOADS}/") or _UPLOAD_ID.fullmatch(path.removeprefix(f"{_UPLOADS}/")) is None:
            return None
        reply = self._ask(path)
        if reply.status in _GONE or "Content-Location" in reply.headers:  # what it became may have changed since
            self._forget()
            return None
        return path, self._read_offset(reply)

    def _find_offset(self, path: str, offset: int) -> int:
        """Return how many bytes the server has after a connection broke; the last known number if that is unknown."""
        try:
            return self._read_offset(self._ask(path))
        except ServerFailed as problem:
            if not problem.is_broken:
                raise
            return offset

    def _ask(self, path: str) -> Reply:
        """Read the state of an upload. While the server stores a complete file in its item, wait."""
        while (reply := api_client.transfer(self._remote.server, "HEAD", path, _TUS)).status == _IN_USE:
            time.sleep(_PAUSE)
        return reply

    def _read_offset(self, reply: Reply) -> int:
        text = reply.headers.get("Upload-Offset", "")
        if reply.status in _GONE:
            raise ServerFailed(self._remote.server.url, f"its upload of {self._source.path} is gone: begin again")
        if reply.status != _OK or re.fullmatch(r"[0-9]{1,18}", text) is None or int(text) > self._size:
            reason = f"it responded {reply.status}, and not how much it has of {self._source.path}"
            raise ServerFailed(self._remote.server.url, reason)
        return int(text)

    def _send_part(self, path: str, offset: int, part: bytes) -> None:
        digest = b64encode(hashlib.sha256(part).digest()).decode()
        headers = {
            **_TUS,
            "Content-Type": "application/offset+octet-stream",
            "Upload-Offset": str(offset),
            "Upload-Checksum": f"sha256 {digest}",
        }
        api_client.transfer(self._remote.server, "PATCH", path, headers, part)


def _join(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in parts of one size."""
    part = bytearray()
    for block in blocks:
        part += block
        if len(part) >= _PART_BYTES:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)


def _memory_file(remote: RemoteRegistry, source: SourceFile, fields: Mapping[str, str]) -> Path | None:
    """Return the file that remembers the upload of a file of this machine into this item; None if none can."""
    if not isinstance(source, LocalFile):
        return None
    try:
        status = os.stat(source.file)
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except (OSError, RuntimeError):
        return None
    content = [str(Path(source.file).resolve()), status.st_size, status.st_mtime_ns]
    key = json.dumps([remote.server.url, content, dict(fields)], sort_keys=True)
    return Path(state) / "perdure" / "uploads" / hashlib.sha256(key.encode()).hexdigest()
