"""Votes of several judges on whether a source supports a claim.

Invariant: only judges that answered vote; if none did, or they are evenly divided, the result is not known. `favour`
shows what the missing answers might change.

    with labels          the majority
    with probabilities   mean of P(supported) >= mean of the thresholds: a judge that is sure weighs more than one that
                         wavers, and each is measured against the threshold that was fitted for it
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from local_judge.stats.sums import sum_in_order


class Vote(NamedTuple):
    """One judge's answer."""

    supported: bool
    confidence: float | None = None
    """P(supported), where its method gives one."""
    threshold: float | None = None
    """Minimum confidence of a supported claim."""


def decide(votes: Sequence[Vote | None], favour: bool | None = None) -> bool | None:
    """Decide whether the judges together call it supported; None where that is not known.

    Args:
        votes: one for each judge, None for one that gave no answer.
        favour: take each missing answer, and a tie, for the report (True) or against it (False); None leaves them out.
    """
    given = [vote for vote in votes if vote is not None]
    if len({vote.supported for vote in given}) == 1 and (favour is None or len(given) == len(votes)):
        return given[0].supported
    scored = [
        (vote.confidence, vote.threshold)
        for vote in given
        if vote.confidence is not None and vote.threshold is not None
    ]
    if given and len(scored) == len(given):
        thresholds = [threshold for _, threshold in scored]
        confidences = [confidence for confidence, _ in scored]
        if favour is not None:
            # Nor is it known which threshold a judge had that gave no answer.
            confidences += [float(favour)] * (len(votes) - len(given))
            thresholds += [float(not favour)] * (len(votes) - len(given))
        return sum_in_order(confidences) / len(confidences) >= sum_in_order(thresholds) / len(thresholds)
    return majority([None if vote is None else vote.supported for vote in votes], favour)


def majority(votes: Sequence[bool | None], favour: bool | None = None) -> bool | None:
    """Return the answer of most judges that gave one; None for a tie, and where none did.

    `favour`: as in `decide`.
    """
    said = [favour if vote is None else vote for vote in votes]
    ayes, noes = said.count(True), said.count(False)
    return favour if ayes == noes else ayes > noes
