"""Terminal tables of an experiment.

Invariant: as in `reporting.tables`; a published figure is never shown without the paper's name, and what no paper
states is a dash.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from local_judge.lab.experiments.curves import Curve, Point, Results
from local_judge.lab.experiments.model import Design
from local_judge.lab.experiments.planning import PlanResults
from local_judge.scoring.node import Score
from local_judge.terminal import NONE, count, safe

TITLES = {
    "corruption": "Corruption: a share r of the claims is false, and cited to pages that say so",
    "temporal": "Temporal decay: reports as of earlier and earlier days",
    "reasoning": "Reasoning: sound and flawed reports",
}


def results_tables(results: Results, whole: bool = False) -> Iterator[Table]:
    """One table for each judge. `whole`: every score, not only overall ones and those of which something is known."""
    for judge in dict.fromkeys(curve.judge for curve in results.curves):
        own = [curve for curve in results.curves if curve.judge == judge]
        shown = [curve for curve in own if whole or curve.expected is not None or "/" not in curve.path]
        yield _table(results.design, shown, judge or results.judges[0])


def _table(design: Design, curves: Sequence[Curve], judge: str) -> Table:
    title = f"{TITLES[design.experiment]} (judge {safe(judge)})"
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("score", overflow="fold")
    for condition in design.conditions:
        table.add_column(condition.label, justify="right")
    paired = any(curve.pairs is not None for curve in curves)
    for head in ("slope", "ρ", "distance", *(("pairs right", "change", "relative") if paired else ())):
        table.add_column(head, justify="right")
    table.add_column("should")
    table.add_column("does")
    for curve in curves:
        cells = [_value(point) for point in curve.points]
        figures = [_signed(curve.slope), _signed(curve.spearman), _plain(curve.distance)]
        table.add_row(
            f"{curve.protocol}: {safe(curve.label)}",
            *cells,
            *figures,
            *(_paired(curve) if paired else ()),
            curve.expected.shape if curve.expected else NONE,
            curve.verdict or "",
        )
        if curve.expected is not None:
            _add_reference(table, curve, paired)
    return table


def _add_reference(table: Table, curve: Curve, paired: bool) -> None:
    """Below a curve of which something is known: the ideal and the paper's, on the score's scale."""
    expected = curve.expected
    assert expected is not None
    figures = [""] * 3
    if expected.ideal:
        ideal = [f"{value * expected.scale:.2f}" for value in expected.ideal]
        first, last = expected.ideal[0], expected.ideal[-1]
        fall = ["", "", _percent((last - first) / first if first else None)] if paired else []
        table.add_row("  ideal", *ideal, *figures, *fall, "", "", style="dim")
    published = expected.paper or (None,) * len(curve.points)
    about = "≈" if expected.approximate else ""
    printed = [NONE if value is None else f"{about}{value * expected.scale:.2f}" for value in published]
    change = ["", "", _percent(expected.paper_change)] if paired else []
    table.add_row("  paper", *printed, *figures, *change, "", "", style="dim")


_METHODS = {"request": "request alone", "retrieval": "one retrieval", "agent": "agent"}


def plan_tables(results: PlanResults) -> Iterator[Table]:
    """The plans by each method, and what each rater thinks of their items."""
    drafted = Table(title="Plans", title_justify="left", show_edge=False, pad_edge=False)
    drafted.add_column("drafted by")
    for head in ("plans", "key information", "questions", "covered"):
        drafted.add_column(head, justify="right")
    for one in results.drafted:
        counts = f"{one.n_drafted}/{one.n_tasks}"
        drafted.add_row(
            _METHODS[one.method],
            counts,
            _plain(one.items),
            _plain(one.questions),
            _bounded(one.covered) if one.covered else NONE,
        )
    yield drafted
    rated = Table(title="Ratings, 1 to 3", title_justify="left", show_edge=False, pad_edge=False)
    rated.add_column("rater", overflow="fold")
    rated.add_column("drafted by")
    for head in ("overall", "key information", "reasoning"):
        rated.add_column(head, justify="right")
    for one in results.ratings:
        scores = (one.overall, one.key_information, one.reasoning)
        rated.add_row(safe(one.rater), _METHODS[one.method], *map(_bounded, scores))
    yield rated


def _bounded(score: Score) -> str:
    """A mean, with what failures leave open behind it."""
    if score.low is None or score.high is None or score.low == score.high:
        return _plain(score.value)
    return f"{_plain(score.value)} ({score.low:.2f} to {score.high:.2f})"


def notes(results: Results) -> Iterator[str]:
    """What the tables rest on, a line each."""
    design = results.design
    units = len({trial.unit for trial in design.trials})
    yield f"{count(len(design.trials), 'report')} of {count(units, 'unit')}, {results.profile} profile" + (
        f", seed {design.seed}" if design.seed is not None else ""
    )
    for source in dict.fromkeys(curve.expected.source for curve in results.curves if curve.expected):
        if source:
            yield f"paper: {source}"
    open_ends = [curve for curve in results.curves if any(point.n_failed for point in curve.points)]
    for curve in open_ends:
        failed = sum(point.n_failed for point in curve.points)
        yield f"{curve.protocol} {safe(curve.path)}: {count(failed, 'unit')} failed; results.json has the bounds"


def _value(point: Point) -> str:
    if point.value is None:
        return NONE
    missing = f" (of {point.n})" if point.n < point.n_reports else ""
    return f"{point.value:.2f}{'*' if point.n_failed else ''}{missing}"


def _signed(number: float | None) -> str:
    return NONE if number is None else f"{number:+.2f}"


def _plain(number: float | None) -> str:
    return NONE if number is None else f"{number:.2f}"


def _paired(curve: Curve) -> tuple[str, str, str]:
    """Units that changed as they should, of those with both values; the mean change, and the relative one."""
    if curve.pairs is None or not curve.pairs.n:
        return NONE, NONE, NONE
    pairs = curve.pairs
    return f"{pairs.right}/{pairs.n}", _signed(pairs.mean_change), _percent(pairs.relative_change)


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:+.1f} %"
