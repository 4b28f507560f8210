"""Metrics of DeepEval (LiveResearchBench, section 4).

paper      several judges: presentation and coverage are merged item by item, all other scores are averaged
upstream   the mean of the judges' scores, and of a system the mean of the judges' means (`average_results.py`), which
           differ where a judge has no score of a report
depth      sums of dimensions averaged before a pair is decided (`paper`), or games pooled (`upstream`)
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.base.errors import ConfigError
from local_judge.protocols.file_formats import FileFormat
from local_judge.protocols.liveresearchbench import metrics
from local_judge.protocols.liveresearchbench.depth.games import DepthFindings
from local_judge.protocols.liveresearchbench.metrics.accuracy import AccuracyFindings
from local_judge.protocols.liveresearchbench.metrics.coverage import CoverageFindings
from local_judge.protocols.liveresearchbench.metrics.issues import IssueFindings
from local_judge.protocols.liveresearchbench.metrics.presentation import PresentationFindings
from local_judge.protocols.liveresearchbench.original_prompts import PARTS, prompts_from
from local_judge.protocols.metric import MetricProtocol, PartFindings, metrics_in
from local_judge.protocols.originals import Original, PromptSource
from local_judge.protocols.probes import InjectionProbe, SensitivityProbe, citation_expectations, expectations
from local_judge.scoring.aggregate import mean_over_reports
from local_judge.scoring.coverage import known_enough
from local_judge.scoring.ensemble import mean_over_judges
from local_judge.scoring.node import PERCENT, Profile, ScoreNode, noted
from local_judge.tasks.model import Task

NO_REQUEST = "judged without the request: the report has no task"


class LrbFindings(PartFindings):
    """Findings of each metric, in the order in which metrics are shown."""

    presentation: PresentationFindings | None = None
    coverage: CoverageFindings | None = None
    consistency: IssueFindings | None = None
    citation: IssueFindings | None = None
    accuracy: AccuracyFindings | None = None
    depth: DepthFindings | None = None


AVERAGED = ("presentation", "coverage", "consistency", "citation")
"""Metrics whose system's score is a mean over reports."""


def _mean_of_means(judges: Sequence[Sequence[ScoreNode]], n_missing: int) -> ScoreNode | None:
    """Return the mean of the judges' means over reports; None if no score is missing, where it is the reports' mean."""
    parts = [[known_enough(node.score) for node in nodes] for nodes in judges]
    if all(score.value is not None for scores in parts for score in scores):
        return None
    means = [mean_over_reports(scores, n_missing, 0.0, PERCENT.high) for scores in parts]
    return judges[0][0].model_copy(update={"score": mean_over_judges(means), "children": ()})


class LiveResearchBench(MetricProtocol[LrbFindings]):
    """Metrics of LiveResearchBench: scores from 0 to 100, and a number of errors for citation accuracy."""

    name = "liveresearchbench"
    version = "5"
    profiles = ("paper", "upstream")
    findings_type = LrbFindings
    dated_prompts = True
    metrics = metrics_in(metrics, order=tuple(LrbFindings.model_fields))
    sensitivity_probes = (
        SensitivityProbe("accuracy", {"parts": ["accuracy"]}, citation_expectations("accuracy/e3_rate")),
        SensitivityProbe("coverage", {"parts": ["coverage"]}, expectations("coverage", ("dropped",))),
        SensitivityProbe(
            "consistency", {"parts": ["consistency"]}, expectations("consistency", ("contradiction",))
        ),
    )
    injection_probes = (
        InjectionProbe("presentation", "checklist", {"parts": ["presentation"]}, "presentation"),
        InjectionProbe("coverage", "checklist", {"parts": ["coverage"]}, "coverage"),
        InjectionProbe("depth", "winner", {"parts": ["depth"]}),
    )

    def missing_for_prompts(self, task: Task | None) -> str | None:
        """The published prompts show the task's request."""
        if task is None:
            return "it has no task, whose request the published prompts show; give --tasks"
        return self.missing_inputs(task)

    def original_prompts(self, source: PromptSource) -> Original:
        """Return the prompts of LiveResearchBench."""
        without = [part for part in self.settings.parts if part not in PARTS]
        if without:
            raise ConfigError(
                f"liveresearchbench.parts: {without[0]} has no published prompts; give --set "
                f"liveresearchbench.parts=[{','.join(part for part in self.settings.parts if part in PARTS)}]"
            )
        return prompts_from(source)

    def score(self, judges: Sequence[LrbFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """Score the metrics that were run, with a note if the prompts had no request."""
        roots = super().score(judges, profile)
        if judges[0].request is not None:
            return roots
        return tuple(
            root.model_copy(update={"score": noted(root.score, NO_REQUEST, first=True)}) for root in roots
        )

    def aggregate(
        self, reports: Sequence[Sequence[LrbFindings]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """Return the scores of depth; by `upstream`, also the means of the judges' means where these differ."""
        found = super().aggregate(reports, profile, n_missing)
        if profile != "upstream" or not reports or len(reports[0]) == 1:
            return found
        own: dict[str, list[list[ScoreNode]]] = {}
        for judges in reports:
            for place, one in enumerate(judges):
                for root in self.score([one], profile):
                    if root.id in AVERAGED:
                        own.setdefault(root.id, [[] for _ in judges])[place].append(root)
        return (*filter(None, (_mean_of_means(each, n_missing) for each in own.values())), *found)

    def file_format(self) -> FileFormat[LrbFindings]:
        """Return the published project's files: see `export`."""
        from local_judge.protocols.liveresearchbench.export import LrbFiles

        return LrbFiles()
