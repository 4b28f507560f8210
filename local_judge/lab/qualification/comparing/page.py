"""The page of a comparison, in Markdown.

Invariant: a pure function of the comparison; every difference stands with its interval, with how many items it rests on
and how many were left out of it; what was not tested, or cannot be, is said and is no "equal".
"""

from __future__ import annotations

from local_judge.lab.qualification.comparing.model import (
    Agreeing,
    Comparison,
    Difference,
    Ensemble,
    Expense,
    Gain,
    Stability,
    Worth,
)
from local_judge.lab.qualification.markdown import cell, render
from local_judge.lab.qualification.thresholds import number
from local_judge.stats.estimate import Estimate
from local_judge.stats.significance import LEAST_UNITS, LEVEL
from local_judge.terminal import NONE, count

RULES = {"probability": "mean of p", "log_odds": "mean of log-odds"}
VERDICTS = {
    "worth_it": "**worth it**",
    "not_shown": "not shown",
    "too_few": "too few pages",
    "none": NONE,
}


DIFFERENCE_HEADS = (
    "figure",
    "first",
    "second",
    "value of the first",
    "of the second",
    "difference",
    "p",
    "better",
    "items",
    "left out (first only/second only/neither)",
)


def comparison_page(found: Comparison, picture: str) -> str:
    """The whole page.

    Args:
        found: the comparison.
        picture: the line that shows quality against cost; '' where there is nothing to draw.
    """
    n_judges = len(found.judges)
    n_pairs = n_judges * (n_judges - 1) // 2
    parts = [row for row in found.differences if "=" in row.id]
    estimates = [one for row in found.agreeing for one in (row.tau, row.difference, row.bias, row.icc)]
    return render(
        "comparison",
        found=found,
        picture=picture,
        judges=[
            (cell(one.name), cell(one.model), cell(one.in_all), f"{one.n_unanswered} of {one.n_items}")
            for one in found.judges
        ],
        worth=map(_worth, found.worth),
        level=LEVEL,
        least_units=LEAST_UNITS,
        n_judges=n_judges,
        n_pairs=n_pairs,
        too_few_draws=2 * max(1, n_pairs) / (found.draws + 1) > LEVEL,
        difference_heads=DIFFERENCE_HEADS,
        differences=[_difference(row) for row in found.differences if "=" not in row.id],
        n_parts=len(parts),
        shown=[_difference(row) for row in parts if row.verdict in ("first", "second", "differs")],
        pooled=map(_pooled, found.ensembles),
        agreeing=map(_agreeing, found.agreeing),
        reasons=list(dict.fromkeys(one.reason for one in estimates if one.reason)),
        stability=map(_stability, found.stability),
        expenses=map(_expense, found.expenses),
    )


def _worth(one: Worth) -> tuple[str, ...]:
    return (
        f"`{one.figure}`",
        cell(one.judge),
        _with_interval(one.value, one.low, one.high),
        f"{one.n}" + (f" ({one.n_failed} failed)" if one.n_failed else ""),
        NONE if one.tokens is None else f"{one.tokens:,.0f}",
        NONE if one.seconds is None else f"{one.seconds:,.2f}",
        ", ".join(map(cell, one.dominated_by)) or "",
    )


def _difference(row: Difference) -> tuple[str, ...]:
    better = {
        "first": cell(row.first),
        "second": cell(row.second),
        "differs": "they differ",
        "not_shown": "not shown to differ",
        "too_few": f"no test ({count(row.n_units, 'unit')})",
        "none": cell(row.reason),
    }[row.verdict]
    left_out = row.n_only_first + row.n_only_second + row.n_neither
    return (
        f"`{row.id}`",
        cell(row.first),
        cell(row.second),
        _value(row.first_value),
        _value(row.second_value),
        _with_interval(row.value, row.low, row.high, sign=True),
        _value(row.p_holm),
        better,
        str(row.n),
        f"{left_out} ({row.n_only_first}/{row.n_only_second}/{row.n_neither})" if left_out else "",
    )


def _pooled(row: Ensemble) -> tuple[str, ...]:
    missing = ", ".join(f"{cell(name)} {n}" for name, n in row.n_missing.items() if n)
    return (
        " + ".join(map(cell, row.judges)),
        RULES[row.rule],
        VERDICTS[row.verdict] if not row.reason else cell(row.reason),
        *_gain(row.accuracy),
        _value(row.accuracy.p_holm if row.accuracy else None),
        *_gain(row.auc),
        _value(row.phi),
        str(row.all_wrong) if row.n else NONE,
        NONE if row.tokens is None else f"{row.tokens:,.0f}",
        NONE if row.seconds is None else f"{row.seconds:,.2f}",
        f"{row.n}" + (f" (without an answer: {missing})" if missing else ""),
    )


def _gain(gain: Gain | None) -> tuple[str, str, str]:
    if gain is None:
        return NONE, NONE, NONE
    return (
        number(gain.ensemble),
        number(gain.best),
        _with_interval(gain.value, gain.low, gain.high, sign=True),
    )


def _agreeing(row: Agreeing) -> tuple[str, ...]:
    return (
        f"{row.protocol}: {cell(row.score)}",
        cell(row.first),
        cell(row.second),
        _estimate(row.tau),
        _estimate(row.difference),
        _estimate(row.bias, sign=True),
        _estimate(row.icc),
        str(row.n),
        f"{row.n_only_first}/{row.n_only_second}" if row.n_only_first or row.n_only_second else "",
    )


def _stability(row: Stability) -> tuple[str, ...]:
    return (
        f"{row.protocol}: {cell(row.score)}",
        cell(row.judge),
        " > ".join(f"{cell(name)} {mean:.2f}" for name, mean in row.order) or cell(row.kept.reason),
        _estimate(row.kept),
        NONE
        if row.closest is None or row.closest_kept is None
        else f"{' > '.join(map(cell, row.closest))}: {_estimate(row.closest_kept)}",
        ", ".join(cell(name) for name, same in row.same_order.items() if same) or NONE,
        ", ".join(cell(name) for name, same in row.same_order.items() if not same) or NONE,
        str(row.n_tasks),
    )


def _expense(row: Expense) -> tuple[str, ...]:
    return (
        row.part + (f", {row.method}" if row.method else ""),
        cell(row.judge),
        f"{row.calls:,}",
        f"{row.computed_tokens:,}",
        f"{row.generated_tokens:,}",
        f"{row.seconds:,.0f}",
        str(row.n),
    )


def _value(value: float | None) -> str:
    return NONE if value is None else number(value)


def _estimate(one: Estimate, sign: bool = False) -> str:
    return _with_interval(one.value, one.low, one.high, sign=sign)


def _with_interval(value: float | None, low: float | None, high: float | None, sign: bool = False) -> str:
    """`+0.100 (+0.020 to +0.180)`."""
    if value is None:
        return NONE
    mark = "+" if sign else ""
    shown = f"{value:{mark}.3f}"
    return shown if low is None or high is None else f"{shown} ({low:{mark}.3f} to {high:{mark}.3f})"
