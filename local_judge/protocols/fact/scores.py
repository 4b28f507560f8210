"""FACT's scores of one report and of all reports of a system (DeepResearch Bench, appendix E).

Invariants: pure functions of stored findings; both profiles give the same tree; a failure of the evaluation leaves the
denominator and opens the bounds; a report of which nothing is known stays in the counts and in the bounds. Judges of
one claim set vote pair by pair. Judges that extracted their own pairs share none to vote on, so their scores are
averaged.

Formulas for a report with N_u pairs, N_s of them supported:

    citation accuracy    paper: N_s / N_u, and 0 for a report without pairs      upstream: N_s / known pairs
    effective citations  N_s
    citations            paper: N_u                                              upstream: known pairs
    unknown              pairs of unknown outcome / N_u, in both

`paper` knows only "support" and "not support": a dead page does not support, and what was not read is unknown.
`upstream` leaves everything unknown out of the count, a dead page too.

A sentence whose statements are unknown may have as many pairs with a URL as the extraction admits. Each is a new pair,
or it says the same as a known one on the URL, and then decides its outcome. A citation whose source is unknown is in as
many pairs as statements may have it, each supported or not.

A statement that the judge failed to compare with the others is kept. The bounds hold whether it stays or is taken out
as a repeat: with S of the supported and U of the other known pairs in doubt, and F failed pairs,

    citation accuracy    from (N_s - S) / (N_u - S) to (N_s + F) / (N_u - U)
    effective citations  from N_s - S to N_s + F
    citations            from N_u - S - U on
    unknown              as the accuracy, of the pairs of unknown outcome and of the others, with F = 0

Over all reports of a system, in every way that is in use:

    citation accuracy    all      mean over all reports, 0 for one without pairs (DeepResearch Bench,
                                  Equations 3 and 4)
                         citing   mean over the reports with citations
                         pooled   supported pairs / pairs that count, of all reports together (the code's `valid_rate`)
    effective citations  all      supported pairs / all reports (DeepResearch Bench, Equation 5)
                         citing   supported pairs / reports with citations (the code's `total_valid_citations`)
    citations            all, citing likewise (the code's `total_citations`)
    unknown              pairs of unknown outcome / pairs, of all reports together

The root of the first three is, in `paper`, the paper's definition (`all`), and in `upstream` the number that the code
prints, computed from whole numbers to the last bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from local_judge.claims.votes import Vote, decide
from local_judge.protocols.fact.findings import REASONS, FactFindings, Outcome, Pair, Reason
from local_judge.protocols.fact.repeats import Key, key_of
from local_judge.scoring.aggregate import mean_over_reports
from local_judge.scoring.algebra import ALL_SEEN, Unseen, count, exactly, share
from local_judge.scoring.coverage import read_in_part
from local_judge.scoring.ensemble import at_extremes, mean_trees
from local_judge.scoring.node import Profile, Score, ScoreNode, map_scores, noted

ACCURACY, EFFECTIVE, CITATIONS, UNKNOWN = "citation_accuracy", "effective_citations", "citations", "unknown"
"""Ids of the roots."""
LABELS = {
    ACCURACY: "Citation Accuracy",
    EFFECTIVE: "Effective Citations",
    CITATIONS: "Citations",
    UNKNOWN: "Unknown",
}
_JUDGED: Mapping[bool, Outcome] = {True: "supported", False: "unsupported"}
ASKED: frozenset[Reason | None] = frozenset({None, "judged_unknown", "judge_failed"})
"""Reasons, or none, of outcomes that a judge was asked for; others are the same for all judges."""

_Reasons = Counter[tuple[Reason | None, bool]]
"""Pairs by the reason for an unknown outcome, None for a known one, and by whether they may repeat others."""


def score(judges: Sequence[FactFindings], profile: Profile) -> tuple[ScoreNode, ...]:
    """Return the four scores of one report; the share of unknown pairs has a child for each reason.

    Findings with stated scores have none to compute.
    """
    if judges[0].stated is not None:
        return ()
    own = [_of_one(findings, profile) for findings in judges]
    if not is_vote(judges):
        return mean_trees(own)
    return at_extremes(lambda favour: _of_one(voted(judges, favour), profile), own)


def _of_one(findings: FactFindings, profile: Profile) -> tuple[ScoreNode, ...]:
    counts = tally(findings, profile)
    n = findings.n_unresolved
    citations = noted(
        citations_of(counts, profile), f"{n} citations lead to no URL and make no pair" if n else ""
    )
    found = {ACCURACY: accuracy(counts, profile), EFFECTIVE: effective(counts), CITATIONS: citations}
    return (
        *(ScoreNode(id=id, label=LABELS[id], score=score) for id, score in found.items()),
        unknown_share(_reasons(findings)),
    )


def is_vote(judges: Sequence[FactFindings]) -> bool:
    """True for several judges of one claim set."""
    return len(judges) > 1 and all(findings.source == "shared" for findings in judges)


def voted(judges: Sequence[FactFindings], favour: bool | None = None) -> FactFindings:
    """Findings with the outcome of each pair as the judges give it together.

    Args:
        judges: one judge's findings each, on one claim set.
        favour: how missing answers and ties count: for the report, against it, or (None) not at all.
    """
    found = [by_key(findings) for findings in judges]
    pairs = tuple(
        _vote_on_pair(pair, [one.get(key) for one in found], favour) for key, pair in found[0].items()
    )
    return judges[0].model_copy(update={"pairs": pairs})


def by_key(findings: FactFindings) -> dict[Key, Pair]:
    """Return the pairs by statement and URL, which all judges of one claim set share."""
    return {key_of(pair): pair for pair in findings.pairs}


def _vote_on_pair(pair: Pair, judged: Sequence[Pair | None], favour: bool | None) -> Pair:
    if pair.reason not in ASKED:
        return pair
    votes = [_vote(one) for one in judged]
    supported = decide(votes, favour)
    unknown: Reason = "tied" if any(votes) else "judge_failed"
    return Pair(
        statement=pair.statement,
        url=pair.url,
        outcome="unknown" if supported is None else _JUDGED[supported],
        reason=unknown if supported is None else None,
        claim=pair.claim,
        sentence=pair.sentence,
        key=pair.key,
        may_repeat=pair.may_repeat,
    )


def _vote(pair: Pair | None) -> Vote | None:
    if pair is None or pair.outcome == "unknown":
        return None
    return Vote(pair.outcome == "supported", pair.confidence, pair.threshold)


class Tally(NamedTuple):
    """The pairs of one report or of several, counted."""

    n: int
    supported: int
    known: int
    """Pairs that the profile counts."""
    failed: int
    """Pairs that the profile would count if the evaluation had not failed."""
    supported_twice: int = 0
    """Supported pairs that may repeat others."""
    others_twice: int = 0
    """Other known pairs that may repeat others."""
    failed_twice: int = 0
    """Failed pairs that may repeat others."""
    unread: int = 0
    """Failed pairs that stand for the statements of unread sentences."""
    more: int = 0
    """Largest number of further pairs, in unread sentences and by unread citations."""
    gains: int = 0
    """Known pairs without support whose outcome unread sentences may decide."""
    losses: int = 0
    """Supported pairs whose outcome they may decide."""
    known_places: float = 1.0
    """Sum over the reports of the share of their citing sentences and citations that was read."""
    reports: int = 1
    """Number of reports."""

    @property
    def unseen(self) -> Unseen:
        """Largest changes in a share of the pairs by unread sentences."""
        return Unseen(self.more, self.gains, self.losses)

    def read(self, score: Score) -> Score:
        """Return a score with the coverage that unread sentences and citations leave."""
        return read_in_part(score, self.known_places / self.reports, self.unread)


def tally(findings: FactFindings, profile: Profile) -> Tally:
    """Return the pairs as a profile counts them."""
    failed = sum(pair.failed for pair in findings.pairs)
    n = len(findings.pairs)
    counts = [pair for pair in findings.pairs if not (pair.failed if profile == "paper" else pair.reason)]
    twice = Counter(pair.outcome == "supported" for pair in counts if pair.may_repeat)
    unread = findings.unread
    stated = {url: unread.pairs(url, traced=findings.recovered) for url in unread.urls}
    n_unread = sum(pair.reason == "not_extracted" for pair in findings.pairs) if unread else 0
    on = Counter((pair.url, pair.outcome == "supported") for pair in counts)
    return Tally(
        n=n,
        supported=sum(pair.outcome == "supported" for pair in findings.pairs),
        known=len(counts),
        failed=failed,
        supported_twice=twice[True],
        others_twice=twice[False],
        failed_twice=sum(pair.failed and pair.may_repeat for pair in findings.pairs),
        unread=n_unread,
        more=max(sum(stated.values()) - n_unread, 0) + unread.citations.pairs(traced=findings.recovered),
        gains=sum(min(most, on[url, False]) for url, most in stated.items()),
        losses=sum(min(most, on[url, True]) for url, most in stated.items()),
        known_places=unread.known if findings.recovered else unread.known_places,
    )


def accuracy(counts: Tally, profile: Profile) -> Score:
    """Supported pairs / pairs that count; without a pair, 0 by DeepResearch Bench, Equation 3."""
    nothing = counts.n == 0 and not counts.more
    return exactly(0.0, "no citation") if nothing and profile == "paper" else pool_counts(counts)


def pool_counts(counts: Tally) -> Score:
    """Supported pairs / pairs that count; null without any."""
    found = share(
        counts.supported,
        counts.known,
        counts.failed,
        empty="0/0: no pair is known, the code fails",
        unseen=counts.unseen,
    )
    found = counts.read(
        _with_repeats(
            found, counts.supported, counts.supported_twice, counts.others_twice, unseen=counts.unseen
        )
    )
    return noted(found, f"all {counts.failed} failed" if counts.failed and not counts.known else "")


def _with_repeats(
    found: Score, hits: int, hits_twice: int, others_twice: int, unseen: Unseen = ALL_SEEN
) -> Score:
    """Open the bounds of a share of pairs, of which some hits and some other known pairs may repeat others."""
    if not (twice := hits_twice + others_twice):
        return found
    n, failed = found.n_expected + unseen.more, found.n_failed + unseen.more
    most = n - others_twice
    bounds = {
        # Without repeats, a statement of each group stays, so that a share of hits alone stays 1.
        "low": 1.0
        if hits == n and not unseen.losses
        else max(hits - hits_twice - unseen.losses, 0) / (n - hits_twice),
        "high": min((hits + unseen.gains + failed) / most, 1.0) if most else 0.0,
    }
    return found.model_copy(update={**bounds, "n_failed": found.n_failed + twice})


def effective(counts: Tally) -> Score:
    """N_s: the supported pairs."""
    note = "counts what is known" if counts.failed else ""
    return _count(counts.supported, counts, note, counts.supported_twice, counts.losses, counts.gains)


def citations_of(counts: Tally, profile: Profile) -> Score:
    """Return the pairs that the accuracy is of: in `paper` all, known or not; in `upstream` the known ones."""
    twice = counts.supported_twice + counts.others_twice
    if profile == "upstream":
        return _count(counts.known, counts, twice=twice, losses=counts.gains + counts.losses)
    twice += counts.failed_twice + counts.unread
    return counts.read(count(counts.n, counts.more, fewer=twice, n_expected=counts.n, n_failed=twice))


def _count(n: int, counts: Tally, note: str = "", twice: int = 0, losses: int = 0, gains: int = 0) -> Score:
    """Return a number of pairs.

    `twice` of them may repeat others, and unread sentences may take `losses` away or turn `gains` into such pairs.
    """
    n_expected, more = counts.known + counts.failed, counts.failed + counts.more + gains
    n_failed = counts.failed + twice
    return counts.read(
        count(n, more, fewer=twice + losses, n_expected=n_expected, n_failed=n_failed, note=note)
    )


def unknown_share(pairs: _Reasons) -> ScoreNode:
    """Return pairs of unknown outcome / all pairs, and the share of each reason."""

    def of_all(*hits: Reason) -> Score:
        twice = sum(pairs[reason, True] for reason in hits)
        n_hits = twice + sum(pairs[reason, False] for reason in hits)
        others_twice = sum(n for (_, may_repeat), n in pairs.items() if may_repeat) - twice
        return _with_repeats(share(n_hits, pairs.total(), 0, empty="no pair"), n_hits, twice, others_twice)

    return ScoreNode(
        id=UNKNOWN,
        label=LABELS[UNKNOWN],
        score=of_all(*REASONS),
        children=tuple(
            ScoreNode(id=reason, label=reason.replace("_", " "), score=of_all(reason))
            for reason in REASONS
            if reason != "tied" or of_all(reason).numerator  # one judge is never divided
        ),
    )


ROOTS: Mapping[Profile, Mapping[str, str]] = {
    "paper": {ACCURACY: "all", EFFECTIVE: "all", CITATIONS: "all"},
    "upstream": {ACCURACY: "pooled", EFFECTIVE: "citing", CITATIONS: "citing"},
}
"""Child that each root repeats."""

WAYS = {"all": "mean over all reports", "citing": "mean over citing reports", "pooled": "pooled"}


def aggregate(
    reports: Sequence[Sequence[FactFindings]], profile: Profile, n_missing: int
) -> tuple[ScoreNode, ...]:
    """Return the scores of several reports together.

    Args:
        reports: of each report, each of another task, the findings of each judge.
        profile: the profile whose definition is used.
        n_missing: reports that have no findings, since they could not be read or evaluated.

    In `upstream`, a report whose extraction failed altogether is one of these.
    """
    counted: list[list[_Counted]] = []
    votes: list[dict[bool | None, _Counted]] = []
    for judges in reports:
        if judges[0].stated is not None:
            return ()
        counted.append([_count_pairs(findings, profile) for findings in judges])
        if is_vote(judges):
            sides = (None, False, True)
            votes.append({favour: _count_pairs(voted(judges, favour), profile) for favour in sides})
    if not counted:
        return _aggregate((), profile, n_missing)
    own = [_aggregate(found, profile, n_missing) for found in zip(*counted, strict=True)]
    if len(votes) < len(counted):
        return mean_trees(own)
    trees = at_extremes(lambda favour: _aggregate([vote[favour] for vote in votes], profile, n_missing), own)
    lost = n_missing or (
        profile == "upstream" and not all(one.extracted for found in counted for one in found)
    )
    return tuple(map(_without_upper_end, trees)) if lost else trees


def _without_upper_end(node: ScoreNode) -> ScoreNode:
    """Leave a count without an upper bound: how many pairs a missing report has is not known, whoever votes."""
    if node.id not in (EFFECTIVE, CITATIONS):
        return node
    (opened,) = map_scores((node,), lambda score: score.model_copy(update={"high": None}))
    return opened


class _Counted(NamedTuple):
    """All that scores over reports need of one report."""

    tally: Tally
    cites: bool
    reasons: _Reasons
    extracted: bool


def _count_pairs(findings: FactFindings, profile: Profile) -> _Counted:
    return _Counted(
        tally(findings, profile),
        bool(findings.n_citations or findings.unread.citations.n),
        _reasons(findings),
        findings.extracted,
    )


def _reasons(findings: FactFindings) -> _Reasons:
    return Counter((pair.reason, pair.may_repeat) for pair in findings.pairs)


def _aggregate(reports: Sequence[_Counted], profile: Profile, n_missing: int) -> tuple[ScoreNode, ...]:
    partly = profile == "upstream"  # the code takes what is known of each report, however little
    if partly:  # and never sees a report whose extraction failed
        n_missing += sum(not one.extracted for one in reports)
        reports = [one for one in reports if one.extracted]
    counts = [report.tally for report in reports]
    citing = [one.tally for one in reports if one.cites]

    def means(score: Callable[[Tally], Score], most: float | None) -> dict[str, Score]:
        return {
            name: mean_over_reports(list(map(score, group)), n_missing, 0.0, most, partly=partly)
            for name, group in (("all", counts), ("citing", citing))
        }

    every = Tally(*map(sum, zip(*counts, strict=True))) if counts else Tally(0, 0, 0, 0)
    found = {
        # A report without pairs has the accuracy 0 in a mean, whatever the profile.
        ACCURACY: means(lambda one: accuracy(one, profile if one.n else "paper"), 1.0)
        | {"pooled": _open_bounds(pool_counts(every), len(reports), n_missing)},
        EFFECTIVE: means(effective, None),
        CITATIONS: means(lambda one: citations_of(one, profile), None),
    }
    reasons: _Reasons = Counter()
    for one in reports:
        reasons += one.reasons
    unknown = unknown_share(reasons)
    return (
        *(_node(id, ways, profile) for id, ways in found.items()),
        unknown.model_copy(update={"score": _open_bounds(unknown.score, len(reports), n_missing)}),
    )


def _open_bounds(share: Score, n: int, n_missing: int) -> Score:
    """Return a share of pairs. How many pairs a missing report has is not known: it leaves all open."""
    if not n_missing:
        return share
    opened = share.model_copy(update={"low": 0.0, "high": 1.0, "n_undefined": 0})
    return noted(opened, f"of {n + n_missing} reports {n_missing} missing")


def _node(id: str, ways: Mapping[str, Score], profile: Profile) -> ScoreNode:
    """Return a root with its ways of taking the mean; it repeats the one that the profile defines, and says which."""
    chosen = ROOTS[profile][id]
    # In `upstream`, a report without pairs has no accuracy and still counts as 0 in a mean.
    means = {name: name == "all" and (profile == "paper" or id != ACCURACY) for name in ways}
    return ScoreNode(
        id=id,
        label=LABELS[id],
        score=noted(ways[chosen], WAYS[chosen], first=True),
        children=tuple(
            ScoreNode(id=name, label=WAYS[name], score=score, mean=means[name])
            for name, score in ways.items()
        ),
        mean=means[chosen],
    )
