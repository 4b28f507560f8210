"""The parts as trees, of one judge or of several, and over the reports of a system.

Invariant: the trees are the same whatever the number of judges; a part that was not run has none.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.base import Rated
from local_judge.protocols.deepresearcheval.findings import DreFindings
from local_judge.protocols.deepresearcheval.quality.scores import score_quality
from local_judge.protocols.scores import Profile, ScoreNode


def score(found: DreFindings, profile: Profile) -> tuple[ScoreNode, ...]:
    """One root for each part that was run."""
    roots = (found.quality and score_quality([found.quality], profile),)
    return tuple(root for root in roots if root is not None)


def together(judges: Sequence[DreFindings], profile: Profile) -> tuple[ScoreNode, ...]:
    """The scores of one report by all judges that have findings about it."""
    roots: list[ScoreNode] = []
    rated_by = [found.quality for found in judges if found.quality is not None]
    if rated_by:
        roots.append(score_quality(rated_by, profile))
    return tuple(roots)


def rated(found: DreFindings) -> tuple[Rated, ...]:
    """All decisions of one judge."""
    return ()
