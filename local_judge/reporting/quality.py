"""Terminal tables of adaptive quality: the dimensions that a report was judged by, and each criterion with its answer.

Invariant: as in `reporting.tables`; a quotation that the report does not have is shown as such.
"""

from __future__ import annotations

from rich.table import Table

from local_judge.protocols.deepresearcheval.quality.findings import Mark, QualityFindings
from local_judge.reporting.numbers import NONE, count
from local_judge.reporting.tables import safe


def quality_line(found: QualityFindings) -> str:
    """What was asked, in one line."""
    if found.dimensions is None:
        kind = found.failure.kind if found.failure else "unknown"
        return f"quality: failed: no dimensions were drafted ({kind})"
    dimensions = found.dimensions.dimensions
    specific = [one for one in dimensions if one.kind == "specific"]
    names = ", ".join(f"{safe(one.name)} ({one.weight:.2f})" for one in specific)
    origin = (
        "drafted by this judge"
        if found.origin == "judge"
        else f"{found.dimensions.status}, joined by {found.dimensions.joined}"
    )
    parts = [
        f"quality: {count(len(found.marks), 'criterion', 'criteria')} of {count(len(dimensions), 'dimension')} "
        f"({origin})",
        f"task-specific: {names}",
    ]
    if found.calls == "task":
        parts.append("all in one call")
    if found.n_failed:
        parts.append(f"{found.n_failed} failed")
    rejected = sum(mark.quote_rejected is not None for mark in found.marks)
    if rejected:
        parts.append(f"{count(rejected, 'quotation')} not in the report")
    return "; ".join(parts)


def quality_table(found: QualityFindings) -> Table:
    """Each criterion under its dimension."""
    table = Table(show_edge=False, pad_edge=False, show_lines=True)
    for column in ("criterion", "asked", "weight", "score", "why"):
        table.add_column(column, overflow="fold")
    marks = {mark.criterion: mark for mark in found.marks}
    for dimension in found.dimensions.dimensions if found.dimensions else ():
        table.add_row(
            f"[bold]{safe(dimension.id)}[/bold]",
            safe(dimension.definition or dimension.name),
            f"{dimension.weight:.2f}",
            dimension.kind,
            "",
        )
        for one in dimension.criteria:
            mark = marks[one.id]
            table.add_row(safe(one.id), safe(one.criterion), f"{one.weight:.2f}", _points(mark), _why(mark))
    return table


def _points(mark: Mark) -> str:
    return NONE if mark.score is None else f"{mark.score:g}"


def _why(mark: Mark) -> str:
    if mark.failure is not None:
        return f"failed: {mark.failure.kind}"
    lines = [safe(mark.analysis)] if mark.analysis else []
    if mark.quote is not None:
        lines.append(f'"{safe(mark.quote.text)}"')
    if mark.quote_rejected is not None:
        lines.append(f'not in the report: "{safe(mark.quote_rejected)}"')
    return "\n".join(lines)
