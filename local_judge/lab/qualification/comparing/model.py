"""Stored comparison of judges.

Invariant: two judges are compared on the items that both answered, and every number has the count of items that only
one of them answered. A number that does not exist is None and has a reason.
"""

from __future__ import annotations

from typing import Literal

from local_judge.base.model import Frozen
from local_judge.lab.qualification.model import PartName
from local_judge.stats.estimate import Estimate

Verdict = Literal["first", "second", "differs", "not_shown", "not_tested", "none"]
"""`first`, `second`: that judge is better. `differs`: neither direction is better. `not_tested`: there is no p-value,
because of too few units, or because the figure is not defined without one of them. `none`: there is no difference,
because one of the judges has no value."""
EnsembleVerdict = Literal["better", "not_shown", "not_tested", "none"]


class Difference(Frozen):
    """One figure of the first judge minus that of the second, on the items that both answered."""

    id: str
    """Id of the figure."""
    first: str
    second: str
    first_value: float | None
    second_value: float | None
    value: float | None
    low: float | None = None
    high: float | None = None
    """95 % interval of the paired bootstrap over units, not widened for the number of pairs."""
    p: float | None = None
    p_holm: float | None = None
    """p corrected for the number of pairs of judges for this figure."""
    n: int
    """Number of items that both answered."""
    n_units: int
    n_only_first: int = 0
    """Number of items that the second did not answer, or was not asked."""
    n_only_second: int = 0
    n_neither: int = 0
    verdict: Verdict
    reason: str = ""
    """Reason why there is no value."""


class Expense(Frozen):
    """Cost of one part for one judge."""

    judge: str
    part: PartName
    method: str = ""
    """Method whose cost the part counts separately; '' for the whole part."""
    n: int
    """Number of claims for verification; number of items for any other part."""
    calls: int
    computed_tokens: int
    """Prompt tokens that were not in the engine's prefix cache, and generated tokens."""
    generated_tokens: int
    seconds: float
    """Time during which at least one call was in progress."""

    @property
    def tokens(self) -> float | None:
        """Computed and generated tokens per claim or item."""
        return self.computed_tokens / self.n if self.n else None

    @property
    def busy(self) -> float | None:
        """Seconds per claim or item."""
        return self.seconds / self.n if self.n else None


class QualityCost(Frozen):
    """Quality of a judge by one figure, and its cost."""

    judge: str
    figure: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    n_failed: int = 0
    tokens: float | None = None
    """Tokens per claim or item."""
    seconds: float | None = None
    dominated_by: tuple[str, ...] = ()
    """Judges that are at least as good on the items that both answered, and cheaper."""


class Gain(Frozen):
    """Advantage of an ensemble over the best of its judges."""

    ensemble: float
    best: float
    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None


class Ensemble(Frozen):
    """Mean of several judges' calibrated probabilities, on the planted claims that all of them answered."""

    judges: tuple[str, ...]
    rule: Literal["probability", "log_odds"]
    """Scale on which the mean is taken."""
    n: int
    n_units: int
    n_missing: dict[str, int]
    """Number of claims without a calibrated answer, by judge."""
    accuracy: Gain | None = None
    auc: Gain | None = None
    wrong: dict[str, int]
    """Number of wrong decisions, by judge."""
    all_wrong: int = 0
    phi: float | None = None
    """Correlation of the errors of two judges."""
    tokens: float | None = None
    """Tokens per claim of all judges."""
    seconds: float | None = None
    verdict: EnsembleVerdict
    reason: str = ""


class Agreeing(Frozen):
    """Agreement of two judges on one score of the same reports."""

    protocol: str
    score: str
    first: str
    second: str
    n: int
    """Number of reports that both scored."""
    n_only_first: int = 0
    n_only_second: int = 0
    tau: Estimate
    """Kendall's tau-b."""
    difference: Estimate
    """Mean absolute difference, on the scale of the score."""
    bias: Estimate
    """Mean of first minus second."""
    icc: Estimate
    """ICC(2,1), absolute agreement, without an interval."""


class Stability(Frozen):
    """Stability of the order of systems by one score when tasks are drawn again."""

    protocol: str
    score: str
    judge: str
    n_tasks: int
    n_reports: int
    n_missing: int
    """Number of reports without a score by this judge."""
    order: tuple[tuple[str, float], ...] = ()
    """Systems with their means, the best first."""
    kept: Estimate
    """Share of the draws of tasks in which the order is the same."""
    closest: tuple[str, str] | None = None
    """The two neighbours that change places most often."""
    closest_kept: Estimate | None = None
    same_order: dict[str, bool]
    """True if another judge gives the same order of systems on the reports that both scored, by judge."""


class Member(Frozen):
    """One of the compared judges."""

    name: str
    model: str
    in_all: str
    """Result of its qualification in one line."""
    n_items: int
    n_unanswered: int


class Comparison(Frozen):
    """The whole comparison. `comparison.json`."""

    format: Literal["local_judge comparison"] = "local_judge comparison"
    judges: tuple[Member, ...]
    snapshot: str
    """Digest of the pages."""
    reports: tuple[str, ...]
    """Ids of the reports."""
    seed: int
    draws: int
    differences: tuple[Difference, ...]
    expenses: tuple[Expense, ...]
    quality_costs: tuple[QualityCost, ...]
    ensembles: tuple[Ensemble, ...]
    agreeing: tuple[Agreeing, ...]
    stability: tuple[Stability, ...]
