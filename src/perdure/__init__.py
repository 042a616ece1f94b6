"""Perdure: a registry and resolver for persistent identifiers. Ours do not break."""

import sys

from perdure.errors import InvalidInput, InvalidName, OutOfRange, PerdureError
from perdure.names import Recognition, external, handle, ibi, pilin, ppid, recognise

__version__ = "0.1.0"

# The modules of the contract live in the room `names`; `import perdure.handle` and its like find them there too.
for _module in (external, handle, ibi, pilin, ppid):
    sys.modules[_module.__name__.replace(".names", "")] = _module

__all__ = [
    "InvalidInput",
    "InvalidName",
    "OutOfRange",
    "PerdureError",
    "Recognition",
    "__version__",
    "external",
    "handle",
    "ibi",
    "pilin",
    "ppid",
    "recognise",
]
