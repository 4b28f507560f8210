"""LiveResearchBench: the metrics of its DeepEval (section 4), each by itself.

paper      of several judges: presentation and coverage item by item, then the rate; all else the mean of the scores
upstream   the mean of the judges' scores (`average_results.py`)
depth      sums of dimensions averaged before a pair is decided (`paper`), or games pooled (`upstream`)
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.file_formats import FileFormat
from local_judge.protocols.liveresearchbench import metrics
from local_judge.protocols.liveresearchbench.depth.games import DepthFindings
from local_judge.protocols.liveresearchbench.metrics.accuracy import AccuracyFindings
from local_judge.protocols.liveresearchbench.metrics.coverage import CoverageFindings
from local_judge.protocols.liveresearchbench.metrics.issues import IssueFindings
from local_judge.protocols.liveresearchbench.metrics.presentation import PresentationFindings
from local_judge.protocols.metric import MetricProtocol, PartFindings, metrics_in
from local_judge.protocols.probes import InjectionProbe, SensitivityProbe, citation_expectations, expectations
from local_judge.scoring.node import Profile, ScoreNode, noted

NO_REQUEST = "judged without the request: the report has no task"


class LrbFindings(PartFindings):
    """The findings of each metric."""

    presentation: PresentationFindings | None = None
    coverage: CoverageFindings | None = None
    consistency: IssueFindings | None = None
    citation: IssueFindings | None = None
    accuracy: AccuracyFindings | None = None
    depth: DepthFindings | None = None


class LiveResearchBench(MetricProtocol[LrbFindings]):
    """LiveResearchBench's metrics: scores from 0 to 100, and for citation accuracy a number of errors."""

    name = "liveresearchbench"
    version = "3"
    profiles = ("paper", "upstream")
    findings_type = LrbFindings
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

    def score(self, judges: Sequence[LrbFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """The metrics that were run, with a note where the judge did not see the request, which paper and code show."""
        roots = super().score(judges, profile)
        if judges[0].request is not None:
            return roots
        return tuple(
            root.model_copy(update={"score": noted(root.score, NO_REQUEST, first=True)}) for root in roots
        )

    def file_format(self) -> FileFormat[LrbFindings]:
        """See `export`."""
        from local_judge.protocols.liveresearchbench.export import LrbFiles

        return LrbFiles()
