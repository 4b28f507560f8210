"""Curves of scores over the conditions of an experiment, and verdicts on them.

Invariants: pure functions of stored scores. A score without a value is None and in no figure, and the count of failures
is stored with the value. A curve in which a report has no value, or in which failures leave more than 0.1 of the scale
open, is never called as expected.

For a curve y over conditions x, with the ideal curve z, all values divided by the score's scale:

    slope     sum (x - mean x)(y - mean y) / sum (x - mean x)^2       least squares; not divided by the scale
    spearman  of y and z over the conditions; undefined if either is constant
    distance  mean |y - z|

A curve that should fall or rise is as expected if spearman >= 0.8 and it shows at least half of the ideal's slope; one
that should be flat if its values are within 0.1 of each other and the distance is at most 0.25. If no ideal is known, a
curve is as expected if at least 0.8 of the units change as they should. These limits are ours. If the ideal of a curve
that should fall or rise is constant, as for a plan of which no report says anything, the curve is incomplete.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.lab.experiments.model import Design, Expectation, relative_change
from local_judge.runs.storage.records import ScoreRecord
from local_judge.scoring.aggregate import Meanings
from local_judge.scoring.algebra import mean_of
from local_judge.scoring.node import Profile, Score, ScoreNode
from local_judge.stats.correlation import slope_rows, spearman
from local_judge.stats.numeric import rounded

RANKED = 0.8
"""Minimum rank correlation of a curve with the ideal, and minimum share of units that change as they should."""
STEEP = 0.5
"""Minimum share of the ideal's slope."""
LEVEL = 0.1
"""Maximum range of the values of a flat curve, and maximum range that failures may leave open."""
NEAR = 0.25
"""Maximum distance of a flat curve from the ideal."""

Verdict = Literal["as expected", "not as expected", "incomplete"]


class Point(Frozen):
    """Mean of a score over the reports under one condition."""

    condition: str
    value: float | None
    low: float | None = None
    """Lower bound that failures leave open."""
    high: float | None = None
    n: int
    """Number of reports with a value."""
    n_reports: int
    n_failed: int
    """Number of failed units of the score, over the reports."""


class Pairs(Frozen):
    """Comparison of units under the first and the last condition."""

    n: int
    """Number of units with both values."""
    of: int
    right: int
    """Number of units that changed in the expected direction, or that fell if no direction is expected."""
    tied: int
    mean_change: float | None
    """Mean of last minus first."""
    relative_change: float | None = None
    """See `model.relative_change`."""


class Curve(Frozen):
    """One score over the conditions."""

    protocol: str
    path: str
    label: str
    judge: str | None
    """None for the only judge."""
    points: tuple[Point, ...]
    slope: float | None
    spearman: float | None
    """None also if no ideal is known."""
    distance: float | None
    pairs: Pairs | None
    """None if the experiment has one unit, unless only the direction in each unit is expected."""
    expected: Expectation | None
    verdict: Verdict | None
    """None without an expected direction."""
    why: str = ""
    """Reason why the curve is incomplete."""


class Results(Frozen):
    """All curves of an experiment, as they are stored."""

    design: Design
    profile: Profile
    judges: tuple[str, ...]
    curves: tuple[Curve, ...]


def curves_of(design: Design, rows: Sequence[ScoreRecord], profile: Profile) -> Iterator[Curve]:
    """Yield a curve for each judge, protocol and score, in the order of the rows and trees.

    Items have no curves where they are numbered, or where they differ between the units.
    """
    units = {trial.report: trial.unit for trial in design.trials}
    own = [row for row in rows if row.profile == profile]
    for judge, protocol in dict.fromkeys((row.judge, row.protocol) for row in own):
        nodes = {
            row.case: {"/".join(path): node for root in row.scores for path, node in root.walk()}
            for row in own
            if (row.judge, row.protocol) == (judge, protocol)
        }
        meanings = Meanings()
        for report, found in nodes.items():
            meanings.add(units[report], ((tuple(path.split("/")), node) for path, node in found.items()))
        for path in dict.fromkeys(path for found in nodes.values() for path in found):
            steps = tuple(path.split("/"))
            if not meanings.varies(steps) and not any(step.isdecimal() for step in steps):
                by_report = {report: found[path] for report, found in nodes.items() if path in found}
                yield _curve(design, protocol, path, judge, by_report)


def _curve(
    design: Design, protocol: str, path: str, judge: str | None, nodes: Mapping[str, ScoreNode]
) -> Curve:
    scores = {report: node.score for report, node in nodes.items()}
    points = tuple(_point(design, condition.id, scores) for condition in design.conditions)
    expected = next(
        (one for one in design.expectations if (one.protocol, one.path) == (protocol, path)), None
    )
    known = [
        (condition.x, point.value, place)
        for place, (condition, point) in enumerate(zip(design.conditions, points, strict=True))
        if point.value is not None
    ]
    xs, ys = [x for x, _, _ in known], [y for _, y, _ in known]
    scaled = [y / expected.scale for y in ys] if expected and expected.ideal else []
    ideal = [expected.ideal[place] for _, _, place in known] if expected and expected.ideal else []
    apart = [abs(y - z) for y, z in zip(scaled, ideal, strict=True)]
    curve = Curve(
        protocol=protocol,
        path=path,
        label=next(iter(nodes.values())).label,
        judge=judge,
        points=points,
        slope=_slope(xs, ys),
        spearman=_rounded(spearman(rounded(scaled).tolist(), rounded(ideal).tolist()).value),
        distance=math.fsum(apart) / len(apart) if apart else None,
        pairs=_pairs(design, scores, expected),
        expected=expected,
        verdict=None,
    )
    if expected is None or expected.shape is None:
        return curve
    why = _incomplete(curve, expected)
    verdict = "incomplete" if why else _verdict(curve, expected, xs)
    return curve.model_copy(update={"verdict": verdict, "why": why})


def _point(design: Design, condition: str, scores: Mapping[str, Score]) -> Point:
    missing = Score(value=None, n_expected=1, n_failed=1)
    trials = design.where(condition)
    found = [scores[trial.report] for trial in trials if trial.report in scores]
    mean = mean_of([scores.get(trial.report, missing) for trial in trials])
    return Point(
        condition=condition,
        value=mean.value,
        low=mean.low,
        high=mean.high,
        n=sum(score.value is not None for score in found),
        n_reports=len(trials),
        n_failed=sum(score.n_failed for score in found),
    )


def _slope(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    if len(xs) < 2:
        return None
    found = float(slope_rows(rounded(xs), rounded(ys)))
    return None if math.isnan(found) else _rounded(found)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 9) + 0.0


def _pairs(design: Design, scores: Mapping[str, Score], expected: Expectation | None) -> Pairs | None:
    """Compare each unit's report under the first condition with that under the last."""
    units = list(dict.fromkeys(trial.unit for trial in design.trials))
    directed = expected is not None and expected.shape is not None and not expected.ideal
    if len(units) < 2 and not directed:
        return None
    first, last = (
        {
            trial.unit: score.value
            for trial in design.where(condition.id)
            if (score := scores.get(trial.report)) is not None and score.value is not None
        }
        for condition in (design.conditions[0], design.conditions[-1])
    )
    both = [unit for unit in units if unit in first and unit in last]
    changes = [round(last[unit] - first[unit], 9) for unit in both]
    upwards = expected is not None and expected.shape == "rises"
    return Pairs(
        n=len(changes),
        of=len(units),
        right=sum(change > 0 if upwards else change < 0 for change in changes),
        tied=sum(change == 0 for change in changes),
        mean_change=math.fsum(changes) / len(changes) if changes else None,
        relative_change=relative_change((first[unit], last[unit]) for unit in both),
    )


def _open(point: Point, scale: float) -> bool:
    """Check whether failures could change the value by more than the range of a flat curve."""
    if not point.n_failed:
        return False
    return point.low is None or point.high is None or round((point.high - point.low) / scale, 9) > LEVEL


def _incomplete(curve: Curve, expected: Expectation) -> str:
    """Return why nothing can be said of a curve; empty if something can."""
    if lacking := sum(point.n_reports - point.n for point in curve.points):
        return (
            f"{lacking} of {count(sum(point.n_reports for point in curve.points), 'report')} without a value"
        )
    if any(_open(point, expected.scale) for point in curve.points):
        return f"failures leave more than {LEVEL:g} of the scale open"
    if expected.ideal and expected.shape != "flat" and len(set(expected.ideal)) < 2:
        return "the ideal is the same under all conditions"
    return ""


def _verdict(curve: Curve, expected: Expectation, xs: Sequence[float]) -> Verdict:
    values = [point.value for point in curve.points if point.value is not None]
    if not expected.ideal:
        pairs = curve.pairs
        held = pairs is not None and pairs.n > 0 and pairs.right >= RANKED * pairs.n
    elif expected.shape == "flat":
        apart = (max(values) - min(values)) / expected.scale
        held = round(apart, 9) <= LEVEL and curve.distance is not None and curve.distance <= NEAR
    else:
        steepest = _slope(xs, expected.ideal)
        shown = curve.slope / expected.scale / steepest if curve.slope is not None and steepest else 0.0
        held = curve.spearman is not None and curve.spearman >= RANKED and round(shown, 9) >= STEEP
    return "as expected" if held else "not as expected"
