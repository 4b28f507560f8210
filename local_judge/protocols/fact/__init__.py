"""FACT of DeepResearch Bench (arXiv 2506.11763): whether what a report cites supports what it says."""

from local_judge.protocols.fact.findings import FactFindings
from local_judge.protocols.fact.protocol import Fact

__all__ = ["Fact", "FactFindings"]
