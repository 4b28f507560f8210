"""DEER's metrics as the published code computes them, to the last bit.

Invariant: the same floats as the code, in its order of operations and with its rounding, including what its
paper does not say: claims of class D and E count as information; every outcome but `supported` and
`not_supported` is an error and stays in the denominators; the metrics of references read the pairs of all
classes; a ratio without denominator is 0, as is the diversity of fewer than two supported sources. Rows are those of
`Rows.by_code`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from local_judge.claims.model import VERIFIABLE, ClaimType
from local_judge.protocols.deer.names import METRICS, STEPS
from local_judge.protocols.deer.verification.rows import ClaimRow, PairRow, Rows
from local_judge.stats.sums import sum_in_order

Nested = dict[str, dict[str, dict[str, float]]]
"""Dimension -> sub-dimension -> metric, in the code's names."""


def clean_url(url: str) -> str:
    """Return a URL as the code compares them: without blanks and backticks around it and without its fragment."""
    return url.strip().strip("`").split("#", 1)[0]


@dataclass(frozen=True)
class Tally:
    """The counts that all metrics are made of. Counters keep the order of first appearance."""

    types: Counter[str]
    n_external: int
    n_external_supported: int
    n_numeric: int
    n_numeric_supported: int
    n_citations: int
    n_citations_supported: int
    n_citation_errors: int
    information: int
    """Claims of class D and E, and supported ones of A to C."""
    n_references: int
    shown: frozenset[str]
    cited: Counter[str]
    supported: Counter[str]
    errors: tuple[str, ...]
    reliable: tuple[str, ...]
    """Supported URLs that some pair, of any outcome, calls reliable."""


def class_of(claim: ClaimRow) -> ClaimType:
    """Return the claim's class by the code: B and C without any citation become D."""
    return "D" if claim.type in ("B", "C") and not claim.cited else claim.type


def is_error(pair: PairRow) -> bool:
    """Check whether the code writes `error` for this pair: no page, an unusable one, or no judgement."""
    return pair.outcome not in ("supported", "not_supported") or pair.status != "ok"


def tally(rows: Rows) -> Tally:
    """Count claims, pairs and references.

    Pairs of a claim whose class became D do not exist in the code, nor here: it has no citation.
    """
    external = [claim for claim in rows.claims if class_of(claim) in VERIFIABLE]
    numeric = [claim for claim in external if claim.numeric]
    external_pairs = [pair for claim in external for pair in claim.pairs]
    pairs = [pair for claim in rows.claims for pair in claim.pairs]
    listed = [url for url in rows.references if url is not None]
    supported = Counter(pair.url for pair in pairs if pair.outcome == "supported")
    flagged = {pair.url for pair in pairs if pair.reliable}
    types = Counter(class_of(claim) for claim in rows.claims)
    n_supported = sum(claim.supported for claim in external)
    return Tally(
        types=types,
        n_external=len(external),
        n_external_supported=n_supported,
        n_numeric=len(numeric),
        n_numeric_supported=sum(claim.supported for claim in numeric),
        n_citations=len(external_pairs),
        n_citations_supported=sum(pair.outcome == "supported" for pair in external_pairs),
        n_citation_errors=sum(is_error(pair) for pair in external_pairs),
        information=types["D"] + types["E"] + n_supported,
        n_references=len(listed),
        shown=frozenset(clean_url(url) for url in listed),
        cited=Counter(pair.url for pair in pairs),
        supported=supported,
        errors=tuple(dict.fromkeys(pair.url for pair in pairs if is_error(pair))),
        reliable=tuple(url for url in supported if url in flagged),
    )


def opened(rows: Rows, favour: bool) -> Tally:
    """Return the counts as they would be if all that was not read counted for the report, or against it.

    Each claim of an unread sentence is then of class A and supported, or of class C and not; it and each untraced claim
    have all URLs that they can have, which support it and are reliable, or are errors. It may also have the text of a
    known claim: then it is no new one, and the known one takes its class. An unread citation makes claims of class C
    to ones of class A, or of class D and E to ones of class C; it leads to a new URL, or to a known one.
    """
    found, unread = tally(rows), rows.unread
    pairs = {url: n for url in unread.urls if (n := unread.pairs(url, traced=True))}
    n_sources, n_cited = unread.citations.n, unread.citations.pairs(traced=True)
    n_same, n_claims, n_pairs = unread.claims, unread.claims + n_cited, sum(pairs.values()) + n_cited
    sources = [f"unread citation {number}" for number in range(1, n_sources + 1)]
    pairs |= dict.fromkeys(sources, 1)
    new = Counter(pairs)
    errors = (*found.errors, *pairs, *[url for url in found.cited if url not in found.errors][:n_sources])

    def most(supported: bool, external: bool) -> int:
        """Return the largest number of pairs with this outcome of as many known claims as may change their class."""
        counts = (
            sum((pair.outcome == "supported") is supported for pair in claim.pairs)
            for claim in rows.claims
            if (class_of(claim) in VERIFIABLE) is external
        )
        return sum(sorted(counts, reverse=True)[:n_same])

    types = Counter(found.types)
    n_external, n_supported, n_other = found.n_external, found.n_external_supported, types["D"] + types["E"]
    if favour:
        _reclass(types, "C", "A", n_cited + n_same)
        types["A"] += n_claims
        n_supported = min(n_supported + unread.n_untraced + n_cited, n_external)
        n_external += n_claims - min(n_same, n_external - n_supported)
        n_supported += n_claims
        information = n_other + n_supported
        n_citations_supported = found.n_citations_supported + n_pairs + most(supported=True, external=False)
        n_citations = found.n_citations - most(supported=False, external=True)
        n_citations += n_citations_supported - found.n_citations_supported
    else:
        _reclass(types, "DE", "C", n_cited)
        _reclass(types, "AB", "C", n_same)
        types["C"] += unread.claims
        information = max(max(n_other - n_cited, 0) + n_supported - n_same, 0)
        gone = min(n_same, n_supported)
        n_external, n_supported = min(
            ((n_external + n_claims, n_supported), (n_external + n_claims - 2 * gone, n_supported - gone)),
            key=lambda counts: _ratio(counts[1], counts[0]),
        )
        lost = most(supported=True, external=True)
        n_citations_supported = found.n_citations_supported - lost
        n_citations = found.n_citations - lost + n_pairs + most(supported=False, external=False)
    return replace(
        found,
        types=types,
        n_external=n_external,
        n_external_supported=n_supported,
        information=information,
        n_citations=n_citations,
        n_citations_supported=n_citations_supported,
        shown=found.shown if favour and found.shown else found.shown.union(sources),
        cited=found.cited + new,
        supported=found.supported + (new if favour else Counter()),
        errors=found.errors if favour else tuple(dict.fromkeys(errors)),
        reliable=tuple(dict.fromkeys((*found.reliable, *(pairs if favour else ())))),
    )


def _reclass(types: Counter[str], letters: str, to: str, most: int) -> None:
    """Move at most so many claims of some classes to another."""
    for letter in letters:
        moved = min(types[letter], most)
        types[letter] -= moved
        types[to] += moved
        most -= moved


def _ratio(numerator: int, denominator: int) -> float:
    return numerator / denominator if denominator else 0.0


def diversity(counts: Sequence[int]) -> float:
    """10 * (1 - (HHI - 1/N) / (1 - 1/N)), clipped to 0..10; 0 for N < 2. Sums in the order given."""
    n, total = len(counts), sum(counts)
    if n < 2:
        return 0.0
    hhi = sum_in_order((count / total) ** 2 for count in counts)
    return min(max(10 * (1 - (hhi - 1 / n) / (1 - 1 / n)), 0.0), 10.0)


def spread(counts: Sequence[int]) -> tuple[float, float]:
    """Mean and population standard deviation; zeros for no counts."""
    if not counts:
        return 0.0, 0.0
    mean = sum(counts) / len(counts)
    return mean, math.sqrt(sum_in_order((count - mean) ** 2 for count in counts) / len(counts))


def integrity(t: Tally) -> dict[str, dict[str, float]]:
    """Return the eleven integrity figures of the code's files, of which it scores six."""
    d_and_e = t.types["D"] + t.types["E"]
    mean, deviation = spread(list(t.cited.values()))
    n_shown, n_used, n_supported = len(t.shown), len(t.cited), len(t.supported)
    return {
        "claim_factuality": {
            "claim_accuracy": _ratio(d_and_e + t.n_external_supported, d_and_e + t.n_external),
            "external_claim_accuracy": _ratio(t.n_external_supported, t.n_external),
            "external_numeric_claim_accuracy": _ratio(t.n_numeric_supported, t.n_numeric),
        },
        "citation_validity": {"citation_accuracy": _ratio(t.n_citations_supported, t.n_citations)},
        "reference_accuracy": {
            "supported_per_shown": _ratio(n_supported, n_shown),
            "supported_per_used": _ratio(n_supported, n_used),
            "used_per_shown": _ratio(n_used, n_shown),
        },
        "reference_quality": {
            "reproducibility": 1 - len(t.errors) / n_used if n_used else 0.0,
            "reliability": _ratio(len(t.reliable), n_used),
        },
        "reference_diversity": {
            "unique_reference": _ratio(n_supported, t.n_citations_supported),
            "citations_CV": deviation / mean if mean else 0.0,
            "diversity_hhi": diversity(list(t.supported.values())),
        },
    }


def source_support(t: Tally) -> dict[str, float]:
    """Return the three coverage figures of the code's files, of which it scores the second."""
    a, b, c, d = (t.types[letter] for letter in "ABCD")
    return {
        "verified_claims_ratio": _ratio(a + b + c + d, a + b + 2 * c + d),
        "externally_verifiable_claims_ratio": _ratio(a + b, a + b + c),
        "average_citations_per_claim": _ratio(t.n_citations, a + b),
    }


def amounts(t: Tally) -> dict[str, int]:
    """Claims that count as information; supported pairs; supported URLs."""
    return {
        "information": t.information,
        "citations": t.n_citations_supported,
        "references": len(t.supported),
    }


def ratio_score(ratio: float) -> float:
    """round(clip(ratio, 0, 1) * 10, 2)."""
    return round(min(max(ratio, 0.0), 1.0) * 10, 2)


def amount_score(n: int, step: int) -> int:
    """0 for n = 0, else min(floor((n - 1) / step) + 1, 10)."""
    return min((n - 1) // step + 1, 10) if n else 0


def normalised(t: Tally) -> Nested:
    """Return the ten scored metrics on the 0-to-10 scale."""
    raw, n = integrity(t), amounts(t)
    nested: Nested = {"integrity": {}, "sufficiency": {}}
    for metric in METRICS:
        _, dimension, part, name = metric
        if name in STEPS:
            value: float = amount_score(n[name], STEPS[name])
        elif name == "diversity_hhi":
            value = raw[part][name]
        else:
            value = ratio_score(source_support(t)[name] if part == "source_support" else raw[part][name])
        nested[dimension].setdefault(part, {})[name] = value
    return nested


def averages(scores: Nested) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Dimension means and sub-dimension means, each the rounded mean of the rounded level below."""
    parts = {
        dimension: {
            name: round(sum_in_order(metrics.values()) / len(metrics), 2) for name, metrics in group.items()
        }
        for dimension, group in scores.items()
    }
    return {name: round(sum_in_order(group.values()) / len(group), 2) for name, group in parts.items()}, parts
