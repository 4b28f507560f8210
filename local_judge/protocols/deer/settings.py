"""Settings of DEER.

Invariant: whatever changes an answer or its meaning is a field here, and is recorded in the run's manifest.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from local_judge.base.model import Frozen
from local_judge.protocols.base import PathSetting
from local_judge.protocols.deer.rubric.model import Mode
from local_judge.protocols.metric import one_part

Part = Literal["verification", "rubric"]
Guided = Literal["paper", "upstream", "none"]
"""Questions that are asked with the task's guidance. `paper`: those of all five judged dimensions (DEER, section 5.1).
`upstream`: those of Request Fulfillment, Analytical Soundness and Structural Coherence, as in the published code.
`none`: none."""


class DeerSettings(Frozen):
    """Parts of DEER that are run, and the form of the rubric's questions."""

    parts: Annotated[tuple[Part, ...], BeforeValidator(one_part)] = Field(
        default=("verification", "rubric"), min_length=1
    )
    """Parts to evaluate: `verification` needs a snapshot, `rubric` needs tasks."""
    upstream_pairs: bool = True
    """Verify also the claims that cite a page by the published code's back-tracking alone, which the profile `upstream`
    counts. Otherwise they are unknown there: its scores have wide bounds, or no value."""
    rubric: Annotated[str | None, PathSetting()] = None
    """A folder with other texts for the rubric, in the form of this package's `rubric/data`; ids stay as published."""
    mode: Mode = "items"
    """`dimensions`: one score for each dimension, from its description alone. `vanilla`: one score for the report."""
    guidance: Guided = "paper"
    """Questions that show the task's guidance: all, those of the first three dimensions as in the published
    code, or none."""
    guidance_cap: int = Field(default=6, ge=1, le=10)
    """Highest score, of 10, of an item whose guidance is not met according to the judge: the middle band.
    On the scale of 5 it is half of it, rounded up."""
    scale: Literal[5, 10] = 10
    """Highest score: 10, or 5 with one score for each band."""
    anchors: bool = True
    """Say what the scores mean, in five bands; without, only the ends of the scale are named."""
    evidence: Literal["short", "paper"] = "short"
    """`paper`: two passages of 1,000 tokens of a long page for each claim, which all protocols of the run then see; and
    of each item of the rubric the paper's procedure for coverage and a justification of about five sentences. `short`:
    the passages that the claim set is set to, and a rationale of one or two sentences."""
    items_per_call: int = Field(default=24, ge=1, le=24)
    """A call that would ask more is split between criteria. 24 is the longest dimension."""
    as_of: date | None = None
    """Day of the evaluation, stated in the prompt: the recency of a source depends on it."""

    @property
    def cap(self) -> int:
        """`guidance_cap` on the scale in use."""
        return self.scaled(self.guidance_cap)

    def scaled(self, score: int) -> int:
        """Return a score of 10 on the scale in use: on that of 5, half of it, rounded up."""
        return score if self.scale == 10 else -(-score // 2)
