"""One score of several reports, as every table shows it.

    value    by the protocol's rule over the reports where it has one, else the mean of the values that there are

Invariant: how many reports a value is of, and how many failed or have none, stands beside it; a report that could not
be evaluated is unknown, never left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.table import Table

from local_judge.runs.records import ScoreRecord
from local_judge.scoring.algebra import mean_of
from local_judge.scoring.coverage import failed, in_part
from local_judge.scoring.node import Scale, Score
from local_judge.scoring.text import bounds, interval, value
from local_judge.terminal import safe

BY_RULE = "*"
RULE_NOTE = f"{BY_RULE} over all reports by the protocol's own rule, not a mean of scores"

MANY_COLUMNS = 4
"""From more scores than this on, what failures leave open stands below a value and not beside it."""


class ReportCounts(NamedTuple):
    """How many reports a value is of."""

    n_reports: int
    n_values: int
    """Reports that have a value."""
    n_failed: int
    """Reports without a value through failures of ours, those that were not read or not scored among them."""
    n_in_part: int
    """Reports whose value rests on a part of the answers."""
    n_undefined: int
    """Reports that have no value by the formula itself, or for which the score was not asked."""


class Summary(NamedTuple):
    """One score of several reports."""

    score: Score
    by_rule: bool
    counts: ReportCounts

    def text(self) -> str:
        """The value; with a mark where a rule gives it, else with the number of reports it is of, if not all."""
        return marked_value(self.score, self.by_rule, self.counts.n_values, self.counts.n_reports)


def summary_of(scores: Sequence[Score], by_rule: Score | None = None) -> Summary:
    """The summary of each report's score, and of what the protocol's rule over reports gives."""
    n_values = sum(score.value is not None for score in scores)
    n_failed = sum(failed(score) for score in scores)
    counts = ReportCounts(
        n_reports=len(scores),
        n_values=n_values,
        n_failed=n_failed,
        n_in_part=sum(in_part(score) for score in scores),
        n_undefined=len(scores) - n_values - n_failed,
    )
    return Summary(mean_of(scores) if by_rule is None else by_rule, by_rule is not None, counts)


def unknown_on(scale: Scale | None = None) -> Score:
    """The score of a report that could not be evaluated: anything on its scale."""
    low, high = (None, None) if scale is None else (scale.low, scale.high)
    return Score(value=None, n_expected=1, n_failed=1, low=low, high=high)


def roots_of(rows: Sequence[ScoreRecord]) -> dict[str, str]:
    """The labels of all roots of some reports, by id."""
    return {root.id: root.label for row in rows for root in row.scores}


def root_score(row: ScoreRecord, root: str) -> Score:
    """The score of one root; undefined where a report has none, as of a protocol that extracts for itself."""
    return next((one.score for one in row.scores if one.id == root), Score(value=None, n_undefined=1))


def root_summaries(
    rows: Sequence[ScoreRecord],
    roots: Mapping[str, str],
    n_reports: int,
    by_rule: Mapping[tuple[str, ...], Score],
) -> list[Summary]:
    """The summary of each root.

    Args:
        rows: the scores of the reports that have any.
        roots: by id.
        n_reports: of how many reports.
        by_rule: what the protocol's rule gives over them, by path.
    """
    missing = [unknown_on()] * (n_reports - len(rows))
    return [
        summary_of([*(root_score(row, root) for row in rows), *missing], by_rule.get((root,)))
        for root in roots
    ]


def add_root_columns(table: Table, roots: Mapping[str, str]) -> None:
    """A column for each root."""
    for label in roots.values():
        table.add_column(safe(label), justify="right", min_width=5, overflow="fold")


def marked_value(score: Score, by_rule: bool, n_values: int, n_reports: int) -> str:
    """The value; with a mark where a rule gives it, else with the number of reports it is of, if not all."""
    if by_rule:
        return value(score) + BY_RULE
    return value(score) + (f" (of {n_values})" if 0 < n_values < n_reports else "")


def with_bounds(score: Score, below: bool, shown: str | None = None) -> str:
    """A value, or what is `shown` for it, beside what failures leave open: it may rest on one metric of five.

    Of a value that rests on a sample, the interval for the whole stands there too.
    """
    whole = interval(score)
    said = "; ".join(part for part in (bounds(score), f"95 %: {whole}" if whole else "") if part)
    return (shown or value(score)) + (f"{chr(10) if below else ' '}({said})" if said else "")
