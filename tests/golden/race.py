"""RACE's cases: what the published calculator gave for a judge's JSON, and what ours gives.

Invariant: a function here computes nothing by itself.
"""

from __future__ import annotations

from local_judge.protocols.race import upstream
from tests.golden.cases import Case, Comparison


def run_race(case: Case) -> Comparison:
    """One report: the averages and totals of both articles, and the row of the result file."""
    found = upstream.sides(case["input_judge_json"], case["criteria"])
    got = {
        "target": found.target._asdict(),
        "reference": found.reference._asdict(),
        "row": upstream.row(found),
    }
    return Comparison(case["upstream_scores"], got)
