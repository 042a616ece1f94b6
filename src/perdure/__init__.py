"""Perdure: a registry and resolver for persistent identifiers."""

import sys

from perdure.errors import (
    BadKey,
    ClockBehind,
    ClockJumped,
    ClockUnconfirmed,
    Conflict,
    CountUnknown,
    Immutable,
    InvalidInput,
    InvalidName,
    LabelPrefixTaken,
    NameTaken,
    NoSuchBulkChange,
    NoSuchName,
    NoSuchPool,
    NoSuchPrefix,
    NoSuchValue,
    NoTarget,
    NotAuthorised,
    OutcomeUnknown,
    OutOfRange,
    PerdureError,
    SchemaChanged,
    StoreBehind,
    StoreDamaged,
    StoreFull,
    StoreSealed,
    StoreUnavailable,
    ValueExists,
    Withdrawn,
    WrongState,
)
from perdure.names import Recognition, external, handle, ibi, pilin, ppid, recognise

__version__ = "0.2.0"

# The public modules are in the package `names`. `import perdure.handle`, and so on, imports the modules there.
for _name, _module in list(sys.modules.items()):
    if _name.startswith(tuple(public.__name__ for public in (external, handle, ibi, pilin, ppid))):
        sys.modules[_name.replace(".names", "", 1)] = _module

__all__ = [
    "BadKey",
    "ClockBehind",
    "ClockJumped",
    "ClockUnconfirmed",
    "Conflict",
    "CountUnknown",
    "Immutable",
    "InvalidInput",
    "InvalidName",
    "LabelPrefixTaken",
    "NameTaken",
    "NoSuchBulkChange",
    "NoSuchName",
    "NoSuchPool",
    "NoSuchPrefix",
    "NoSuchValue",
    "NoTarget",
    "NotAuthorised",
    "OutOfRange",
    "OutcomeUnknown",
    "PerdureError",
    "Recognition",
    "SchemaChanged",
    "StoreBehind",
    "StoreDamaged",
    "StoreFull",
    "StoreSealed",
    "StoreUnavailable",
    "ValueExists",
    "Withdrawn",
    "WrongState",
    "__version__",
    "external",
    "handle",
    "ibi",
    "pilin",
    "ppid",
    "recognise",
]
