"""The answers of a judge about two reports, in both orders.

Invariants: a pair has both of its orders, each with all scores of both reports or with the failure that left it open;
scores are kept by report, whichever came first; totals are computed.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from local_judge.judge.failures import Failure
from local_judge.protocols.liveresearchbench.depth.defects import Defect
from local_judge.protocols.metric import MetricFindings
from serving.types import Frozen

Dimension = Literal["granularity", "insight", "critique", "evidence", "density"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
TOP = 5
"""The highest score of a dimension; the lowest is 0."""

Outcome = Literal["report", "other", "tie"]


class Marks(Frozen):
    """One report's scores."""

    granularity: int = Field(ge=0, le=TOP)
    insight: int = Field(ge=0, le=TOP)
    critique: int = Field(ge=0, le=TOP)
    evidence: int = Field(ge=0, le=TOP)
    density: int = Field(ge=0, le=TOP)

    def of(self, dimension: Dimension) -> int:
        """The score of one dimension."""
        return getattr(self, dimension)

    @property
    def total(self) -> int:
        """The sum of the five, 0 to 25."""
        return sum(self.of(dimension) for dimension in DIMENSIONS)


class Order(Frozen):
    """One comparison, the reports in one order."""

    report_first: bool
    report: Marks | None = None
    """None where it failed, as all that follows."""
    other: Marks | None = None
    said: Outcome | None = None
    """The report that the judge itself called the deeper one."""
    analysis: str = ""
    report_flaws: tuple[str, ...] = ()
    other_flaws: tuple[str, ...] = ()
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""

    @property
    def difference(self) -> int | None:
        """Total of the report less that of the other; None where it failed."""
        return None if self.report is None or self.other is None else self.report.total - self.other.total


class Opponent(Frozen):
    """The other report of a pair."""

    kind: Literal["baseline", "system"]
    """`baseline`: a reference of the task. `system`: another system's report of the same run."""
    name: str
    """The name of the other system, or the report's id where the input names none; `baseline` for a baseline."""
    case: str | None = None
    """Id of the other report in the run; None for a baseline."""
    document: str
    """Id of the document."""
    n_characters: int
    """As shown."""
    defects: tuple[Defect, ...] = ()


class Pair(Frozen):
    """Two reports in both orders."""

    opponent: Opponent
    orders: tuple[Order, Order]
    """With the report first, then with the other first."""


class DepthFindings(MetricFindings):
    """All pairs of one report."""

    task: str
    """Its id."""
    document: str
    """Id of the report's document."""
    defects: tuple[Defect, ...] = ()
    """Of the report itself."""
    against: Literal["baseline", "all"] = "baseline"
    leave_out: bool = False
    """Whether pairs with a defective baseline are in no score."""
    pairs: tuple[Pair, ...] = ()
    unreadable: tuple[str, ...] = ()
    """Ids of other systems' reports that cannot be read and were not compared."""

    @property
    def n_failed(self) -> int:
        """Comparisons without an answer."""
        return sum(order.failure is not None for pair in self.pairs for order in pair.orders)
