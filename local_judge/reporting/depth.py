"""Terminal table of analysis depth: each pair of reports in both orders, with the marks and why.

Invariant: as in `reporting.tables`; marks and flaws stand under the report that they are of, whichever came first.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from local_judge.protocols.liveresearchbench.depth import DepthFindings
from local_judge.protocols.liveresearchbench.depth.findings import DIMENSIONS, Opponent, Order, Outcome
from local_judge.reporting.numbers import NONE, count
from local_judge.reporting.tables import safe

_SAID: dict[Outcome, str] = {"report": "the report", "other": "the other", "tie": "neither"}


def depth_line(findings: DepthFindings) -> str:
    """What was compared, in one line."""
    baselines = sum(pair.opponent.kind == "baseline" for pair in findings.pairs)
    orders = 2 * len(findings.pairs)
    parts = [
        f"depth: {count(baselines, 'baseline')} and {count(len(findings.pairs) - baselines, 'other system')}"
        f" in both orders, {findings.n_failed} of {count(orders, 'comparison')} failed"
    ]
    if findings.defects:
        parts.append(f"the report itself is none ({' and '.join(findings.defects)})")
    if findings.unreadable:
        parts.append(f"not compared, unreadable: {', '.join(safe(id, 60) for id in findings.unreadable)}")
    return "; ".join(parts)


def depth_table(findings: DepthFindings) -> Table:
    """Each comparison; marks are those of the report and of the other."""
    table = Table(show_edge=False, pad_edge=False, show_lines=True)
    for heading in ("compared with", "first", "report : other", "total", "deeper by word", "why"):
        table.add_column(heading, overflow="fold")
    for pair in findings.pairs:
        for order in pair.orders:
            first = "report" if order.report_first else "other"
            table.add_row(_opponent(pair.opponent), first, *_marks(order), "\n".join(_why(order)))
    return table


def _opponent(opponent: Opponent) -> str:
    name = safe(opponent.name, 60)
    if opponent.case is not None and opponent.case != opponent.name:
        name += f" ({safe(opponent.case, 60)})"
    return f"{name}: no report ({' and '.join(opponent.defects)})" if opponent.defects else name


def _marks(order: Order) -> tuple[str, str, str]:
    """Dimension by dimension, the totals, and whom the judge itself calls the deeper."""
    report, other = order.report, order.other
    if report is None or other is None:
        return NONE, NONE, NONE
    lines = [f"{name} {report.of(name)} : {other.of(name)}" for name in DIMENSIONS]
    return "\n".join(lines), f"{report.total} : {other.total}", _SAID[order.said] if order.said else NONE


def _why(order: Order) -> Iterator[str]:
    if order.failure is not None:
        yield f"failed: {order.failure.kind}"
    if order.analysis:
        yield safe(order.analysis)
    for whose, flaws in (("report", order.report_flaws), ("other", order.other_flaws)):
        for flaw in flaws:
            yield f"{whose}: {safe(flaw)}"
