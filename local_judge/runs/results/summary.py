"""One score of one or several reports, with the columns that every table, page and export has.

Invariant: the number of reports behind a value is counted, and a report that could not be evaluated counts as failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from local_judge.base.model import Frozen
from local_judge.runs.storage.summaries import ReportCounts, Summing, SystemScore
from local_judge.scoring.coverage import known_share
from local_judge.scoring.node import Scale, Score, ScoreNode


class Number(Frozen):
    """One number with what it rests on."""

    value: float | None
    low: float | None = None
    high: float | None = None
    """Lowest and highest value that failures leave possible."""
    interval_low: float | None = None
    interval_high: float | None = None
    """95 % interval: by a bootstrap of a mean over reports, or of a score of which a random sample was examined."""
    known: float | None = None
    """Share from 0 to 1 of what the value rests on that is known; None where nothing of it could fail."""
    note: str = ""
    """Reason for a value that is null, or another remark."""


class Summary(Number):
    """One score of one or several reports."""

    by_rule: bool = False
    """True if the protocol's own rule over reports gives the value; else it is a mean over the reports."""
    n_reports: int = 0
    n_values: int = 0
    """Reports with a value."""
    n_failed: int = 0
    """Reports without a value because of failures."""
    n_in_part: int = 0
    """Reports whose value rests on a part of the answers."""
    n_undefined: int = 0
    """Reports without a value by the formula, or for which the score was not asked."""

    @classmethod
    def of(
        cls,
        score: Score,
        counts: ReportCounts,
        *,
        by_rule: bool = False,
        interval: tuple[float, float] | None = None,
        **more: Any,
    ) -> Self:
        """Return the summary that has this score.

        Args:
            score: the score over the reports.
            counts: numbers of reports.
            by_rule: whether the protocol's own rule over reports gives the score.
            interval: interval of a mean; None for that of the score.
            more: further fields of a subclass.
        """
        columns = number_of(score)
        if interval is not None:
            columns |= {"interval_low": interval[0], "interval_high": interval[1]}
        return cls(**columns, by_rule=by_rule, **counts._asdict(), **more)

    @classmethod
    def over(cls, scores: Iterable[Score], rule: ScoreNode | None = None, **more: Any) -> Self:
        """Return the summary of one score of each report; `rule` is the protocol's own score over all of them."""
        found = Summing()
        for score in scores:
            found.add(score)
        score, by_rule = (found.score(), False) if rule is None else (rule.score, not rule.mean)
        interval = found.interval() if not by_rule and score.value is not None else None
        return cls.of(score, found.counts(), by_rule=by_rule, interval=interval, **more)

    @classmethod
    def of_system(cls, row: SystemScore) -> Self:
        """Return the summary of a system's score."""
        return cls.of(row.score, row.counts, by_rule=row.by_rule, interval=row.interval)

    @property
    def number(self) -> dict[str, Any]:
        """The columns of the number, without the counts of reports."""
        return {name: getattr(self, name) for name in Number.model_fields}

    @property
    def score(self) -> Score:
        """The number without the counts of reports."""
        return Score(**self.number)

    @property
    def sampled(self) -> bool:
        """True if an interval is of a score of which a random sample was examined, not of a mean over reports."""
        return self.by_rule or self.n_values < 2


def number_of(score: Score) -> dict[str, Any]:
    """Return the columns of a number from a score; where all is known, its bounds are the value."""
    columns, known = {name: getattr(score, name) for name in Number.model_fields}, known_share(score)
    if score.low is None and score.high is None and known in (None, 1.0):
        columns |= {"low": score.value, "high": score.value}
    return columns | {"known": known}


def unknown_on(scale: Scale | None = None) -> Score:
    """Return the score of a report that could not be evaluated: any value of the scale is possible."""
    low, high = (None, None) if scale is None else (scale.low, scale.high)
    return Score(value=None, n_expected=1, n_failed=1, low=low, high=high, note="not evaluated")
