"""LiveResearchBench's findings about one report, by metric."""

from __future__ import annotations

from local_judge.protocols.liveresearchbench.depth.games import DepthFindings
from local_judge.protocols.liveresearchbench.metrics.accuracy import AccuracyFindings
from local_judge.protocols.liveresearchbench.metrics.coverage import CoverageFindings
from local_judge.protocols.liveresearchbench.metrics.issues import IssueFindings
from local_judge.protocols.liveresearchbench.metrics.presentation import PresentationFindings
from local_judge.protocols.metric import PartFindings


class LrbFindings(PartFindings):
    """Findings of each metric, in the order in which metrics are shown."""

    presentation: PresentationFindings | None = None
    coverage: CoverageFindings | None = None
    consistency: IssueFindings | None = None
    citation: IssueFindings | None = None
    accuracy: AccuracyFindings | None = None
    depth: DepthFindings | None = None
