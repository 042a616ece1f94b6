"""The embedded store: SQLite in WAL mode, one writer thread per process, group commit."""

from perdure.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
