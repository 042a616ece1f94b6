"""Errors of the file system, as errors that say what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

from perdure.errors import StoreFull, StoreUnavailable, is_full


@contextmanager
def explain_storage_errors(path: str, kind: str = "collection") -> Iterator[None]:
    """Raise an OSError as StoreFull or StoreUnavailable."""
    try:
        yield
    except OSError as problem:
        if is_full(problem.errno):
            raise StoreFull(f"the disk of the {kind} {path}") from problem
        reason = problem.strerror or type(problem).__name__
        where = f" ({problem.filename})" if problem.filename else ""
        raise StoreUnavailable(f"the {kind} {path} cannot be read or written: {reason}{where}") from problem
