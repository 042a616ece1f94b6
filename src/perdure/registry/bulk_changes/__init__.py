"""Bulk changes: retarget, withdraw or transfer many identifiers, and take all of that back as one act.

The identifiers are those that a query selects, or those of a list. A preview writes nothing. The change is applied in
transactions of many identifiers. Each of them stores how far it came, so an interrupted change continues.
"""

from perdure.registry.bulk_changes.bulk_change import (
    BulkChange,
    BulkProblem,
    BulkRequest,
    Example,
    find_bulk_change,
    find_unfinished,
    list_bulk_changes,
)
from perdure.registry.bulk_changes.bulk_run import BulkStep, run_bulk_change, undo_bulk_change
from perdure.registry.bulk_changes.sources import NameSource, QuerySource, Source

__all__ = [
    "BulkChange",
    "BulkProblem",
    "BulkRequest",
    "BulkStep",
    "Example",
    "NameSource",
    "QuerySource",
    "Source",
    "find_bulk_change",
    "find_unfinished",
    "list_bulk_changes",
    "run_bulk_change",
    "undo_bulk_change",
]
