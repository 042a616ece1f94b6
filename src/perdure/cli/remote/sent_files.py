"""Files on their way to a server: read in blocks, compared with their digests, and written as the parts of a form."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from io import FileIO
from typing import Final
from uuid import uuid4

from perdure.collections.hashed_copy import ALGORITHMS, HashedContent, HashedCopier, ReadFailed
from perdure.collections.source_files import SourceFile
from perdure.collections.work_progress import Progress
from perdure.errors import RefusedFile

_BLOCK: Final = 1 << 18


def read_blocks(source: SourceFile, first: int = 0) -> Iterator[bytes]:
    """Yield the content of a file from a position. Raise RefusedFile if it is not as long as it was."""
    size, buffer = 0, memoryview(bytearray(_BLOCK))
    try:
        with source.open() as stream:
            if first and isinstance(stream, FileIO):
                size = stream.seek(first)
            while count := stream.readinto(buffer) or 0:
                size += count
                if source.size is not None and size > source.size:
                    break
                fresh = count if size - count >= first else size - first
                if fresh > 0:
                    yield bytes(buffer[count - fresh : count])
    except OSError as problem:
        raise RefusedFile(source.path, f"it cannot be read: {problem.strerror}") from problem
    if size != source.size:
        reason = f"it has {size} bytes instead of {source.size}: it is incomplete, or was changed meanwhile"
        raise RefusedFile(source.path, reason)


def hash_file(source: SourceFile, copier: HashedCopier) -> HashedContent:
    """Read a file, and return its size, its SHA-512, and the digests that its source lists."""
    try:
        with source.open() as stream:
            return copier.copy(stream, None, [name for name in source.digests if name in ALGORITHMS])
    except ReadFailed as problem:
        raise RefusedFile(source.path, f"it cannot be read: {problem.strerror}") from problem


class FileForm:
    """A form (multipart/form-data): its fields, then files, which are read while it is sent."""

    def __init__(self, fields: Mapping[str, str], sources: Sequence[SourceFile]) -> None:
        self._sources = sources
        self._boundary = f"perdure-{uuid4().hex}"
        self._fields = b"".join(
            self._part_heading(f'name="{name}"') + text.encode() + b"\r\n" for name, text in fields.items()
        )
        self._headings = [self._file_heading(one) for one in sources]
        self._end = f"--{self._boundary}--\r\n".encode()

    def headers(self) -> dict[str, str]:
        """Read all files, and return the headers of the form, with its digest and its length."""
        digest, length = hashlib.sha256(), 0
        for piece in self.body():
            digest.update(piece)
            length += len(piece)
        return {
            "Content-Type": f"multipart/form-data; boundary={self._boundary}",
            "Content-Length": str(length),
            "Content-Digest": f"sha-256=:{b64encode(digest.digest()).decode()}:",
        }

    def body(self, progress: Progress | None = None) -> Iterator[bytes]:
        """Yield the form, in parts."""
        yield self._fields
        for heading, source in zip(self._headings, self._sources, strict=True):
            yield heading
            if progress is not None:
                progress.begin_file(source.path)
            for block in read_blocks(source):
                yield block
                if progress is not None:
                    progress.add_bytes(len(block))
            yield b"\r\n"
        yield self._end

    def _file_heading(self, source: SourceFile) -> bytes:
        kind = "" if source.media_type is None else f"\r\nContent-Type: {source.media_type}"
        return self._part_heading(f'name="file"; filename="{_quote(source.path)}"', kind)

    def _part_heading(self, options: str, more: str = "") -> bytes:
        return f"--{self._boundary}\r\nContent-Disposition: form-data; {options}{more}\r\n\r\n".encode()


def _quote(path: str) -> str:
    """Return a file name as browsers write it into a form."""
    return path.replace('"', "%22")
