"""DEER (arXiv 2512.17776): information verification."""

from local_judge.protocols.deer.protocol import Deer, DeerFindings

__all__ = ["Deer", "DeerFindings"]
