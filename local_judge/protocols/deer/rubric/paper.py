"""The rubric's scores as the paper defines them (section 4), 1 to 10.

Invariant: no rounding; every level is the mean of its parts that have a value, and each part weighs the same whatever
it was made of.

    coverage, quality = mean of the criterion's C items, of its Q items
    criterion         = mean of those of the two that are defined
    sub-dimension     = mean of its criteria
    dimension         = mean of its sub-dimensions

An item that is not applicable is left out. An item that failed is left out too and opens the bounds: 1 against the
report, 10 in its favour.
"""

from __future__ import annotations

from local_judge.protocols.deer.rubric.findings import RubricFindings
from local_judge.protocols.deer.rubric.tree import Leaves, build, leaves_of
from local_judge.protocols.scores import ScoreNode, mean_of


def score(findings: RubricFindings) -> tuple[ScoreNode, ...]:
    """The judged dimensions in the findings' order, `information_integrity` with recency alone among them."""
    return score_leaves(leaves_of(findings))


def score_leaves(leaves: Leaves) -> tuple[ScoreNode, ...]:
    """The same, of answers that may be several judges' together."""
    return build(leaves, lambda _, parts: mean_of(parts))
