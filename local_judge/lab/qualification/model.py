"""What is measured of a judge.

Invariant: every figure is a pure function of stored items; an item that the judge did not answer is there, with its
failure, and is in no figure's numerator; what could not be measured has no value and a reason.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from local_judge.judge.failures import FailureKind
from serving.types import Frozen

PartName = Literal[
    "verification", "extraction", "retest", "position", "sensitivity", "prompt_injection", "labels"
]
"""In the order of the page."""


class Item(Frozen):
    """One thing that a judge was asked, with what is known of it."""

    id: str
    unit: str
    """The page or report that it is about: what the bootstrap draws."""
    facets: dict[str, str] = Field(default_factory=dict[str, str])
    """What figures are broken down by: `kind`, `language`, `length`, `protocol`, `flaw`, `method`, …"""
    truth: float | None = None
    """What a perfect judge says: 1 or 0 of a claim, the sign of a change."""
    said: float | None = None
    """What the judge said, in the part's own unit; None where it did not answer."""
    called: bool | None = None
    """The decision that followed, where there is one."""
    cut: float | None = None
    """From which `said` on it is a yes, where that was fitted."""
    failure: FailureKind | None = None
    """Why it did not answer."""


class JudgeAnswer(NamedTuple):
    """What a judge said of one thing."""

    value: float | None
    """In the unit of the question: log-odds, a probability, a share of a scale; None where there is no answer."""
    yes: bool | None = None
    """The decision that followed, where there is one."""
    failure: FailureKind | None = None


class Cost(Frozen):
    """What a part took, from its own ledger and meter; the same when everything is replayed."""

    calls: int = 0
    """Questions put, those answered by the ledger included."""
    reasked: int = 0
    """Of these, questions put again because the reply was no answer."""
    repaired: int = 0
    """Replies that were JSON only after repair."""
    failed: int = 0
    """Calls that the engine did not answer."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the engine took from its prefix cache."""
    warm_tokens: int = 0
    """Of these, those that were in the cache because of other questions than these."""
    completion_tokens: int = 0
    seconds: float = 0.0
    """In which at least one call was under way, when the calls were made."""

    def __add__(self, other: Cost) -> Cost:
        """Both together; the seconds of one after the other."""
        fields = type(self).model_fields
        return Cost(**{name: getattr(self, name) + getattr(other, name) for name in fields})

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens that would have been computed had nothing else been asked, and those that were generated."""
        return self.prompt_tokens - (self.cached_tokens - self.warm_tokens) + self.completion_tokens


class Unmeasured(Frozen):
    """Figures that a part meant to give and could not."""

    figures: str
    """How their ids begin."""
    reason: str
    by_judge: bool
    """Whether the judge is why, and not what it was asked about."""


class Asked(Frozen):
    """A part as it is kept."""

    part: PartName
    items: tuple[Item, ...]
    cost: Cost
    """Of all its questions."""
    costs: dict[str, Cost] = Field(default_factory=dict[str, Cost])
    """Of these, what the part counted apart: by method."""
    unmeasured: tuple[Unmeasured, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader must know: what could not be planted, what was left out."""


class Figure(Frozen):
    """One number of the page."""

    id: str
    """`part/what/of which`: `verification/auc`, `verification/auc/kind=number`, `sensitivity/moved/race/dropped`."""
    value: float | None
    low: float | None = None
    high: float | None = None
    """95 %, bootstrap over units."""
    n: int
    """Answered items that it rests on."""
    n_failed: int = 0
    """Items of the same kind without an answer."""
    reason: str = ""
    """Why there is no value."""
    by_judge: bool = False
    """Whether there is no value because of the judge: it did not answer, or what it said cannot be measured."""
