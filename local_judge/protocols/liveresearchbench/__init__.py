"""LiveResearchBench (DeepEval): presentation, consistency, citation association, coverage, citation accuracy, depth."""

from local_judge.protocols.liveresearchbench.protocol import LiveResearchBench, LrbFindings

__all__ = ["LiveResearchBench", "LrbFindings"]
