"""Scores of adaptive quality, 0 to 10 (DeepResearchEval, section 4.1): of one report by judges, and over reports.

    criterion   s_c                              several judges: the mean over those that answered
    dimension   S_d = sum(w_c * s_c) / sum(w_c)
    quality     S   = sum(W_d * S_d) / sum(W_d)
    general, specific                            the same over the dimensions of a kind
    gap         general - specific               above 0: better on general dimensions than on those of its own task
    system      the mean over reports of each of these

    upstream    the same by the published code; `general` and `specific` are plain means of dimensions. Of a system the
                mean over the reports with a total above 0; `specific`, the published column `Task`, is the mean over
                the names of all task-specific dimensions of each name's mean; the gap is that of the columns

Invariants: failures are left out of the value and open the bounds, with 0 and with 10; a failure is never a 0. The
published code makes a 0 of a dimension with a missing answer: in `upstream` that dimension, and all above it, have no
value. A part whose weights are all 0 is undefined. Both profiles have the same tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from local_judge.protocols.deepresearcheval import upstream
from local_judge.protocols.deepresearcheval.findings import TOP, QualityFindings
from local_judge.protocols.deepresearcheval.upstream import final_scores_of
from local_judge.scoring.algebra import answers, difference, failures_of, mean_of, measured, unknown, weighted
from local_judge.scoring.coverage import known_share
from local_judge.scoring.ensemble import mean_trees
from local_judge.scoring.node import Profile, Score, ScoreNode, node, noted
from local_judge.stats.sums import sum_in_order
from local_judge.tasks.dimensions import GENERAL as GENERAL_DIMENSIONS
from local_judge.tasks.model import DimensionKind, QualityDimension, QualityDimensions

QUALITY, GAP = "quality", "general_gap"
GENERAL, SPECIFIC = "general", "specific"
KINDS: tuple[DimensionKind, ...] = (GENERAL, SPECIFIC)
LABELS = {
    QUALITY: "Adaptive quality",
    GENERAL: "General dimensions",
    SPECIFIC: "Task-specific dimensions",
    GAP: "General above task-specific",
}
NO_WEIGHT = "all its weights are 0"
COUNTED_0 = "an answer is missing: the published code counts the dimension as 0"
_SYSTEM = "system"

Tree = tuple[ScoreNode, ...]
Part = tuple[QualityDimension, ScoreNode]


def score_quality(judges: Sequence[QualityFindings], profile: Profile) -> Tree:
    """Score quality, and the gap between general and task-specific dimensions.

    Several judges are merged criterion by criterion if they judged by the same dimensions; otherwise, and in
    `upstream`, which has one judge, their scores are averaged.
    """
    dimensions = judges[0].dimensions
    same = dimensions is not None and all(found.dimensions == dimensions for found in judges)
    if len(judges) == 1 or (profile == "paper" and same):
        return _score_failure(judges[0]) if dimensions is None else _score_judges(judges, dimensions, profile)
    return mean_trees([score_quality([found], profile) for found in judges])


def _score_failure(found: QualityFindings) -> Tree:
    note = f"no dimensions were drafted: {found.failure.kind if found.failure else 'unknown'}"
    return (
        node(QUALITY, LABELS[QUALITY], unknown(0.0, TOP, note)),
        node(GAP, LABELS[GAP], unknown(-TOP, TOP, note)),
    )


def _score_judges(judges: Sequence[QualityFindings], dimensions: QualityDimensions, profile: Profile) -> Tree:
    parts = [(dimension, _dimension(dimension, judges, profile)) for dimension in dimensions.dimensions]
    general, specific = (
        _group(kind, [part for part in parts if part[0].kind == kind], profile) for kind in KINDS
    )
    total = weighted([(one.weight, node.score) for one, node in parts])
    total = noted(total, failures_of(total))
    if profile == "upstream":
        total = _published_total(total, judges[0], dimensions)
    return (
        node(
            QUALITY,
            LABELS[QUALITY],
            noted(total, *_notes(judges, dimensions), first=True),
            (general, specific),
        ),
        node(GAP, LABELS[GAP], difference(general.score, specific.score, NO_WEIGHT)),
    )


def _dimension(dimension: QualityDimension, judges: Sequence[QualityFindings], profile: Profile) -> ScoreNode:
    given = [found.by_criterion for found in judges]
    criteria = tuple(
        node(
            criterion.id.rpartition(".")[2],
            criterion.criterion,
            answers([found[criterion.id].score for found in given], 0.0, TOP),
            of_task=True,
        )
        for criterion in dimension.criteria
    )
    parts = zip(dimension.criteria, criteria, strict=True)
    score = weighted([(one.weight, node.score) for one, node in parts])
    score = noted(score, failures_of(score)) if profile == "paper" else _all_or_none(score, COUNTED_0)
    if dimension.kind == GENERAL and dimension.id in GENERAL_DIMENSIONS:
        return node(dimension.id, GENERAL_DIMENSIONS[dimension.id][0], score, criteria)
    return node(dimension.id, dimension.name, score, criteria, of_task=True)


def _group(kind: DimensionKind, parts: Sequence[Part], profile: Profile) -> ScoreNode:
    """Score the dimensions of one kind: by their weights, or as the plain mean of the published columns."""
    score = weighted([(one.weight if profile == "paper" else 1.0, node.score) for one, node in parts])
    score = noted(score, failures_of(score))
    return node(
        kind,
        LABELS[kind],
        score if profile == "paper" else _all_or_none(score, score.note),
        (node for _, node in parts),
    )


def _all_or_none(score: Score, note: str) -> Score:
    """Return a score as the published code has it: without a value if an answer is missing."""
    if not score.n_failed:
        return score
    return score.model_copy(update={"value": None, "numerator": None, "denominator": None, "note": note})


def _published_total(score: Score, found: QualityFindings, dimensions: QualityDimensions) -> Score:
    if score.n_failed:
        return _all_or_none(score, COUNTED_0)
    total = final_scores_of(found, dimensions)[upstream.TOTAL]
    return score.model_copy(update=dict.fromkeys(("value", "numerator", "low", "high"), total))


def _notes(judges: Sequence[QualityFindings], dimensions: QualityDimensions) -> list[str]:
    """Return notes on the origin of the dimensions, and on quotations."""
    drafted = judges[0].origin == "judge"
    rejected = sum(found.n_rejected for found in judges)
    return [
        "dimensions drafted by the judge" if drafted else f"dimensions {dimensions.status}",
        "all dimensions in one call" if any(found.calls == "task" for found in judges) else "",
        f"{rejected} quotations do not occur in the report" if rejected else "",
    ]


def aggregate_quality(reports: Sequence[Sequence[QualityFindings]], profile: Profile, n_missing: int) -> Tree:
    """Score a system. Reports that the published code leaves out are counted in a note.

    Args:
        reports: findings of all judges, for each report.
        profile: profile of the formulas.
        n_missing: number of reports without findings.
    """
    trees = [score_quality(judges, profile) for judges in reports]
    if profile == "upstream":
        return _published_run(trees, n_missing)

    def mean(*path: str) -> Score:
        lost = unknown(-TOP if path == (GAP,) else 0.0, TOP)
        return mean_of([*(_at(tree, path) or lost for tree in trees), *[lost] * n_missing])

    return _tree(mean, mean=True)


def _tree(score: Callable[..., Score], *, mean: bool, by_name: bool = False) -> Tree:
    """Return the tree of a system, with each score by its path.

    `mean`: they are means over the reports, but for `by_name` the specific dimensions and the gap, whose dimensions are
    averaged by name first.
    """
    general = tuple(
        node(name, label, score(QUALITY, GENERAL, name), mean=mean)
        for name, (label, _) in GENERAL_DIMENSIONS.items()
    )
    groups = (
        node(GENERAL, LABELS[GENERAL], score(QUALITY, GENERAL), general, mean=mean),
        node(SPECIFIC, LABELS[SPECIFIC], score(QUALITY, SPECIFIC), mean=mean and not by_name),
    )
    return (
        node(QUALITY, LABELS[QUALITY], score(QUALITY), groups, mean=mean),
        node(GAP, LABELS[GAP], score(GAP), mean=mean and not by_name),
    )


def _at(tree: Tree, path: tuple[str, ...]) -> Score | None:
    try:
        return next(node for node in tree if node.id == path[0]).find(*path[1:]).score
    except KeyError:
        return None


def _published_run(trees: Sequence[Tree], n_missing: int) -> Tree:
    """Score the reports that have all answers by the published summary."""
    finished = [(tree[0], found) for tree in trees if (found := _final_of(tree[0])) is not None]
    results = {
        str(number): {"model_results": {_SYSTEM: {"final_scores": found}}}
        for number, (_, found) in enumerate(finished)
    }
    system = upstream.summary(results, [_SYSTEM])["models"][_SYSTEM]
    averages: dict[str, float] = system["dimension_averages"]
    columns = {name: averages.get(name + upstream.SUFFIX) for name in GENERAL_DIMENSIONS}
    known = [value for value in columns.values() if value is not None]
    values: dict[tuple[str, ...], float | None] = {
        (QUALITY, GENERAL, name): columns[name] for name in columns
    }
    if known:
        general, specific = sum_in_order(known) / len(known), upstream.task_column(averages)
        values |= {
            (QUALITY,): system["average_total_score"],
            (QUALITY, GENERAL): general,
            (QUALITY, SPECIFIC): specific,
            (GAP,): general - specific,
        }
    n = len(trees) + n_missing
    n_failed = n - len(finished)
    n_zero = len(finished) - system["total_queries"]
    n_part = sum(root.score.n_failed > 0 for root, _ in finished)
    notes = [f"{n_zero} of {n} reports have a total of 0 and are left out"] if n_zero else []
    notes += [f"{n_failed} of {n} reports without all answers"] if n_failed else []
    notes += [f"{n_part} of {n} reports by a part of the judges"] if n_part else []

    def score(*path: str) -> Score:
        value = values.get(path)
        return measured(
            value,
            complete=not n_failed and not n_part,
            n_expected=n,
            n_failed=n_failed,
            n_undefined=int(value is None and not n_failed),
            known=sum_in_order(known_share(root.score) or 0.0 for root, _ in finished) / n if n else None,
            note="; ".join(notes),
        )

    return _tree(score, mean=not (n_failed or n_zero or n_part), by_name=True)


def _final_of(root: ScoreNode) -> dict[str, float] | None:
    """Return a report's scores in the published form; None if it lacks an answer."""
    if root.score.value is None:
        return None
    found = {
        (child.id if group.id == GENERAL else upstream.dimension_key(child.label)) + upstream.SUFFIX: value
        for group in root.children
        for child in group.children
        if (value := child.score.value) is not None
    }
    return {**found, upstream.TOTAL: root.score.value}
