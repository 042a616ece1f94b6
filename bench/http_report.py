"""The results of the HTTP benchmark: a table on the screen, a page of docs/explanation, and a plot."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from matplotlib import pyplot
from rich.console import Console
from rich.table import Table

from bench.http_wrk import WrkResult

BEGIN: Final = "<!-- measured: begin -->"
END: Final = "<!-- measured: end -->"


class Round(NamedTuple):
    """The result of one round, and the CPU microseconds per request on the server."""

    result: WrkResult
    cpu: float | None


class Row(NamedTuple):
    """A measurement beside its baseline, round by round.

    `required` is a ratio of rates, `required_p99` of p99, and `required_added` the difference of p50, in milliseconds.
    """

    what: str
    mine: Sequence[Round]
    yardstick: str
    other: Sequence[Round]
    required: float | None = None
    required_p99: float | None = None
    required_added: float | None = None

    @property
    def is_valid(self) -> bool:
        return all(one.result.is_valid for one in (*self.mine, *self.other))

    @property
    def failures(self) -> int:
        return sum(one.result.refused + one.result.broken for one in (*self.mine, *self.other))

    @property
    def ratio(self) -> float:
        """Return the median over neighbouring rounds, because other programs slow down both."""
        return statistics.median(mine.result.rate / other.result.rate for mine, other in self._pairs())

    @property
    def p99_ratio(self) -> float:
        return statistics.median(mine.result.p99 / max(other.result.p99, 1e-9) for mine, other in self._pairs())

    @property
    def added_milliseconds(self) -> float:
        """Return the milliseconds by which the median request takes longer than that of the baseline."""
        return statistics.median(mine.result.p50 - other.result.p50 for mine, other in self._pairs()) / 1e3

    def _pairs(self) -> list[tuple[Round, Round]]:
        return list(zip(self.mine, self.other, strict=True))

    @property
    def spread(self) -> str:
        ratios = [mine.result.rate / other.result.rate for mine, other in self._pairs()]
        return f"{min(ratios):.2f}–{max(ratios):.2f}"

    @property
    def verdict(self) -> str:
        """Return whether the requirements are met."""
        if not self.is_valid:
            return f"INVALID: {self.failures:,} requests failed"
        verdicts = []
        if self.required is not None:
            verdicts.append(f"≥ {self.required:g}: {'yes' if self.ratio >= self.required else 'NO'}")
        if self.required_p99 is not None:
            verdicts.append(f"p99 ≤ {self.required_p99:g} ×: {'yes' if self.p99_ratio <= self.required_p99 else 'NO'}")
        if self.required_added is not None:
            verdict = "yes" if self.added_milliseconds < self.required_added else "NO"
            verdicts.append(f"adds < {self.required_added:g} ms: {verdict} ({self.added_milliseconds:.2f})")
        return ", ".join(verdicts)


HEADINGS: Final = ("measurement", "baseline", "per second", "baseline per second", "ratio", "range", "p50 ms", "p99 ms", "baseline p50, p99", "CPU µs", "baseline CPU µs", "goal met")  # fmt: skip


def format_cells(row: Row) -> list[str]:
    """Return a row as text. An invalid row has no figures, so that they cannot be quoted."""
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
        *(_format_cpu(rounds) for rounds in (row.mine, row.other)),
        row.verdict,
    ]


def _median(rounds: Sequence[Round], field: str) -> float:
    return statistics.median(getattr(one.result, field) for one in rounds)


def _format_cpu(rounds: Sequence[Round]) -> str:
    known = [one.cpu for one in rounds if one.cpu is not None]
    return f"{statistics.median(known):,.1f}" if known else "unknown"


def print_rows(rows: Sequence[Row], title: str) -> None:
    table = Table(*HEADINGS, title=title)
    for row in rows:
        table.add_row(*format_cells(row))
    console = Console()
    (console if console.is_terminal else Console(width=220)).print(table)


def write_docs(rows: Sequence[Row], caption: str, docs: Path, name: str = "performance") -> None:
    """Write the table between the markers of the page, and the plot beside it. The rest of the page does not change."""
    page = docs / f"{name}.md"
    before, begin, rest = page.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} has no {BEGIN} … {END}: the figures were not written")
    lines = ["", f"| {' | '.join(HEADINGS)} |", "|---|---|" + "---:|" * 9 + "---|"]
    lines += [f"| {' | '.join(format_cells(row))} |" for row in rows]
    lines += ["", f"![Requests per second, as ratios to their baselines]({name}.svg)", "", caption, ""]
    page.write_text(before + begin + "\n".join(lines) + end + after, "utf-8")
    write_plot([row for row in rows if row.is_valid], docs / f"{name}.svg")


def write_plot(rows: Sequence[Row], file: Path) -> None:
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "perdure", "font.family": "sans-serif"})
    figure, axes = pyplot.subplots(figsize=(8, 0.6 + 0.55 * max(len(rows), 1)))
    positions = range(len(rows))
    axes.barh(positions, [row.ratio for row in rows], height=0.55, color="#00897b")
    for position, row in zip(positions, rows, strict=True):
        axes.text(row.ratio, position, f" {row.ratio:.2f}", va="center")
        if row.required is not None:
            axes.plot([row.required] * 2, [position - 0.4, position + 0.4], color="#333333", linewidth=2)
    axes.set_yticks(positions, [f"{row.what}\n(1 = {row.yardstick})" for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, max([1.05, *(row.ratio * 1.1 for row in rows)]))
    axes.set_xlabel("requests per second, as a ratio to the baseline; the marks are the goals")
    axes.grid(axis="x", alpha=0.3)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
