"""DEER's information-verification scores: Integrity and Sufficiency from rows, in either profile, 0 to 10.

Invariants: pure functions of stored findings; the same rows give the same tree, whatever the profile. A report of
which no claim could be extracted has no scores: that it "has no claims" is our failure and no finding. The values of
`upstream` are the port's, to the last bit; beside each stand the counts that it is made of and what failures leave
open, neither of which the published code reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from local_judge.protocols.deer.verification import paper, upstream
from local_judge.protocols.deer.verification.rows import Rows, n_tied, resolved, voted
from local_judge.protocols.deer.verification.tree import METRICS, build
from local_judge.scoring.algebra import mean_of, undefined, unknown
from local_judge.scoring.ensemble import at_extremes
from local_judge.scoring.node import Profile, Score, ScoreNode

NO_CLAIMS = "the code fails on a report without claims"


def score(judges: Sequence[Rows], profile: Profile, *, unsettled: bool = False) -> tuple[ScoreNode, ...]:
    """The two dimensions with their sub-dimensions and metrics.

    Args:
        judges: the rows of each judge; one at least. Several vote.
        profile: by whose formulas.
        unsettled: take for unknown what missing answers might have changed, and ties; see `voted`.
    """
    rows = voted(judges, unsettled=unsettled)
    unread = f"the claims of {rows.n_unread} sentences are unknown" if rows.n_unread else ""
    if unread and not rows.claims:
        nothing = unknown(0.0, paper.TOP, unread, rows.n_unread)
        return build({metric.id: nothing for metric in METRICS}, lambda _, parts: mean_of(parts))
    n = n_tied(rows)
    tied = f"judges are divided evenly on {n} pairs of claim and source" if n else ""
    roots = paper.score(rows) if profile == "paper" else _upstream(rows)
    return tuple(root.noted(unread, tied) for root in roots)


def _upstream(rows: Rows) -> tuple[ScoreNode, ...]:
    """By the published code. Every score is null on a report without claims.

    The value charges failures to the report, as the code does. The bounds say what it would have been had
    they turned out otherwise; that of diversity, which is not monotone, is the whole scale.
    """
    if not rows.claims:
        return build({metric.id: undefined(NO_CLAIMS) for metric in METRICS}, lambda _, parts: parts[0])
    failed = _failures(rows)
    counts = _counts(upstream.tally(rows))

    def scored(favour: bool | None) -> tuple[ScoreNode, ...]:
        found = upstream.normalised(upstream.tally(rows if favour is None else resolved(rows, favour)))
        if favour is not None and failed["reference_diversity"]:
            found["integrity"]["reference_diversity"]["diversity_hhi"] = paper.TOP if favour else 0.0
        dimensions, subdimensions = upstream.averages(found)

        def parent(path: tuple[str, ...], parts: Sequence[Score]) -> Score:
            value = dimensions[path[0]] if len(path) == 1 else subdimensions[path[0]][path[1]]
            return mean_of(parts, partly=True).model_copy(update={"value": value, "low": None, "high": None})

        leaves = {
            metric.id: Score(
                value=found[metric.code[0]][metric.code[1]][metric.code[2]],
                **counts[metric.id]._asdict(),
                n_failed=failed[metric.id],
                note=_note(counts[metric.id].denominator, failed[metric.id]),
            )
            for metric in METRICS
        }
        return build(leaves, parent)

    charged = scored(None)
    return at_extremes(lambda favour: charged if favour is None else scored(favour), [charged])


class Count(NamedTuple):
    """What a metric is made of."""

    numerator: float
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
    unsure = failed - supported
    unrated = {pair.url for pair in pairs if pair.outcome == "supported" and pair.reliable is None}
    reliable = {pair.url for pair in pairs if pair.reliable}
    n_claims = sum(claim.failed for claim in external)
    n_pairs = sum(pair.failed for claim in external for pair in claim.pairs)
    return {
        "claim_factuality": n_claims,
        "citation_support": n_pairs,
        "reference_support": len(unsure),
        "reproducibility": len(failed),
        "reliability": len((failed | unrated) - (supported & reliable)),
        "reference_diversity": sum(pair.failed for pair in pairs),
        "evidence_coverage": 0,
        "information_amount": n_claims,
        "citation_amount": n_pairs,
        "reference_amount": len(unsure),
    }


def _note(denominator: float | None, n_failed: int) -> str:
    if n_failed:
        return "the code charges failures to the report"
    return "0/0 is 0 in the code" if denominator == 0 else ""
