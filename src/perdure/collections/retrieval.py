"""Items out of a collection: the files of a version in a new directory, each compared with its digest."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from perdure.collections.bag_writer import write_bag
from perdure.collections.hashed_copy import HashedCopier
from perdure.collections.held_items import find_item, require_collection, require_known_collection
from perdure.collections.item import ItemVersion
from perdure.collections.item_content import summarize_content
from perdure.collections.item_records import require_known_item
from perdure.collections.source_files import LocalFile
from perdure.collections.stoppable_work import run_stoppable
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
        try:
            one = await run_stoppable(
                lambda report, path=path, newest=newest: _get(path, label, version or newest, to, as_bag, report),  # type: ignore[misc]
                report,
            )
        except (ItemDamaged, NoSuchItem, NoSuchVersion, StoreUnavailable) as problem:
            problems.append(problem)
            continue
        content = summarize_content(one.number, one.files.values())
        return RetrievedItem(label, holder, content.version, content.files, content.size, problems)
    raise problems[0]


def _get(path: Path, label: str, version: int, to: Path, as_bag: bool, report: Report) -> ItemVersion:
    found = StorageRoot.open(path).read_item(label).version(version)
    if to.exists():
        raise InvalidInput("item", "to", f"{to} exists already: name a new directory")
    if as_bag:
        write_bag(found, to, report)
    else:
        with fill_directory(to) as built:
            _copy_files(found, built, Progress(report))
    return found


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
                with LocalFile(file.path, version.content_of(file)).open() as stream:
                    found = copier.copy(stream, descriptor).digests["sha512"]
            except FileNotFoundError:
                raise ItemDamaged(version.inventory.id, f"{file.path} is missing") from None
            finally:
                os.close(descriptor)
            if found != file.sha512:
                raise ItemDamaged(version.inventory.id, f"{file.path} was changed")
            progress.end_file()
