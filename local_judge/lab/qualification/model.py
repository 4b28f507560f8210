"""Items, costs and figures of a qualification.

Invariant: every figure is a pure function of stored items. An item without an answer is kept with its failure and
counts in no numerator. A figure that cannot be measured has no value and a reason.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from local_judge.base.failures import Failure, FailureKind
from local_judge.base.model import Frozen

PartName = Literal[
    "verification", "extraction", "retest", "position", "sensitivity", "prompt_injection", "labels"
]
"""Names of the parts, in the order of the page."""


class Item(Frozen):
    """One question to the judge, with its known answer."""

    id: str
    """Id of the item."""
    unit: str
    """Page or report that the item is about: the unit of the bootstrap."""
    facets: dict[str, str] = Field(default_factory=dict[str, str])
    """Properties that figures are broken down by: `kind`, `language`, `length`, `protocol`, `flaw`, `method`, …"""
    truth: float | None = None
    """Answer of a perfect judge: 1 or 0 for a claim, the sign for a change."""
    said: float | None = None
    """Answer of this judge, in the unit of the part; None if there is none."""
    called: bool | None = None
    """Decision that follows from the answer, if there is one."""
    cut: float | None = None
    """Minimum of `said` for a yes, if it was fitted."""
    failure: FailureKind | None = None
    """Reason why there is no answer."""


class JudgeAnswer(NamedTuple):
    """The judge's answer to one question."""

    value: float | None
    """Log-odds, probability or share of a scale, depending on the question; None if there is no answer."""
    yes: bool | None = None
    """Decision that follows from the answer, if there is one."""
    failure: FailureKind | None = None

    @classmethod
    def failed(cls, failure: Failure | FailureKind | None) -> JudgeAnswer:
        """Return a missing answer with its reason."""
        return cls(None, failure=failure.kind if isinstance(failure, Failure) else failure)

    def item(self, id: str, unit: str, facets: dict[str, str], truth: float) -> Item:
        """Return the answer as an item."""
        answer = {"said": self.value, "called": self.yes, "failure": self.failure}
        return Item.model_validate({"id": id, "unit": unit, "facets": facets, "truth": truth, **answer})


class Cost(Frozen):
    """Cost of a part, from its ledger and meter; the same when every reply is replayed."""

    calls: int = 0
    """Questions, including those that the ledger answers."""
    reasked: int = 0
    """Questions that were repeated because the reply was not an answer."""
    repaired: int = 0
    """Replies that were valid JSON only after repair."""
    failed: int = 0
    """Calls that the engine did not answer."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the engine took from its prefix cache."""
    warm_tokens: int = 0
    """Cached tokens that were in the cache because of questions of other parts or methods."""
    completion_tokens: int = 0
    seconds: float = 0.0
    """Time during which at least one call was in progress, when the calls were made."""

    def __add__(self, other: Cost) -> Cost:
        """Return the sum of both costs."""
        return Cost(**{name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields})

    @property
    def computed_tokens(self) -> int:
        """Generated tokens, and prompt tokens that the engine would compute if it was asked nothing else."""
        return self.prompt_tokens - (self.cached_tokens - self.warm_tokens) + self.completion_tokens


class Unmeasured(Frozen):
    """Figures that a part could not measure."""

    figures: str
    """Prefix of their ids."""
    reason: str
    by_judge: bool
    """True if the judge's answers are the reason, and not the questions."""


class PartRecord(Frozen):
    """Stored result of a part."""

    part: PartName
    items: tuple[Item, ...]
    cost: Cost
    """Cost of all questions."""
    costs: dict[str, Cost] = Field(default_factory=dict[str, Cost])
    """Shares of the cost that the part counts separately, by method."""
    unmeasured: tuple[Unmeasured, ...] = ()
    notes: tuple[str, ...] = ()
    """Remarks for the reader: what could not be planted, what was left out."""


class Figure(Frozen):
    """One number of the page."""

    id: str
    """`part/measure/subset`, such as `verification/auc`, `verification/auc/kind=number`."""
    value: float | None
    low: float | None = None
    high: float | None = None
    """95 % bootstrap interval over units."""
    n: int
    """Number of answered items."""
    n_failed: int = 0
    """Number of items without an answer."""
    reason: str = ""
    """Reason why there is no value."""
    by_judge: bool = False
    """True if the judge is the reason: it did not answer, or its answers cannot be measured."""
