"""DEER (arXiv 2512.17776): expert rubric and information verification."""

from local_judge.protocols.deer.protocol import Deer, DeerFindings

__all__ = ["Deer", "DeerFindings"]
