"""What the HTTP bench has found out, for the screen, for docs/speed.md and as a plot."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from matplotlib import pyplot
from rich.console import Console
from rich.table import Table

from bench.http_wrk import Taken

BEGIN: Final = "<!-- measured: begin -->"
END: Final = "<!-- measured: end -->"


class Round(NamedTuple):
    """What wrk (or a loop) came to, and the CPU microseconds of each request on the server's side."""

    taken: Taken
    cpu: float | None


class Row(NamedTuple):
    """One measurement beside its yardstick, round by round. What is `asked` is a ratio of rates, and one of p99."""

    what: str
    mine: Sequence[Round]
    yardstick: str
    other: Sequence[Round]
    asked: float | None = None
    asked_p99: float | None = None

    @property
    def is_valid(self) -> bool:
        return all(one.taken.is_valid for one in (*self.mine, *self.other))

    @property
    def went_wrong(self) -> int:
        return sum(one.taken.refused + one.taken.broken for one in (*self.mine, *self.other))

    @property
    def ratio(self) -> float:
        """The median over neighbouring rounds: what else the machine did then hit both."""
        return statistics.median(mine.taken.rate / other.taken.rate for mine, other in self._pairs())

    @property
    def p99_ratio(self) -> float:
        return statistics.median(mine.taken.p99 / max(other.taken.p99, 1e-9) for mine, other in self._pairs())

    def _pairs(self) -> list[tuple[Round, Round]]:
        return list(zip(self.mine, self.other, strict=True))

    @property
    def spread(self) -> str:
        ratios = [mine.taken.rate / other.taken.rate for mine, other in self._pairs()]
        return f"{min(ratios):.2f}–{max(ratios):.2f}"

    @property
    def verdict(self) -> str:
        """Whether what was asked for is met; nothing fails if it is not."""
        if not self.is_valid:
            return f"INVALID: {self.went_wrong:,} went wrong"
        wanted = []
        if self.asked is not None:
            wanted.append(f"≥ {self.asked:g}: {'yes' if self.ratio >= self.asked else 'NO'}")
        if self.asked_p99 is not None:
            wanted.append(f"p99 ≤ {self.asked_p99:g} ×: {'yes' if self.p99_ratio <= self.asked_p99 else 'NO'}")
        return ", ".join(wanted)


HEADINGS: Final = ("what", "yardstick", "per second", "yardstick's", "ratio", "its range", "p50 ms", "p99 ms", "yardstick's p50, p99", "CPU µs", "yardstick's", "asked, and met")  # fmt: skip


def cells(row: Row) -> list[str]:
    """A row as it is shown; of an invalid one only what went wrong, so that nobody quotes its figures."""
    if not row.is_valid:
        return [row.what, row.yardstick, *["—"] * (len(HEADINGS) - 3), row.verdict]
    return [
        row.what,
        row.yardstick,
        *(f"{_median(rounds, 'rate'):,.0f}" for rounds in (row.mine, row.other)),
        f"{row.ratio:.2f}",
        row.spread,
        *(f"{_median(row.mine, field) / 1e3:.2f}" for field in ("p50", "p99")),
        ", ".join(f"{_median(row.other, field) / 1e3:.2f}" for field in ("p50", "p99")),
        *(_cpu(rounds) for rounds in (row.mine, row.other)),
        row.verdict,
    ]


def _median(rounds: Sequence[Round], field: str) -> float:
    return statistics.median(getattr(one.taken, field) for one in rounds)


def _cpu(rounds: Sequence[Round]) -> str:
    told = [one.cpu for one in rounds if one.cpu is not None]
    return f"{statistics.median(told):,.1f}" if told else "not told"


def show(rows: Sequence[Row], title: str) -> None:
    table = Table(*HEADINGS, title=title)
    for row in rows:
        table.add_row(*cells(row))
    console = Console()
    (console if console.is_terminal else Console(width=220)).print(table)


def write(rows: Sequence[Row], how: str, docs: Path, name: str = "speed") -> None:
    """The table and the plot, between the marks of the page; what stands around them stays."""
    page = docs / f"{name}.md"
    before, begin, rest = page.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} has no {BEGIN} … {END}: the figures were not written")
    lines = ["", f"| {' | '.join(HEADINGS)} |", "|---|---|" + "---:|" * 9 + "---|"]
    lines += [f"| {' | '.join(cells(row))} |" for row in rows]
    lines += ["", f"![Requests per second as ratios to their yardsticks]({name}.svg)", "", how, ""]
    page.write_text(before + begin + "\n".join(lines) + end + after, "utf-8")
    plot([row for row in rows if row.is_valid], docs / f"{name}.svg")


def plot(rows: Sequence[Row], file: Path) -> None:
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "perdure", "font.family": "sans-serif"})
    figure, axes = pyplot.subplots(figsize=(8, 0.6 + 0.55 * max(len(rows), 1)))
    places = range(len(rows))
    axes.barh(places, [row.ratio for row in rows], height=0.55, color="#00897b")
    for place, row in zip(places, rows, strict=True):
        axes.text(row.ratio, place, f" {row.ratio:.2f}", va="center")
        if row.asked is not None:
            axes.plot([row.asked] * 2, [place - 0.4, place + 0.4], color="#333333", linewidth=2)
    axes.set_yticks(places, [f"{row.what}\n(1 = {row.yardstick})" for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, max([1.05, *(row.ratio * 1.1 for row in rows)]))
    axes.set_xlabel("per second, as a ratio; the marks are what was asked for")
    axes.grid(axis="x", alpha=0.3)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
