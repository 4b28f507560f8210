"""The names of DEER's information-verification metrics, and how they hang together.

Invariant: both profiles fill the same tree, so that they can be printed side by side: two dimensions, nine
sub-dimensions, ten metrics (paper, section 4.2 and appendix F.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from local_judge.documents.model import Frozen
from local_judge.protocols.scores import Profile, Score, ScoreNode


class Metric(NamedTuple):
    """A scored metric; `code` is its path in the published code's files."""

    id: str
    label: str
    code: tuple[str, str, str]


class Subdimension(NamedTuple):
    """A sub-dimension: the mean of its metrics."""

    id: str
    label: str
    metrics: tuple[Metric, ...]


class Dimension(NamedTuple):
    """A dimension: the mean of its sub-dimensions."""

    id: str
    label: str
    subdimensions: tuple[Subdimension, ...]


def _single(id: str, label: str, dimension: str, subdimension: str, metric: str) -> Subdimension:
    return Subdimension(id, label, (Metric(id, label, (dimension, subdimension, metric)),))


DIMENSIONS: tuple[Dimension, ...] = (
    Dimension(
        "information_integrity",
        "Information Integrity",
        (
            _single(
                "claim_factuality",
                "Claim Factuality",
                "integrity",
                "claim_factuality",
                "external_claim_accuracy",
            ),
            _single(
                "citation_support",
                "Citation Support",
                "integrity",
                "citation_validity",
                "citation_accuracy",
            ),
            _single(
                "reference_support",
                "Reference Support",
                "integrity",
                "reference_accuracy",
                "supported_per_shown",
            ),
            Subdimension(
                "reference_quality",
                "Reference Quality",
                (
                    Metric(
                        "reproducibility",
                        "Reproducibility",
                        ("integrity", "reference_quality", "reproducibility"),
                    ),
                    Metric("reliability", "Reliability", ("integrity", "reference_quality", "reliability")),
                ),
            ),
            _single(
                "reference_diversity",
                "Reference Diversity",
                "integrity",
                "reference_diversity",
                "diversity_hhi",
            ),
        ),
    ),
    Dimension(
        "information_sufficiency",
        "Information Sufficiency",
        (
            _single(
                "evidence_coverage",
                "Evidence Coverage",
                "sufficiency",
                "source_support",
                "externally_verifiable_claims_ratio",
            ),
            _single("information_amount", "Information Amount", "sufficiency", "information", "information"),
            _single("citation_amount", "Citation Amount", "sufficiency", "citations", "citations"),
            _single("reference_amount", "Reference Amount", "sufficiency", "references", "references"),
        ),
    ),
)

METRICS: tuple[Metric, ...] = tuple(
    metric
    for dimension in DIMENSIONS
    for subdimension in dimension.subdimensions
    for metric in subdimension.metrics
)


class DeerScores(Frozen):
    """The scores of one report in one profile, 0 to 10."""

    profile: Profile
    dimensions: tuple[ScoreNode, ...]

    def find(self, dimension: str, *path: str) -> ScoreNode:
        """The node at this path. Raises KeyError."""
        for node in self.dimensions:
            if node.id == dimension:
                return node.find(*path)
        raise KeyError(dimension)


def build(
    scores: Mapping[str, Score], parent: Callable[[tuple[str, ...], Sequence[Score]], Score]
) -> tuple[ScoreNode, ...]:
    """The tree over the scores of the metrics, by metric id.

    `parent` gives the score of a node from its path in the code's names, (dimension,) or (dimension,
    sub-dimension), and the scores of its children.
    """
    nodes: list[ScoreNode] = []
    for dimension in DIMENSIONS:
        children: list[ScoreNode] = []
        for part in dimension.subdimensions:
            leaves = [ScoreNode(id=m.id, label=m.label, score=scores[m.id]) for m in part.metrics]
            children.append(_node(part, leaves, parent(part.metrics[0].code[:2], _scores(leaves))))
        code = dimension.subdimensions[0].metrics[0].code[:1]
        nodes.append(_node(dimension, children, parent(code, _scores(children))))
    return tuple(nodes)


def _scores(nodes: Sequence[ScoreNode]) -> list[Score]:
    return [node.score for node in nodes]


def _node(name: Dimension | Subdimension, children: Sequence[ScoreNode], score: Score) -> ScoreNode:
    return ScoreNode(id=name.id, label=name.label, score=score, children=tuple(children))
