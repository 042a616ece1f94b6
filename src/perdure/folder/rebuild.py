"""Rebuild a registry on an empty machine, from a backup alone."""

from pathlib import Path
from typing import Final

import msgspec

from perdure.errors import InvalidInput, StoreUnavailable, quote_text
from perdure.folder.backup_settings import EnclosedSettings, parse_enclosed_settings
from perdure.folder.registry_folder import create_folder, location_of, lock_registry
from perdure.folder.restore import RestoreResult, restore_store
from perdure.registry.bootstrap import REGISTRY
from perdure.registry.store_interface import Progress
from perdure.settings_file import DEFAULT_STORE, SETTINGS, SettingsFile, quote_toml, write_settings_text
from perdure.store.backup_digest import check_digest, digest_file, parse_digest
from perdure.store.commit_mark import find_mark_files
from perdure.store.high_water import HIGH_WATER
from perdure.store.open_location import parse_location
from perdure.store.schema_check import SCHEMA_DIGEST
from perdure.store.sqlite.backup import ENCLOSED_SETTINGS
from perdure.store.sqlite.restore import read_backup_facts
from perdure.timelines.clock import Clock, SystemClock

_FILES: Final = (SETTINGS, HIGH_WATER, f"{Path(HIGH_WATER).stem}.lock", SCHEMA_DIGEST)


async def rebuild_registry(
    folder: Path,
    backup: Path,
    *,
    store: str = DEFAULT_STORE,
    digest: str | None = None,
    clock: Clock | None = None,
    progress: Progress = lambda done, of: None,
) -> RestoreResult:
    """Create a folder with the settings and the registry of a backup. The folder must be new or empty.

    Nothing is known of what was issued after the backup. So every timeline is moved past the present, and no prefix
    issues numbers until an administrator has set its last one. With a digest, a file with another SHA-256 digest is
    refused.
    """
    _refuse_full_folder(folder)
    expected = None if digest is None else parse_digest(digest)
    if expected is not None:
        check_digest(backup, _digest(backup), expected)
    text, settings = _read_settings(backup)
    toml = settings.to_toml(store)
    file = msgspec.toml.decode(toml, type=SettingsFile)
    parse_location(store, folder, file.postgresql)  # refuses an invalid address before anything is created
    with create_folder(folder), lock_registry(folder, alone=True):
        try:
            _refuse_existing_store(folder, file)
            write_settings_text(folder, toml, store)
            return await restore_store(folder, file, backup, expected, clock or SystemClock(), progress, text)
        except BaseException:
            for path in (*find_mark_files(folder), *(folder / name for name in _FILES)):
                path.unlink(missing_ok=True)
            raise


def _digest(backup: Path) -> str:
    try:
        return digest_file(backup)
    except OSError as problem:
        raise StoreUnavailable(f"{quote_text(str(backup))} cannot be read: {problem.strerror}") from None


def _read_settings(backup: Path) -> tuple[str, EnclosedSettings]:
    """Return the settings that a backup encloses, as text and parsed."""
    if not backup.is_file():
        raise StoreUnavailable(f"the backup {quote_text(str(backup))} was not found")
    facts = read_backup_facts(backup, (ENCLOSED_SETTINGS, REGISTRY))
    text, identity = facts[ENCLOSED_SETTINGS], facts[REGISTRY]
    if text is None:
        reason = (
            f"{backup.name} has no settings inside (perdure migrate or an older Perdure made it). Create the folder, "
            f"copy the {SETTINGS} of the registry into it, and run perdure restore FILE --registry DIR. If that file "
            f"is lost, write one with these two lines: [registry] and id = {quote_toml(identity or '')}"
        )
        raise InvalidInput("restore", "file", reason)
    settings = parse_enclosed_settings(text)
    if settings.id != identity:
        raise StoreUnavailable(f"{backup.name} is damaged: its settings belong to another registry")
    return text, settings


def _refuse_existing_store(folder: Path, file: SettingsFile) -> None:
    location = location_of(folder, file)
    if location.exists():
        reason = (
            f"{location.display_name} already contains a registry: choose another location, or run perdure restore "
            "without --to in the folder of that registry"
        )
        raise InvalidInput("restore", "store", reason)


def _refuse_full_folder(folder: Path) -> None:
    try:
        if folder.exists() and any(folder.iterdir()):
            reason = f"the folder {quote_text(str(folder))} is not empty: choose a new folder"
            raise InvalidInput("restore", "to", reason)
    except OSError as problem:
        raise StoreUnavailable(f"the folder {quote_text(str(folder))} cannot be read: {problem.strerror}") from None
