"""Verifiable claims of a report, and the verdicts on their sources.

    verifiable    all claims except types D (recaps) and E (common knowledge, definitions, the author's own reasoning
                  and advice), and except those that the extraction marks as not checkable; equal claims count once.
                  Claim attribution can count all of type E too
    most salient  claims that the extraction calls salient come first; among equals, places are spread evenly over the
                  report, so that its beginning has no more weight than its end; for reports without a request
    cited         claims with a citation, with or without a URL

In the claim set's terse form the judge does not mark checkable claims: the type decides.

Invariants: a function of the report and the claim set alone, without model calls, so that all metrics and judges have
the same claims, in reading order. Labels are those of the claim set's verdicts, mapped one to one. Each verifiable
claim occurs once, with each of its sources once; other claims are counted by the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from indexes.model import SourceStatus
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.model import Claim, ClaimSet, Label, Quote, Source, Verdict
from local_judge.claims.unread import Unread, unread_of
from local_judge.documents.model import Document
from local_judge.protocols.metric import MetricFindings

Reason = Literal["recap", "own", "uncheckable"]


def left_out(claim: Claim) -> Reason | None:
    """Return why a claim is not verifiable; None if it is."""
    if claim.needs_no_source:
        return "recap" if claim.type == "D" else "own"
    return "uncheckable" if claim.checkable is False else None


def same_words(text: str) -> str:
    """Return a key for claims in the same words, ignoring letter case, white space and the full stop."""
    return " ".join(text.casefold().split()).rstrip(".。")


def verifiable(claims: Sequence[Claim]) -> list[Claim]:
    """Return the different verifiable claims at their first places; salient if any repetition is."""
    found: dict[str, Claim] = {}
    for claim in claims:
        if left_out(claim) is not None:
            continue
        before = found.setdefault(same_words(claim.text), claim)
        if claim.salient and not before.salient:
            found[same_words(claim.text)] = before.model_copy(update={"salient": True})
    return list(found.values())


def most_salient(claims: Sequence[Claim], n: int) -> list[Claim]:
    """Return at most `n` claims, in their order."""
    ranks: list[list[Claim]] = [[], [], []]
    for claim in claims:
        ranks[{True: 0, None: 1, False: 2}[claim.salient]].append(claim)
    chosen: set[str] = set()
    for rank in ranks:
        chosen |= {claim.id for claim in _spread(rank, n - len(chosen))}
    return [claim for claim in claims if claim.id in chosen]


def _spread(claims: Sequence[Claim], n: int) -> list[Claim]:
    """Return `n` claims at even distances: the middles of `n` equal parts; all if there are no more."""
    if len(claims) <= n:
        return list(claims)
    return [claims[(2 * place + 1) * len(claims) // (2 * n)] for place in range(n)]


Unit = Literal["claim", "pair"]
Unsettled = Literal["neutral", "unverifiable"]
Dead = Literal["dead", "unverifiable"]

Outcome = Literal["supported", "partial", "neutral", "contradicted", "dead", "unverifiable", "failed"]
"""The paper's five labels, `dead` and `failed`. `neutral`: the page was read and does not settle the claim. `dead`:
there is no such page or host. `unverifiable`: the source has no URL. `failed`: the judge gave no verdict, or called the
page unusable, or it was not read."""

OUTCOMES: dict[Label, Outcome] = {
    "supported": "supported",
    "partial": "partial",
    "contradicted": "contradicted",
    "not_found": "neutral",
    "off_topic": "neutral",
    "unusable": "failed",
}


class CitationSettings(Frozen):
    """Settings of citation integrity."""

    unit: Unit = "claim"
    """Unit of faithfulness: a claim by its best source, or each claim and source."""
    unsettled: Unsettled = "neutral"
    """Outcome for a page that was read and does not settle the claim: `neutral`, which is 0 in the denominator, or
    `unverifiable`, which is left out like a source without a URL."""
    dead: Dead = "dead"
    """Outcome for a source that does not exist (404, 410, no such host): `dead`, which is 0 in the denominator, or
    `unverifiable`, which is left out."""
    own: Literal["left_out", "counted"] = "left_out"
    """Claims of type E: the paper counts the author's arguments, but no common knowledge, and the type has both."""
    recovered: bool = False
    """Count a claim as cited also if its citation is on an earlier sentence that it rests on."""


class CheckedSource(Frozen):
    """One source of a claim."""

    url: str | None
    """Normalised URL; None for citations without one."""
    status: SourceStatus | None
    """Status of the page in the claim set."""
    outcome: Outcome
    """Result for the score."""
    label: Label | None = None
    """Label of the claim set's verdict, if there is one."""
    quote: Quote | None = None
    quote_rejected: str | None = None
    """Quotation of the judge that does not occur in the page."""
    rationale: str = ""
    """Reason given by the judge."""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class CheckedClaim(Frozen):
    """One verifiable claim with its sources; without sources it is not cited."""

    id: str
    text: str
    repeats: tuple[str, ...] = ()
    """Ids of claims in the same words, whose sources are included."""
    sources: tuple[CheckedSource, ...] = ()


class CitationFindings(MetricFindings):
    """All verifiable claims of one report; failures are counted with the claim set."""

    unit: Unit
    unsettled: Unsettled = "neutral"
    """Outcome for a page that was read and does not settle the claim: `neutral`, which is 0 in the denominator, or
    `unverifiable`, which is left out like a source without a URL."""
    dead: Dead = "dead"
    """Outcome for a source that does not exist: `dead`, which is 0 in the denominator, or `unverifiable`."""
    recovered: bool
    """Setting: recovered citations count."""
    claims: tuple[CheckedClaim, ...]
    """Claims in reading order."""
    n_recaps: int = 0
    """Claims left out: they repeat, sum up or announce parts of the report."""
    n_own: int = 0
    """Claims left out: common knowledge, definitions, the author's own reasoning and advice."""
    n_uncheckable: int = 0
    """Claims left out: no source could prove them right or wrong."""
    unread: Unread = Unread()
    """Sentences whose claims are unknown."""

    @property
    def cites(self) -> bool:
        """Flag: anything is cited, or may be."""
        return any(claim.sources for claim in self.claims) or self.most_cited > 0

    @property
    def most_cited(self) -> int:
        """Largest number of cited claims that are unknown, or that may turn out to be cited."""
        unread = self.unread
        found = sum(
            sentence.most
            for sentence in unread.sentences
            if sentence.cited or (self.recovered and unread.urls)
        )
        found += unread.n_untraced if self.recovered and unread.urls else 0
        return found + unread.citations.pairs(traced=self.recovered)

    @property
    def most_uncited(self) -> int:
        """Largest number of claims in unread sentences that may turn out not to be cited."""
        return sum(sentence.uncited for sentence in self.unread.sentences)


def cited_claims(document: Document, claims: ClaimSet, settings: CitationSettings) -> CitationFindings:
    """Return the claims of a report with their sources."""
    counted = settings.own == "counted"
    reasons = [None if counted and claim.type == "E" else left_out(claim) for claim in claims.claims]
    verdicts = {(verdict.claim, verdict.url): verdict for verdict in claims.verdicts}
    sources = {source.url: source for source in claims.sources}
    alike: dict[str, list[Claim]] = {}
    for claim, reason in zip(claims.claims, reasons, strict=True):
        if reason is None:
            alike.setdefault(same_words(claim.text), []).append(claim)
    return CitationFindings(
        unit=settings.unit,
        unsettled=settings.unsettled,
        dead=settings.dead,
        recovered=settings.recovered,
        claims=tuple(
            CheckedClaim(
                id=group[0].id,
                text=group[0].text,
                repeats=tuple(claim.id for claim in group[1:]),
                sources=_sources(group, document, sources, verdicts, settings.recovered),
            )
            for group in alike.values()
        ),
        n_recaps=reasons.count("recap"),
        n_own=reasons.count("own"),
        n_uncheckable=reasons.count("uncheckable"),
        unread=unread_of(claims, document),
    )


def _sources(
    group: list[Claim],
    document: Document,
    sources: dict[str, Source],
    verdicts: dict[tuple[str, str], Verdict],
    recovered: bool,
) -> tuple[CheckedSource, ...]:
    """Return the sources of equal claims, each once, with the first verdict that has a label."""
    found: dict[str | None, CheckedSource] = {}
    for claim in group:
        for url in _urls(claim, document, recovered):
            source = _source(url, sources, verdicts.get((claim.id, url or "")))
            if url not in found or (found[url].outcome == "failed" and source.outcome != "failed"):
                found[url] = source
    return tuple(found.values())


def _urls(claim: Claim, document: Document, recovered: bool) -> Iterator[str | None]:
    """Yield the URLs that a claim cites, each once; None once for all citations without a URL."""
    citations = (*claim.citations, *(claim.recovered if recovered else ()))
    yield from dict.fromkeys(document.citation(citation).url for citation in citations)


def _source(url: str | None, sources: dict[str, Source], verdict: Verdict | None) -> CheckedSource:
    status = sources[url].status if url is not None else None
    if status != "ok" or verdict is None:
        outcome: Outcome = "unverifiable" if status is None else "dead" if status == "dead" else "failed"
        return CheckedSource(url=url, status=status, outcome=outcome)
    return CheckedSource(
        url=url,
        status=status,
        outcome="failed" if verdict.label is None else OUTCOMES[verdict.label],
        label=verdict.label,
        quote=verdict.quote,
        quote_rejected=verdict.quote_rejected,
        rationale=verdict.rationale,
        failure=verdict.failure,
        replies=verdict.replies,
    )
