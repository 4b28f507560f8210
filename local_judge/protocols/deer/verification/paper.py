"""DEER's ten metrics by the formulas as printed (paper, section 4.2 and appendix F.4), 0 to 10.

V = claims of class A, B or C; pairs = (claim of V, URL it leans on); used = URLs of the pairs; a URL or a claim is
supported if one of its pairs is. Ratios are put on the scale as 10 * ratio.

    claim factuality      supported claims / V; a claim with no source ends as not supported
    citation support      supported pairs / pairs
    reference support     supported URLs / references shown
    reproducibility       URLs whose page could be retrieved / used
    reliability           URLs that support a claim and are held to be reliable / used
    reference diversity   evenness of all pairs over used
    evidence coverage     V / all claims
    information amount    amount of supported claims, step 15
    citation amount       amount of supported pairs, step 10
    reference amount      amount of supported URLs, step 4

Invariant: only classes A, B and C count as external support; a failure of ours leaves the denominator and opens the
bounds; 0/0 is null. A source that is `dead`, `blocked` or `empty` is the report's: its pairs are not supported. Every
metric grows with each unit that turns out to count, so that these two resolutions are the extremes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from local_judge.claims.model import OURS
from local_judge.protocols.deer.verification.rows import VERIFIABLE, PairRow, Rows
from local_judge.protocols.deer.verification.tree import build
from local_judge.scoring.algebra import count, mean_of, share, undefined, unknown
from local_judge.scoring.node import Score, ScoreNode, noted

INFORMATION_STEP = 15
CITATION_STEP = 10
REFERENCE_STEP = 4
TOP = 10.0

Group = Sequence[PairRow]
"""The pairs of one URL."""


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
    claims = [claim for claim in rows.claims if claim.type in VERIFIABLE]
    by_url: defaultdict[str, list[PairRow]] = defaultdict(list)
    for claim in claims:
        for pair in claim.pairs:
            by_url[pair.url].append(pair)
    used = list(by_url.values())
    of_claims = [None if claim.failed else claim.supported for claim in claims]
    of_pairs = [None if pair.failed else pair.outcome == "supported" for group in used for pair in group]
    of_urls = [_supported(group) for group in used]
    # The paper does not say what an entry without URL is, nor a source cited in the text and listed nowhere. Here both
    # are shown to the reader, so both count, as not supported.
    listed = [url for url in rows.references if url is not None]
    n_others = len({*listed, *by_url}) - len(used) + len(rows.references) - len(listed)
    metrics = {
        "claim_factuality": _ratio(of_claims, "no claim of class A, B or C"),
        "citation_support": _ratio(of_pairs, "no citation"),
        "reference_support": _ratio([*of_urls, *[False] * n_others], "no reference"),
        "reproducibility": _ratio([_retrieved(group) for group in used], "no source cited"),
        "reliability": _ratio([_reliable(group) for group in used], "no source cited"),
        "reference_diversity": _diversity([len(group) for group in used]),
        "evidence_coverage": share(len(claims), len(rows.claims), 0, top=TOP, empty="no claims"),
        "information_amount": _amount(of_claims, INFORMATION_STEP),
        "citation_amount": _amount(of_pairs, CITATION_STEP),
        "reference_amount": _amount(of_urls, REFERENCE_STEP),
    }
    return build(metrics, lambda _, parts: mean_of(parts))


def _supported(group: Group) -> bool | None:
    """Whether the page supports a claim; None if a failure leaves that open."""
    if any(pair.outcome == "supported" for pair in group):
        return True
    return None if any(pair.failed for pair in group) else False


def _retrieved(group: Group) -> bool | None:
    """Whether the page could be retrieved; None if nobody tried or we could not read it."""
    if any(pair.outcome != "source_unavailable" for pair in group):
        return True
    return None if any(pair.status in OURS for pair in group) else False


def _reliable(group: Group) -> bool | None:
    """Whether the page supports a claim and is held to be reliable; None if a failure leaves that open.

    What a page held to be unreliable says of a claim leaves nothing open.
    """
    supported = _supported(group)
    if supported and any(pair.reliable for pair in group):
        return True
    might_be = any(
        pair.reliable or (pair.reliable is None and (pair.failed or pair.outcome == "supported"))
        for pair in group
    )
    return None if supported is not False and might_be else False


def _ratio(units: Collection[bool | None], empty: str) -> Score:
    """Units that count / units, those apart of which it is not known (None)."""
    hits, failed = _counted(units)
    found = share(hits, len(units) - failed, failed, top=TOP, empty=empty)
    return noted(found, f"all {failed} failed") if failed and found.value is None else found


def _counted(units: Collection[bool | None]) -> tuple[int, int]:
    return sum(unit is True for unit in units), sum(unit is None for unit in units)


def _diversity(counts: Sequence[int]) -> Score:
    """Evenness of all pairs over used (F.4).

    The paper leaves fewer than two sources open, where the formula is 0/0: null here.
    """
    spread = evenness(counts)
    if spread is None:
        return undefined(f"{len(counts) or 'no'} source cited, evenness needs two", sum(counts))
    return share(*spread, 0, top=TOP, n_expected=sum(counts))


def _amount(units: Collection[bool | None], step: int) -> Score:
    """The amount score of the units known to be supported; null if every unit failed."""
    n, failed = _counted(units)
    least, most = float(amount(n, step)), float(amount(n + failed, step))
    if failed and failed == len(units):
        return unknown(least, most, f"all {failed} failed", failed)
    note = "counts what is known" if failed else ""
    counted = count(n, n_expected=len(units), n_failed=failed, note=note)
    return counted.model_copy(update={"value": least, "low": least, "high": most})
