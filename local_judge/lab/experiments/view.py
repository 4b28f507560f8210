"""Terminal tables of an experiment.

Invariant: as in `reporting.tables`; a published figure is always shown with the paper's name, and a figure that no
paper states is a dash.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from local_judge.base.output import NONE, count
from local_judge.lab.experiments.curves import Curve, Point, Results
from local_judge.lab.experiments.model import Design
from local_judge.lab.experiments.planning import PlanResults
from local_judge.lab.tables import figure
from local_judge.scoring.node import Score
from local_judge.tasks.plan_asking import AXES
from local_judge.terminal import plain_table, safe

TITLES = {
    "corruption": "Corruption: a share r of the claims is false, and cited to pages that say so",
    "temporal": "Temporal decay: reports as of earlier and earlier days",
    "reasoning": "Reasoning: sound and flawed reports",
}
METHODS = {"request": "request alone", "retrieval": "one retrieval", "agent": "agent"}


def results_tables(results: Results, whole: bool = False) -> Iterator[Table]:
    """Yield one table for each judge. `whole`: every score, not only overall ones and those with an expectation."""
    for judge in dict.fromkeys(curve.judge for curve in results.curves):
        own = [curve for curve in results.curves if curve.judge == judge]
        shown = [curve for curve in own if whole or curve.expected is not None or "/" not in curve.path]
        yield _table(results.design, shown, judge or results.judges[0])


def _table(design: Design, curves: Sequence[Curve], judge: str) -> Table:
    paired = any(curve.pairs is not None for curve in curves)
    heads = [condition.label for condition in design.conditions] + ["slope", "ρ", "distance"]
    heads += ["pairs right", "change", "relative"] if paired else []
    table = plain_table(f"{TITLES[design.experiment]} (judge {safe(judge)})", ["score"], heads)
    table.add_column("should")
    table.add_column("does")
    for curve in curves:
        table.add_row(
            f"{curve.protocol}: {safe(curve.label)}",
            *map(_value, curve.points),
            figure(curve.slope, "+.2f"),
            figure(curve.spearman, "+.2f"),
            figure(curve.distance, ".2f"),
            *(_paired(curve) if paired else ()),
            (curve.expected and curve.expected.shape) or NONE,
            f"{curve.verdict}: {curve.why}" if curve.why else curve.verdict or "",
        )
        for name, values, change in _references(curve):
            changes = ["", "", _percent(change)] if paired else []
            table.add_row(name, *values, "", "", "", *changes, "", "", style="dim")
    return table


def _references(curve: Curve) -> Iterator[tuple[str, list[str], float | None]]:
    """Yield the ideal and the paper's figures, on the scale of the score, and their relative change."""
    expected = curve.expected
    if expected is None:
        return
    if expected.ideal:
        ideal = [f"{value * expected.scale:.2f}" for value in expected.ideal]
        yield "  ideal", ideal, expected.ideal_change
    about = "≈" if expected.approximate else ""
    published = expected.paper or (None,) * len(curve.points)
    printed = [NONE if value is None else f"{about}{value * expected.scale:.2f}" for value in published]
    yield "  paper", printed, expected.paper_change


def plan_tables(results: PlanResults) -> Iterator[Table]:
    """Yield a table of the plans by each method, and one of each rater's ratings of their items."""
    drafted = plain_table("Plans", ["drafted by"], ["plans", "key information", "questions", "covered"])
    for one in results.drafted:
        drafted.add_row(
            METHODS[one.method],
            f"{one.n_drafted}/{one.n_tasks}",
            figure(one.items, ".2f"),
            figure(one.questions, ".2f"),
            _bounded(one.covered) if one.covered else NONE,
        )
    yield drafted
    rated = plain_table("Ratings, 0 to 1", ["rater", "items", "drafted by"], [*AXES, "average"])
    for one in results.ratings:
        scores = (one.relevance, one.verifiability, one.clarity, one.validation, one.average)
        cells = [NONE if score is None else _bounded(score) for score in scores]
        rated.add_row(safe(one.rater), one.kind.replace("_", " "), METHODS[one.method], *cells)
    yield rated


def _bounded(score: Score) -> str:
    """Format a mean with the bounds that failures leave open."""
    if score.low is None or score.high is None or score.low == score.high:
        return figure(score.value, ".2f")
    return f"{figure(score.value, '.2f')} ({score.low:.2f} to {score.high:.2f})"


def notes(results: Results) -> Iterator[str]:
    """Yield remarks on the tables, one line each."""
    design = results.design
    units = len({trial.unit for trial in design.trials})
    yield f"{count(len(design.trials), 'report')} of {count(units, 'unit')}, {results.profile} profile" + (
        f", seed {design.seed}" if design.seed is not None else ""
    )
    for source in dict.fromkeys(curve.expected.source for curve in results.curves if curve.expected):
        if source:
            yield f"paper: {source}"
    for curve in results.curves:
        failed = sum(point.n_failed for point in curve.points)
        if failed:
            yield f"{curve.protocol} {safe(curve.path)}: {count(failed, 'unit')} failed; results.json has the bounds"


def _value(point: Point) -> str:
    if point.value is None:
        return NONE
    missing = f" (of {point.n})" if point.n < point.n_reports else ""
    return f"{point.value:.2f}{'*' if point.n_failed else ''}{missing}"


def _paired(curve: Curve) -> tuple[str, str, str]:
    """Return units that changed as expected, of those with both values; the mean change; the relative change."""
    pairs = curve.pairs
    if pairs is None or not pairs.n:
        return NONE, NONE, NONE
    return f"{pairs.right}/{pairs.n}", figure(pairs.mean_change, "+.2f"), _percent(pairs.relative_change)


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:+.1f} %"
