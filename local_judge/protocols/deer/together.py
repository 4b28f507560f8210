"""DEER by several judges, and what of a report they can be compared in.

Invariant: the tree is the one judge's: verdicts by votes, rubric items by means, and all above them by the formulas of
the profile; what code decided is no judge's opinion and compared with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from local_judge.protocols.base import Rated
from local_judge.protocols.deer.overall import score, score_leaves
from local_judge.protocols.deer.rubric.findings import Grade, RubricFindings
from local_judge.protocols.deer.rubric.together import merged
from local_judge.protocols.deer.rubric.tree import OVERALL
from local_judge.protocols.deer.verification.rows import VERIFIABLE, Rows
from local_judge.protocols.deer.verification.votes import n_tied, voted
from local_judge.protocols.ensemble import opened
from local_judge.protocols.scores import Profile, ScoreNode


class Judged(NamedTuple):
    """What one judge has found of a report; None for a part that was not run."""

    rows: Rows | None
    rubric: RubricFindings | None


def together(judges: Sequence[Judged], profile: Profile) -> tuple[ScoreNode, ...]:
    """The scores of one report by all judges."""
    rows = [judged.rows for judged in judges if judged.rows is not None]
    rubrics = [judged.rubric for judged in judges if judged.rubric is not None]

    def scored(favour: bool | None) -> tuple[ScoreNode, ...]:
        return score_leaves(
            voted(rows, unsettled=favour is not None) if rows else None,
            merged(rubrics, favour) if rubrics else None,
            profile,
        )

    trees = opened(
        scored(None), scored(False), scored(True), [score(one.rows, one.rubric, profile) for one in judges]
    )
    tied = n_tied(voted(rows)) if rows else 0
    if not tied:
        return trees
    note = f"judges are divided evenly on {tied} pairs of claim and source"
    verified = {root.id for root in score(rows[0], None, profile)}
    return tuple(_noted(root, note) if root.id in verified else root for root in trees)


def _noted(root: ScoreNode, note: str) -> ScoreNode:
    notes = [text for text in (root.score.note, note) if text]
    return root.model_copy(update={"score": root.score.model_copy(update={"note": "; ".join(notes)})})


def rated(rows: Rows | None, rubric: RubricFindings | None) -> tuple[Rated, ...]:
    """Every decision of one judge about a report."""
    return (
        *(_of_rubric(rubric) if rubric is not None else ()),
        *(_of_rows(rows) if rows is not None else ()),
    )


def _of_rubric(rubric: RubricFindings) -> Iterator[Rated]:
    """The scores by dimension, and of each item whether it applies at all."""
    for grade in rubric.grades:
        item = ".".join(grade.path)
        if grade.status != "not_applicable":
            metric = grade.path[0] if grade.path else OVERALL
            yield Rated(metric=metric, item=item, value=grade.score, scale="ordinal")
        yield Rated(metric="applicability", item=item, value=_applies(grade), scale="nominal")


def _applies(grade: Grade) -> str | None:
    return None if grade.status == "failed" else grade.status


def _of_rows(rows: Rows) -> Iterator[Rated]:
    """Whether a page supports a claim that leans on it, and whether the page is reliable."""
    reliable: dict[str, bool] = {}
    for claim in rows.claims:
        for pair in claim.pairs:
            if pair.outcome == "source_unavailable" or claim.type not in VERIFIABLE:
                continue
            value = None if pair.failed else pair.outcome
            yield Rated(metric="claim_support", item=f"{claim.id} {pair.url}", value=value, scale="nominal")
            if pair.reliable is not None:
                reliable[pair.url] = pair.reliable
    for url, said in reliable.items():
        yield Rated(
            metric="source_reliability",
            item=url,
            value="reliable" if said else "not reliable",
            scale="nominal",
        )
