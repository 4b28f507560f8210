"""DEER's ten metrics by the formulas as printed (paper, section 4.2 and appendix F.4), 0 to 10.

Invariant: only classes A, B and C count as external support; a failure of ours leaves the denominator and
opens the bounds; 0/0 is null. A source that is `dead`, `blocked` or `empty` is the report's: its pairs are
not supported.

Notation: V = claims of class A, B or C; pairs = (claim of V, URL it leans on); used = URLs of the pairs; a
URL or a claim is supported if one of its pairs is. Ratios are put on the scale as 10 * ratio.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from local_judge.claims.model import OURS
from local_judge.protocols.deer.verification.rows import VERIFIABLE, ClaimRow, PairRow, Rows, resolved
from local_judge.protocols.deer.verification.tree import build
from local_judge.protocols.scores import Score, ScoreNode, mean_of

INFORMATION_STEP = 15
CITATION_STEP = 10
REFERENCE_STEP = 4


def amount(n: int, step: int) -> int:
    """The score of a count, 1 to 10.

    Formula (F.4): min(floor((n - 1) / step) + 1, 10), and 1 for n = 0: the scale of amounts begins at 1.
    """
    return min(max(n - 1, 0) // step + 1, 10)


def evenness(counts: Sequence[int]) -> tuple[float, float] | None:
    """How evenly citations are spread over N sources, as (1 - HHI, 1 - 1/N); None for N < 2.

    Formula (F.4): 1 - (HHI - 1/N) / (1 - 1/N) with HHI = sum of squared shares, which is (1 - HHI) / (1 -
    1/N).
    """
    if len(counts) < 2:
        return None
    total = sum(counts)
    return 1 - sum(count * count for count in counts) / (total * total), 1 - 1 / len(counts)


def score(rows: Rows) -> tuple[ScoreNode, ...]:
    """Both dimensions: each the mean of its defined sub-dimensions, these of their metrics."""
    return build(_bounded(rows), lambda _, parts: mean_of(parts))


def _bounded(rows: Rows) -> dict[str, Score]:
    """Each metric with the bounds that follow from resolving all failures one way and the other.

    Every metric grows with each pair that turns from unsupported to supported, so these two are the extremes.
    """
    against, favour = _evaluate(resolved(rows, favour=False)), _evaluate(resolved(rows, favour=True))
    return {
        name: score.model_copy(update={"low": against[name].value, "high": favour[name].value})
        for name, score in _evaluate(rows).items()
    }


def _evaluate(rows: Rows) -> dict[str, Score]:
    claims = [claim for claim in rows.claims if claim.type in VERIFIABLE]
    by_url: defaultdict[str, list[PairRow]] = defaultdict(list)
    for claim in claims:
        for pair in claim.pairs:
            by_url[pair.url].append(pair)
    pairs = [pair for group in by_url.values() for pair in group]
    return {
        "claim_factuality": _factuality(claims),
        "citation_support": _citation_support(pairs),
        "reference_support": _reference_support(by_url, rows.references),
        "reproducibility": _of_urls(by_url, _retrieved),
        "reliability": _of_urls(by_url, _reliable),
        "reference_diversity": _diversity(by_url),
        "evidence_coverage": _ratio(len(claims), len(rows.claims), len(rows.claims), 0, "no claims"),
        "information_amount": _amount(
            sum(claim.supported for claim in claims),
            len(claims),
            sum(claim.failed for claim in claims),
            INFORMATION_STEP,
        ),
        "citation_amount": _amount(_supported(pairs), len(pairs), _failed(pairs), CITATION_STEP),
        "reference_amount": _amount(
            sum(_supported(group) > 0 for group in by_url.values()),
            len(by_url),
            sum(_url_unknown(group) for group in by_url.values()),
            REFERENCE_STEP,
        ),
    }


def _factuality(claims: Sequence[ClaimRow]) -> Score:
    """Supported claims / V (section 4.2). A claim of V with no source ends as not supported."""
    failed = sum(claim.failed for claim in claims)
    supported = sum(claim.supported for claim in claims)
    return _ratio(supported, len(claims) - failed, len(claims), failed, "no claim of class A, B or C")


def _citation_support(pairs: Sequence[PairRow]) -> Score:
    """Supported pairs / pairs (section 4.2)."""
    failed = _failed(pairs)
    return _ratio(_supported(pairs), len(pairs) - failed, len(pairs), failed, "no citation")


def _reference_support(by_url: Mapping[str, Sequence[PairRow]], references: Sequence[str | None]) -> Score:
    """Supported URLs / references shown (section 4.2).

    The paper does not say what an entry without URL is, nor a source cited in the text and listed nowhere.
    Here both are shown to the reader, so both count: an entry without URL cannot be supported.
    """
    n_shown = len({*(url for url in references if url is not None), *by_url}) + sum(
        url is None for url in references
    )
    failed = sum(_url_unknown(group) for group in by_url.values())
    supported = sum(_supported(group) > 0 for group in by_url.values())
    return _ratio(supported, n_shown - failed, n_shown, failed, "no reference")


def _retrieved(group: Sequence[PairRow]) -> bool | None:
    """Whether the page could be retrieved; None if nobody tried or we could not read it."""
    if any(pair.outcome != "source_unavailable" for pair in group):
        return True
    return None if any(pair.status in OURS for pair in group) else False


def _reliable(group: Sequence[PairRow]) -> bool | None:
    """Whether the page supports a claim and is held to be reliable; None if a failure leaves that open.

    What a page held to be unreliable says of a claim leaves nothing open.
    """
    if _supported(group) and any(pair.reliable for pair in group):
        return True
    if all(pair.reliable is False for pair in group):
        return False
    unrated = any(pair.outcome == "supported" and pair.reliable is None for pair in group)
    return None if unrated or _failed(group) else False


def _of_urls(
    by_url: Mapping[str, Sequence[PairRow]], holds: Callable[[Sequence[PairRow]], bool | None]
) -> Score:
    """URLs of which it holds / used.

    Reproducibility (section 4.2): pages that could be retrieved. Reliability: pages that support a claim and
    that the judge holds to be reliable.
    """
    findings = [holds(group) for group in by_url.values()]
    failed = findings.count(None)
    return _ratio(findings.count(True), len(findings) - failed, len(findings), failed, "no source cited")


def _diversity(by_url: Mapping[str, Sequence[PairRow]]) -> Score:
    """Evenness of all pairs over used (F.4).

    The paper leaves fewer than two sources open, where the formula is 0/0: null here.
    """
    counts = [len(group) for group in by_url.values()]
    spread = evenness(counts)
    if spread is None:
        return _undefined(sum(counts), 0, f"{len(counts) or 'no'} source cited, evenness needs two")
    return Score(
        value=10 * spread[0] / spread[1],
        numerator=spread[0],
        denominator=spread[1],
        n_expected=sum(counts),
    )


def _amount(n: int, n_expected: int, failed: int, step: int) -> Score:
    """The amount score of the units known to be supported; null if every unit failed."""
    if failed and failed == n_expected:
        return _undefined(n_expected, failed, "")
    return Score(
        value=amount(n, step),
        numerator=n,
        n_expected=n_expected,
        n_failed=failed,
        note="counts what is known" if failed else "",
    )


def _ratio(numerator: int, denominator: int, n_expected: int, failed: int, empty: str) -> Score:
    if denominator == 0:
        return _undefined(n_expected, failed, empty)
    return Score(
        value=10 * numerator / denominator,
        numerator=numerator,
        denominator=denominator,
        n_expected=n_expected,
        n_failed=failed,
    )


def _undefined(n_expected: int, failed: int, reason: str) -> Score:
    return Score(
        value=None,
        n_expected=n_expected,
        n_failed=failed,
        n_undefined=0 if failed else 1,
        note=f"all {failed} failed" if failed else reason,
    )


def _supported(pairs: Sequence[PairRow]) -> int:
    return sum(pair.outcome == "supported" for pair in pairs)


def _failed(pairs: Sequence[PairRow]) -> int:
    return sum(pair.failed for pair in pairs)


def _url_unknown(group: Sequence[PairRow]) -> bool:
    return not _supported(group) and _failed(group) > 0
