"""RACE's published files: the judge's JSON, rows of results, and the text of their means.

Invariant: what is written here reads as the published code wrote it: the same keys in the same order, numbers unrounded
in the rows and to four places in the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from local_judge.protocols.race import upstream
from local_judge.protocols.race.findings import Comparison, RaceFindings
from local_judge.tasks.criteria import DIMENSIONS
from local_judge.tasks.model import Criteria

RESULTS, MEANS = "raw_results.jsonl", "race_result.txt"
SCORES = (*DIMENSIONS, "overall_score")


def judged_json(comparison: Comparison, criteria: Criteria) -> dict[str, list[dict[str, Any]]]:
    """A comparison as the JSON that the published judge answers with: article 1 is the report, whichever came first.

    A criterion that failed is left out, as one that the judge forgot would be; a dimension of which all failed too.
    """
    answered = {item.criterion: item for item in comparison.scores}
    found: dict[str, list[dict[str, Any]]] = {}
    for dimension in criteria.dimensions:
        items: list[dict[str, Any]] = []
        for criterion in dimension.criteria:
            item = answered[criterion.id]
            if item.failure is not None:
                continue
            scores = (
                {"target_score": item.target}
                if comparison.reference is None
                else {"article_1_score": item.target, "article_2_score": item.reference}
            )
            items.append({"criterion": criterion.criterion, "analysis": item.analysis, **scores})
        if items:
            found[dimension.id] = items
    return found


def criteria_json(
    criteria: Criteria, criterion_weights: bool = True, dimension_weights: bool = True
) -> dict[str, Any]:
    """Criteria as `dimension_weight` and `criterions` of the published file; weights that do not count are 1."""
    return {
        "dimension_weight": {one.id: one.weight if dimension_weights else 1.0 for one in criteria.dimensions},
        "criterions": {
            one.id: [
                {
                    "criterion": criterion.criterion,
                    "explanation": criterion.explanation,
                    "weight": criterion.weight if criterion_weights else 1.0,
                }
                for criterion in one.criteria
            ]
            for one in criteria.dimensions
        },
    }


def comparison_sides(comparison: Comparison, findings: RaceFindings) -> upstream.Sides | None:
    """The published averages of one comparison.

    None where the published code has no defined result: without criteria; without a reference, where its ratio is
    1 whatever the scores are; and where a dimension has no answer at all, for which it asks again and then drops the
    report.
    """
    if findings.criteria is None or comparison.reference is None:
        return None
    judged = judged_json(comparison, findings.criteria)
    if set(judged) != set(DIMENSIONS):
        return None
    return upstream.sides(
        judged, criteria_json(findings.criteria, findings.criterion_weights, findings.dimension_weights)
    )


def result_row(findings: RaceFindings) -> dict[str, float] | None:
    """The scores of a report as a row of results has them; the mean over its comparisons, None if one has none."""
    rows: list[dict[str, float]] = []
    for comparison in findings.comparisons:
        sides = comparison_sides(comparison, findings)
        if sides is None:
            return None
        rows.append(upstream.row(sides))
    return (
        rows[0] if len(rows) == 1 else {name: sum(row[name] for row in rows) / len(rows) for name in SCORES}
    )


def means(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text of `race_result.txt`: plain means over the rows, 0 to 1.

    Raises:
        ValueError: there is no row.
    """
    if not rows:
        raise ValueError("no row to take a mean of")
    lines: list[str] = []
    for name in SCORES:
        # Added up from the first row on, as the published code does: the sum keeps its last bit.
        value = sum(float(row[name]) for row in rows) / len(rows)
        lines.append(f"{name.replace('_', ' ').title()}: {value:.4f}\n")
    return "".join(lines)
