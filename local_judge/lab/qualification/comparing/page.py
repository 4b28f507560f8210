"""The page of a comparison in Markdown.

Invariant: a pure function of the comparison. Every difference has its interval, the number of its items, and the number
of items that were left out. A pair that was not or cannot be tested is marked so, and never called equal.
"""

from __future__ import annotations

from typing import Final

from local_judge.base.output import NONE, count
from local_judge.lab.qualification.comparing.model import (
    Agreeing,
    Comparison,
    Ensemble,
    Expense,
    Gain,
    JudgeDifference,
    QualityCost,
    Stability,
)
from local_judge.lab.qualification.page import Row, cell, render
from local_judge.lab.qualification.thresholds import number
from local_judge.lab.tables import figure
from local_judge.stats.comparison import Difference
from local_judge.stats.estimate import LEAST_UNITS, SIGNIFICANT, Estimate

RULES: Final = {"probability": "mean of p", "log_odds": "mean of log-odds"}
VERDICTS: Final = {
    "better": "**better**",
    "not_shown": "not shown",
    "not_tested": "not tested",
    "none": NONE,
}
DIFFERENCE_HEADS: Final = (
    "figure",
    "first",
    "second",
    "value of the first",
    "of the second",
    "second less first",
    "p",
    "better",
    "items",
    "left out (first only/second only/neither)",
)


def comparison_page(found: Comparison) -> str:
    """Return the whole page."""
    n_judges = len(found.judges)
    n_pairs = n_judges * (n_judges - 1) // 2
    parts = [row for row in found.differences if "=" in row.id]
    estimates = [one for row in found.agreeing for one in (row.tau, row.difference, row.bias, row.icc)]
    return render(
        "comparison",
        found=found,
        judges=[
            (cell(one.name), cell(one.model), cell(one.in_all), f"{one.n_unanswered} of {one.n_items}")
            for one in found.judges
        ],
        quality=map(_quality, found.quality_costs),
        level=SIGNIFICANT,
        least_units=LEAST_UNITS,
        n_judges=n_judges,
        n_pairs=n_pairs,
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


def _quality(one: QualityCost) -> Row:
    return (
        f"`{one.figure}`",
        cell(one.judge),
        _interval(one),
        f"{one.n}" + (f" ({one.n_failed} failed)" if one.n_failed else ""),
        *_cost(one),
        ", ".join(map(cell, one.dominated_by)),
    )


def _cost(one: QualityCost | Ensemble) -> tuple[str, str]:
    return (
        figure(one.tokens, ",.0f"),
        figure(one.seconds, ",.2f"),
    )


def _difference(row: JudgeDifference) -> Row:
    found, (first, second) = row.difference, map(cell, row.judges)
    better = {
        "first": first,
        "second": second,
        "differs": "they differ",
        "not_shown": "not shown to differ",
        "not_tested": f"not tested ({_why_not_tested(found.n_units)})",
        "none": cell(row.reason),
    }[row.verdict]
    left_out = found.n_first + found.n_second + row.n_neither
    return (
        f"`{row.id}`",
        first,
        second,
        figure(found.first),
        figure(found.second),
        _interval(found, "+"),
        figure(found.p_holm),
        better,
        str(found.n),
        f"{left_out} ({found.n_first}/{found.n_second}/{row.n_neither})" if left_out else "",
    )


def _why_not_tested(n_units: int) -> str:
    return count(n_units, "unit") if n_units < LEAST_UNITS else "not defined without one of the units"


def _pooled(row: Ensemble) -> Row:
    missing = ", ".join(f"{cell(name)} {n}" for name, n in row.n_missing.items() if n)
    return (
        " + ".join(map(cell, row.judges)),
        RULES[row.rule],
        VERDICTS[row.verdict] if not row.reason else cell(row.reason),
        *_gain(row.accuracy),
        figure(row.accuracy.p_holm if row.accuracy else None),
        *_gain(row.auc),
        figure(row.phi),
        str(row.all_wrong) if row.n else NONE,
        *_cost(row),
        f"{row.n}" + (f" (without an answer: {missing})" if missing else ""),
    )


def _gain(gain: Gain | None) -> Row:
    if gain is None:
        return NONE, NONE, NONE
    return number(gain.ensemble), number(gain.best), _interval(gain, "+")


def _agreeing(row: Agreeing) -> Row:
    return (
        f"{row.protocol}: {cell(row.score)}",
        cell(row.first),
        cell(row.second),
        _interval(row.tau),
        _interval(row.difference),
        _interval(row.bias, "+"),
        _interval(row.icc),
        str(row.n),
        f"{row.n_only_first}/{row.n_only_second}" if row.n_only_first or row.n_only_second else "",
    )


def _stability(row: Stability) -> Row:
    closest = NONE
    if row.closest is not None and row.closest_kept is not None:
        closest = f"{' > '.join(map(cell, row.closest))}: {_interval(row.closest_kept)}"
    same, other = (
        ", ".join(cell(name) for name, alike in row.same_order.items() if alike == wanted) or NONE
        for wanted in (True, False)
    )
    order = " > ".join(f"{cell(name)} {mean:.2f}" for name, mean in row.order) or cell(row.kept.reason)
    return (
        f"{row.protocol}: {cell(row.score)}",
        cell(row.judge),
        order,
        _interval(row.kept),
        closest,
        same,
        other,
        str(row.n_tasks),
    )


def _expense(row: Expense) -> Row:
    return (
        row.part + (f", {row.method}" if row.method else ""),
        cell(row.judge),
        *(f"{n:,}" for n in (row.calls, row.computed_tokens, row.generated_tokens)),
        f"{row.seconds:,.0f}",
        str(row.n),
    )


def _interval(one: Difference | Estimate | Gain | QualityCost, mark: str = "") -> str:
    """Format a value with its interval: `+0.100 (+0.020 to +0.180)`."""
    if one.value is None:
        return NONE
    shown = f"{one.value:{mark}.3f}"
    if one.low is None or one.high is None:
        return shown
    return f"{shown} ({one.low:{mark}.3f} to {one.high:{mark}.3f})"
