"""LiveResearchBench (DeepEval): presentation, consistency, citation association, coverage, citation accuracy, depth."""

from local_judge.protocols.liveresearchbench.findings import LrbFindings
from local_judge.protocols.liveresearchbench.protocol import LiveResearchBench

__all__ = ["LiveResearchBench", "LrbFindings"]
