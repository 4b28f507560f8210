"""Text of one score of one or several reports, and of one measure, as every table prints them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from local_judge.base.output import NONE, shorten
from local_judge.runs.results.summary import Summary
from local_judge.scoring.node import evaluated
from local_judge.scoring.text import bounds, interval, known_percent, range_text, value
from local_judge.stats.estimate import LEVEL, Estimate
from local_judge.terminal import safe

NAMED = 5
"""Most reports that one line names; the others are counted."""
BY_RULE = "*"
"""Mark of a value that the protocol's own rule over reports gives."""
OF_PARTS = "†"
"""Mark of a value that is of a part of its parts, such as of five dimensions of seven."""
MEAN_INTERVAL = f"( ) {LEVEL} % bootstrap interval of the mean over reports"
SAMPLE_INTERVAL = f"( ) {LEVEL} % interval for all units, of which a random sample was examined"
RULE_NOTE = f"{BY_RULE} by the protocol's own rule over all reports, not the mean of their scores"


def marked_value(found: Summary) -> str:
    """Return the value with its marks, and with the number of reports if it is a mean over some of them."""
    score, mean_of_some = found.score, not found.by_rule and 0 < found.n_values < found.n_reports
    return (
        value(score)
        + (BY_RULE if found.by_rule and found.value is not None else "")
        + (OF_PARTS if evaluated(score) else "")
        + (f" n={found.n_values}" if mean_of_some else "")
    )


def interval_text(found: Summary) -> str:
    """Return `low to high` of the interval; nothing without one, or if both ends of that of a mean are equal."""
    if found.interval_low is None or found.interval_high is None:
        return ""
    return interval(found.score) if found.sampled else range_text(found.interval_low, found.interval_high)


def score_lines(found: Summary | None, *, with_bounds: bool = False) -> list[str]:
    """Return the lines of a cell: the value, its interval, its bounds if asked for, and the share that is known.

    Args:
        found: the score; None if there is none.
        with_bounds: whether to add the lowest and highest value that failures leave possible.
    """
    if found is None:
        return [NONE]
    score, ends = found.score, interval_text(found)
    lines = [marked_value(found), *([f"({ends})"] if ends else [])]
    known = known_percent(score)
    if with_bounds and (bounds(score) or known):
        lines.append(f"bounds {bounds(score) or 'unknown'}")
    return [*lines, *([f"{known} known"] if known else [])]


def score_notes(cells: Iterable[tuple[str, Summary]]) -> list[str]:
    """Return the notes below a table of scores: on marks and brackets, and why scores have no value.

    Args:
        cells: scores by name.
    """
    every = list(cells)
    notes = [RULE_NOTE] if any(found.by_rule and found.value is not None for _, found in every) else []
    parts = dict.fromkeys(filter(None, (evaluated(found.score) for _, found in every)))
    notes += [f"{OF_PARTS} {part}" for part in parts]
    with_interval = [found for _, found in every if interval_text(found)]
    notes += [MEAN_INTERVAL] if not all(found.sampled for found in with_interval) else []
    notes += [SAMPLE_INTERVAL] if any(found.sampled for found in with_interval) else []
    reasons: dict[str, dict[str, None]] = {}
    for name, found in every:
        if found.value is None:
            reasons.setdefault(found.note or "not scored", {})[name] = None
    return notes + [f"{NONE} {listed(list(names))}: {why}" for why, names in reasons.items()]


def estimate_text(
    found: Estimate, digits: int = 3, sign: str = "", beside: str = "", *, below: bool = False
) -> str:
    """Return a measure with its interval.

    Args:
        found: the measure; a dash if it has no value.
        digits: decimal places of the value; the interval has two.
        sign: `+` to print the sign of positive numbers.
        beside: text after the value.
        below: whether the interval is a second line instead of standing in brackets.
    """
    if found.value is None:
        return NONE
    shown = f"{found.value:{sign}.{digits}f} {beside}".strip()
    if found.low is None or found.high is None:
        return shown
    ends = f"{found.low:{sign}.2f} to {found.high:{sign}.2f}"
    return f"{shown}\n{ends}" if below else f"{shown} ({ends})"


def unknown_lines(measures: Iterable[tuple[str, Estimate]]) -> Iterator[str]:
    """Yield the names of measures without a value, one line for each reason."""
    without: dict[str, list[str]] = {}
    for name, found in measures:
        if found.value is None:
            without.setdefault(found.reason, []).append(name)
    for reason, names in without.items():
        yield safe(f"{'; '.join(names)}: {reason}")


def listed(names: Sequence[str]) -> str:
    """Return the first names of a list."""
    return ", ".join(shorten(name, 60) for name in names[:NAMED]) + (", …" if len(names) > NAMED else "")
