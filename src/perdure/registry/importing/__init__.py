"""Import: entries of a file become identifiers, a chunk of them in each transaction.

A bad entry is reported and left out; it never stops or damages the rest, unless `strict` is set. An existing name with
equal content is left as it is, so an import can be run again. The position in the file is stored in the same
transaction as the imported data, so an interrupted import continues where it stopped.
"""

from perdure.registry.importing.driver import forget_checkpoint, import_entries, read_checkpoint
from perdure.registry.importing.import_options import ImportOptions, Tally

__all__ = ["ImportOptions", "Tally", "forget_checkpoint", "import_entries", "read_checkpoint"]
