"""DEER's dimensions and the tree of its information-verification metrics.

Invariants: ids are the published ones, in the order of the paper's tables. Both profiles fill the same tree, so that
they can be printed side by side: two dimensions, nine sub-dimensions, ten metrics (section 4.4 and appendix F.4).
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
"""Dimensions with items in the rubric; information integrity has only those of recency."""

SEVEN: tuple[str, ...] = (*JUDGED[:4], INTEGRITY, SUFFICIENCY, *JUDGED[4:])
"""All dimensions."""


class Metric(NamedTuple):
    """A scored metric, with its dimension, sub-dimension and name in the published code's files."""

    id: str
    dimension: str
    part: str
    name: str


METRICS = (
    Metric("claim_factuality", "integrity", "claim_factuality", "external_claim_accuracy"),
    Metric("citation_support", "integrity", "citation_validity", "citation_accuracy"),
    Metric("reference_support", "integrity", "reference_accuracy", "supported_per_shown"),
    Metric("reproducibility", "integrity", "reference_quality", "reproducibility"),
    Metric("reliability", "integrity", "reference_quality", "reliability"),
    Metric("reference_diversity", "integrity", "reference_diversity", "diversity_hhi"),
    Metric("evidence_coverage", "sufficiency", "source_support", "externally_verifiable_claims_ratio"),
    Metric("information_amount", "sufficiency", "information", "information"),
    Metric("citation_amount", "sufficiency", "citations", "citations"),
    Metric("reference_amount", "sufficiency", "references", "references"),
)

STEPS = {"information": 15, "citations": 10, "references": 4}
"""Units by which each amount grows by one point, by the metric's name in the code."""

INTEGRATED_NAMES = {"integrity": INTEGRITY, "sufficiency": SUFFICIENCY}
"""The verification's dimensions: their names in its own files -> in the integrated ones."""


def build(
    scores: Mapping[str, Score], parent: Callable[[tuple[str, ...], Sequence[Score]], Score]
) -> tuple[ScoreNode, ...]:
    """Return the tree over the scores of the metrics, by metric id.

    `parent` returns the score of a node from its path in the code's names, (dimension,) or (dimension,
    sub-dimension), and the scores of its children. A sub-dimension with one metric has the metric's name.
    """

    def node(id: str, path: tuple[str, ...], children: Sequence[ScoreNode]) -> ScoreNode:
        score = parent(path, [child.score for child in children])
        return ScoreNode(id=id, label=_label(id), score=score, children=tuple(children))

    roots: list[ScoreNode] = []
    for dimension, below in groupby(METRICS, key=lambda metric: metric.dimension):
        parts: list[ScoreNode] = []
        for part, metrics in groupby(below, key=lambda metric: metric.part):
            leaves = [ScoreNode(id=one.id, label=_label(one.id), score=scores[one.id]) for one in metrics]
            id = leaves[0].id if len(leaves) == 1 else REFERENCE_QUALITY
            parts.append(node(id, (dimension, part), leaves))
        roots.append(node(INTEGRATED_NAMES[dimension], (dimension,), parts))
    return tuple(roots)


def _label(id: str) -> str:
    """Return the paper's name of a metric, sub-dimension or dimension."""
    return id.replace("_", " ").title()
