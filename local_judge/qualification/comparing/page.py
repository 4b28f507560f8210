"""The page of a comparison, in Markdown.

Invariant: a pure function of the comparison; every difference stands with its interval, with how many items it rests on
and how many were left out of it; what was not tested, or cannot be, is said and is no "equal".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from local_judge.qualification.comparing.model import (
    Agreeing,
    Comparison,
    Difference,
    Gain,
    Stability,
    Together,
)
from local_judge.qualification.page import cell, number, table
from local_judge.reporting.numbers import NONE, count
from local_judge.stats.estimate import Estimate
from local_judge.stats.significance import LEAST_UNITS, LEVEL

RULES = {"probability": "mean of p", "log_odds": "mean of log-odds"}
VERDICTS = {
    "worth_it": "**worth it**",
    "not_shown": "not shown",
    "too_few": "too few pages",
    "none": NONE,
}


def comparison_page(found: Comparison, picture: str) -> str:
    """The whole page.

    Args:
        found: the comparison.
        picture: the line that shows quality against cost; '' where there is nothing to draw.
    """
    sections = [_head(found), _worth(found, picture), _differences(found), _together(found)]
    sections += [_agreeing(found.agreeing), _stability(found.stability), _expenses(found)]
    return "\n".join(line for section in sections for line in (*section, ""))


def _head(found: Comparison) -> Iterator[str]:
    yield f"# Judges compared: {', '.join(cell(one.name) for one in found.judges)}"
    yield ""
    yield (
        f"All were asked the same (snapshot {found.snapshot[:12]}, {count(len(found.reports), 'report')}). Differences "
        f"are of what both judges of a pair answered; in brackets 95 % of a bootstrap over pages and reports, "
        f"{found.draws:,} draws, the same for both, seed {found.seed}."
    )
    yield ""
    rows = [
        (cell(one.name), cell(one.model), cell(one.in_all), f"{one.n_unanswered} of {one.n_items}")
        for one in found.judges
    ]
    yield from table(("judge", "model", "by its own page", "without an answer"), rows, left=3)


def _worth(found: Comparison, picture: str) -> Iterator[str]:
    yield "## Quality beside cost"
    yield ""
    rows = [
        (
            f"`{one.figure}`",
            cell(one.judge),
            _with_interval(one.value, one.low, one.high),
            f"{one.n}" + (f" ({one.n_failed} failed)" if one.n_failed else ""),
            NONE if one.tokens is None else f"{one.tokens:,.0f}",
            NONE if one.seconds is None else f"{one.seconds:,.2f}",
            ", ".join(map(cell, one.dominated_by)) or "",
        )
        for one in found.worth
    ]
    heads = ("figure", "judge", "quality", "of", "tokens a claim", "seconds a claim", "dominated by")
    yield from _table_or(heads, rows, "No judge has a figure of quality.", left=2)
    if picture:
        yield ""
        yield picture
    yield ""
    yield (
        "Tokens: computed and generated. A judge is dominated by one that is as good at least on what both answered, "
        "takes no more tokens and no more seconds, and is better or cheaper in one of these. Tokens of models of "
        "different sizes are not worth the same, and seconds are of the machine that each ran on."
    )


def _differences(found: Comparison) -> Iterator[str]:
    yield "## Differences"
    yield ""
    n_judges = len(found.judges)
    holm = (
        f" With {n_judges} judges p is corrected for the {n_judges * (n_judges - 1) // 2} pairs of a figure (Holm)."
        if n_judges > 2
        else ""
    )
    yield (
        f"A difference is shown where p is at most {LEVEL:g}.{holm} Nothing is corrected for the number of figures: of "
        "a hundred figures of equal judges some five would differ. Fewer than "
        f"{LEAST_UNITS} pages or reports are too few for a test."
    )
    least = 2 * max(1, n_judges * (n_judges - 1) // 2) / (found.draws + 1)
    if least > LEVEL:
        yield ""
        yield f"With {found.draws} draws no p can come under {LEVEL:g} here: take more (`draws`)."
    whole = [row for row in found.differences if "=" not in row.id]
    yield ""
    yield from _table_or(_HEADS, map(_difference, whole), "No figure that two judges have.", left=3)
    parts = [row for row in found.differences if "=" in row.id]
    shown = [row for row in parts if row.verdict in ("first", "second", "differs")]
    if parts:
        yield ""
        yield (
            f"By kind, language and the like: {len(shown)} of {count(len(parts), 'difference')} shown; the others are "
            "in `comparison.json`."
        )
    if shown:
        yield ""
        yield from table(_HEADS, map(_difference, shown), left=3)


_HEADS = (
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


def _together(found: Comparison) -> Iterator[str]:
    yield "## Together"
    yield ""
    yield (
        "The mean of calibrated probabilities, as `run` takes it of several judges with `scored`, and the mean of "
        "log-odds, on the planted claims that all answered. Gain: over the better one alone, in each draw the one that "
        "is better there. Worth it: the interval of the gain in accuracy lies above 0, and after Holm's correction "
        "over the groups its p is at most 0.05."
    )
    yield ""
    heads = (
        "judges",
        "rule",
        "verdict",
        "accuracy",
        "best alone",
        "gain",
        "p",
        "AUC",
        "best alone",
        "gain",
        "phi of errors",
        "all wrong",
        "tokens a claim",
        "seconds a claim",
        "of",
    )
    yield from _table_or(heads, map(_pooled, found.together), "No calibrated claims of two judges.", left=3)


def _pooled(row: Together) -> tuple[str, ...]:
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
        number(gain.together),
        number(gain.best),
        _with_interval(gain.value, gain.low, gain.high, sign=True),
    )


def _agreeing(rows: Sequence[Agreeing]) -> Iterator[str]:
    yield "## Agreement on reports"
    yield ""
    table_rows = [
        (
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
        for row in rows
    ]
    heads = (
        "score",
        "first",
        "second",
        "tau-b",
        "apart",
        "first less second",
        "ICC(2,1)",
        "reports",
        "one only",
    )
    yield from _table_or(heads, table_rows, "No report was scored by two of the judges.", left=3)
    for reason in dict.fromkeys(
        one.reason for row in rows for one in (row.tau, row.difference, row.bias, row.icc) if one.reason
    ):
        yield ""
        yield f"A dash: {cell(reason)}."


def _stability(rows: Sequence[Stability]) -> Iterator[str]:
    yield "## The order of systems"
    yield ""
    table_rows = [
        (
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
        for row in rows
    ]
    heads = ("score", "judge", "order", "draws that keep it", "closest two", "same", "another", "tasks")
    yield from _table_or(heads, table_rows, "No reports of two named systems were scored.", left=3)


def _expenses(found: Comparison) -> Iterator[str]:
    yield "## Cost"
    yield ""
    rows = [
        (
            row.part + (f", {row.method}" if row.method else ""),
            cell(row.judge),
            f"{row.calls:,}",
            f"{row.computed_tokens:,}",
            f"{row.generated_tokens:,}",
            f"{row.seconds:,.0f}",
            str(row.n),
        )
        for row in found.expenses
    ]
    heads = ("part", "judge", "calls", "computed and generated tokens", "generated", "seconds", "items")
    yield from table(heads, rows, left=2)


def _table_or(heads: Sequence[str], rows: Iterable[Sequence[str]], nothing: str, left: int) -> Iterator[str]:
    made = list(rows)
    if made:
        yield from table(heads, made, left=left)
    else:
        yield nothing


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
