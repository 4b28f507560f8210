"""House rules: what one editor wants of a report. A whole protocol in one file, as another package would have it.

style     100 * kept rules / rules            as the judge says
support   100 * supported / judged claims     as the claim set says
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from local_judge.protocols.asking import Requirement, requested, rule
from local_judge.protocols.base import Case, EvalContext
from local_judge.protocols.checklist import ChecklistMetric, ItemFindings
from local_judge.protocols.metric import (
    Metric,
    MetricFindings,
    MetricProtocol,
    NoSettings,
    PartFindings,
    mean_over_judges_of,
)
from local_judge.scoring.algebra import share
from local_judge.scoring.node import Profile, ScoreNode

RULES = (
    Requirement("answer", "The first sentence answers the request."),
    Requirement("short", "No sentence has more than forty words."),
)


class Style(ChecklistMetric[NoSettings, ItemFindings]):
    """The house rules that a report keeps, 0 to 100."""

    id = "style"
    label = "House style"
    vertical = "presentation"

    async def examine(self, case: Case, context: EvalContext) -> ItemFindings:
        """Ask the judge about every rule."""

        def wording(asked: Sequence[Requirement]) -> str:
            task = (
                "Task: decide for each rule whether the report above keeps it. Answer with one JSON object."
            )
            return "\n\n".join([*requested(case.task), task, *(one.line for one in asked)])

        items = await rule(case.report, context.judge, wording, RULES, per_call=len(RULES))
        return ItemFindings(items=tuple(items))


class SupportFindings(MetricFindings):
    """The verdicts on a report's claims, counted."""

    supported: int
    judged: int
    failed: int


class Support(Metric[NoSettings, SupportFindings]):
    """The claims that their sources support, 0 to 100."""

    id = "support"
    label = "Supported claims"
    vertical = "sources"
    findings_type = SupportFindings

    @property
    def needs_claims(self) -> bool:
        """Read the verdicts that all protocols share."""
        return True

    async def examine(self, case: Case, context: EvalContext) -> SupportFindings:
        """Count the claim set's verdicts."""
        labels = [verdict.label for verdict in (await context.claims()).verdicts]
        failed = labels.count(None)
        return SupportFindings(
            supported=labels.count("supported"), judged=len(labels) - failed, failed=failed
        )

    def score(self, judges: Sequence[SupportFindings], profile: Profile) -> ScoreNode:
        """The share of the judged claims, and of several judges the mean."""
        return mean_over_judges_of(self._of_one, judges)

    def _of_one(self, found: SupportFindings) -> ScoreNode:
        score = share(found.supported, found.judged, found.failed, top=100.0, empty="0/0: no claim is cited")
        return self.node(score)

    def lines(self, findings: SupportFindings) -> Iterable[str]:
        """One line for `show`."""
        yield f"support: {findings.supported} of {findings.judged} claims"


class House(MetricProtocol[PartFindings]):
    """The house rules and the claims' support."""

    name = "house"
    version = "1"
    metrics = (Style, Support)
