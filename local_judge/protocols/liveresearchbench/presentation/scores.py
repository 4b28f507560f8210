"""The ten checks as a rate, 0 to 100: how many of the ten are met.

Invariant: both profiles have the same tree. In `paper` a check without an answer is left out of the rate and opens its
bounds; in `upstream` it counts as 0, as a check that the judge forgot does in the published code.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.items import rate
from local_judge.protocols.liveresearchbench.presentation.findings import PresentationFindings
from local_judge.protocols.liveresearchbench.upstream import evaluations, presentation_summary, published
from local_judge.protocols.scores import Profile, ScoreNode

LABEL = "Presentation and organisation"


def score_presentation(findings: Sequence[PresentationFindings], profile: Profile) -> ScoreNode:
    """The rate of one report by one judge or, in `paper`, by several."""
    whole, checks = rate([found.checks for found in findings])
    if profile == "upstream":
        (found,) = findings
        summary = presentation_summary(evaluations(found.checks))
        whole = published(whole, summary["average_pass_rate"])
    return ScoreNode(id="presentation", label=LABEL, score=whole, children=checks)
