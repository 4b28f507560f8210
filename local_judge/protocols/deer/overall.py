"""The seven dimensions and the overall score, from what one judge or several learnt about one report.

Invariant: both profiles, and any number of judges, have the same tree: verdicts by votes, rubric items by means, all
above them by the formulas of the profile. `overall` is the mean of the dimensions that have a value and says of how
many it is; recency is printed in either profile and counts only where the published code counts it.

    paper      recency is shown under reference quality and counts in nothing: the paper does not have it
    upstream   reference quality = round((2 * reference quality + recency) / 3, 2) where recency has a value

Over the reports of a system, `upstream` has the numbers of `final.json` (`run_score_integration.py`): each item of the
rubric and each sub-dimension by rule is averaged over the reports first, and dimensions follow from these means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from local_judge.protocols.deer.names import (
    INTEGRATED_NAMES,
    INTEGRITY,
    OVERALL,
    RECENCY,
    REFERENCE_QUALITY,
    SEVEN,
)
from local_judge.protocols.deer.rubric import scores as rubric_scores
from local_judge.protocols.deer.rubric import upstream
from local_judge.protocols.deer.rubric.model import HIGHEST, LOWEST, Path, RubricFindings
from local_judge.protocols.deer.rubric.scores import rounded_score
from local_judge.protocols.deer.rubric.upstream import QUALITY_METRICS, rounded
from local_judge.protocols.deer.verification import scores as verification_scores
from local_judge.protocols.deer.verification.rows import Rows
from local_judge.scoring.aggregate import mean_over_reports
from local_judge.scoring.algebra import mean_of, spanning
from local_judge.scoring.ensemble import at_extremes
from local_judge.scoring.node import EVALUATED, Profile, Score, ScoreNode

NOT_COUNTED = "not counted: no sub-dimension of the paper"
COUNTED = "a third metric of reference quality in the published code"
NOT_MERGED = "not counted: reference quality, which it belongs to, was not verified"


def score(
    rows: Sequence[Rows],
    rubrics: Sequence[RubricFindings],
    profile: Profile,
    stated: tuple[ScoreNode, ...] = (),
) -> tuple[ScoreNode, ...]:
    """Return the dimensions in the paper's order, then `overall` if there is a rubric.

    Without a rubric there are the two dimensions of the verification; without verification the judged ones, with
    recency beside them. A report judged as a whole has that one score as its overall one.

    Args:
        rows: of each judge; none where claims were not verified.
        rubrics: of each judge, judges in the same order; none where the rubric was not judged.
        profile: the profile whose formulas are used.
        stated: the dimensions of the verification as a published file states them, instead of `rows`.
    """
    if stated:
        return _integrate(stated, rubrics, profile, None) if rubrics else stated
    n = max(len(rows), len(rubrics))
    if n <= 1:
        return _score_together(rows, rubrics, profile)
    return at_extremes(
        lambda favour: _score_together(rows, rubrics, profile, favour),
        [_score_together(rows[at : at + 1], rubrics[at : at + 1], profile) for at in range(n)],
    )


def _score_together(
    rows: Sequence[Rows], rubrics: Sequence[RubricFindings], profile: Profile, favour: bool | None = None
) -> tuple[ScoreNode, ...]:
    """Return the scores of what all judges say together; what `favour` makes of missing answers, see `at_extremes`."""
    verified = verification_scores.score(rows, profile, unsettled=favour is not None) if rows else ()
    return _integrate(verified, rubrics, profile, favour) if rubrics else verified


def _integrate(
    verified: tuple[ScoreNode, ...],
    rubrics: Sequence[RubricFindings],
    profile: Profile,
    favour: bool | None,
) -> tuple[ScoreNode, ...]:
    """Return the dimensions of the verification together with those of the rubric."""
    judged = rubric_scores.score(rubrics, profile, favour)
    if rubrics[0].mode == "vanilla":
        return (*verified, *(root.noted("one score for the whole report") for root in judged))
    dimensions = {root.id: root for root in (*judged, *verified)}
    beside: tuple[ScoreNode, ...] = ()
    recency = _recency(judged)
    if recency is not None:
        if verified:
            dimensions[INTEGRITY] = _with_recency(dimensions[INTEGRITY], recency, profile)
        else:
            del dimensions[INTEGRITY]
            alone = recency.model_copy(update={"label": f"{recency.label} (not counted)"})
            beside = (alone.noted(NOT_MERGED),)
    order = [*(id for id in SEVEN if id in dimensions), *(id for id in dimensions if id not in SEVEN)]
    roots = tuple(dimensions[id] for id in order)
    return (*roots, *beside, _overall(roots, profile))


def _overall(roots: Sequence[ScoreNode], profile: Profile) -> ScoreNode:
    # By `upstream` the dimensions are rounded, and their mean is not.
    overall = mean_of([root.score for root in roots], partly=profile == "upstream")
    node = ScoreNode(id=OVERALL, label="Overall", score=overall)
    whole = len(roots) == len(SEVEN)
    return node.noted("" if whole else f"{EVALUATED}{len(roots)} of the {len(SEVEN)} dimensions")


def _recency(judged: Sequence[ScoreNode]) -> ScoreNode | None:
    """Recency, the one sub-dimension of information integrity that the judge is asked about, item by item."""
    integrity = next((root for root in judged if root.id == INTEGRITY), None)
    if integrity is None:
        return None
    return next((child for child in integrity.children if child.id == RECENCY), None)


def _with_recency(integrity: ScoreNode, recency: ScoreNode, profile: Profile) -> ScoreNode:
    """Information integrity with recency under reference quality, counted by the profile."""
    counts = profile == "upstream" and integrity.score.value is not None
    shown = recency.noted(NOT_COUNTED if profile == "paper" else COUNTED)

    def extend(part: ScoreNode) -> ScoreNode:
        if part.id != REFERENCE_QUALITY:
            return part
        score = _merge_recency(part.score, recency.score) if counts else part.score
        return part.model_copy(update={"children": (*part.children, shown), "score": score})

    children = tuple(map(extend, integrity.children))
    found = integrity.model_copy(update={"children": children})
    if not counts:
        return found
    again = rounded_score([child.score for child in children])
    return found.model_copy(update={"score": again}).noted(integrity.score.note)


def _merge_recency(quality: Score, recency: Score) -> Score:
    """Reference quality with recency as a third metric, to two places; its coverage is that of what was verified."""
    mean = mean_of([*[quality] * QUALITY_METRICS, recency], partly=True)
    update = {
        "value": rounded(mean.value),
        "low": rounded(mean.low),
        "high": rounded(mean.high),
        "known": quality.known,
    }
    return mean.model_copy(update=update)


class Report(NamedTuple):
    """Parts of the findings about one report, of each judge."""

    rows: Sequence[Rows]
    rubrics: Sequence[RubricFindings]
    stated: tuple[ScoreNode, ...] = ()
    """See `score`."""


class _Reports:
    """The numbers of a system's reports that are averaged, with failures resolved in one way."""

    def __init__(self, favour: bool | None, n_missing: int) -> None:
        self._favour, self._n_missing = favour, n_missing
        self._facts: list[dict[str, dict[str, float]]] = []
        self._items: list[upstream.Items] = []

    def add(self, verified: Sequence[ScoreNode], rubrics: Sequence[RubricFindings]) -> None:
        """Add a report; a verification without a value has no file in the published project."""
        fact = {
            name: {
                part.id: self._pick_score(part.score)
                for root in verified
                if root.id == id
                for part in root.children
            }
            for name, id in INTEGRATED_NAMES.items()
        }
        known = {name: {id: n for id, n in parts.items() if n is not None} for name, parts in fact.items()}
        if verified and known == fact:
            self._facts.append(known)
        if rubrics:
            found = rubric_scores.score(rubrics, "upstream", self._favour)
            self._items.append(
                upstream.nest_values(
                    ((*path[:3], path[-1]), node.score.value) for path, node in _leaves(found)
                )
            )

    def integrate(self) -> upstream.Integrated:
        """Return the dimensions over the reports; a report without findings is at the end of each scale."""
        facts, items = list(self._facts), list(self._items)
        if self._favour is not None and self._n_missing:
            end = HIGHEST if self._favour else LOWEST
            facts += [
                {name: dict.fromkeys(parts, HIGHEST if self._favour else 0.0) for name, parts in fact.items()}
                for fact in facts[:1] * self._n_missing
            ]
            items += [
                upstream.nest_values((path, end) for path, _ in upstream.leaves(one))
                for one in items[:1] * self._n_missing
            ]
        return upstream.integrate_all(facts, items)

    def _pick_score(self, score: Score) -> float | None:
        end = {None: None, False: score.low, True: score.high}[self._favour]
        return score.value if end is None else end


def _leaves(roots: Iterable[ScoreNode]) -> Iterable[tuple[Path, ScoreNode]]:
    return ((path, node) for root in roots for path, node in root.walk() if not node.children)


def over_reports(reports: Iterable[Report], n_missing: int) -> tuple[ScoreNode, ...]:
    """Return the dimensions of a system as `final.json` has them, with their sub-dimensions and their mean.

    None if the items of a report are not known: they were not judged, or a published file states its dimensions alone.
    """
    ways = {favour: _Reports(favour, n_missing) for favour in (None, False, True)}
    parts: dict[Path, list[Score]] = {}
    labels: dict[Path, str] = {}
    for report in reports:
        whole = any(root.id not in INTEGRATED_NAMES.values() for root in report.stated)
        if whole or (report.rubrics and report.rubrics[0].mode != "items"):
            return ()
        verified = report.stated or (score(report.rows, (), "upstream") if report.rows else ())
        for way in ways.values():
            way.add(verified, report.rubrics)
        for root in score(report.rows, report.rubrics, "upstream", report.stated):
            for path, found in root.walk():
                parts.setdefault(path, []).append(found.score)
                labels.setdefault(path, found.label)
    integrated = [ways[favour].integrate() for favour in (None, False, True)]

    def average(path: Path, ends: Iterable[float | None], children: Sequence[ScoreNode] = ()) -> ScoreNode:
        # Its counts and coverage are those of a mean over the reports.
        value, low, high = ends
        low, high = spanning(value, low, high)
        mean = mean_over_reports(parts[path], n_missing, 0.0, HIGHEST, partly=True)
        update = {"value": value, "low": low, "high": high, "numerator": None, "denominator": None}
        score = mean.model_copy(update=update)
        return ScoreNode(id=path[-1], label=labels[path], score=score, children=tuple(children))

    def dimension(id: str) -> ScoreNode:
        children = [
            average((id, part), (one.criteria.get(id, {}).get(part) for one in integrated))
            for part in integrated[0].criteria[id]
        ]
        return average((id,), (one.scores.get(id) for one in integrated), children)

    roots = tuple(dimension(id) for id in SEVEN if id in integrated[0].scores)
    return (*roots, _overall(roots, "upstream")) if (OVERALL,) in parts else roots
