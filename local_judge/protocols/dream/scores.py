"""The metrics as trees, of one judge or of several.

Each metric has one function from the findings of all judges about a report to its tree. With one judge it is that
judge's; with several, answers are put together where the metric is made of them: per sub-dimension, claim or domain.

Invariant: the trees are the same whatever the number of judges; a metric that was not run has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from local_judge.protocols.base import Rated
from local_judge.protocols.dream.authority.scores import over_authority, rated_authority, score_authority
from local_judge.protocols.dream.citation.scores import over_citation, rated_citation, score_citation
from local_judge.protocols.dream.factuality.scores import rated_factuality, score_factuality
from local_judge.protocols.dream.findings import DreamFindings
from local_judge.protocols.dream.key_information.scores import rated_key_information, score_key_information
from local_judge.protocols.dream.reasoning.scores import rated_reasoning, score_reasoning
from local_judge.protocols.dream.settings import PARTS, Part
from local_judge.protocols.dream.writing.scores import rated_writing, score_writing
from local_judge.protocols.scores import ScoreNode

SCORED: Mapping[Part, Callable[[Sequence[Any]], ScoreNode]] = {
    "writing": score_writing,
    "factuality": score_factuality,
    "citation": score_citation,
    "authority": score_authority,
    "key_information": score_key_information,
    "reasoning": score_reasoning,
}
"""The tree of each metric, from the findings of one judge or several about one report."""

RATED: Mapping[Part, Callable[[Any], Sequence[Rated]]] = {
    "writing": rated_writing,
    "factuality": rated_factuality,
    "citation": rated_citation,
    "authority": rated_authority,
    "key_information": rated_key_information,
    "reasoning": rated_reasoning,
}
"""What judges can differ in, of each metric."""

OVER: Mapping[Part, Callable[[Sequence[Sequence[Any]], int], ScoreNode]] = {
    "citation": over_citation,
    "authority": over_authority,
}
"""The tree of a metric over all reports of a system, where that is no mean of the reports' scores: from the findings
of each report, judges in one order throughout, and the number of reports without findings."""


def score(judges: Sequence[DreamFindings]) -> tuple[ScoreNode, ...]:
    """One root for each metric that was run, of one report.

    Args:
        judges: the findings of each judge about it; one at least.
    """
    roots: list[ScoreNode] = []
    for part in PARTS:
        found = [own for one in judges if (own := one.of(part)) is not None]
        if found:
            roots.append(SCORED[part](found))
    return tuple(roots)


def over(reports: Sequence[Sequence[DreamFindings]], n_missing: int) -> tuple[ScoreNode, ...]:
    """One root for each metric that was run and has scores over reports, of all reports of a system."""
    roots: list[ScoreNode] = []
    for part, tree in OVER.items():
        found = [[own for one in judges if (own := one.of(part)) is not None] for judges in reports]
        known = [judges for judges in found if judges]
        if known:
            roots.append(tree(known, n_missing))
    return tuple(roots)


def rated(found: DreamFindings) -> tuple[Rated, ...]:
    """All decisions of one judge."""
    return tuple(
        row for part, rows in RATED.items() if (own := found.of(part)) is not None for row in rows(own)
    )
