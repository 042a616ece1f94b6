"""Suggestions of similar names in error responses ("did you mean"), within a budget of time.

A search for similar names costs more than the request that caused it. So a few run at a time, and all of them together
take a small share of one processor. Without time left, a response has no suggestions.
"""

import asyncio
import time
from typing import Final

from perdure.errors import NoSuchName, PerdureError
from perdure.http.app_context import AppContext
from perdure.http.shared.request import Request
from perdure.registry.similar_names import can_have_similar_names, find_similar_names, missing_name
from perdure.registry.store_interface import Reader

_INTERFACES: Final = ("resolver", "v1")  # whose errors show suggestions
_PATIENCE: Final = 0.5  # seconds; searches may occupy the readers


async def with_suggestions(app: AppContext, request: Request, interface: str, problem: PerdureError) -> PerdureError:
    """Return the error, with suggestions if it is about an unknown name and similar ones exist."""
    if not isinstance(problem, NoSuchName) or interface not in _INTERFACES or request.method == "HEAD":
        return problem
    budget = app.suggestion_budget
    if not can_have_similar_names(problem) or not budget.has_time():
        return problem
    name = missing_name(problem)

    def work(reader: Reader) -> tuple[tuple[str, ...], float]:
        started = time.perf_counter()
        return find_similar_names(reader, name), time.perf_counter() - started

    try:
        async with asyncio.timeout(_PATIENCE):
            found, seconds = await app.registry.store.scan(work)
    except (PerdureError, TimeoutError):
        budget.spend(_PATIENCE)
        return problem
    budget.spend(seconds)
    return problem.with_suggestions(found) if found else problem
