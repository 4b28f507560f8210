"""Adaptive quality as a tree."""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.deepresearcheval.quality.findings import QualityFindings
from local_judge.protocols.scores import Profile, ScoreNode


def score_quality(judges: Sequence[QualityFindings], profile: Profile) -> ScoreNode:
    """The weighted score over all dimensions."""
    raise NotImplementedError
