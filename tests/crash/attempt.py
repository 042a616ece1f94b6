"""A program that uses a registry, and prints for each step `ok`, or the error's name and text.

python -m tests.crash.attempt FOLDER
"""

import asyncio
import json
import sys
from pathlib import Path

from tests.crash.crash_registry import DATED, open_registry

from perdure.errors import PerdureError
from perdure.registry import Statement, find_by_value, mint

TARGET = "https://example.org/before"
NEW_TARGET = "https://example.org/attempt"


async def attempt(folder: Path) -> dict[str, str]:
    steps: dict[str, str] = {}
    try:
        async with open_registry(folder) as at:
            steps["open"] = "ok"
            steps["read"] = "ok" if await find_by_value(at.registry, TARGET) else "not found"
            try:
                await mint(*at, DATED, statement=Statement(target=NEW_TARGET))
                steps["mint"] = "ok"
            except PerdureError as problem:
                steps["mint"] = f"{type(problem).__name__}: {problem}"
    except PerdureError as problem:
        steps["open"] = f"{type(problem).__name__}: {problem}"
    return steps


if __name__ == "__main__":
    print(json.dumps(asyncio.run(attempt(Path(sys.argv[1])))))
