"""The rows that DEER's arithmetic reads: claims, their (claim, URL) pairs, the references listed.

Invariants: each pair says whether it was judged, whether its page was available, and whether the page or the evaluation
failed; a pair that should have been judged and was not is `judge_failed`, never absent. Several judges have verified
the same claims of the same sources, so that only their verdicts differ; a pair counts once, whatever the number of
judges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from indexes.model import SourceStatus
from local_judge.base.model import Frozen
from local_judge.claims.build import cited_urls, further
from local_judge.claims.model import (
    VERIFIABLE,
    Claim,
    ClaimSet,
    ClaimType,
    Traced,
    Verdict,
    leaves_open,
    retrievable,
)
from local_judge.claims.unread import Unread, unread_of
from local_judge.claims.votes import Vote, decide, majority
from local_judge.documents.model import Document
from local_judge.protocols.base import Decision

Outcome = Literal["supported", "not_supported", "source_unavailable", "unusable", "judge_failed", "tied"]
"""`unusable`: the judge says that the page is an error message, a captcha or the like. `tied`: of several judges, as
many say that it is supported as that it is not."""


class PairRow(Frozen):
    """One claim against one URL."""

    url: str
    outcome: Outcome
    status: SourceStatus = "ok"
    """Other than `ok` exactly where the outcome is `source_unavailable`, and in rows that are `resolved`."""
    reliable: bool | None = None
    """The judge rates the source as reliable; None if it was not asked or gave no answer."""
    confidence: float | None = None
    """P(supported) where the judge's method gives one."""
    threshold: float | None = None
    """Minimum confidence of a supported claim."""

    @property
    def failed(self) -> bool:
        """The page may support the claim or not: it was not read, the judge failed, or judges are divided evenly."""
        return self.outcome in ("unusable", "judge_failed", "tied") or (
            self.outcome == "source_unavailable" and leaves_open(self.status)
        )

    @property
    def unreadable(self) -> bool:
        """A reader cannot get the page's text, whatever it says: reproducibility alone counts that."""
        return self.outcome == "unusable" or retrievable(self.status) is False


class ClaimRow(Frozen):
    """One claim."""

    id: str
    type: ClaimType
    numeric: bool = False
    cited: bool = True
    """The claim has a citation, written on it or recovered for it, resolvable or not."""
    untraced: bool = False
    """It may have further pairs, with citations that unread sentences lead to."""
    pairs: tuple[PairRow, ...] = ()

    @property
    def supported(self) -> bool:
        """A source supports the claim."""
        return any(pair.outcome == "supported" for pair in self.pairs)

    @property
    def failed(self) -> bool:
        """No source is known to support it, and one that failed might."""
        return not self.supported and (self.untraced or any(pair.failed for pair in self.pairs))


class UpstreamRows(Frozen):
    """Claims as the published code counts them: by its back-tracking, and each text once."""

    claims: tuple[ClaimRow, ...]
    unread: Unread = Unread()
    """Sentences whose claims are unknown."""


class Rows(Frozen):
    """All that the metrics of one report are computed from."""

    claims: tuple[ClaimRow, ...]
    references: tuple[str | None, ...] = ()
    """URL of each reference entry of the report, in order; None for an entry that gives none."""
    unread: Unread = Unread()
    """Sentences whose claims are unknown."""
    upstream: UpstreamRows | None = None
    """Claims and unread sentences by the published code; None if they are the same."""

    @property
    def by_code(self) -> Rows:
        """The rows that the published code counts."""
        if self.upstream is None:
            return self
        return Rows(claims=self.upstream.claims, references=self.references, unread=self.upstream.unread)


def rows_of(claims: ClaimSet, document: Document) -> Rows:
    """Return the rows of a verified claim set.

    The label `supported` counts as supported; `partial`, `contradicted`, `not_found` and `off_topic` do not, and
    `unusable` leaves it open. A source without text makes its pairs `source_unavailable`. A claim of class A, B or C
    without verdict on a readable source is `judge_failed`; of the other classes, which need no verification, only the
    verdicts that exist count. A pair of the published code's back-tracking that was not asked about is `judge_failed`.
    """
    verdicts = {(verdict.claim, verdict.url): verdict for verdict in claims.verdicts}
    types = {claim.id: claim.type for claim in claims.claims}
    pairs: defaultdict[str, list[PairRow]] = defaultdict(list)
    published: defaultdict[str, list[PairRow]] = defaultdict(list)
    citing = _citing_upstream(claims.claims, document)
    for source in claims.sources:
        upstream = source.claims if citing is None else citing.get(source.url, ())
        for claim_id in (*source.claims, *further(upstream, source.claims)):
            if source.status != "ok":
                row = PairRow(url=source.url, outcome="source_unavailable", status=source.status)
            else:
                verdict = verdicts.get((claim_id, source.url))
                if verdict is None and claim_id in source.claims and types.get(claim_id) not in VERIFIABLE:
                    continue
                row = PairRow(
                    url=source.url,
                    outcome=_outcome(verdict),
                    reliable=verdict.reliable if verdict else None,
                    confidence=verdict.confidence if verdict else None,
                    threshold=verdict.threshold if verdict else None,
                )
            if claim_id in source.claims:
                pairs[claim_id].append(row)
            if claim_id in upstream:
                published[claim_id].append(row)
    return Rows(
        claims=tuple(
            _row(claim, bool(claim.citations or claim.recovered), claim.untraced, pairs[claim.id])
            for claim in claims.claims
        ),
        references=tuple(reference.url for reference in document.references),
        unread=unread_of(claims, document),
        upstream=UpstreamRows(
            claims=_each_text_once(claims.claims, published), unread=unread_of(claims, document, "upstream")
        )
        if citing is not None
        else None,
    )


def _citing_upstream(claims: Sequence[Claim], document: Document) -> dict[str, list[str]] | None:
    """Return the ids of the claims that cite a URL by the published code's back-tracking; None before back-tracking."""
    citing: dict[str, list[str]] = {}
    for claim in claims:
        if claim.upstream is None:
            return None
        for url in cited_urls(claim.upstream.citations, document):
            citing.setdefault(url, []).append(claim.id)
    return citing if claims else None


def _row(claim: Claim, cited: bool, untraced: bool, pairs: Sequence[PairRow]) -> ClaimRow:
    return ClaimRow(
        id=claim.id,
        type=claim.type,
        numeric=claim.numeric,
        cited=cited,
        untraced=untraced,
        pairs=tuple(pairs),
    )


def _each_text_once(claims: Sequence[Claim], pairs: Mapping[str, Sequence[PairRow]]) -> tuple[ClaimRow, ...]:
    """Return the claims as `claim_verifier.py` keys them, by text.

    Claims of the same text are one, in the place of the first, as the last is; the pairs of all of them are its pairs.
    """
    same: dict[str, list[Claim]] = {}
    for claim in claims:
        same.setdefault(claim.text, []).append(claim)
    rows: list[ClaimRow] = []
    for group in same.values():
        traced = [claim.upstream or Traced() for claim in group]
        found = [pair for claim in group for pair in pairs.get(claim.id, ())]
        untraced = any(one.untraced for one in traced)
        rows.append(_row(group[-1], bool(traced[-1].citations), untraced, found))
    return tuple(rows)


def _outcome(verdict: Verdict | None) -> Outcome:
    if verdict is None or verdict.label is None:
        return "judge_failed"
    if verdict.label == "unusable":
        return "unusable"
    return "supported" if verdict.label == "supported" else "not_supported"


def resolved(rows: Rows, favour: bool) -> Rows:
    """Return the rows as they would be if every failure had turned out for the report (`favour`) or against it.

    In favour: the page supports the claim and is reliable, unless a judge rated it otherwise; a page that is unreadable
    stays so; an untraced claim is of class A. Against: a page that was not read or not judged is dead, a source of
    unknown reliability is not reliable, an untraced claim is of class C. `upstream.opened` adds what unread sentences
    and untraced claims may have.
    """

    def resolve(pair: PairRow) -> PairRow:
        if not pair.failed:
            known = pair.reliable is not None or pair.outcome != "supported"
            return pair if known else pair.model_copy(update={"reliable": favour})
        if favour:
            status: SourceStatus = "blocked" if pair.unreadable else "ok"
            return PairRow(
                url=pair.url, outcome="supported", status=status, reliable=pair.reliable is not False
            )
        return PairRow(url=pair.url, outcome="source_unavailable", status="dead", reliable=False)

    def settle(claim: ClaimRow) -> ClaimRow:
        pairs = tuple(resolve(pair) for pair in claim.pairs)
        update: dict[str, object] = {"pairs": pairs}
        if claim.untraced and claim.type in VERIFIABLE:
            update |= {"type": "A" if favour else "C", "cited": True}
        return claim.model_copy(update=update)

    return rows.model_copy(update={"claims": tuple(map(settle, rows.claims))})


def voted(rows: Sequence[Rows], *, unsettled: bool = False) -> Rows:
    """Return the rows with each verdict, and each answer on a source's reliability, as the judges give it together.

    Args:
        rows: one judge's each; of a single one they stay as they are.
        unsettled: treat ties, and whatever a missing answer might change, as unknown: the scores' bounds then cover all
            possible answers. By default missing answers change nothing.
    """
    if len(rows) == 1:
        return rows[0]
    claims = _vote_on_claims([one.claims for one in rows], unsettled)
    published = [row.upstream for row in rows if row.upstream is not None]
    upstream = None
    if published:
        counted = _vote_on_claims([one.claims for one in published], unsettled)
        upstream = published[0].model_copy(update={"claims": counted})
    return rows[0].model_copy(update={"claims": claims, "upstream": upstream})


def _vote_on_claims(judged: Sequence[Sequence[ClaimRow]], unsettled: bool) -> tuple[ClaimRow, ...]:
    """Return the claims of all judges, which are the same and have the same pairs in the same order."""
    return tuple(
        same[0].model_copy(
            update={
                "pairs": tuple(
                    _pair(pairs[0], pairs, unsettled)
                    for pairs in zip(*(claim.pairs for claim in same), strict=True)
                )
            }
        )
        for same in zip(*judged, strict=True)
    )


def n_tied(rows: Rows) -> int:
    """Pairs on which the judges are divided evenly."""
    return sum(pair.outcome == "tied" for claim in rows.claims for pair in claim.pairs)


def _pair(pair: PairRow, judged: Sequence[PairRow], unsettled: bool) -> PairRow:
    if pair.outcome == "source_unavailable":
        return pair
    votes = [_vote(one) for one in judged]
    ratings = [one.reliable for one in judged]
    supported, reliable = decide(votes), majority(ratings)
    if unsettled and decide(votes, favour=False) != decide(votes, favour=True):
        supported, votes = None, []
    if unsettled and majority(ratings, favour=False) != majority(ratings, favour=True):
        reliable = None
    unusable = any(one.outcome == "unusable" for one in judged)
    unknown: Outcome = "tied" if any(votes) else "unusable" if unusable else "judge_failed"
    return PairRow(
        url=pair.url,
        outcome=unknown if supported is None else ("supported" if supported else "not_supported"),
        reliable=reliable,
    )


def _vote(pair: PairRow) -> Vote | None:
    if pair.failed:
        return None
    return Vote(pair.outcome == "supported", pair.confidence, pair.threshold)


def decisions_on_rows(rows: Rows) -> Iterator[Decision]:
    """Yield the decisions whether a page supports a claim that cites it, and whether the page is reliable."""
    reliable: dict[str, bool] = {}
    for claim in rows.claims:
        for pair in claim.pairs:
            if pair.outcome == "source_unavailable" or claim.type not in VERIFIABLE:
                continue
            value = None if pair.failed else pair.outcome
            yield Decision(
                metric="claim_support", item=f"{claim.id} {pair.url}", value=value, scale="nominal"
            )
            if pair.reliable is not None:
                reliable[pair.url] = pair.reliable
    for url, is_reliable in reliable.items():
        yield Decision(
            metric="source_reliability",
            item=url,
            value="reliable" if is_reliable else "not reliable",
            scale="nominal",
        )
