"""Move a registry to another store."""

from pathlib import Path
from typing import Final

from perdure.errors import InvalidInput
from perdure.folder.registry_folder import location_of, lock_file, lock_registry
from perdure.registry.relocation import MoveProgress, MoveResult, check_movable, check_unfinished, move
from perdure.settings_file import (
    read_settings,
    with_store,
    write_store,
)
from perdure.store.open_location import parse_location
from perdure.timelines.clock import Clock, SystemClock

_MOVE_LOCK: Final = ".moving.lock"


async def move_registry(folder: Path, to: str, watch: MoveProgress, *, clock: Clock | None = None) -> MoveResult:
    """Copy the registry to another store, and change the settings to that."""
    file = read_settings(folder)
    current, new = location_of(folder, file), parse_location(to, folder, file.postgresql)
    if file.registry.store == to:
        raise InvalidInput("move", "to", f"the registry is already in {new.display_name}")
    with_store(folder, to)  # checks first that the settings can be changed
    with lock_registry(folder), lock_file(folder / _MOVE_LOCK, "the registry is being moved by another program"):
        source = current.open()
        try:
            await check_movable(source, new.display_name)
            target = new.create()
            try:
                moved = await move(
                    source,
                    target,
                    clock or SystemClock(),
                    origin=current.display_name,
                    to=new.display_name,
                    watch=watch,
                )
            finally:
                target.close()
        finally:
            source.close()
        write_store(folder, to)  # the last step: if interrupted before, the same move completes it
        return moved


async def abandon_move(folder: Path, to: str) -> None:
    """Delete the unfinished copy, and make the registry writable again where it is."""
    file = read_settings(folder)
    current, new = location_of(folder, file), parse_location(to, folder, file.postgresql)
    if file.registry.store == to:
        raise InvalidInput("move", "to", "the move is finished: the registry is there now. Move it back instead")
    with lock_registry(folder), lock_file(folder / _MOVE_LOCK, "the registry is being moved by another program"):
        source = current.open()
        try:
            target = new.open() if new.exists() else None
            try:
                await check_unfinished(source, target, new.display_name)
                if target is not None:
                    target.remove_mark()
            finally:
                if target is not None:
                    target.close()
            if target is not None:
                new.remove()
            await source.seal(None)
        finally:
            source.close()
