"""What a comparison of judges says.

Invariant: two judges are compared on the items that both answered; how many only one of them answered stands beside
every number; a number that does not exist is None and has a reason.
"""

from __future__ import annotations

from typing import Literal

from local_judge.lab.qualification.model import PartName
from local_judge.stats.estimate import Estimate
from serving.types import Frozen

Verdict = Literal["first", "second", "differs", "not_shown", "too_few", "none"]
"""`first`, `second`: that judge is better. `differs`: where neither way is good. `too_few`: too few units for a test.
`none`: there is no difference to speak of, since one has no value."""


class Difference(Frozen):
    """One figure of the first judge less that of the second, on the items that both answered."""

    id: str
    """The figure's."""
    first: str
    second: str
    first_value: float | None
    second_value: float | None
    value: float | None
    low: float | None = None
    high: float | None = None
    """95 %, paired bootstrap over units; not widened for other pairs."""
    p: float | None = None
    p_holm: float | None = None
    """Corrected for the pairs of judges of which this figure was tested."""
    n: int
    """Items that both answered."""
    n_units: int
    n_only_first: int = 0
    """Items that the second did not answer, or was not asked."""
    n_only_second: int = 0
    n_neither: int = 0
    verdict: Verdict
    reason: str = ""
    """Why there is no value."""


class Expense(Frozen):
    """What one part took of one judge."""

    judge: str
    part: PartName
    method: str = ""
    """`scored` or `grouped`, of what the part counts apart; '' of all of it."""
    n: int
    """Claims, of verification; items, of any other part."""
    calls: int
    computed_tokens: int
    """Prompt tokens that were not in the engine's prefix cache, and those that were generated."""
    generated_tokens: int
    seconds: float
    """In which at least one call was under way."""

    @property
    def tokens(self) -> float | None:
        """Computed and generated tokens per claim, or item."""
        return self.computed_tokens / self.n if self.n else None

    @property
    def busy(self) -> float | None:
        """Seconds per claim, or item."""
        return self.seconds / self.n if self.n else None


class Worth(Frozen):
    """Quality beside cost."""

    judge: str
    figure: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    n_failed: int = 0
    tokens: float | None = None
    """Per claim, or item."""
    seconds: float | None = None
    dominated_by: tuple[str, ...] = ()
    """Judges that are as good at least on the items that both answered, and cheaper."""


class Gain(Frozen):
    """By how much several judges together beat the best of them."""

    ensemble: float
    best: float
    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None


class Ensemble(Frozen):
    """Several judges' calibrated probabilities as one, on the planted claims that all of them answered."""

    judges: tuple[str, ...]
    rule: Literal["probability", "log_odds"]
    """What the mean is taken of."""
    n: int
    n_units: int
    n_missing: dict[str, int]
    """For each judge, claims without a calibrated answer of it."""
    accuracy: Gain | None = None
    auc: Gain | None = None
    wrong: dict[str, int]
    """Claims that each calls wrong."""
    all_wrong: int = 0
    phi: float | None = None
    """Of two: the correlation of their errors."""
    tokens: float | None = None
    """Per claim, of all of them."""
    seconds: float | None = None
    verdict: Literal["worth_it", "not_shown", "too_few", "none"]
    reason: str = ""


class Agreeing(Frozen):
    """How far two judges agree on one score of the same reports."""

    protocol: str
    score: str
    first: str
    second: str
    n: int
    """Reports that both have scored."""
    n_only_first: int = 0
    n_only_second: int = 0
    tau: Estimate
    """Kendall's tau-b."""
    difference: Estimate
    """Mean absolute difference, on the score's own scale."""
    bias: Estimate
    """Mean of first less second."""
    icc: Estimate
    """ICC(2,1), absolute agreement; without interval."""


class Stability(Frozen):
    """Whether the order of systems by one score would be the same on other tasks."""

    protocol: str
    score: str
    judge: str
    n_tasks: int
    n_reports: int
    n_missing: int
    """Reports without a score of this judge."""
    order: tuple[tuple[str, float], ...] = ()
    """Systems with their means, the best first."""
    kept: Estimate
    """Share of the draws of tasks in which the order is the same."""
    closest: tuple[str, str] | None = None
    """The two neighbours that change places most often."""
    closest_kept: Estimate | None = None
    same_order: dict[str, bool]
    """For each other judge: whether both have one order of systems on the reports that both have scored."""


class Member(Frozen):
    """One of the compared judges."""

    name: str
    model: str
    in_all: str
    """What its qualification says in one line."""
    n_items: int
    n_unanswered: int


class Comparison(Frozen):
    """All of it. `comparison.json`."""

    format: Literal["local_judge comparison"] = "local_judge comparison"
    judges: tuple[Member, ...]
    snapshot: str
    """Digest of the pages."""
    reports: tuple[str, ...]
    """Ids."""
    seed: int
    draws: int
    differences: tuple[Difference, ...]
    expenses: tuple[Expense, ...]
    worth: tuple[Worth, ...]
    ensembles: tuple[Ensemble, ...]
    agreeing: tuple[Agreeing, ...]
    stability: tuple[Stability, ...]
