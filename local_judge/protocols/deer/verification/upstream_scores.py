"""The score tree of the `upstream` profile.

Invariant: the values are those of `upstream`, to the last bit; beside each stand the counts that it is made
of and what failures leave open, neither of which the published code reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from local_judge.protocols.deer.verification import upstream
from local_judge.protocols.deer.verification.rows import Rows, resolved
from local_judge.protocols.deer.verification.tree import METRICS, build
from local_judge.protocols.scores import Score, ScoreNode, mean_of


def score(rows: Rows) -> tuple[ScoreNode, ...]:
    """Both dimensions. Every score is null on a report without claims.

    The value charges failures to the report, as the code does. The bounds say what it would have been had
    they turned out otherwise; that of diversity, which is not monotone, is the whole scale.
    """
    failed = _failures(rows)
    runs = [upstream.normalised(upstream.tally(run)) for run in _runs(rows)]
    if failed["reference_diversity"]:
        for run, value in zip(runs[1:], (0.0, 10.0), strict=True):
            run["integrity"]["reference_diversity"]["diversity_hhi"] = value
    means = [upstream.averages(run) for run in runs]

    def score_of(values: Sequence[float], count: Count, n_failed: int) -> Score:
        if not rows.claims:
            return Score(value=None, n_undefined=1, note="the code fails on a report without claims")
        return Score(
            value=values[0],
            numerator=count.numerator,
            denominator=count.denominator,
            n_expected=count.n_expected,
            n_failed=n_failed,
            low=min(values),
            high=max(values),
            note=_note(count.denominator, n_failed),
        )

    def parent(path: tuple[str, ...], parts: Sequence[Score]) -> Score:
        values = [
            dimensions[path[0]] if len(path) == 1 else subdimensions[path[0]][path[1]]
            for dimensions, subdimensions in means
        ]
        if len(parts) == 1:
            only = parts[0]
            return score_of(values, Count(only.numerator, only.denominator, only.n_expected), only.n_failed)
        total = sum(part.value for part in parts if part.value is not None)
        whole = score_of(values, Count(total, len(parts), len(parts)), 0)
        return whole.model_copy(update={"known": mean_of(parts).known})

    counts = _counts(upstream.tally(rows))
    scores: dict[str, Score] = {}
    for metric in METRICS:
        dimension, part, name = metric.code
        values = [run[dimension][part][name] for run in runs]
        scores[metric.id] = score_of(values, counts[metric.id], failed[metric.id])
    return build(scores, parent)


def _runs(rows: Rows) -> tuple[Rows, Rows, Rows]:
    """The rows as they are, and with all failures resolved against and for the report."""
    return rows, resolved(rows, favour=False), resolved(rows, favour=True)


class Count(NamedTuple):
    """What a metric is made of."""

    numerator: float | None
    denominator: float | None
    n_expected: int


def _counts(t: upstream.Tally) -> dict[str, Count]:
    """What each metric is made of, by its id."""
    a, b, c = (t.types[letter] for letter in "ABC")
    n, n_used, n_supported = upstream.amounts(t), len(t.cited), len(t.supported)
    n_supported_pairs = sum(t.supported.values())
    hhi = sum((count / n_supported_pairs) ** 2 for count in t.supported.values())
    spare = (1 - hhi, 1 - 1 / n_supported) if n_supported else (0.0, 0.0)
    return {
        "claim_factuality": Count(t.n_external_supported, t.n_external, t.n_external),
        "citation_support": Count(t.n_citations_supported, t.n_citations, t.n_citations),
        "reference_support": Count(n_supported, len(t.shown), len(t.shown)),
        "reproducibility": Count(n_used - len(t.errors), n_used, n_used),
        "reliability": Count(len(t.reliable), n_used, n_used),
        "reference_diversity": Count(spare[0], spare[1], n_supported_pairs),
        "evidence_coverage": Count(a + b, a + b + c, a + b + c),
        "information_amount": Count(n["information"], None, sum(t.types[letter] for letter in "ABCDE")),
        "citation_amount": Count(n["citations"], None, t.n_citations),
        "reference_amount": Count(n["references"], None, n_used),
    }


def _failures(rows: Rows) -> Mapping[str, int]:
    """How many units of each metric are unknown through a failure of ours."""
    external = [claim for claim in rows.claims if upstream.class_of(claim) in ("A", "B", "C")]
    pairs = [pair for claim in rows.claims for pair in claim.pairs]
    supported = {pair.url for pair in pairs if pair.outcome == "supported"}
    failed = {pair.url for pair in pairs if pair.failed}
    unknown = failed - supported
    unrated = {pair.url for pair in pairs if pair.outcome == "supported" and pair.reliable is None}
    rated = {pair.url for pair in pairs if pair.reliable}
    n_claims = sum(claim.failed for claim in external)
    n_pairs = sum(pair.failed for claim in external for pair in claim.pairs)
    return {
        "claim_factuality": n_claims,
        "citation_support": n_pairs,
        "reference_support": len(unknown),
        "reproducibility": len(failed),
        "reliability": len((failed | unrated) - (supported & rated)),
        "reference_diversity": sum(pair.failed for pair in pairs),
        "evidence_coverage": 0,
        "information_amount": n_claims,
        "citation_amount": n_pairs,
        "reference_amount": len(unknown),
    }


def _note(denominator: float | None, n_failed: int) -> str:
    if n_failed:
        return "the code charges failures to the report"
    return "0/0 is 0 in the code" if denominator == 0 else ""
