"""From a number of issues to a score.

Invariant: a table begins at no issue, and more issues never score more.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field


class Step(NamedTuple):
    """From how many issues on, and the score."""

    issues: Annotated[int, Field(ge=0)]
    score: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


def _falling(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    if not steps or steps[0].issues != 0:
        raise ValueError("the first step has to be that of 0 issues")
    for before, step in pairwise(steps):
        if step.issues <= before.issues:
            raise ValueError(f"{step.issues} issues after {before.issues}: their numbers have to rise")
        if step.score > before.score:
            raise ValueError(f"{step.issues} issues score {step.score:g}, more than {before.issues} do")
    return steps


Table = Annotated[tuple[Step, ...], AfterValidator(_falling)]

PUBLISHED: tuple[Step, ...] = (
    Step(0, 100),
    Step(1, 90),
    Step(3, 80),
    Step(5, 70),
    Step(7, 60),
    Step(9, 50),
    Step(11, 40),
    Step(13, 30),
    Step(15, 20),
    Step(18, 10),
)
"""The rubric of the published `criteria/consistency.py` and `criteria/citation.py`: 18 issues and more score 10."""


def score_of(n_issues: int, table: tuple[Step, ...]) -> float:
    """The score of the last step that `n_issues` reaches."""
    return table[bisect_right(table, n_issues, key=lambda step: step.issues) - 1].score
