"""What judges can be compared in: each score that one gave.

Invariant: an item is the same for all judges of a report; a comparison that failed has its items, without values.
"""

from __future__ import annotations

from collections.abc import Iterator

from local_judge.protocols.base import Rated
from local_judge.protocols.liveresearchbench.depth.findings import DIMENSIONS, DepthFindings, Pair
from local_judge.protocols.liveresearchbench.depth.outcome import decided, margin


def rated_depth(findings: DepthFindings) -> tuple[Rated, ...]:
    """Every score of every comparison, 0 to 5, each difference of totals, and who is the deeper by both orders."""
    return tuple(
        rated
        for number, pair in enumerate(findings.pairs, 1)
        for rated in _of_pair(pair, pair.opponent.case or f"baseline {number}")
    )


def _of_pair(pair: Pair, name: str) -> Iterator[Rated]:
    for order in pair.orders:
        first = "report first" if order.report_first else "report second"
        for dimension in DIMENSIONS:
            for whose, marks in (("report", order.report), ("other", order.other)):
                yield Rated(
                    metric=f"depth.{dimension}",
                    item=f"{name}, {first}, {whose}",
                    value=None if marks is None else float(marks.of(dimension)),
                    scale="interval",
                )
        difference = order.difference
        yield Rated(
            metric="depth.difference",
            item=f"{name}, {first}",
            value=None if difference is None else float(difference),
            scale="interval",
        )
    mean = margin([pair])
    yield Rated(
        metric="depth.winner", item=name, value=None if mean is None else decided(mean), scale="nominal"
    )
