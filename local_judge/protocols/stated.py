"""Scores that a published file states, without the answers that they were computed from.

Invariants: a stated score is the file's number on the protocol's scale, and nothing is computed from it but means over
reports; a score without a value in the file has none. The file's own record is kept as it was read, so that an export
writes it back unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field, JsonValue

from local_judge.base.model import Frozen
from local_judge.scoring.node import Profile, Score, ScoreNode

PUBLISHED = "as stated in the published file"
MEAN = "mean over the system's reports, as stated in the published file"
NO_VALUE = "the published file states no value"

ALL = "all"
"""Task of a mean over reports, so that the systems of a leaderboard can be ranked."""

Subject = Literal["report", "system"]


class StatedScore(Frozen):
    """One score of a published file."""

    path: str = Field(min_length=1)
    """Path in the protocol's score tree, such as `information_integrity/claim_factuality`; parents come first."""
    label: str
    """Name in the paper."""
    value: float | None
    """Value on the protocol's scale; None where the file states none."""
    profiles: tuple[Profile, ...] = ("paper", "upstream")
    """Profiles whose formulas give this number."""


class Stated(Frozen):
    """All scores that a published file states of one report, or of all reports of a system."""

    of: Subject = "report"
    """`system`: the scores are means over the system's reports, which are not in the file."""
    scores: tuple[StatedScore, ...]
    """Scores in the order of the file."""
    record: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """The record of the file, as it was read."""


def stated_trees(stated: Stated, profile: Profile) -> tuple[ScoreNode, ...]:
    """Return the score trees of one profile."""
    note = PUBLISHED if stated.of == "report" else MEAN
    return _below("", [score for score in stated.scores if profile in score.profiles], note)


def _below(above: str, scores: Sequence[StatedScore], note: str) -> tuple[ScoreNode, ...]:
    own = [score for score in scores if score.path.rpartition("/")[0] == above]
    return tuple(
        ScoreNode(
            id=one.path.rpartition("/")[2],
            label=one.label,
            score=_score(one.value, note),
            children=_below(one.path, scores, note),
        )
        for one in own
    )


def _score(value: float | None, note: str) -> Score:
    if value is None:
        return Score(value=None, n_expected=1, n_undefined=1, note=NO_VALUE)
    return Score(value=value, n_expected=1, low=value, high=value, note=note)


def with_stated(
    computed: Iterable[ScoreNode], stated: Stated | None, profile: Profile
) -> tuple[ScoreNode, ...]:
    """Return computed trees with the stated ones behind them, except those that the computed ones contain."""
    found = tuple(computed)
    if stated is None:
        return found
    ids = {root.id for root in found}
    return (*found, *(root for root in stated_trees(stated, profile) if root.id not in ids))
