"""RACE's scores as trees: the four dimensions with their criteria, the overall score, and how far both can be trusted.

Invariants: every profile has the same tree for the same findings; a score over several comparisons is the mean of
theirs; noise and position bias are there wherever they were measured, and nowhere else. Of several judges, each
criterion's scores are the means over the judges that gave them, for report and reference alike, and all above them is
the formula of the profile. A criterion that a judge failed to score opens the bounds: with 0 for the report and 10 for
the reference, and the other way round.

    noise     = sqrt(mean over groups of sum((x - mean)^2) / (n - 1))     a group: the draws of one reference and order
    position  = mean over references and draws of (score with the report first - score with it second)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from local_judge.protocols.race import upstream
from local_judge.protocols.race.asking import label
from local_judge.protocols.race.findings import TOP, Comparison, CriterionScore, RaceFindings
from local_judge.protocols.race.paper import SCALE, Scores, comparison_scores
from local_judge.protocols.race.upstream import comparison_sides
from local_judge.scoring.algebra import exactly, mean_of, measured, undefined, unknown
from local_judge.scoring.coverage import failed
from local_judge.scoring.ensemble import at_extremes
from local_judge.scoring.node import Profile, Score, ScoreNode, noted
from local_judge.stats.sums import sum_in_order
from local_judge.tasks.criteria import DIMENSIONS

OVERALL_SCORE = "overall_score"
"""Name in the published rows."""
NO_SUCH_MODE = "the published code has no such mode"
DROPPED = "a dimension has no answer: the published code drops the report"
BY_ITSELF = "undefined: without a reference the published code divides the report by itself"


def score(judges: Sequence[RaceFindings], profile: Profile) -> tuple[ScoreNode, ...]:
    """Return the scores of one report by one profile, 0 to 100; noise and position bias in the same points.

    Findings with stated scores have none to compute.
    """
    if judges[0].stated is not None:
        return ()
    roots = at_extremes(
        lambda favour: _tree(merge_judges(judges, favour), profile),
        [_tree(findings, profile) for findings in judges],
    )
    n = sum(len(comparison.scores) for findings in judges for comparison in findings.comparisons)
    known = 1 - sum(findings.n_unscored for findings in judges) / n if n else 1.0
    return (*roots, *_measures(merge_judges(judges), profile, known))


def merge_judges(judges: Sequence[RaceFindings], favour: bool | None = None) -> RaceFindings:
    """Return the judges' comparisons as one judge's.

    Args:
        judges: one judge's findings each, of the same comparisons.
        favour: take missing answers for the report (True) or against it (False); None leaves them out.
    """
    alone = len(judges) == 1
    comparisons = tuple(
        same[0].model_copy(
            update={
                "scores": tuple(_merged_scores(same, favour)),
                "reply_json": same[0].reply_json if alone else None,
            }
        )
        for same in zip(*(findings.comparisons for findings in judges), strict=True)
    )
    return judges[0].model_copy(update={"comparisons": comparisons})


def _merged_scores(same: Sequence[Comparison], favour: bool | None) -> Iterator[CriterionScore]:
    compared = same[0].reference is not None
    for items in zip(*(comparison.scores for comparison in same), strict=True):
        given = [(item.target, item.reference) for item in items if item.failure is None]
        if favour is not None:
            best, worst = TOP if favour else 0.0, 0.0 if favour else TOP
            given += [(best, worst)] * (len(items) - len(given))
        if not given:
            yield items[0]
            continue
        yield CriterionScore(
            id=items[0].id,
            target=sum_in_order(target or 0.0 for target, _ in given) / len(given),
            reference=sum_in_order(reference or 0.0 for _, reference in given) / len(given)
            if compared
            else None,
        )


def _tree(findings: RaceFindings, profile: Profile) -> tuple[ScoreNode, ...]:
    """Return the dimensions and the overall score: what failures leave open is not in their bounds yet."""
    by_paper = [comparison_scores(comparison, findings) for comparison in findings.comparisons]
    found = by_paper if profile == "paper" else _by_profile(findings, profile)
    dimensions = findings.criteria.dimensions if findings.criteria else ()
    criteria = {dimension.id: dimension.criteria for dimension in dimensions}
    roots = [
        ScoreNode(
            id=name,
            label=label(name),
            score=_mean([one.dimensions[name] for one in found]),
            children=tuple(
                ScoreNode(
                    id=criterion.id.rpartition(".")[2],
                    label=criterion.criterion,
                    score=_mean([one.criteria[criterion.id] for one in by_paper]),
                    of_task=True,
                )
                for criterion in criteria[name]
            ),
        )
        for name in DIMENSIONS
        if criteria
    ]
    overall = noted(
        _mean([one.overall for one in found]), arrangement(findings), _note_uncleaned(findings), first=True
    )
    return (*roots, ScoreNode(id="overall", label="Overall", score=overall))


def _by_profile(findings: RaceFindings, profile: Profile) -> list[Scores]:
    scores = comparison_scores if profile == "paper" else _upstream
    return [scores(comparison, findings) for comparison in findings.comparisons]


def _mean(comparisons: Sequence[Score]) -> Score:
    """Return the mean of all comparisons that have a value, however many criteria each rests on."""
    return mean_of(comparisons, partly=True)


def arrangement(findings: RaceFindings) -> str:
    """Name the order in which a judge read what it compared, in a few words."""
    if findings.mode != "reference":
        return "no reference"
    firsts = {comparison.target_first for comparison in findings.comparisons}
    read = "both ways" if len(firsts) == 2 else "report first" if firsts == {True} else "reference first"
    return f"order: {findings.order}, {read}"


def _note_uncleaned(findings: RaceFindings) -> str:
    """Count the pieces that a judge should have cleaned and did not, in a few words; empty where there are none."""
    articles = findings.articles
    n_failed = sum(len(article.failures) for article in articles)
    if not n_failed:
        return ""
    return f"{n_failed} of {sum(article.n_pieces for article in articles)} pieces cleaned by code"


_Measured = Sequence[tuple[Comparison, Score]]
"""Comparisons with one of their scores."""


def _measures(findings: RaceFindings, profile: Profile, known: float) -> Iterator[ScoreNode]:
    """Noise and position bias of the overall score and of each dimension; `known`: answered share of the questions."""
    comparisons = findings.comparisons
    found = list(zip(comparisons, _by_profile(findings, profile), strict=True))
    measures: list[tuple[str, str, bool, Callable[[_Measured, float], Score]]] = [
        ("noise", "Noise", any(comparison.draw for comparison in comparisons), _noise),
        (
            "position_bias",
            "Position bias",
            len({one.target_first for one in comparisons}) == 2,
            _position_bias,
        ),
    ]
    for id, title, applies, measure in measures:
        if not applies:
            continue
        parts = [
            ScoreNode(
                id=name,
                label=label(name),
                score=measure([(one, scores.dimensions[name]) for one, scores in found], known),
            )
            for name in DIMENSIONS
            if findings.criteria
        ]
        overall = measure([(one, scores.overall) for one, scores in found], known)
        yield ScoreNode(id=id, label=title, score=overall, children=tuple(parts))


def _noise(scores: _Measured, known: float) -> Score:
    """Return the standard deviation between draws, pooled over references and orders."""
    groups: dict[tuple[int | None, bool], list[float]] = {}
    for comparison, found in scores:
        if found.value is not None:
            groups.setdefault((comparison.reference, comparison.target_first), []).append(found.value)
    variances = [_variance(values) for values in groups.values() if len(values) > 1]
    value = math.sqrt(math.fsum(variances) / len(variances)) if variances else None
    return _measure(value, scores, known, "fewer than two draws have a value")


def _position_bias(scores: _Measured, known: float) -> Score:
    """Return the gain of the report from being read first."""
    pairs: dict[tuple[int | None, int], dict[bool, float]] = {}
    for comparison, found in scores:
        if found.value is not None:
            pairs.setdefault((comparison.reference, comparison.draw), {})[comparison.target_first] = (
                found.value
            )
    gains = [pair[True] - pair[False] for pair in pairs.values() if len(pair) == 2]
    value = math.fsum(gains) / len(gains) if gains else None
    return _measure(value, scores, known, "no comparison has a value both ways")


def _variance(values: Sequence[float]) -> float:
    middle = math.fsum(values) / len(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def _measure(value: float | None, scores: _Measured, known: float, without: str) -> Score:
    """Return a measure with itself for bounds; what failed may change it either way, so that then no bound is known."""
    n_missing = sum(found.value is None for _, found in scores)
    n_failed = sum(failed(found) for _, found in scores)
    note = f"{n_missing} of {len(scores)} comparisons have no value" if n_missing else ""
    return measured(
        value,
        complete=known == 1.0,
        n_expected=len(scores),
        n_failed=n_failed,
        n_undefined=n_missing - n_failed,
        known=known if known < 1.0 and not n_failed else None,
        note=without if value is None else note,
    )


def _upstream(comparison: Comparison, findings: RaceFindings) -> Scores:
    """Return one comparison by the published arithmetic, on the scale of the tree."""
    n, n_failed = len(comparison.scores), sum(item.failure is not None for item in comparison.scores)
    if findings.criteria is None:
        return Scores({}, {}, undefined(NO_SUCH_MODE, n))
    if comparison.reference is None:
        none = undefined(BY_ITSELF, n)
        return Scores({}, dict.fromkeys(DIMENSIONS, none), none)
    sides = comparison_sides(comparison, findings)
    if sides is None:
        none = unknown(0.0, SCALE, DROPPED, n).model_copy(update={"n_failed": n_failed})
        return Scores({}, dict.fromkeys(DIMENSIONS, none), none)
    row = upstream.row(sides)
    # The published code takes its judge's reply as it is, without failures.
    as_replied = comparison.reply_json is not None

    def score_dimension(name: str, target: float, reference: float) -> Score:
        own = [one for one in comparison.scores if name in (OVERALL_SCORE, one.id.rpartition(".")[0])]
        return exactly(SCALE * row[name]).model_copy(
            update={
                "numerator": target,
                "denominator": target + reference,
                "n_expected": len(own),
                "n_failed": 0 if as_replied else sum(one.failure is not None for one in own),
            }
        )

    dimensions = {
        name: score_dimension(name, *(side.dims[name + upstream.SUFFIX] for side in sides))
        for name in DIMENSIONS
    }
    return Scores({}, dimensions, score_dimension(OVERALL_SCORE, sides.target.total, sides.reference.total))
