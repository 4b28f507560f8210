"""Terminal tables of a calibration: figures before and after, and the reliability diagram.

Invariant: every figure has its interval if there is one, and every mean has its number of claims and of failures. All
figures after calibration are out of fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rich.table import Table

from local_judge.base.output import NONE, count
from local_judge.claims.yes_no import QUESTIONS
from local_judge.lab.calibrate import CalibrationReport, LanguageReport
from local_judge.lab.tables import measures_table
from local_judge.ledger.calibrations import POOLED, Calibration
from local_judge.reporting.summary import estimate_text
from local_judge.stats.calibration.assess import Assessment
from local_judge.stats.calibration.measures import Bin
from local_judge.terminal import plain_table, safe

WIDTH = 30
"""Width of a bar from 0 to 1, in characters."""


def _threshold(found: Assessment) -> str:
    if found.threshold_low == found.threshold_high:
        return f"{found.threshold:.3f}"
    return f"{found.threshold_low:.3f} to {found.threshold_high:.3f}"


MEASURES: Final[Sequence[tuple[str, Callable[[Assessment], str]]]] = (
    ("AUC", lambda found: estimate_text(found.auc)),
    ("threshold", _threshold),
    ("accuracy", lambda found: estimate_text(found.accuracy)),
    ("false claims caught", lambda found: estimate_text(found.caught)),
    ("true claims called wrong", lambda found: estimate_text(found.called_wrong)),
    ("ECE, bins of equal width", lambda found: estimate_text(found.ece)),
    ("ECE, bins of equal mass", lambda found: estimate_text(found.ece_mass)),
    ("Brier score", lambda found: estimate_text(found.brier)),
)


def calibration_tables(report: CalibrationReport) -> Iterator[Table]:
    """Yield figures before and after: all claims, those of each origin, and each language if there are several."""
    several = len(report.reports) > 2
    pooled, *languages = report.reports
    for one in (pooled, *report.by_origin, *(languages if several else ())):
        yield _before_and_after(one)


def _before_and_after(one: LanguageReport) -> Table:
    fit = "" if one.language == POOLED else (", by its own fit" if one.own else ", by the pooled fit")
    name = one.origin or ("all pages" if one.language == POOLED else safe(one.language))
    n_true = "" if one.after is None else f", {one.after.n_true} true, on {count(one.after.n_pages, 'page')}"
    title = f"{name}{fit}: {count(one.n_expected, 'claim')}{n_true}; {one.n_failed} without an answer"
    table = measures_table(title, MEASURES, {"before: P(yes)": one.before, "after: calibrated": one.after})
    if one.bounds is not None:
        table.add_row("accuracy, whatever is missing", "", f"{one.bounds.low:.3f} to {one.bounds.high:.3f}")
    return table


def reliability_table(title: str, bins: Sequence[Bin]) -> Table:
    """Return a table with a bar for each bin: the share of true claims, with a mark at the mean probability."""
    table = plain_table(title, ["probability"], ["claims", "mean", "true", "95 %"])
    table.add_column(f"0{'share of true claims':^{WIDTH - 2}}1", no_wrap=True)
    for one in bins:
        if one.mean is None or one.true.value is None or one.true.low is None or one.true.high is None:
            table.add_row(f"{one.low:.1f}–{one.high:.1f}", "0", NONE, NONE, NONE, "")
            continue
        table.add_row(
            f"{one.low:.1f}–{one.high:.1f}",
            str(one.true.of),
            f"{one.mean:.3f}",
            f"{one.true.value:.3f}",
            f"{one.true.low:.2f}–{one.true.high:.2f}",
            bar(one.true.value, one.mean),
        )
    return table


def bar(share: float, mean: float) -> str:
    """Return a line of `WIDTH` characters: `█` up to the share, `│` at the mean."""
    filled, mark = round(share * WIDTH), min(WIDTH - 1, int(mean * WIDTH))
    line = ["█" if place < filled else "·" for place in range(WIDTH)]
    line[mark] = "│"
    return "".join(line)


def _exponent(one: Calibration) -> str:
    if one.method == "beta":
        return f"{one.slope_yes:.4g} ln P(yes) - {one.slope_no:.4g} ln P(no) {_signed(one.intercept)}"
    return f"{one.slope_yes:.4g} (ln P(yes) - ln P(no)) {_signed(one.intercept)}"


def _signed(value: float) -> str:
    """Format a term as `+ 2.4` or `- 0.31`; less than a billionth is a rounding error and shown as 0."""
    return f"{'-' if value < -1e-9 else '+'} {0.0 if abs(value) < 1e-9 else abs(value):.4g}"


def calibration_notes(report: CalibrationReport) -> Iterator[str]:
    """Yield remarks on what was fitted, and on what the figures leave out."""
    view = next(view for view, asked in QUESTIONS.items() if report.question in asked)
    yield f"fitted for the view {view} (question {report.question})"
    for one in report.calibrations:
        where = "all languages" if one.language == POOLED else one.language
        yield (
            f"{where}: p = 1 / (1 + exp(-({_exponent(one)}))); supported from {one.threshold:.3f} on; "
            f"fitted on {count(one.n, 'claim')} ({one.n_true} true) of "
            f"{count(one.n_pages, 'page')}, {one.folds} folds by page, seed {one.seed}; id {one.id[:12]}"
        )
    for one in report.reports:
        if one.why_not:
            yield f"{safe(one.language)}: the pooled calibration counts: {one.why_not}."
    if report.n_unread:
        yield f"{count(report.n_unread, 'row')} left out: there is no text to read."
    if report.n_copies:
        yield f"{count(report.n_copies, 'row')} left out: claim and text are those of another row."
    if report.n_elsewhere:
        yield (
            f"{count(report.n_elsewhere, 'row')} left out: no sentence of the page is near to the claim, or it is in "
            "another language; runs ask about such claims with the page in front."
        )
    if report.failures:
        kinds = ", ".join(f"{kind} {n}" for kind, n in report.failures.items())
        yield f"{count(sum(report.failures.values()), 'claim')} without an answer ({kinds}): in no fit."
    yield (
        "In brackets: 95 % interval of a bootstrap over pages. After: out of fold, each claim with the fit and the "
        "threshold of other pages."
    )
