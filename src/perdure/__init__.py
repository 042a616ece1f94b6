"""Perdure: a registry and resolver for persistent identifiers. Ours do not break."""

from perdure.errors import InvalidInput, InvalidName, OutOfRange, PerdureError
from perdure.names import Recognition, external, handle, ibi, pilin, ppid, recognise

__version__ = "0.1.0"

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
