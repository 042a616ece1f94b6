"""Speed of the names library: `make bench-names`.

Every figure is a ratio to a peer in the same run, measured alternately, the best of several rounds, because other programs
slow down both. `required` is our target.
"""

import resource
import subprocess
import sys
import tempfile
import timeit
import uuid
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table
from stdnum.iso7064 import mod_11_2

from perdure import ibi, pilin, ppid

ROUNDS = 7
CALLS = 40_000
LINES = 1_000_000

URL, WHEN, HASH = "https://example.org/staff/jan", "2025-01-09T10:30:00Z", "0" * 64
INPUT = f"{URL}|{WHEN}|{HASH}"
NAME = "POID-93b0-4476-560e-5ac1"
MILLISECONDS = 13_399_357_792_865
DATE = 1_234_806_360


def pilin_encode_loop(number: int, digits: str = pilin.DIGITS) -> str:
    written = ""
    while number:
        number, digit = divmod(number, 31)
        written += digits[digit]
    return written


VALUES = {digit: value for value, digit in enumerate(pilin.DIGITS)}


def pilin_decode_loop(suffix: str) -> int:
    number = 0
    for digit in reversed(suffix):
        number = number * 31 + VALUES[digit]
    return number


def ibi_suffix_loop(date: int, digits: str = "23456789ABCDEFGHJKLMNPQRSTU") -> str:
    number, written = date - 807_235_200, ""
    while number:
        number, digit = divmod(number, 27)
        written = digits[digit] + written
    return written


def measure_best(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds per call of both, measured alternately."""
    times = [(timeit.timeit(one, number=CALLS), timeit.timeit(other, number=CALLS)) for _ in range(ROUNDS)]
    return min(t for t, _ in times) / CALLS, min(t for _, t in times) / CALLS


def measure_cpu(command: list[str]) -> float:
    """Return the CPU seconds of a child process, start-up included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# The specification's own loop, digit by digit, over the lines of a file.
PEER_CHECK = """
import re, sys
shape = re.compile("P[OR]ID(-[0-9a-f]{4}){3}-[0-9a-f]{3}[0-9X]").fullmatch
valid = 0
for line in open(sys.argv[1]):
    name = line.strip()
    if shape(name):
        total = 0
        for digit in name[5:-1].replace("-", ""):
            total = (total + int(digit, 16)) * 2
        valid += "0123456789X"[(12 - total % 11) % 11] == name[-1]
print(valid)
"""


def main() -> None:
    sixteen = "0000000121032683"
    as_long = sixteen[:-1] * 2
    as_long = as_long[:23] + mod_11_2.calc_check_digit(as_long[:23])
    assert len(as_long) == len(NAME)
    assert pilin_encode_loop(MILLISECONDS) == pilin.encode(MILLISECONDS)
    assert pilin_decode_loop("Y35XYS0QH") == pilin.decode("Y35XYS0QH")
    assert ibi_suffix_loop(DATE) == ibi.opaque_suffix(DATE)
    namespace = uuid.uuid5(ppid.PPID_NAMESPACE, "PersonObservation")
    rows: list[tuple[str, str, float, Callable[[], object], Callable[[], object]]] = [
        ("ppid.generate_poid", "uuid.uuid5, bare", 0.6, lambda: ppid.generate_poid(URL, WHEN, HASH), lambda: uuid.uuid5(namespace, INPUT)),
        ("ppid.validate_ppid", "stdnum mod_11_2, 24 chars", 2.0, lambda: ppid.validate_ppid(NAME), lambda: mod_11_2.validate(as_long)),
        ("ppid.validate_ppid", "stdnum mod_11_2, 16 chars", 2.0, lambda: ppid.validate_ppid(NAME), lambda: mod_11_2.validate(sixteen)),
        ("pilin.encode", "divmod loop", 1.0, lambda: pilin.encode(MILLISECONDS), lambda: pilin_encode_loop(MILLISECONDS)),
        ("pilin.decode", "multiply loop", 1.0, lambda: pilin.decode("Y35XYS0QH"), lambda: pilin_decode_loop("Y35XYS0QH")),
        ("ibi.opaque_suffix", "divmod loop", 1.0, lambda: ibi.opaque_suffix(DATE), lambda: ibi_suffix_loop(DATE)),
    ]  # fmt: skip
    table = Table("what", "peer", "µs", "peer µs", "ratio", "required", title="The names library")
    for what, peer, required, ours, theirs in rows:
        mine, other = measure_best(ours, theirs)
        table.add_row(what, peer, f"{mine * 1e6:.2f}", f"{other * 1e6:.2f}", f"{other / mine:.2f}", f"{required:.1f}")
    Console().print(table)
    measure_check()
    measure_import()


def measure_check() -> None:
    """Measure the whole command over a million lines: CPU time on one core, with start-up and reading."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "persons.txt")
        with path.open("w") as file:
            for i in range(LINES):
                file.write(ppid.uuid_to_ppid(uuid.UUID(int=hash((i, "perdure")) & (2**128 - 1)), "POID") + "\n")
        seconds = min(measure_cpu([sys.executable, "-m", "perdure", "check", str(path)]) for _ in range(3))
        peer = min(measure_cpu([sys.executable, "-c", PEER_CHECK, str(path)]) for _ in range(3))
    table = Table(
        "what", "peer", "lines/s", "peer lines/s", "ratio", "required lines/s", title=f"perdure check, {LINES:,} lines"
    )
    rates = f"{LINES / seconds:,.0f}", f"{LINES / peer:,.0f}"
    table.add_row("perdure check (PPIDs)", "the specification's loop", *rates, f"{peer / seconds:.2f}", "200,000")
    Console().print(table)


def measure_import() -> None:
    """Measure the import time of the library, beside idutils, which is used only in tests."""
    nothing = min(measure_cpu([sys.executable, "-c", ""]) for _ in range(5))
    mine, other = (
        min(measure_cpu([sys.executable, "-c", f"import {module}"]) for _ in range(5)) - nothing
        for module in ("perdure", "idutils")
    )
    table = Table("what", "peer", "ms", "peer ms", "ratio", title="Importing")
    table.add_row("import perdure", "import idutils", f"{mine * 1e3:.0f}", f"{other * 1e3:.0f}", f"{other / mine:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
