"""A program with a registry that runs out of disk space while many tasks share its commits. It has limits of its own.

    python -m tests.crash.full_disk_program FOLDER quota      (a file size limit)
    python -m tests.crash.full_disk_program FOLDER disk       (FOLDER is a small disk, and other files fill it)

If all checks pass, it prints the numbers of acknowledged and of refused operations, and exits with 0.
"""

import asyncio
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final
from uuid import uuid4

from tests.crash.crash_registry import DATED, RANDOM, Open, create_in, open_registry
from tests.registry_fixture import set_target

from perdure.errors import StoreUnavailable
from perdure.records.value import Text, Value
from perdure.registry import Statement, find_by_value, mint, resolve
from perdure.registry.integrity import verify

_TASKS: Final = 40
_ROUNDS: Final = 200  # more than there is room for
_QUOTA: Final = 2 << 20
_LEFT: Final = 1 << 20  # of the small disk
_BULKY: Final = (Value(2, "NOTE", Text("room " * 500)),)


@contextmanager
def low_quota(folder: Path) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_QUOTA, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def nearly_full_disk(folder: Path) -> Iterator[None]:
    ballast = folder / "ballast"
    with ballast.open("wb") as stream:
        while _free(folder) > _LEFT:
            stream.write(bytes(1 << 16))
            stream.flush()
    try:
        yield
    finally:
        ballast.unlink()


_CONDITIONS: Final = {"quota": low_quota, "disk": nearly_full_disk}


def _free(folder: Path) -> int:
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize


class Outcome:
    """The operations that were acknowledged, and those that were refused."""

    def __init__(self) -> None:
        self.targets: dict[str, str] = {}  # name → target
        self.latest = Fraction(0)
        self.refused: list[str] = []  # targets

    async def mint_until_refused(self, at: Open, prefix: str) -> None:
        for _ in range(_ROUNDS):
            target = f"https://example.org/{uuid4().hex}"
            try:
                (one,) = await mint(*at, prefix, statement=Statement(target=target, values=_BULKY))
            except StoreUnavailable as problem:
                assert problem.safe_to_retry, problem
                assert "nothing was" in str(problem), problem
                self.refused.append(target)
                return
            self.targets[one.name] = target
            self.latest = max(self.latest, one.date or self.latest)

    async def edit_until_refused(self, at: Open, name: str) -> None:
        for _ in range(_ROUNDS):
            target = f"https://example.org/{uuid4().hex}"
            try:
                await set_target(*at, name, target)
            except StoreUnavailable:
                self.refused.append(target)
                return
            self.targets[name] = target

    async def check(self, at: Open) -> None:
        for name, target in self.targets.items():
            assert (await resolve(at.registry, name)).target == target, f"{name} lost what was acknowledged"
        for target in self.refused:
            assert await find_by_value(at.registry, target) == [], f"{target} was refused, and is there all the same"


async def run(folder: Path, condition: str) -> None:
    await create_in(folder)
    outcome = Outcome()
    async with open_registry(folder) as at:
        edited = [one.name for one in await mint(*at, RANDOM, 5, statement=Statement(target="https://example.org/"))]
        with _CONDITIONS[condition](folder):
            minting = [outcome.mint_until_refused(at, (RANDOM, DATED)[task % 2]) for task in range(_TASKS)]
            await asyncio.gather(*minting, *(outcome.edit_until_refused(at, name) for name in edited))
            assert len(outcome.refused) == _TASKS + len(edited), "the disk was never full: nothing was tested"
            await outcome.check(at)  # reads still work
        await _go_on(at, outcome)
        with _CONDITIONS[condition](folder):  # and once more, closing while there is no room
            again = Outcome()
            await asyncio.gather(*(again.mint_until_refused(at, RANDOM) for _ in range(_TASKS)))
            assert again.refused, "the disk was never full: nothing was tested"
            at.registry.store.close()
    async with open_registry(folder) as at:
        await again.check(at)
        await _go_on(at, outcome)
    print(len(outcome.targets), len(outcome.refused))


async def _go_on(at: Open, outcome: Outcome) -> None:
    """Continue after disk space was freed."""
    await outcome.check(at)
    assert await verify(at.registry) == []
    fresh = await asyncio.gather(*(mint(*at, DATED) for _ in range(10)))
    for (one,) in fresh:
        assert one.date is not None
        assert one.date > outcome.latest


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), sys.argv[2]))
