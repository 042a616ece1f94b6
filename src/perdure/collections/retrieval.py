"""Items out of a collection: the files of a version in a new directory, each compared with its digest."""

import asyncio
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from perdure.collections.bag_writer import write_bag
from perdure.collections.content_copy import copy_content
from perdure.collections.hashed_copy import HashedCopier
from perdure.collections.held_items import find_item, require_collection, require_known_collection
from perdure.collections.item import ItemVersion
from perdure.collections.item_content import summarize_content
from perdure.collections.item_records import require_known_item
from perdure.collections.stoppable_work import run_stoppable
from perdure.collections.storage_errors import explain_storage_errors
from perdure.collections.storage_root import StorageRoot
from perdure.collections.work_progress import COPY, Progress, Report
from perdure.errors import InvalidInput, ItemDamaged, NoSuchItem, NoSuchVersion, PerdureError, StoreUnavailable
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader


class RetrievedItem(NamedTuple):
    """What was copied from which collection, and why others that were tried before could not be read."""

    label: str
    collection: str
    version: int
    files: int
    size: int
    problems: Sequence[PerdureError]


async def get_item(
    registry: Registry,
    name: str,
    to: Path,
    *,
    version: int | None = None,
    collection: str | None = None,
    as_bag: bool = False,
    report: Report | None = None,
) -> RetrievedItem:
    """Copy the files of a version to a directory that does not exist yet; from a copy if the original is damaged."""

    def look_up(reader: Reader) -> tuple[str, list[tuple[str, Path, int]]]:
        item = require_known_item(find_item(reader, name))
        held = [item.require_holding(require_collection(reader, collection).name)] if collection else item.holdings
        known = [(one, require_known_collection(reader, one.collection)) for one in held]
        found = [(one, where) for one, where in known if not where.is_elsewhere]
        if not found:
            install = f"perdure collection install {item.label} COLLECTION --from {known[0][1].url}"
            raise InvalidInput("item", "label", f"{item.name} is on another server only: install a copy ({install})")
        return item.label, [(one.collection, Path(where.path), one.version) for one, where in found]

    label, held = await registry.store.read(look_up)
    problems: list[PerdureError] = []
    for holder, path, newest in held:
        number = version or newest
        try:
            one = await asyncio.to_thread(lambda path=path, number=number: _find(path, label, number))  # type: ignore[misc]
        except (NoSuchItem, NoSuchVersion, StoreUnavailable) as problem:
            problems.append(problem)
            continue
        try:
            await run_stoppable(lambda report, one=one: _write(one, to, as_bag, report), report)  # type: ignore[misc]
        except ItemDamaged as problem:
            problems.append(problem)
            continue
        content = summarize_content(one.number, one.files.values())
        return RetrievedItem(label, holder, content.version, content.files, content.size, problems)
    raise problems[0]


def _find(path: Path, label: str, version: int) -> ItemVersion:
    return StorageRoot.open(path).read_item(label).version(version)


def _write(version: ItemVersion, to: Path, as_bag: bool, report: Report) -> None:
    if to.exists():
        raise InvalidInput("item", "to", f"{to} exists already: name a new directory")
    if as_bag:
        write_bag(version, to, report)
        return
    with explain_storage_errors(str(to.parent), "directory"), fill_directory(to) as built:
        _copy_files(version, built, Progress(report))


@contextmanager
def fill_directory(to: Path) -> Iterator[Path]:
    """Yield a directory to write files into. It appears as `to` when all of them are complete."""
    if to.exists():
        raise InvalidInput("item", "to", f"{to} exists already: name a new directory")
    to.parent.mkdir(parents=True, exist_ok=True)
    built = Path(mkdtemp(prefix=f".{to.name[:50]}.", dir=to.parent))
    try:
        built.chmod(0o755)
        yield built
        built.rename(to)
    finally:
        shutil.rmtree(built, ignore_errors=True)


def _copy_files(version: ItemVersion, to: Path, progress: Progress) -> None:
    progress.begin_phase(COPY)
    with HashedCopier(progress.add_bytes) as copier:
        for file in version.files.values():
            progress.begin_file(file.path)
            target = to / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            try:
                copy_content(version, file, copier, descriptor)
            finally:
                os.close(descriptor)
            progress.end_file()
