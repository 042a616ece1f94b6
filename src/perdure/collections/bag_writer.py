"""A version of an item as a BagIt bag, which other archives take in. Specification: RFC 8493."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha512
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Final

from perdure.collections.content_copy import copy_content
from perdure.collections.durable_tree import sync_path, sync_tree
from perdure.collections.hashed_copy import HashedCopier
from perdure.collections.item import ItemVersion
from perdure.collections.storage_errors import explain_storage_errors
from perdure.collections.work_progress import COPY, FLUSH, Progress, Report
from perdure.errors import InvalidInput

_DECLARATION: Final = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
_MANIFEST: Final = "manifest-sha512.txt"
_AMBIGUOUS: Final = re.compile("%(?=0[AaDd]|25)")
_TAG_MANIFEST: Final = "tagmanifest-sha512.txt"


def write_bag(version: ItemVersion, directory: Path, report: Report | None = None) -> None:
    """Write a version as a bag in a new directory, which appears when it is complete and on disk.

    Every file is compared with its digest while it is copied.
    """
    if directory.exists():
        raise InvalidInput("bag", "directory", f"{directory} exists already; choose another one")
    progress = Progress(report)
    with explain_storage_errors(str(directory.parent), "directory"), _new_directory(directory) as built:
        progress.begin_phase(COPY)
        size = _write_payload(version, built, progress)
        tags = {"bagit.txt": _DECLARATION, "bag-info.txt": _describe(version, size)}
        for name, text in tags.items():
            (built / name).write_text(text, encoding="utf-8", newline="\n")
        names = [*tags, _MANIFEST]
        digests = [f"{sha512((built / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
        (built / _TAG_MANIFEST).write_text("".join(digests), encoding="utf-8", newline="\n")
        progress.begin_phase(FLUSH)
        sync_tree(built, len(version.files))


@contextmanager
def _new_directory(directory: Path) -> Iterator[Path]:
    directory.parent.mkdir(parents=True, exist_ok=True)
    built = Path(mkdtemp(prefix=f".{directory.name[:50]}.", dir=directory.parent))
    try:
        built.chmod(0o755)
        yield built
        built.rename(directory)
        sync_path(directory.parent)
    finally:
        rmtree(built, ignore_errors=True)


def _write_payload(version: ItemVersion, built: Path, progress: Progress) -> int:
    size = 0
    with (
        HashedCopier(progress.add_bytes) as copier,
        (built / _MANIFEST).open("w", encoding="utf-8", newline="\n") as manifest,
    ):
        for path, file in version.files.items():
            progress.begin_file(path)
            target = built / "data" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as copy:
                size += copy_content(version, file, copier, copy.fileno()).size
            os.utime(target, (version.created.timestamp(),) * 2)
            manifest.write(f"{file.sha512}  data/{_escape(path)}\n")
            progress.end_file()
    return size


def _describe(version: ItemVersion, size: int) -> str:
    lines = [
        "Bag-Software-Agent: Perdure",
        f"Bagging-Date: {version.created.date().isoformat()}",
        f"External-Identifier: {version.inventory.id}",
        f"Internal-Sender-Identifier: version {version.number}",
        f"Payload-Oxum: {size}.{len(version.files)}",
    ]
    if version.message:
        lines.append(f"External-Description: {' '.join(version.message.split())}")
    return "".join(f"{line}\n" for line in lines)


def _escape(path: str) -> str:
    """Escape what a reader would take for an escape. Paths of items have no line breaks.

    Other percent signs stay, because the most common reader of bags, bagit for Python, does not know `%25`.
    """
    return _AMBIGUOUS.sub("%25", path)
