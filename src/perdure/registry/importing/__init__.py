"""Import: entries of a file become identifiers, a chunk of them in each transaction.

A bad entry is reported and left out; it never stops or damages the rest, unless `strict` is asked for. What exists
and says the same is left as it is, so an import can be run again; and how far it has come is kept in the same
transaction as what it brought, so one that was interrupted goes on where it stopped.
"""

from perdure.registry.importing.driver import forget_checkpoint, import_entries, imported_so_far
from perdure.registry.importing.options import Options, Tally

__all__ = ["Options", "Tally", "forget_checkpoint", "import_entries", "imported_so_far"]
