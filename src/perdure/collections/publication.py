"""The steps that make a new item or version visible, in an order in which a crash at any point can be repaired."""

import os
from collections.abc import Iterable
from pathlib import Path

from perdure.collections.collection_paths import CollectionPaths
from perdure.collections.durable_tree import sync_path
from perdure.collections.inventory import INVENTORY, SIDECAR
from perdure.collections.item_lock import lock_tree
from perdure.collections.label_path import label_to_path
from perdure.collections.media_types import name_of_record


def publish_object(paths: CollectionPaths, label: str, built: Path, stage: Path) -> None:
    """Move a whole object, which is on disk already, to the directories of its label.

    Missing directories above it are built around it first, so that the hierarchy never has an empty one.
    """
    parts = label_to_path(label).split("/")
    with lock_tree(paths.tree_lock):
        existing, moved = paths.root, built
        while len(parts) > 1 and (existing / parts[0]).is_dir():
            existing /= parts.pop(0)
        for depth, name in reversed(list(enumerate(parts[1:]))):
            above = stage / f"above-{depth}"
            above.mkdir()
            moved.rename(above / name)
            sync_path(above)
            moved = above
        moved.rename(existing / parts[0])
        sync_path(existing)


def publish_versions(built: Path, directory: Path, numbers: Iterable[int]) -> None:
    """Move versions, which are on disk already, into their object, and replace the inventory after that."""
    for number in numbers:
        record = name_of_record(number)
        if (built / record).exists():
            (directory / record).parent.mkdir(parents=True, exist_ok=True)
            (built / record).rename(directory / record)
            for above in Path(record).parents:
                sync_path(directory / above)
        (built / f"v{number}").rename(directory / f"v{number}")
        sync_path(directory)
    replace_inventory(built, directory)


def replace_inventory(built: Path, directory: Path) -> None:
    """Replace the inventory of an object, and then the digest beside it."""
    os.replace(built / INVENTORY, directory / INVENTORY)
    os.replace(built / SIDECAR, directory / SIDECAR)
    sync_path(directory)


def withdraw_object(paths: CollectionPaths, label: str, target: Path) -> None:
    """Move an object out of the hierarchy, with the directories above it that hold nothing else."""
    with lock_tree(paths.tree_lock):
        top = paths.item(label)
        while top.parent != paths.root and len(os.listdir(top.parent)) == 1:
            top = top.parent
        top.rename(target)
        sync_path(top.parent)
