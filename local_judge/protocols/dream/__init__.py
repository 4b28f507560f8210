"""DREAM: writing quality, factuality, citation integrity, domain authority, and what a task's plan asks for."""

from local_judge.protocols.dream.protocol import Dream, DreamFindings

__all__ = ["Dream", "DreamFindings"]
