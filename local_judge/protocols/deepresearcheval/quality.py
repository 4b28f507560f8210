"""Adaptive quality: general and task-specific dimensions, each by weighted criteria.

Invariant: the dimensions come with the task, or are drafted from its request alone, by prompts that do not depend on
the report. A judge that has drafted them once replays them from its ledger, so that all systems on a task are judged by
the same dimensions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.protocols.asking import task_of
from local_judge.protocols.base import Case, Decision, EvalContext
from local_judge.protocols.deepresearcheval import original_prompts
from local_judge.protocols.deepresearcheval.findings import Calls, QualityFindings
from local_judge.protocols.deepresearcheval.quality_criteria import score_criteria
from local_judge.protocols.deepresearcheval.quality_scores import (
    LABELS,
    QUALITY,
    SPECIFIC,
    aggregate_quality,
    score_quality,
)
from local_judge.protocols.metric import Metric
from local_judge.protocols.originals import Original
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.node import TEN, Profile, ScoreNode
from local_judge.tasks.dimensions import settled
from local_judge.tasks.dimensions_draft import draft_dimensions
from local_judge.tasks.drafting import Draft, NoDraft
from local_judge.tasks.model import Criterion, QualityDimensions, Task


class QualitySettings(Frozen):
    """Settings of adaptive quality."""

    calls: Calls = "dimension"
    """Unit of a call: one dimension, as in the published code, or all criteria of the task; the score says so."""
    draft: bool = True
    """Let each judge draft the dimensions of a task that has none; otherwise such a task is refused."""


class Quality(Metric[QualitySettings, QualityFindings]):
    """General and task-specific dimensions with weighted criteria, 0 to 10, and the gap between the two kinds."""

    id = QUALITY
    label = LABELS[QUALITY]
    scale = TEN

    def missing_inputs(self, task: Task) -> str | None:
        """Name the dimensions if the task has none and judges may not draft them."""
        if self.settings.draft or task.dimensions is not None:
            return None
        return (
            f"its task {task.id!r} has no dimensions; give --dimensions (`local-judge tasks draft dimensions` makes "
            "them), or let each judge draft its own: --set deepresearcheval.quality.draft=true"
        )

    async def examine(self, case: Case, context: EvalContext) -> QualityFindings:
        """Judge each criterion of the task's dimensions, or of those that the judge drafts."""
        task, calls = task_of(case), self.settings.calls
        dimensions, drafted_by = task.dimensions, ()
        prompts = None if context.prompts is None else original_prompts.prompts_from(context.prompts)
        if dimensions is None:
            draft = Draft(task, context.judge)
            try:
                dimensions = await _draft(draft, prompts)
            except NoDraft as error:
                return QualityFindings(dimensions=None, origin="judge", calls=calls, failure=error.failure)
            drafted_by = tuple(dict.fromkeys(draft.replies))
        if prompts is None:
            scores = await score_criteria(
                case.report, task.prompt, dimensions, context.judge, calls, context.today
            )
        else:
            scores = await original_prompts.score_criteria(
                case.report, task.prompt, dimensions, context.judge, prompts
            )
        return QualityFindings(
            dimensions=dimensions,
            origin="judge" if task.dimensions is None else "task",
            drafted_by=drafted_by,
            calls=calls,
            scores=scores,
        )

    def score(self, judges: Sequence[QualityFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """Score quality, and the gap between general and task-specific dimensions."""
        return score_quality(judges, profile)

    def aggregate(
        self, reports: Sequence[Sequence[QualityFindings]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """Score both over the reports of a system."""
        return aggregate_quality(reports, profile, n_missing)

    def decisions(self, findings: QualityFindings) -> Iterator[Decision]:
        """Yield the score of each criterion, by dimension; task-specific dimensions together.

        The criteria of judges that drafted their own are never compared: an item is identified by its text too.
        """
        answers = findings.by_criterion
        for dimension in findings.dimensions.dimensions if findings.dimensions else ():
            for one in dimension.criteria:
                yield Decision(
                    metric=dimension.id if dimension.kind == "general" else SPECIFIC,
                    item=_item(one, findings),
                    value=answers[one.id].score,
                    scale="interval",
                )

    def items(self, findings: QualityFindings) -> Iterator[ItemRow]:
        """Yield each criterion with its score, 0 to 10, by dimension."""
        answers = findings.by_criterion
        for dimension in findings.dimensions.dimensions if findings.dimensions else ():
            for one in dimension.criteria:
                answer = answers[one.id]
                yield answer.row(
                    dimension.id, one.id, answer.score, one.criterion, f"weight {one.weight:.2f}"
                )

    def lines(self, findings: QualityFindings) -> Iterator[str]:
        """Yield one line about the dimensions and criteria."""
        if findings.dimensions is None:
            kind = findings.failure.kind if findings.failure else "unknown"
            yield f"quality: failed: no dimensions were drafted ({kind})"
            return
        dimensions = findings.dimensions.dimensions
        names = [
            f"{dimension.name} ({dimension.weight:.2f})"
            for dimension in dimensions
            if dimension.kind == "specific"
        ]
        origin = (
            "drafted by this judge"
            if findings.origin == "judge"
            else f"{findings.dimensions.status}, joined by {findings.dimensions.joined}"
        )
        asked = count(len(findings.scores), "criterion", "criteria")
        parts = [
            f"quality: {asked} of {count(len(dimensions), 'dimension')} ({origin})",
            f"task-specific: {', '.join(names)}",
            "all in one call" if findings.calls == "task" else "",
            f"{findings.n_failed} failed" if findings.n_failed else "",
            f"{count(findings.n_rejected, 'quotation')} not in the report" if findings.n_rejected else "",
        ]
        yield "; ".join(filter(None, parts))


async def _draft(draft: Draft, prompts: Original | None) -> QualityDimensions:
    """Return the dimensions that the judge drafts for a task. Raises NoDraft."""
    if prompts is not None:
        return await original_prompts.draft_dimensions(draft, prompts)
    row = await draft_dimensions(draft)
    return settled(row.dimensions).model_copy(update={"status": "drafted"})


def _item(criterion: Criterion, found: QualityFindings) -> str:
    if found.origin == "task":
        return criterion.id
    return f"{criterion.id}#{hashlib.sha256(criterion.criterion.encode()).hexdigest()[:8]}"
