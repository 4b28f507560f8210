"""Terminal tables of RACE: what was compared, and each criterion with both scores and why.

Invariant: as in `reporting.tables`; scores stand under the article that they are of, whichever came first.
"""

from __future__ import annotations

from rich.table import Table

from local_judge.protocols.race import RaceFindings
from local_judge.protocols.race.findings import Mark, Sheet
from local_judge.protocols.race.tree import arrangement
from local_judge.reporting.numbers import NONE, count
from local_judge.reporting.tables import safe


def race_line(findings: RaceFindings) -> str:
    """What was asked, in one line."""
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
    asked.append(count(len(findings.sheets), "comparison"))
    asked.append(
        f"{count(findings.report.n_removed, 'citation')} cleaned from the report"
        if findings.cleaning != "none"
        else "citations left in"
    )
    return "; ".join(asked)


def mark_table(findings: RaceFindings) -> Table:
    """Each criterion of each comparison."""
    several = len(findings.sheets) > 1
    table = Table(show_edge=False, pad_edge=False, show_lines=True)
    for column in (*(("comparison",) if several else ()), "criterion", "report", "reference", "analysis"):
        table.add_column(column, overflow="fold")
    for sheet in findings.sheets:
        for mark in sheet.marks:
            table.add_row(
                *((_comparison(sheet),) if several else ()),
                safe(mark.criterion),
                _points(mark.target),
                _points(mark.reference),
                _why(mark),
            )
    return table


def _comparison(sheet: Sheet) -> str:
    parts = [] if sheet.reference is None else [f"reference {sheet.reference + 1}"]
    parts += [f"report {'first' if sheet.target_first else 'second'}", f"draw {sheet.draw + 1}"]
    return ", ".join(parts)


def _points(score: float | None) -> str:
    return NONE if score is None else f"{score:g}"


def _why(mark: Mark) -> str:
    return safe(mark.analysis) if mark.failure is None else f"failed: {mark.failure.kind}"
