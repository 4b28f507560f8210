"""DEER's information verification: Integrity and Sufficiency in either profile, 0 to 10.

`paper`: the ten metrics by the formulas as printed (DEER, appendix F.4). V = claims of class A, B or C; pairs
= (claim of V, URL that it cites); used = URLs of the pairs; a URL or a claim is supported if one of its pairs is.
Ratios are put on the scale as 10 * ratio.

    claim factuality      supported claims / V; a claim without a source is not supported
    citation support      supported pairs / pairs
    reference support     supported URLs / references shown
    reproducibility       URLs whose page could be retrieved / used
    reliability           URLs that support a claim and are judged reliable / used
    reference diversity   evenness of all pairs over used
    evidence coverage     V / all claims
    information amount    amount of supported claims, step 15
    citation amount       amount of supported pairs, step 10
    reference amount      amount of supported URLs, step 4

`upstream`: see `verification.upstream`; beside its values are the counts that they are made of and the bounds that
failures leave, neither of which the published code reports.

Invariants: pure functions of stored findings; the same rows give the same tree in both profiles. A report of which no
claim could be extracted has no scores: "no claims" is then a failure, not a finding. In `paper`, only classes A, B and
C count as external support; a failure of the evaluation leaves the denominator and opens the bounds; 0/0 is null. A
source that is dead counts against the report; a page that a reader cannot get the text of counts against
reproducibility, and leaves the other metrics open. Every metric but diversity grows with each unit that turns out to
count, so that these two resolutions are the extremes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from local_judge.base.output import count as noun
from local_judge.claims.model import VERIFIABLE
from local_judge.protocols.deer.names import METRICS, STEPS, build
from local_judge.protocols.deer.verification import upstream
from local_judge.protocols.deer.verification.rows import PairRow, Rows, n_tied, resolved, voted
from local_judge.scoring.algebra import ALL_SEEN, Unseen, count, mean_of, share, undefined, unknown
from local_judge.scoring.coverage import read_in_part
from local_judge.scoring.ensemble import at_extremes
from local_judge.scoring.node import Profile, Score, ScoreNode, noted
from local_judge.stats.sums import sum_in_order

TOP = 10.0

Group = Sequence[PairRow]
"""The pairs of one URL."""


def amount(n: int, step: int) -> int:
    """Return the score of a count, 1 to 10.

    Formula (F.4): min(floor((n - 1) / step) + 1, 10), and 1 for n = 0: the scale of amounts begins at 1.
    """
    return min(max(n - 1, 0) // step + 1, 10)


def evenness(counts: Sequence[int]) -> tuple[float, float] | None:
    """Return how evenly citations are spread over N sources, as (1 - HHI, 1 - 1/N); None for N < 2.

    Formula (F.4): 1 - (HHI - 1/N) / (1 - 1/N) with HHI = sum of squared shares, which is (1 - HHI) / (1 -
    1/N).
    """
    if len(counts) < 2:
        return None
    total = sum(counts)
    return 1 - sum(count * count for count in counts) / (total * total), 1 - 1 / len(counts)


def _paper(rows: Rows) -> tuple[ScoreNode, ...]:
    """Return both dimensions: the means of their defined sub-dimensions, which are means of their metrics."""
    claims = [claim for claim in rows.claims if claim.type in VERIFIABLE]
    by_url: defaultdict[str, list[PairRow]] = defaultdict(list)
    for claim in claims:
        for pair in claim.pairs:
            by_url[pair.url].append(pair)
    used = list(by_url.values())
    unread = rows.unread
    pairs = {url: n for url in unread.urls if (n := unread.pairs(url, traced=True))}
    reached = [group for url, group in by_url.items() if url in pairs]
    n_sources, n_unread_pairs = unread.citations.n, unread.citations.pairs(traced=True)
    n_new = len(pairs.keys() - by_url.keys()) + n_sources
    n_pairs = sum(pairs.values()) + n_unread_pairs
    n_claims = unread.claims + n_unread_pairs
    of_claims = [None if claim.failed else claim.supported for claim in claims]
    of_pairs = [None if pair.failed else pair.outcome == "supported" for group in used for pair in group]
    of_urls = [_is_supported(group) for group in used]
    # The paper does not say what an entry without URL is, nor a source cited in the text and listed nowhere. Here both
    # are shown to the reader, so both count, as not supported.
    listed = [url for url in rows.references if url is not None]
    shown = {*listed, *by_url}
    n_others = len(shown) - len(used) + len(rows.references) - len(listed)

    def unseen_urls(check: Callable[[Group], bool | None], more: int = n_new, others: int = 0) -> Unseen:
        """Return what unread pairs may change in a share of URLs: those that they reach may come to count."""
        gains = sum(check(group) is False for group in reached) + others
        return Unseen(more, gains + min(n_sources, sum(check(group) is False for group in used)))

    metrics = {
        "claim_factuality": _ratio(
            of_claims, "no claim of class A, B or C", Unseen(n_claims, gains=n_unread_pairs)
        ),
        "citation_support": _ratio(of_pairs, "no citation", Unseen(n_pairs)),
        "reference_support": _ratio(
            [*of_urls, *[False] * n_others],
            "no reference",
            unseen_urls(
                _is_supported,
                len(pairs.keys() - shown) + n_sources,
                len(pairs.keys() & shown - by_url.keys()) + min(n_sources, n_others),
            ),
        ),
        "reproducibility": _ratio(
            [_was_retrieved(group) for group in used], "no source cited", unseen_urls(_was_retrieved)
        ),
        "reliability": _ratio(
            [_reliable(group) for group in used], "no source cited", unseen_urls(_reliable)
        ),
        "reference_diversity": _diversity([len(group) for group in used], opened=n_pairs > 0),
        "evidence_coverage": share(
            len(claims),
            len(rows.claims),
            0,
            top=TOP,
            empty="no claims",
            unseen=Unseen(unread.claims, gains=n_unread_pairs),
        ),
        "information_amount": _amount(of_claims, STEPS["information"], n_claims),
        "citation_amount": _amount(of_pairs, STEPS["citations"], n_pairs),
        "reference_amount": _amount(
            of_urls, STEPS["references"], n_new + int(unseen_urls(_is_supported).gains)
        ),
    }
    read = {name: read_in_part(score, unread.known) for name, score in metrics.items()}
    return build(read, lambda _, parts: mean_of(parts))


def _is_supported(group: Group) -> bool | None:
    """Check whether the page supports a claim; None if a failure leaves that open."""
    if any(pair.outcome == "supported" for pair in group):
        return True
    return None if any(pair.failed for pair in group) else False


def _was_retrieved(group: Group) -> bool | None:
    """Check whether the page could be retrieved; None if it was not fetched, or if no judge looked at it."""
    if any(pair.outcome in ("supported", "not_supported", "tied") for pair in group):
        return True
    return False if any(pair.unreadable for pair in group) else None


def _reliable(group: Group) -> bool | None:
    """Check whether the page supports a claim and is judged reliable; None if a failure leaves that open.

    The verdicts on a page that is rated unreliable leave nothing open.
    """
    supported = _is_supported(group)
    if supported and any(pair.reliable for pair in group):
        return True
    might_be = any(
        pair.reliable or (pair.reliable is None and (pair.failed or pair.outcome == "supported"))
        for pair in group
    )
    return None if supported is not False and might_be else False


def _ratio(units: Collection[bool | None], empty: str, unseen: Unseen = ALL_SEEN) -> Score:
    """Return the share of the units that count; units whose status is not known (None) failed."""
    hits, failed = _count_units(units)
    found = share(hits, len(units) - failed, failed, top=TOP, empty=empty, unseen=unseen)
    return noted(found, f"all {failed} failed") if failed and found.value is None else found


def _count_units(units: Collection[bool | None]) -> tuple[int, int]:
    return sum(unit is True for unit in units), sum(unit is None for unit in units)


def _diversity(counts: Sequence[int], *, opened: bool) -> Score:
    """Evenness of all pairs over used (F.4); pairs that were not read leave it open, as it is not monotone.

    The paper leaves fewer than two sources open, where the formula is 0/0: null here.
    """
    spread = evenness(counts)
    if spread is None:
        note = f"{len(counts) or 'no'} source cited, evenness needs two"
        return unknown(0.0, TOP, note) if opened else undefined(note, sum(counts))
    found = share(*spread, 0, top=TOP, n_expected=sum(counts))
    return found.model_copy(update={"low": 0.0, "high": TOP}) if opened else found


def _amount(units: Collection[bool | None], step: int, n_unread: int) -> Score:
    """Return the amount score of the units known to be supported; null if no unit is known, and some failed.

    `n_unread`: largest number of units that were not read and may be supported.
    """
    n, failed = _count_units(units)
    least, most = float(amount(n, step)), float(amount(n + failed + n_unread, step))
    if failed == len(units) and failed + n_unread:
        return unknown(least, most, f"all {failed} failed" if failed else "", failed or 1)
    note = "counts what is known" if failed else ""
    counted = count(n, n_expected=len(units), n_failed=failed, note=note)
    return counted.model_copy(update={"value": least, "low": least, "high": most})


NO_CLAIMS = "the code fails on a report without claims"


def score(judges: Sequence[Rows], profile: Profile, *, unsettled: bool = False) -> tuple[ScoreNode, ...]:
    """Return the two dimensions with their sub-dimensions and metrics.

    Args:
        judges: the rows of each judge; one at least. Several vote.
        profile: the profile whose formulas are used.
        unsettled: take for unknown what missing answers might have changed, and ties; see `voted`.
    """
    rows = voted(judges, unsettled=unsettled)
    n_unread = len(rows.unread.sentences)
    unread = f"the claims of {n_unread} sentences are unknown" if n_unread else ""
    citations = f"{noun(n, 'citation')} not read" if (n := rows.unread.citations.n) else ""
    if unread and not rows.claims:
        nothing = unknown(0.0, TOP, unread, n_unread)
        return build({metric.id: nothing for metric in METRICS}, lambda _, parts: mean_of(parts))
    n = n_tied(rows)
    tied = f"judges are divided evenly on {n} pairs of claim and source" if n else ""
    roots = _paper(rows) if profile == "paper" else _upstream(rows)
    return tuple(root.noted(unread, citations, tied) for root in roots)


def _upstream(rows: Rows) -> tuple[ScoreNode, ...]:
    """Return the scores of the published code. Every score is null on a report without claims.

    The value charges failures to the report, as the code does. The bounds say what it would have been had
    they turned out otherwise; that of diversity, which is not monotone, is the whole scale.
    """
    rows = rows.by_code
    if not rows.claims:
        return build({metric.id: undefined(NO_CLAIMS) for metric in METRICS}, lambda _, parts: parts[0])
    failed = _failures(rows)
    counts, unread = _counts(upstream.tally(rows)), rows.unread
    diversity_open = (
        failed["reference_diversity"]
        or unread.citations.n
        or any(unread.pairs(url, traced=True) for url in unread.urls)
    )

    def tally_rows(favour: bool | None) -> upstream.Tally:
        if favour is None:
            return upstream.tally(rows)
        found = resolved(rows, favour)
        return upstream.opened(found, favour) if unread else upstream.tally(found)

    def score_tally(favour: bool | None) -> tuple[ScoreNode, ...]:
        found = upstream.normalised(tally_rows(favour))
        if favour is not None and diversity_open:
            found["integrity"]["reference_diversity"]["diversity_hhi"] = TOP if favour else 0.0
        dimensions, subdimensions = upstream.averages(found)

        def parent(path: tuple[str, ...], parts: Sequence[Score]) -> Score:
            value = dimensions[path[0]] if len(path) == 1 else subdimensions[path[0]][path[1]]
            return mean_of(parts, partly=True).model_copy(update={"value": value, "low": None, "high": None})

        leaves = {
            metric.id: read_in_part(
                Score(
                    value=found[metric.dimension][metric.part][metric.name],
                    **counts[metric.id]._asdict(),
                    n_failed=failed[metric.id],
                    note=_note(counts[metric.id].denominator, failed[metric.id]),
                ),
                unread.known,
            )
            for metric in METRICS
        }
        return build(leaves, parent)

    charged = score_tally(None)
    return at_extremes(lambda favour: charged if favour is None else score_tally(favour), [charged])


class Count(NamedTuple):
    """Terms of a metric."""

    numerator: float
    denominator: float | None
    n_expected: int


def _counts(t: upstream.Tally) -> dict[str, Count]:
    """Return the terms of each metric, by its id."""
    a, b, c = (t.types[letter] for letter in "ABC")
    n, n_used, n_supported = upstream.amounts(t), len(t.cited), len(t.supported)
    n_supported_pairs = sum(t.supported.values())
    hhi = sum_in_order((count / n_supported_pairs) ** 2 for count in t.supported.values())
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
    """Count the units of each metric that are unknown through a failure of the evaluation."""
    external = [claim for claim in rows.claims if upstream.class_of(claim) in VERIFIABLE]
    pairs = [pair for claim in rows.claims for pair in claim.pairs]
    supported = {pair.url for pair in pairs if pair.outcome == "supported"}
    failed = {pair.url for pair in pairs if pair.failed}
    unsure = failed - supported
    errors = {pair.url for pair in pairs if pair.unreadable}
    unrated = {pair.url for pair in pairs if pair.outcome == "supported" and pair.reliable is None}
    reliable = {pair.url for pair in pairs if pair.reliable}
    n_claims = sum(claim.failed for claim in external)
    n_pairs = sum(pair.failed for claim in external for pair in claim.pairs)
    return {
        "claim_factuality": n_claims,
        "citation_support": n_pairs,
        "reference_support": len(unsure),
        "reproducibility": len(failed - errors),
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
