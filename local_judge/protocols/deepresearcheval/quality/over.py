"""Adaptive quality over all reports of a system.

    paper      the mean over reports of each report's quality, dimension, group and gap
    upstream   the same over the reports with a total above 0; `specific`, the published column `Task`, is the mean over
               the names of all task-specific dimensions of each name's mean; the gap is that of the columns

Invariants: both profiles have the same tree; a report that failed opens the bounds, and what the published code leaves
out is counted and said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from local_judge.protocols.deepresearcheval.quality import upstream
from local_judge.protocols.deepresearcheval.quality.findings import TOP, QualityFindings
from local_judge.protocols.deepresearcheval.quality.scores import (
    GAP,
    GENERAL,
    LABELS,
    QUALITY,
    SPECIFIC,
    Tree,
    mean_over,
    quality_together,
)
from local_judge.protocols.scores import Profile, Score, ScoreNode, known_share
from local_judge.tasks.dimensions import GENERAL as DIMENSIONS

_SYSTEM = "system"


def over_quality(reports: Sequence[Sequence[QualityFindings]], profile: Profile, n_missing: int) -> Tree:
    """The scores of a system.

    Args:
        reports: of each report, the findings of all judges.
        profile: by whose formulas.
        n_missing: reports without findings.
    """
    trees = [quality_together(judges, profile) for judges in reports]
    if profile == "paper":
        return _tree(lambda *path: _mean(trees, path, n_missing))
    return _upstream(trees, n_missing)


def _tree(score: Callable[..., Score]) -> Tree:
    """The tree, each score from its path."""
    general = tuple(
        ScoreNode(id=name, label=label, score=score(QUALITY, GENERAL, name))
        for name, (label, _) in DIMENSIONS.items()
    )
    groups = (
        ScoreNode(id=GENERAL, label=LABELS[GENERAL], score=score(QUALITY, GENERAL), children=general),
        ScoreNode(id=SPECIFIC, label=LABELS[SPECIFIC], score=score(QUALITY, SPECIFIC)),
    )
    return (
        ScoreNode(id=QUALITY, label=LABELS[QUALITY], score=score(QUALITY), children=groups),
        ScoreNode(id=GAP, label=LABELS[GAP], score=score(GAP)),
    )


def _mean(trees: Sequence[Tree], path: tuple[str, ...], n_missing: int) -> Score:
    low = -TOP if path == (GAP,) else 0.0
    return mean_over([*(_at(tree, path) for tree in trees), *([None] * n_missing)], low)


def _at(tree: Tree, path: tuple[str, ...]) -> Score | None:
    try:
        return next(node for node in tree if node.id == path[0]).find(*path[1:]).score
    except KeyError:
        return None


def _upstream(trees: Sequence[Tree], n_missing: int) -> Tree:
    """What the published summary makes of the reports that have all answers."""
    finished = {str(number): found for number, tree in enumerate(trees) if (found := _final(tree))}
    results = {
        number: {"model_results": {_SYSTEM: {"final_scores": found}}} for number, found in finished.items()
    }
    system = upstream.summary(results, [_SYSTEM])["models"][_SYSTEM]
    averages: dict[str, float] = system["dimension_averages"]
    n, n_failed = len(trees) + n_missing, len(trees) + n_missing - len(finished)
    n_part = sum(trees[int(number)][0].score.n_failed > 0 for number in finished)
    shares = [known_share(trees[int(number)][0].score) or 0.0 for number in finished]
    n_zero = len(finished) - system["total_queries"]
    columns = [averages[name + upstream.SUFFIX] for name in DIMENSIONS if name + upstream.SUFFIX in averages]
    general = sum(columns) / len(columns) if columns else None
    specific = upstream.task_column(averages) if columns else None
    values: dict[tuple[str, ...], float | None] = {
        (QUALITY,): system["average_total_score"] if columns else None,
        (QUALITY, GENERAL): general,
        (QUALITY, SPECIFIC): specific,
        (GAP,): general - specific if general is not None and specific is not None else None,
        **{(QUALITY, GENERAL, name): averages.get(name + upstream.SUFFIX) for name in DIMENSIONS},
    }
    notes = [f"{n_zero} of {n} reports have a total of 0 and are left out"] if n_zero else []
    notes += [f"{n_failed} of {n} reports without all answers"] if n_failed else []
    notes += [f"{n_part} of {n} reports by a part of the judges"] if n_part else []

    def score(*path: str) -> Score:
        value = values[path]
        return Score(
            value=value,
            n_expected=n,
            n_failed=n_failed,
            n_undefined=int(value is None and not n_failed),
            known=sum(shares) / n if n else None,
            low=None if n_failed or n_part else value,
            high=None if n_failed or n_part else value,
            note="; ".join(notes),
        )

    return _tree(score)


def _final(tree: Tree) -> dict[str, float] | None:
    """A report's scores as the published code has them; None where it lacks an answer."""
    quality = next(node for node in tree if node.id == QUALITY)
    if quality.score.value is None:
        return None
    found = {
        (child.id if group.id == GENERAL else upstream.dimension_key(child.label)) + upstream.SUFFIX: value
        for group in quality.children
        for child in group.children
        if (value := child.score.value) is not None
    }
    return {**found, upstream.TOTAL: quality.score.value}
