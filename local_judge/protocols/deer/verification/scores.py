"""DEER's information-verification scores: Integrity and Sufficiency from rows, in either profile.

Invariants: pure functions of stored findings; the same rows give the same tree, whatever the profile. A report of
which no claim could be extracted has no scores: that it "has no claims" is our failure and no finding.
"""

from __future__ import annotations

from local_judge.protocols.deer.verification import paper, upstream_scores
from local_judge.protocols.deer.verification.rows import Rows
from local_judge.protocols.deer.verification.tree import METRICS, DeerScores, build
from local_judge.protocols.scores import Profile, Score, ScoreNode, mean_of


def score(rows: Rows, profile: Profile = "paper") -> DeerScores:
    """The two dimensions with their sub-dimensions and metrics, 0 to 10."""
    unread = f"the claims of {rows.n_unread} sentences are unknown" if rows.n_unread else ""
    if unread and not rows.claims:
        return DeerScores(profile=profile, dimensions=_unknown(rows.n_unread, unread))
    formulas = paper.score if profile == "paper" else upstream_scores.score
    return DeerScores(profile=profile, dimensions=tuple(_noted(root, unread) for root in formulas(rows)))


def _unknown(n_unread: int, note: str) -> tuple[ScoreNode, ...]:
    """Every score null, with the whole scale open."""
    score = Score(value=None, n_expected=n_unread, n_failed=n_unread, low=0.0, high=10.0, note=note)
    return build({metric.id: score for metric in METRICS}, lambda _, parts: mean_of(parts))


def _noted(root: ScoreNode, note: str) -> ScoreNode:
    """A dimension that says what none of its bounds covers."""
    notes = [text for text in (root.score.note, note) if text]
    return root.model_copy(update={"score": root.score.model_copy(update={"note": "; ".join(notes)})})
