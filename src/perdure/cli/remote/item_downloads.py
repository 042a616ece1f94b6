"""The files of an item of a server in a new directory, each compared with the digest that the server gives."""

import hashlib
import time
from pathlib import Path
from typing import BinaryIO, Final

from perdure.cli.remote import api_client
from perdure.cli.remote.api_client import ServerFailed
from perdure.cli.remote.item_documents import (
    HeldItem,
    RemoteFile,
    describe_in,
    find_item,
    item_path,
    require_collection,
)
from perdure.cli.remote.remote_registry import RemoteRegistry
from perdure.collections.file_names import PathSet, check_path
from perdure.collections.retrieval import RetrievedItem, fill_directory
from perdure.collections.work_progress import COPY, Progress, Report
from perdure.errors import InvalidInput, ItemDamaged, NoSuchName, PerdureError, StoreUnavailable

_ATTEMPTS: Final = 5  # in a row without a byte
_PAUSE: Final = 0.5  # seconds before the second attempt; doubled before each further one


async def get_item(
    remote: RemoteRegistry,
    name: str,
    to: Path,
    *,
    version: int | None = None,
    collection: str | None = None,
    as_bag: bool = False,
    report: Report | None = None,
) -> RetrievedItem:
    """Download the files of a version to a directory that does not exist yet; from a copy if the original is damaged.

    A download whose connection breaks continues where it stopped.
    """
    if as_bag:
        reason = "--as-bag works on the machine of the registry only: leave it out"
        raise InvalidInput("collection", "as-bag", reason)
    item = find_item(remote, name)
    if collection is not None:
        if collection not in item.collections:
            require_collection(remote, collection)
        item = HeldItem(item.label, (collection,))
    problems: list[PerdureError] = []
    for one in item.collections:
        try:
            return _get(remote, one, item.label, version, to, Progress(report))._replace(problems=problems)
        except (ItemDamaged, NoSuchName, StoreUnavailable) as problem:
            problems.append(problem)
    raise problems[0]


def _get(
    remote: RemoteRegistry, collection: str, label: str, number: int | None, to: Path, progress: Progress
) -> RetrievedItem:
    document = describe_in(remote, collection, label)
    version = document.version(number)
    _check_paths(version.files)
    with fill_directory(to) as built:
        progress.begin_phase(COPY)
        for file in version.files:
            progress.begin_file(file.path)
            if file.size < 0:
                raise ItemDamaged(document.label, f"{file.path} is missing")
            target = built / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            path = item_path(collection, document.label, file.path)
            with target.open("xb") as stream:
                _download(remote, f"{path}?version={version.version}", document.label, file, stream, progress)
            progress.end_file()
    return RetrievedItem(document.label, collection, version.version, len(version.files), version.size, ())


def _check_paths(files: tuple[RemoteFile, ...]) -> None:
    """Refuse files that could be written outside the new directory, or over each other."""
    known = PathSet()
    for file in files:
        known.add(check_path(file.path))


def _download(
    remote: RemoteRegistry, path: str, label: str, file: RemoteFile, stream: BinaryIO, progress: Progress
) -> None:
    """Write a file, with several attempts as long as some bytes arrive. Raise ItemDamaged if its digest differs."""
    digest, done, failures = hashlib.sha512(), 0, 0
    while done < file.size:
        before = done
        try:
            with api_client.download(remote.server, path, first=done) as received:
                if received.first != done:  # the server does not continue: all of it again
                    digest, done = hashlib.sha512(), 0
                    stream.seek(0)
                    stream.truncate()
                for part in received.parts:
                    done += len(part)
                    if done > file.size:
                        raise ItemDamaged(
                            label, f"{file.path} is longer than the {file.size} bytes that it should have"
                        )
                    digest.update(part)
                    stream.write(part)
                    progress.add_bytes(len(part))
            if done < file.size:
                reason = f"the connection was closed after {done} of {file.size} bytes of {file.path}"
                raise ServerFailed(remote.server.url, reason, is_broken=True)
        except ServerFailed as problem:
            failures = failures + 1 if done <= before else 1
            if not problem.is_broken or failures >= _ATTEMPTS:
                raise
            time.sleep(_PAUSE * 2 ** (failures - 1))
    if digest.hexdigest() != file.sha512:
        raise ItemDamaged(label, f"{file.path} differs from the digest that the server gives")
