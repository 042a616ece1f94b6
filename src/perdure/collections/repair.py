"""What a crash leaves behind, and how it is put right: finished versions are completed, unfinished ones removed."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from perdure.collections.collection_paths import CollectionPaths
from perdure.collections.durable_tree import sync_path
from perdure.collections.inventory import (
    INVENTORY,
    SIDECAR,
    decode_inventory,
    encode_sidecar,
    list_versions,
    read_checked,
)
from perdure.collections.item_lock import lock_item
from perdure.collections.media_types import EXTENSION, name_of_record
from perdure.collections.publication import replace_inventory
from perdure.errors import ItemBusy

_INTENT: Final = "intent.json"
_REPAIR: Final = "repair"


class Intent(msgspec.Struct, frozen=True):
    """What a directory of unfinished work is for. A copy can be continued, so its files are not removed."""

    label: str
    is_copy: bool = False


def begin_stage(paths: CollectionPaths, intent: Intent) -> Path:
    """Create the directory for unfinished work on an item, or find the one of an interrupted copy."""
    stage = paths.stage(intent.label)
    stage.mkdir(exist_ok=intent.is_copy)
    (stage / _INTENT).write_bytes(msgspec.json.encode(intent))
    return stage


def repair_item(paths: CollectionPaths, label: str, *, is_copy: bool = False) -> None:
    """Put an item right after a crash. The caller holds the lock of the item.

    The files of an interrupted copy are removed unless a copy is about to continue.
    """
    stage, directory = paths.stage(label), paths.item(label)
    if not stage.exists():
        return
    if directory.exists():
        _complete(directory, stage)
    if not (is_copy and _read_intent(stage) == Intent(label, True)):
        remove_stage(stage)


def repair_all(paths: CollectionPaths) -> None:
    """Put all items right that no other process is writing. Interrupted copies are left as they are."""
    for stage in paths.stages.iterdir():
        with suppress(ItemBusy), lock_item(paths.locks / f"{stage.name}.lock", stage.name, 0):
            intent = _read_intent(stage)
            if intent is None:
                remove_stage(stage)
            else:
                repair_item(paths, intent.label, is_copy=True)


def remove_stage(stage: Path) -> None:
    """Remove a directory of unfinished work. Its intent is removed last, so that a crash meanwhile is repaired."""
    if not stage.exists():
        return
    for entry in stage.iterdir():
        if entry.name != _INTENT:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    shutil.rmtree(stage)


def _read_intent(stage: Path) -> Intent | None:
    try:
        return msgspec.json.decode((stage / _INTENT).read_bytes(), type=Intent)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def _complete(directory: Path, stage: Path) -> None:
    """Make the inventory of the newest version that of the object, and remove the media types of later ones."""
    newest = next(list_versions(directory), None)
    content = None if newest is None else read_checked(newest)
    if newest is None or content is None:
        return  # versions arrive as a whole, so this is damage, and no crash: a check reports it
    if read_checked(directory) != content and decode_inventory(content).head == newest.name:
        fresh = stage / _REPAIR
        fresh.mkdir(exist_ok=True)
        for name, data in ((INVENTORY, content), (SIDECAR, encode_sidecar(content))):
            (fresh / name).write_bytes(data)
            sync_path(fresh / name)
        replace_inventory(fresh, directory)
    following = directory / name_of_record(int(newest.name[1:]) + 1)
    if following.exists():
        following.unlink()
        sync_path(directory / EXTENSION)
