"""DeepResearchEval: adaptive quality, and the facts of a report checked against a search."""

from local_judge.protocols.deepresearcheval.findings import DreFindings
from local_judge.protocols.deepresearcheval.protocol import DeepResearchEval

__all__ = ["DeepResearchEval", "DreFindings"]
