"""RACE's scores as trees: the four dimensions with their criteria, the overall score, and how far both can be trusted.

Invariant: every profile has the same tree for the same findings; a score over several comparisons is the mean of
theirs; noise and position bias are there wherever they were measured, and nowhere else.

    noise     = sqrt(mean over groups of sum((x - mean)^2) / (n - 1))     a group: the draws of one reference and order
    position  = mean over references and draws of (score with the report first - score with it second)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from local_judge.protocols.race import paper, upstream
from local_judge.protocols.race.asking import label
from local_judge.protocols.race.findings import RaceFindings, Sheet
from local_judge.protocols.race.formats import sheet_sides
from local_judge.protocols.scores import Profile, Score, ScoreNode
from local_judge.tasks.criteria import DIMENSIONS

OVERALL_SCORE = "overall_score"
"""In the published rows."""
OVERALL, NOISE, POSITION = "overall", "noise", "position_bias"
NO_SUCH_MODE = "the published code has no such mode"
DROPPED = "a dimension has no answer: the published code drops the report"
BY_ITSELF = "undefined: without a reference the published code divides the report by itself"
_LABELS = {OVERALL: "Overall", NOISE: "Noise", POSITION: "Position bias"}


def score(findings: RaceFindings, profile: Profile) -> tuple[ScoreNode, ...]:
    """The scores of one report by one profile, 0 to 100; noise and position bias in the same points."""
    by_paper = [paper.sheet_scores(sheet, findings) for sheet in findings.sheets]
    found = by_paper if profile == "paper" else [_upstream(sheet, findings) for sheet in findings.sheets]
    roots: list[ScoreNode] = []
    criteria = (
        {dimension.id: dimension.criteria for dimension in findings.criteria.dimensions}
        if (findings.criteria)
        else {}
    )
    for name in DIMENSIONS if criteria else ():
        children = tuple(
            ScoreNode(
                id=criterion.id.rpartition(".")[2],
                label=criterion.criterion,
                score=paper.mean([one.criteria[criterion.id] for one in by_paper]),
            )
            for criterion in criteria[name]
        )
        whole = paper.mean([one.dimensions[name] for one in found])
        roots.append(ScoreNode(id=name, label=label(name), score=whole, children=children))
    overall = paper.mean([one.overall for one in found])
    note = "; ".join(filter(None, (arrangement(findings), _cleaned(findings), overall.note)))
    roots.append(_node(OVERALL, overall.model_copy(update={"note": note})))
    values = [(sheet, one) for sheet, one in zip(findings.sheets, found, strict=True)]
    names = [root.id for root in roots if root.id != OVERALL]
    measures: list[tuple[str, bool, Callable[[Sequence[tuple[Sheet, Score]]], Score]]] = [
        (NOISE, any(sheet.draw for sheet in findings.sheets), noise),
        (POSITION, len({sheet.target_first for sheet in findings.sheets}) == 2, position_bias),
    ]
    for name, measured, measure in measures:
        if measured:
            children = tuple(
                ScoreNode(
                    id=one,
                    label=label(one),
                    score=measure([(sheet, scores.dimensions[one]) for sheet, scores in values]),
                )
                for one in names
            )
            whole = measure([(sheet, scores.overall) for sheet, scores in values])
            roots.append(ScoreNode(id=name, label=_LABELS[name], score=whole, children=children))
    return tuple(roots)


def arrangement(findings: RaceFindings) -> str:
    """In which order a judge read what it compared, in a few words."""
    if findings.mode != "reference":
        return f"order: {findings.order}; no reference"
    firsts = {sheet.target_first for sheet in findings.sheets}
    read = "both ways" if len(firsts) == 2 else "report first" if firsts == {True} else "reference first"
    return f"order: {findings.order}, {read}"


def _cleaned(findings: RaceFindings) -> str:
    """How many of the pieces that a judge should have cleaned it did not, in a few words; nothing where it did."""
    articles = (findings.report, *findings.references)
    n_failed = sum(len(article.failures) for article in articles)
    if not n_failed:
        return ""
    return f"{n_failed} of {sum(article.n_pieces for article in articles)} pieces cleaned by code"


def noise(scores: Sequence[tuple[Sheet, Score]]) -> Score:
    """The standard deviation between draws, pooled over references and orders."""
    groups: dict[tuple[int | None, bool], list[float]] = {}
    for sheet, found in scores:
        if found.value is not None:
            groups.setdefault((sheet.reference, sheet.target_first), []).append(found.value)
    variances = [_variance(values) for values in groups.values() if len(values) > 1]
    missing = sum(found.value is None for _, found in scores)
    if not variances:
        return Score(
            value=None, n_expected=len(scores), n_failed=missing, note="fewer than two draws have a value"
        )
    value = math.sqrt(math.fsum(variances) / len(variances))
    return _measured(value, len(scores), missing)


def position_bias(scores: Sequence[tuple[Sheet, Score]]) -> Score:
    """What the report gains by being read first."""
    pairs: dict[tuple[int | None, int], dict[bool, float]] = {}
    for sheet, found in scores:
        if found.value is not None:
            pairs.setdefault((sheet.reference, sheet.draw), {})[sheet.target_first] = found.value
    gains = [pair[True] - pair[False] for pair in pairs.values() if len(pair) == 2]
    missing = sum(found.value is None for _, found in scores)
    if not gains:
        return Score(
            value=None, n_expected=len(scores), n_failed=missing, note="no comparison has a value both ways"
        )
    return _measured(math.fsum(gains) / len(gains), len(scores), missing)


def _measured(value: float, n: int, missing: int) -> Score:
    note = f"{missing} of {n} comparisons have no value" if missing else ""
    return Score(value=value, n_expected=n, n_failed=missing, low=value, high=value, note=note)


def _variance(values: Sequence[float]) -> float:
    middle = math.fsum(values) / len(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def _node(name: str, found: Score) -> ScoreNode:
    return ScoreNode(id=name, label=_LABELS[name], score=found)


def _upstream(sheet: Sheet, findings: RaceFindings) -> paper.Scores:
    """One comparison by the published arithmetic, on the scale of the tree."""
    n, n_failed = len(sheet.marks), sum(mark.failure is not None for mark in sheet.marks)
    if findings.criteria is None:
        return paper.Scores({}, {}, Score(value=None, n_expected=n, n_undefined=1, note=NO_SUCH_MODE))
    if sheet.reference is None:
        none = Score(value=None, n_expected=n, n_undefined=1, note=BY_ITSELF)
        return paper.Scores({}, dict.fromkeys(DIMENSIONS, none), none)
    sides = sheet_sides(sheet, findings)
    if sides is None:
        none = Score(value=None, n_expected=n, n_failed=n_failed, low=0.0, high=paper.SCALE, note=DROPPED)
        return paper.Scores({}, dict.fromkeys(DIMENSIONS, none), none)
    row = upstream.row(sides)

    def scored(name: str, one: float, other: float) -> Score:
        value = paper.SCALE * row[name]
        marks = [mark for mark in sheet.marks if name in (OVERALL_SCORE, mark.criterion.rpartition(".")[0])]
        n_failed = sum(mark.failure is not None for mark in marks)
        return Score(
            value=value,
            numerator=one,
            denominator=one + other,
            n_expected=len(marks),
            n_failed=n_failed,
            low=None if n_failed else value,
            high=None if n_failed else value,
        )

    dimensions = {
        name: scored(name, *(side.dims[name + upstream.SUFFIX] for side in sides)) for name in DIMENSIONS
    }
    overall = scored(OVERALL_SCORE, sides.target.total, sides.reference.total)
    return paper.Scores({}, dimensions, overall)
