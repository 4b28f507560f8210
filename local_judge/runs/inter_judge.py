"""Inter-judge agreement of a run, from what each judge has found.

Invariant: one line for each metric and each set of judges that is compared: all of them, and where there are more than
two each pair; a metric is compared on the items that some judge of the run lists, whether or not all answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

from local_judge.protocols.base import AnyProtocol
from local_judge.runs.seal import AGREEMENT
from local_judge.runs.store import RunStore
from local_judge.stats.agreement.inter_judge import Answer, agreement_of_judges
from local_judge.stats.estimate import Estimate
from serving.types import Frozen

Scale = Literal["nominal", "ordinal", "interval"]

SEED = 0
"""Seed of the bootstrap: fixed, so that the same findings give the same bytes."""


class AgreementRecord(Frozen):
    """One line of `agreement.jsonl`."""

    protocol: str
    version: str
    metric: str
    scale: Scale
    judges: tuple[str, ...]
    """The judges that are compared."""
    n_reports: int
    """Reports in which some judge lists an item of the metric."""
    n_items: int
    """Items that two of the judges at least have answered."""
    n_missing: dict[str, int]
    """Number of items without an answer, by judge."""
    alike: Estimate
    """Items to which all gave the same answer, of those that all answered."""
    alike_pairs: Estimate
    """Pairs of equal answers, of the pairs of answers to one item."""
    difference: Estimate | None = None
    """Mean absolute difference in such pairs; None where answers are labels."""
    kappa: Estimate | None = None
    """Cohen's kappa, of two judges: unweighted for labels, else with quadratic weights."""
    alpha: Estimate
    """Krippendorff's alpha."""
    seed: int = SEED


class _Metric(NamedTuple):
    """The decisions of all judges that share a metric."""

    scale: Scale
    reports: dict[str, dict[str, dict[str, Answer]]]
    """Answers by report, item and judge; a judge without an answer to an item is absent there."""


def agreement_rows(
    protocol: AnyProtocol,
    found: Mapping[str, Sequence[Any]],
    judges: Sequence[str],
) -> list[AgreementRecord]:
    """The agreement of `judges` by each metric of a protocol, in the order in which the metrics first occur.

    Args:
        protocol: gives the decisions in the findings.
        found: by report, the findings of each judge, in the judges' order.
        judges: names, two at least.
    """
    metrics: dict[str, _Metric] = {}
    for case, findings in found.items():
        for judge, own in zip(judges, findings, strict=True):
            for decision in protocol.decisions(own):
                metric = metrics.setdefault(decision.metric, _Metric(decision.scale, {}))
                answers = metric.reports.setdefault(case, {}).setdefault(decision.item, {})
                if decision.value is not None:
                    answers[judge] = decision.value
    compared = [tuple(judges)]
    if len(judges) > 2:
        compared += combinations(judges, 2)
    return [_record(protocol, name, metric, group) for name, metric in metrics.items() for group in compared]


def _record(protocol: AnyProtocol, name: str, metric: _Metric, judges: tuple[str, ...]) -> AgreementRecord:
    found = agreement_of_judges(list(metric.reports.values()), judges, metric.scale, seed=SEED)
    return AgreementRecord(
        protocol=protocol.name,
        version=protocol.version,
        metric=name,
        scale=metric.scale,
        judges=judges,
        n_reports=len(metric.reports),
        n_items=found.n_items,
        n_missing=dict(found.n_missing),
        alike=found.alike,
        alike_pairs=found.alike_pairs,
        difference=found.difference,
        kappa=found.kappa,
        alpha=found.alpha,
    )


def load_agreement(store: RunStore) -> list[AgreementRecord]:
    """The agreement of a run's judges; nothing where there is one judge."""
    if not (store.root / AGREEMENT).exists():
        return []
    return store.read_models(AGREEMENT, AgreementRecord)
