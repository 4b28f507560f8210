"""DREAM: writing, factuality, citation integrity, domain authority, key information and reasoning."""

from local_judge.protocols.dream.protocol import Dream, DreamFindings

__all__ = ["Dream", "DreamFindings"]
