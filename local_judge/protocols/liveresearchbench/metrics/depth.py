"""Analysis depth: a report compared with another on the same task, in both orders.

Invariant: every comparison is among the contests, failed or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from local_judge.base.model import Frozen
from local_judge.base.output import NONE, count
from local_judge.protocols.asking import task_of
from local_judge.protocols.base import Case, Contest, Decision, EvalContext
from local_judge.protocols.liveresearchbench.depth.defects import defects
from local_judge.protocols.liveresearchbench.depth.games import (
    DIMENSIONS,
    POINTS,
    DepthFindings,
    Order,
    Pair,
    consistent,
    decided,
    games,
    margin,
)
from local_judge.protocols.liveresearchbench.depth.judging import compare
from local_judge.protocols.liveresearchbench.depth.scores import DEPTH, LABEL, aggregate_depth, score_depth
from local_judge.protocols.liveresearchbench.original_prompts import prompts_from
from local_judge.protocols.metric import Metric
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.node import Profile, ScoreNode
from local_judge.tasks.model import Task


class DepthSettings(Frozen):
    """Settings of analysis depth."""

    against: Literal["baseline", "all"] = "baseline"
    """`baseline`: compare with the task's reference reports. `all`: compare also with the reports of all other systems
    of the run on the same task; each pair is compared once, in both orders."""
    defective: Literal["count", "leave_out"] = "count"
    """Treatment of comparisons with a baseline that is no report: `count` scores them, `leave_out` does not. They are
    judged and flagged in both cases."""


class Depth(Metric[DepthSettings, DepthFindings]):
    """Win rate of a report against the baselines of its task, 0 to 100."""

    id = DEPTH
    label = LABEL
    vertical = "depth"
    default = False  # compares a report with others, so it has to be chosen
    compares_reports = True

    def missing_inputs(self, task: Task) -> str | None:
        """Name the reference report if the task has none and other systems are not compared."""
        if self.settings.against == "all" or task.references:
            return None
        return (
            f"its task {task.id!r} has no reference report to compare analysis depth with; give --references, or "
            "compare the systems with each other: --set liveresearchbench.depth.against=all"
        )

    async def examine(self, case: Case, context: EvalContext) -> DepthFindings:
        """Compare one report with each reference of its task, and with the other systems' reports if set."""
        task, settings = task_of(case), self.settings
        prompts = None if context.prompts is None else prompts_from(context.prompts)
        pairs, unreadable = await compare(case, task, context.judge, settings.against == "all", prompts)
        return DepthFindings(
            task=task.id,
            document=case.report.id,
            defects=defects(case.report),
            against=settings.against,
            leave_out=settings.defective == "leave_out",
            pairs=pairs,
            unreadable=unreadable,
        )

    def score(self, judges: Sequence[DepthFindings], profile: Profile) -> ScoreNode:
        """Score the win rate against baselines, with margins, dimensions, and the judge's consistency."""
        return score_depth(judges, profile)

    def aggregate(
        self, reports: Sequence[Sequence[DepthFindings]], profile: Profile, n_missing: int
    ) -> ScoreNode:
        """Score the win rate over all games of all reports and judges."""
        return aggregate_depth(reports, profile, n_missing)

    def contests(self, judges: Sequence[DepthFindings], profile: Profile) -> list[Contest]:
        """Return the games of one report: one per pair (`paper`), or two per judge (`upstream`)."""
        first = judges[0]
        found: list[Contest] = []
        for index, pair in enumerate(first.pairs):
            if first.leave_out and pair.opponent.kind == "baseline" and pair.opponent.defects:
                continue
            pairs = [judge.pairs[index] for judge in judges]
            agreed = [consistent(one, profile) for one in pairs]
            found.append(
                Contest(
                    opponent=pair.opponent.name,
                    case=pair.opponent.case,
                    document=pair.opponent.document,
                    points=tuple(
                        None if game.outcome is None else POINTS[game.outcome]
                        for game in games(pairs, profile)
                    ),
                    consistent=tuple(one for one in agreed if one is not None),
                )
            )
        return found

    def decisions(self, findings: DepthFindings) -> Iterator[Decision]:
        """Yield every score of every comparison, each difference of totals, and the winner by both orders.

        An item is the same for all judges of a report; a failed comparison has its items without values.
        """
        for number, pair in enumerate(findings.pairs, 1):
            yield from _decisions(pair, pair.opponent.case or f"baseline {number}")

    def items(self, findings: DepthFindings) -> Iterator[ItemRow]:
        """Yield each comparison in each order: the total of the report minus that of the other, -25 to 25."""
        for number, pair in enumerate(findings.pairs, 1):
            name = pair.opponent.case or f"baseline {number}"
            for order in pair.orders:
                flaws = (f"report: {flaw}" for flaw in order.report_flaws)
                others = (f"other: {flaw}" for flaw in order.other_flaws)
                yield ItemRow(
                    "depth",
                    f"{name}, report {'first' if order.report_first else 'second'}",
                    f"Compared with {pair.opponent.name}; deeper by word: {order.said or NONE}",
                    order.difference,
                    "; ".join(filter(None, (order.analysis, *flaws, *others))),
                    failure=order.failure,
                    replies=order.replies,
                    details=_marks(order),
                )

    def lines(self, findings: DepthFindings) -> Iterator[str]:
        """Yield the numbers of comparisons, and the defects of the texts."""
        baselines = sum(pair.opponent.kind == "baseline" for pair in findings.pairs)
        orders = 2 * len(findings.pairs)
        parts = [
            f"depth: {count(baselines, 'baseline')} and {count(len(findings.pairs) - baselines, 'other system')}"
            f" in both orders, {findings.n_failed} of {count(orders, 'comparison')} failed"
        ]
        if findings.defects:
            parts.append(f"the report itself is none ({' and '.join(findings.defects)})")
        if findings.unreadable:
            parts.append(f"not compared, unreadable: {', '.join(findings.unreadable)}")
        yield "; ".join(parts)


def _decisions(pair: Pair, name: str) -> Iterator[Decision]:
    for order in pair.orders:
        first = "report first" if order.report_first else "report second"
        for dimension in DIMENSIONS:
            for whose, marks in (("report", order.report), ("other", order.other)):
                yield Decision(
                    metric=f"depth.{dimension}",
                    item=f"{name}, {first}, {whose}",
                    value=None if marks is None else marks.of(dimension),
                    scale="interval",
                )
        yield Decision(
            metric="depth.difference", item=f"{name}, {first}", value=order.difference, scale="interval"
        )
    mean = margin([pair])
    yield Decision(
        metric="depth.winner", item=name, value=None if mean is None else decided(mean), scale="nominal"
    )


def _marks(order: Order) -> tuple[str, ...]:
    """Return the scores of the report and of the other by dimension, and their totals."""
    report, other = order.report, order.other
    if report is None or other is None:
        return ()
    marks = (f"{name} {report.of(name)} : {other.of(name)}" for name in DIMENSIONS)
    return (*marks, f"total {report.total} : {other.total}")
