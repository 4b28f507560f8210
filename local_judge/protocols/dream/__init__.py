"""DREAM: writing quality, factuality, citation integrity, domain authority, and what a task's plan asks for."""

from local_judge.protocols.dream.findings import DreamFindings
from local_judge.protocols.dream.protocol import Dream

__all__ = ["Dream", "DreamFindings"]
