"""A checklist as a rate, 0 to 100: how many of its items the report delivers.

Invariant: both profiles have the same tree. In `paper` an item without an answer is left out of the rate and opens its
bounds; in `upstream` it counts as 0, as an item that the judge forgot does in the published code.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.items import rate
from local_judge.protocols.liveresearchbench.coverage.findings import CoverageFindings
from local_judge.protocols.liveresearchbench.upstream import coverage_summary, evaluations, published
from local_judge.protocols.scores import Profile, ScoreNode

LABEL = "Coverage"
DRAFTED = "by a checklist that a judge has drafted and nobody reviewed"


def score_coverage(findings: Sequence[CoverageFindings], profile: Profile) -> ScoreNode:
    """The rate of one report by one judge or, in `paper`, by several."""
    whole, items = rate([found.items for found in findings])
    if profile == "upstream":
        (found,) = findings
        summary = coverage_summary(evaluations(found.items), len(found.items))
        whole = published(whole, summary["percentage_addressed"])
    if any(found.status == "drafted" for found in findings):
        whole = whole.model_copy(update={"note": "; ".join(filter(None, (whole.note, DRAFTED)))})
    return ScoreNode(id="coverage", label=LABEL, score=whole, children=items)
