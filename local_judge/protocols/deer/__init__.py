"""DEER (arXiv 2512.17776): expert rubric and information verification."""

from local_judge.protocols.deer.findings import DeerFindings
from local_judge.protocols.deer.protocol import Deer

__all__ = ["Deer", "DeerFindings"]
