"""Means and shares over the reports of a system, and which scores have them.

Invariants: a report without findings counts as failed and opens the bounds to the ends of the scale; a report whose
score is undefined is counted as such and is in no mean. An item that differs between tasks is never averaged over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from local_judge.scoring.algebra import share, spanning
from local_judge.scoring.coverage import failed, known_enough, mean_share
from local_judge.scoring.node import Score, ScoreNode, noted
from local_judge.stats.sums import sum_in_order

NO_REPORT = "no report has a value"


def mean_over_reports(
    parts: Sequence[Score], n_missing: int, least: float, most: float | None, *, partly: bool = False
) -> Score:
    """Return the mean of the reports' scores that have a value.

    Formula: sum of the values / number of them; bounds: the mean of all reports' bounds but the undefined ones'.

    Args:
        parts: the score of each report with findings; a score that is less than half known counts as failed.
        n_missing: number of reports without findings.
        least: the lower end of the scale, where such a report may lie.
        most: the upper end; None if the scale has none.
        partly: take each report that has a value, however little of it is known, as published code does.
    """
    if not partly:
        parts = [known_enough(part) for part in parts]
    values = [part.value for part in parts if part.value is not None]
    defined = [part for part in parts if part.value is not None or failed(part)]
    n_lost, n_undefined = len(defined) - len(values), len(parts) - len(defined)
    n = len(parts) + n_missing
    value = sum_in_order(values) / len(values) if values else None
    low, high = spanning(
        value,
        _mean([_end(part.low, part.value, least) for part in defined] + [least] * n_missing),
        _mean([_end(part.high, part.value, most) for part in defined] + [most] * n_missing),
    )
    return Score(
        value=value,
        numerator=sum_in_order(values) if values else None,
        denominator=float(len(values)) if values else None,
        n_expected=n,
        n_failed=n_lost + n_missing,
        n_undefined=n_undefined,
        known=mean_share(parts, n_missing),
        low=low,
        high=high,
        note=_note(n, n_undefined, n_lost, n_missing) if n else NO_REPORT,
    )


def share_of_reports(hits: Sequence[bool], n_missing: int) -> Score:
    """Return the share of the reports for which something is true, 0 to 100."""
    found = share(sum(hits), len(hits), n_missing, top=100.0)
    return noted(found, _note(len(hits) + n_missing, 0, 0, n_missing))


Path = tuple[str, ...]
"""Ids from a root to a score."""


class Meanings:
    """Record of what the scores of some reports mean: which paths stand for one thing in all tasks.

    A path varies if its labels differ between reports, if it is an item of the task (`ScoreNode.of_task`) that another
    task lacks, or if it is below such a path. Roots do not vary.
    """

    def __init__(self) -> None:
        self._labels: dict[Path, str] = {}
        self._varied: set[Path] = set()
        self._having: dict[Path, set[str]] = {}
        self._tasks: set[str] = set()

    def add(self, task: str, nodes: Iterable[tuple[Path, ScoreNode]]) -> None:
        """Add the scores of a report by path; of a report without a task, `task` is the report's id."""
        self._tasks.add(task)
        for path, node in nodes:
            if node.label != self._labels.setdefault(path, node.label) and len(path) > 1:
                self._varied.add(path)
            if node.of_task:
                self._having.setdefault(path, set()).add(task)

    def varies(self, path: Path) -> bool:
        """Check whether a path stands for different things."""
        above = (path[:n] for n in range(2, len(path) + 1))
        return any(
            one in self._varied or len(self._having.get(one, self._tasks)) < len(self._tasks) for one in above
        )


def _end(bound: float | None, value: float | None, end: float | None) -> float | None:
    """Return a bound of one report's score; without one its value, and without a value the end of the scale."""
    if bound is not None:
        return bound
    return end if value is None else value


def _mean(ends: Sequence[float | None]) -> float | None:
    known = [end for end in ends if end is not None]
    return sum_in_order(known) / len(known) if known and len(known) == len(ends) else None


def _note(n: int, n_undefined: int, n_lost: int, n_missing: int) -> str:
    counts = ((n_undefined, "undefined"), (n_lost, "failed"), (n_missing, "missing"))
    reasons = [f"{number} {what}" for number, what in counts if number]
    return f"of {n} reports {', '.join(reasons)}" if reasons else ""
