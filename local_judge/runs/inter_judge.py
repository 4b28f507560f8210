"""Inter-judge agreement of a run, from what each judge has found.

Invariant: one line for each metric and each set of judges that is compared: all of them, and where there are more than
two each pair; a metric is compared on the items that some judge of the run lists, whether or not all answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

from local_judge.protocols.base import Compares, Rated
from local_judge.runs.seal import AGREEMENT
from local_judge.runs.store import RunStore
from local_judge.stats.agreement.inter_judge import Answer, InterJudgeAgreement, agreement_of_judges
from local_judge.stats.estimate import Estimate
from serving.types import Frozen

SEED = 0
"""Seed of the bootstrap: fixed, so that the same findings give the same bytes."""


class AgreementRecord(Frozen):
    """One line of `agreement.jsonl`."""

    protocol: str
    version: str
    metric: str
    scale: Literal["nominal", "ordinal", "interval"]
    judges: tuple[str, ...]
    """Who is compared."""
    n_reports: int
    """Reports in which some judge lists an item of the metric."""
    n_items: int
    """Items that two of the judges at least have answered."""
    n_missing: dict[str, int]
    """For each judge, items without an answer of it."""
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


def agreement_rows(
    protocol: Compares,
    name: str,
    version: str,
    found: Mapping[str, Sequence[Any]],
    judges: Sequence[str],
) -> list[AgreementRecord]:
    """The agreement of `judges` by each metric of a protocol, metrics in the order in which they first occur.

    Args:
        protocol: says what was decided.
        name: of the protocol.
        version: of the protocol.
        found: by report, the findings of each judge, in the judges' order.
        judges: names, two at least.
    """
    answers: dict[str, dict[str, dict[str, dict[str, Answer]]]] = {}
    scales: dict[str, Literal["nominal", "ordinal", "interval"]] = {}
    for case, findings in found.items():
        for judge, own in zip(judges, findings, strict=True):
            for rated in protocol.rated(own):
                scales.setdefault(rated.metric, rated.scale)
                _note(answers.setdefault(rated.metric, {}).setdefault(case, {}), judge, rated)
    compared = [tuple(judges)]
    if len(judges) > 2:
        compared += combinations(judges, 2)
    return [
        _record(
            (name, version, metric),
            scales[metric],
            group,
            len(reports),
            agreement_of_judges(list(reports.values()), group, scales[metric], seed=SEED),
        )
        for metric, reports in answers.items()
        for group in compared
    ]


def _note(items: dict[str, dict[str, Answer]], judge: str, rated: Rated) -> None:
    given = items.setdefault(rated.item, {})
    if rated.value is not None:
        given[judge] = rated.value


def _record(
    metric: tuple[str, str, str],
    scale: Literal["nominal", "ordinal", "interval"],
    judges: tuple[str, ...],
    n_reports: int,
    found: InterJudgeAgreement,
) -> AgreementRecord:
    return AgreementRecord(
        protocol=metric[0],
        version=metric[1],
        metric=metric[2],
        scale=scale,
        judges=judges,
        n_reports=n_reports,
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
