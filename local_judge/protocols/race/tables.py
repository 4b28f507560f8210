"""Terminal tables of RACE: what was compared, and each criterion with both scores and why.

Invariant: as in `reporting.tables`; scores stand under the article that they are of, whichever came first.
"""

from __future__ import annotations

from rich.table import Table

from local_judge.protocols.race.findings import Comparison, CriterionScore, RaceFindings
from local_judge.protocols.race.scores import arrangement
from local_judge.terminal import NONE, count, item_table, safe


def race_line(findings: RaceFindings) -> str:
    """Summarise in one line what was asked."""
    criteria = findings.criteria
    asked = [f"race: {findings.mode}"]
    if criteria is not None:
        n = sum(len(dimension.criteria) for dimension in criteria.dimensions)
        origin = (
            f"{criteria.status}, joined by {criteria.joined}" if findings.source == "adaptive" else "static"
        )
        asked.append(f"{count(n, 'criterion', 'criteria')} ({origin})")
    if not findings.criterion_weights:
        asked.append("no criterion weights")
    if not findings.dimension_weights:
        asked.append("no dimension weights")
    if findings.references:
        joined = ", ".join(f"joined by {reference.joined}" for reference in findings.references)
        asked.append(f"{count(len(findings.references), 'reference')} ({joined})")
    asked.append(arrangement(findings))
    asked.append(count(len(findings.comparisons), "comparison"))
    asked.append(
        f"{count(findings.report.n_removed, 'citation')} cleaned from the report"
        if findings.cleaning != "none"
        else "citations left in"
    )
    return "; ".join(asked)


def criterion_table(findings: RaceFindings) -> Table:
    """Each criterion of each comparison."""
    several = len(findings.comparisons) > 1
    table = item_table(*(("comparison",) if several else ()), "criterion", "report", "reference", "analysis")
    for comparison in findings.comparisons:
        for item in comparison.scores:
            table.add_row(
                *((_comparison(comparison),) if several else ()),
                safe(item.criterion),
                _points(item.target),
                _points(item.reference),
                _why(item),
            )
    return table


def _comparison(comparison: Comparison) -> str:
    parts = [] if comparison.reference is None else [f"reference {comparison.reference + 1}"]
    parts += [f"report {'first' if comparison.target_first else 'second'}", f"draw {comparison.draw + 1}"]
    return ", ".join(parts)


def _points(score: float | None) -> str:
    return NONE if score is None else f"{score:g}"


def _why(item: CriterionScore) -> str:
    return safe(item.analysis) if item.failure is None else f"failed: {item.failure.kind}"
