"""Comparisons of runs and of systems as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table as Blocks

from local_judge.base.output import NONE, Table, count, shorten
from local_judge.runs.results.comparison import Changes, Flip, RunDifference, ScoreDifference
from local_judge.stats.comparison import Difference
from local_judge.stats.estimate import LEAST_UNITS, LEVEL
from local_judge.terminal import safe

DIFFERENCE = ("difference", "tasks", "p")
"""Columns of a difference."""

TESTED = (
    f"( ) {LEVEL} % paired bootstrap interval over tasks; p: sign flips of tasks, for {LEAST_UNITS} tasks or more, "
    "corrected (Holm) over all pairs and overall scores, shown or not; other scores likewise"
)


def difference_parts(found: RunDifference, limit: int) -> Iterator[RenderableType | Table]:
    """Yield the tables and lines of a comparison; `limit`: maximum number of verdicts and of answers."""
    first, second = safe(found.first), safe(found.second)
    yield f"{second} compared with {first}: {count(found.n_reports, 'report')} matched by {found.matched_by}"
    if found.n_first or found.n_second:
        yield f"without a match: {found.n_first} of {first}, {found.n_second} of {second}"
    yield "what differs: " + (", ".join(map(safe, found.inputs)) or "nothing in the inputs")
    noise = ("noise",) if found.again is not None else ()
    table = Table("", ("score",), (found.first, found.second, *DIFFERENCE, *noise))
    for row in found.scores:
        values = [
            NONE if value is None else f"{value:.2f}"
            for value in (row.difference.first, row.difference.second)
        ]
        cells = (_score(row), *values, *_difference(row.difference))
        table.add_row(*cells, *((_noise(row),) if noise else ()))
    yield table
    yield f"{TESTED}; {found.resamples:,} draws, seed {found.seed}"
    yield "means are over the matched reports, also of scores that `show` computes by a protocol's own rule"
    if found.again is None:
        yield (
            "the judge's own noise is unknown: repeat the first run with another sampling seed in its preset and "
            "name it with --again"
        )
    for what, changes in (("verdicts", found.verdicts), ("answers", found.items)):
        if changes is None:
            yield f"{what}: not compared, because a run has several judges; choose one with --judge"
        else:
            yield _counted(what, changes)
    yield from _flips("verdicts", found.flips, limit)
    yield from _flips("answers", found.item_changes, limit)


def system_difference_parts(found: Sequence[ScoreDifference]) -> Iterator[RenderableType | Table]:
    """Yield a table of the differences between systems, and a note."""
    if not found:
        yield "no two systems have scores on the same task"
        return
    table = Table("differences of systems", ("score", "systems"), DIFFERENCE)
    for row in found:
        systems = f"{shorten(row.second, 30)} - {shorten(row.first, 30)}"
        table.add_row(_score(row), systems, *_difference(row.difference))
    yield table
    yield TESTED


def difference_text(found: Difference) -> str:
    """Return a difference with its interval: `+0.25 (-0.10 to +0.60)`."""
    if found.value is None:
        return NONE
    if found.low is None or found.high is None:
        return f"{found.value:+.2f}"
    return f"{found.value:+.2f} ({found.low:+.2f} to {found.high:+.2f})"


def _score(row: ScoreDifference) -> str:
    return f"{row.protocol}: {row.label}"


def _difference(found: Difference) -> tuple[str, str, str]:
    """Return the cells under `DIFFERENCE`; no p-value if there are too few tasks for one."""
    return difference_text(found), str(found.n_units), NONE if found.p_holm is None else f"{found.p_holm:.3f}"


def _noise(row: ScoreDifference) -> str:
    if row.noise is None or row.within_noise is None:
        return NONE
    return f"{difference_text(row.noise)} {'within' if row.within_noise else 'beyond'}"


def _counted(what: str, changes: Changes) -> str:
    line = f"{what}: {changes.n_changed:,} of {changes.n:,} changed"
    if changes.n_changed_by_noise is not None:
        line += f", {changes.n_changed_by_noise:,} in the repetition"
    if changes.n_first or changes.n_second:
        line += f"; {changes.n_first:,} and {changes.n_second:,} are in one run only"
    return line


def _flips(what: str, flips: Sequence[Flip], limit: int) -> Iterator[RenderableType | Table]:
    if not flips:
        return
    table = Blocks.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for flip in flips[:limit]:
        table.add_row()
        table.add_row(
            f"{flip.protocol}: {flip.metric}" if flip.protocol else "claim", safe(flip.text or flip.item)
        )
        table.add_row("report", safe(flip.report))
        if flip.source:
            table.add_row("source", safe(flip.source))
        before, after = (
            _answer(flip.first, flip.first_confidence),
            _answer(flip.second, flip.second_confidence),
        )
        unstable = " (also changed in the repetition)" if flip.unstable else ""
        table.add_row("answer" if flip.protocol else "verdict", f"{before} → {after}{unstable}")
    yield table
    if len(flips) > limit:
        yield f"{len(flips) - limit:,} more changed {what}: --shown {len(flips)} or --json lists them"


def _answer(value: str | float | None, confidence: float | None) -> str:
    text = "failed" if value is None else safe(f"{value:g}" if isinstance(value, float) else str(value), 40)
    return text if confidence is None else f"{text} {confidence:.2f}"
