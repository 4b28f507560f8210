"""DEER's information-verification scores: Integrity and Sufficiency from rows, in either profile.

Invariant: pure functions of stored findings; the same rows give the same tree, whatever the profile.
"""

from __future__ import annotations

from local_judge.protocols.deer import paper, upstream_scores
from local_judge.protocols.deer.rows import Rows
from local_judge.protocols.deer.tree import DeerScores
from local_judge.protocols.scores import Profile


def score(rows: Rows, profile: Profile = "paper") -> DeerScores:
    """The two dimensions with their sub-dimensions and metrics, 0 to 10."""
    formulas = paper.score if profile == "paper" else upstream_scores.score
    notes = (f"{rows.n_unread} sentences whose claims are unknown",) if rows.n_unread else ()
    return DeerScores(profile=profile, dimensions=formulas(rows), notes=notes)
