"""One score of one or several reports, and one measure, as every table prints them.

Invariant: the number of reports behind a value is counted, and a report that could not be evaluated counts as failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from local_judge.runs.storage.summaries import ReportCounts, Summing
from local_judge.scoring.node import Scale, Score, ScoreNode, evaluated
from local_judge.scoring.text import bounds, interval, known_percent, range_text, value
from local_judge.stats.estimate import LEVEL, Estimate
from local_judge.terminal import NONE, safe

NAMED = 5
"""Most reports that one line names; the others are counted."""
BY_RULE = "*"
"""Mark of a value that the protocol's own rule over reports gives."""
OF_PARTS = "†"
"""Mark of a value that is of a part of its parts, such as of five dimensions of seven."""
MEAN_INTERVAL = f"( ) {LEVEL} % bootstrap interval of the mean over reports"
SAMPLE_INTERVAL = f"( ) {LEVEL} % interval for all units, of which a random sample was examined"
RULE_NOTE = f"{BY_RULE} by the protocol's own rule over all reports, not the mean of their scores"


class Summary(NamedTuple):
    """One score of several reports."""

    score: Score
    by_rule: bool
    counts: ReportCounts

    def value(self) -> str:
        """Return the value with a mark if a rule gives it, else with the number of reports if it is not of all."""
        return marked_value(self.score, self.by_rule, self.counts.n_values, self.counts.n_reports)


def summary_of(scores: Iterable[Score], over: ScoreNode | None = None) -> Summary:
    """Return the summary of one score of each report; `over` is the protocol's own score over all of them."""
    found = Summing()
    for score in scores:
        found.add(score)
    score, by_rule = (found.score(), False) if over is None else (over.score, not over.mean)
    return Summary(score, by_rule, found.counts())


def unknown_on(scale: Scale | None = None) -> Score:
    """Return the score of a report that could not be evaluated: any value of the scale is possible."""
    low, high = (None, None) if scale is None else (scale.low, scale.high)
    return Score(value=None, n_expected=1, n_failed=1, low=low, high=high, note="not evaluated")


def marked_value(score: Score, by_rule: bool, n_values: int, n_reports: int) -> str:
    """Return the value with its marks, and with the number of reports if it is a mean over some of them."""
    shown = (
        value(score)
        + (BY_RULE if by_rule and score.value is not None else "")
        + (OF_PARTS if evaluated(score) else "")
    )
    return shown + (f" n={n_values}" if not by_rule and 0 < n_values < n_reports else "")


def mark_notes(values: Iterable[tuple[Score, bool]]) -> list[str]:
    """Return the notes that explain the marks of values.

    Args:
        values: scores, each with whether a rule over reports gives it.
    """
    every = list(values)
    parts = dict.fromkeys(filter(None, (evaluated(score) for score, _ in every)))
    rule = [RULE_NOTE] if any(by_rule and score.value is not None for score, by_rule in every) else []
    return [*rule, *(f"{OF_PARTS} {part}" for part in parts)]


def score_notes(
    cells: Iterable[tuple[str, Score, bool, tuple[float, float] | None]],
) -> list[str]:
    """Return the notes below a table of scores: on marks and brackets, and why scores have no value.

    Args:
        cells: for each score its name, the score, whether a rule over reports gives it, and the interval of a mean.
    """
    every = list(cells)
    found = mark_notes((score, by_rule) for _, score, by_rule, _ in every)
    found += [MEAN_INTERVAL] if any(ends and range_text(*ends) for *_, ends in every) else []
    found += [SAMPLE_INTERVAL] if any(not ends and interval(score) for _, score, _, ends in every) else []
    reasons: dict[str, dict[str, None]] = {}
    for name, score, *_ in every:
        if score.value is None:
            reasons.setdefault(score.note or "not scored", {})[name] = None
    return found + [f"{NONE} {listed(list(names))}: {safe(why)}" for why, names in reasons.items()]


def score_lines(found: Summary, ends: tuple[float, float] | None, *, with_bounds: bool) -> list[str]:
    """Return the lines of a cell: the value, its interval, its bounds if asked for, and the share that is known.

    Args:
        found: the score.
        ends: interval of the mean; None if there is none.
        with_bounds: whether to add the lowest and highest value that failures leave possible.
    """
    whole = range_text(*ends) if ends else interval(found.score)
    lines = [found.value(), *([f"({whole})"] if whole else [])]
    if with_bounds and (bounds(found.score) or found.score.n_failed):
        lines.append(f"bounds {bounds(found.score) or 'unknown'}")
    known = known_percent(found.score)
    return [*lines, *([f"{known} known"] if known else [])]


def estimate_text(
    found: Estimate, digits: int = 3, sign: str = "", beside: str = "", *, below: bool = False
) -> str:
    """Return a measure with its interval.

    Args:
        found: the measure; a dash if it has no value.
        digits: decimal places of the value; the interval has two.
        sign: `+` to print the sign of positive numbers.
        beside: text after the value.
        below: whether the interval is a second, dim line instead of standing in brackets.
    """
    if found.value is None:
        return NONE
    shown = f"{found.value:{sign}.{digits}f} {beside}".strip()
    if found.low is None or found.high is None:
        return shown
    ends = f"{found.low:{sign}.2f} to {found.high:{sign}.2f}"
    return f"{shown}\n[dim]{ends}[/dim]" if below else f"{shown} ({ends})"


def unknown_lines(measures: Iterable[tuple[str, Estimate]]) -> Iterator[str]:
    """Yield the names of measures without a value, one line for each reason."""
    without: dict[str, list[str]] = {}
    for name, found in measures:
        if found.value is None:
            without.setdefault(found.reason, []).append(name)
    for reason, names in without.items():
        yield safe(f"{'; '.join(names)}: {reason}")


def listed(names: Sequence[str]) -> str:
    """Return the first names of a list, safe to print."""
    return ", ".join(safe(name, 60) for name in names[:NAMED]) + (", …" if len(names) > NAMED else "")
