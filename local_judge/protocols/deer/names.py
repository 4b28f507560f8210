"""DEER's dimensions and the tree of its information-verification metrics.

Invariants: ids are the published ones, in the order of the paper's tables. Both profiles fill the same tree, so that
they can be printed side by side: two dimensions, nine sub-dimensions, ten metrics (section 4.2 and appendix F.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from local_judge.scoring.node import Score, ScoreNode

INTEGRITY = "information_integrity"
SUFFICIENCY = "information_sufficiency"
REFERENCE_QUALITY = "reference_quality"
"""Sub-dimension of information integrity that the published code extends by recency."""
RECENCY = "recency"
"""Sub-dimension of information integrity that is judged; the paper's 25 do not have it."""
OVERALL = "overall"

JUDGED: tuple[str, ...] = (
    "request_fulfillment",
    "analytical_soundness",
    "structural_coherence",
    "format_style",
    "ethics_compliance",
)
"""The dimensions that are the judge's alone."""

RUBRIC: tuple[str, ...] = (*JUDGED[:4], INTEGRITY, *JUDGED[4:])
"""The dimensions of which the rubric has items: of information integrity those of recency."""

SEVEN: tuple[str, ...] = (*JUDGED[:4], INTEGRITY, SUFFICIENCY, *JUDGED[4:])
"""All dimensions."""


class Metric(NamedTuple):
    """A scored metric."""

    id: str
    label: str
    code: tuple[str, str, str]
    """Dimension, sub-dimension and metric in the published code's files."""


METRICS: tuple[Metric, ...] = (
    Metric(
        "claim_factuality", "Claim Factuality", ("integrity", "claim_factuality", "external_claim_accuracy")
    ),
    Metric("citation_support", "Citation Support", ("integrity", "citation_validity", "citation_accuracy")),
    Metric(
        "reference_support", "Reference Support", ("integrity", "reference_accuracy", "supported_per_shown")
    ),
    Metric("reproducibility", "Reproducibility", ("integrity", "reference_quality", "reproducibility")),
    Metric("reliability", "Reliability", ("integrity", "reference_quality", "reliability")),
    Metric(
        "reference_diversity", "Reference Diversity", ("integrity", "reference_diversity", "diversity_hhi")
    ),
    Metric(
        "evidence_coverage",
        "Evidence Coverage",
        ("sufficiency", "source_support", "externally_verifiable_claims_ratio"),
    ),
    Metric("information_amount", "Information Amount", ("sufficiency", "information", "information")),
    Metric("citation_amount", "Citation Amount", ("sufficiency", "citations", "citations")),
    Metric("reference_amount", "Reference Amount", ("sufficiency", "references", "references")),
)

_DIMENSIONS = {
    "integrity": (INTEGRITY, "Information Integrity"),
    "sufficiency": (SUFFICIENCY, "Information Sufficiency"),
}
"""Ids and labels of the dimensions, by their names in the code."""


def build(
    scores: Mapping[str, Score], parent: Callable[[tuple[str, ...], Sequence[Score]], Score]
) -> tuple[ScoreNode, ...]:
    """Return the tree over the scores of the metrics, by metric id.

    `parent` gives the score of a node from its path in the code's names, (dimension,) or (dimension,
    sub-dimension), and the scores of its children. A sub-dimension of one metric bears the metric's name.
    """

    def node(name: tuple[str, str], path: tuple[str, ...], children: Sequence[ScoreNode]) -> ScoreNode:
        score = parent(path, [child.score for child in children])
        return ScoreNode(id=name[0], label=name[1], score=score, children=tuple(children))

    roots: list[ScoreNode] = []
    for dimension, below in groupby(METRICS, key=lambda metric: metric.code[0]):
        parts: list[ScoreNode] = []
        for path, metrics in groupby(below, key=lambda metric: metric.code[:2]):
            leaves = [ScoreNode(id=one.id, label=one.label, score=scores[one.id]) for one in metrics]
            only = len(leaves) == 1
            name = (leaves[0].id, leaves[0].label) if only else (REFERENCE_QUALITY, "Reference Quality")
            parts.append(node(name, path, leaves))
        roots.append(node(_DIMENSIONS[dimension], (dimension,), parts))
    return tuple(roots)
