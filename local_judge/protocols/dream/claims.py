"""Which claims of the claim set can be verified, and which of these are checked.

    verifiable    all but types D (recaps) and E (common knowledge, definitions, the author's own reasoning and advice),
                  and but those that the extraction holds for not checkable
    chosen        those that the extraction calls salient come first; among equals, places are spread evenly over the
                  report, so that its beginning weighs no more than its end

In the claim set's terse form the judge was not asked what is checkable: there the type decides.

Invariant: a function of the claim set alone, so that all metrics and judges have the same claims, in reading order.


Which claims of a report can be verified, and what their sources say of them: report + claim set -> findings.

    verifiable claims   see `verifiable`; equal ones once
    cited               those with a citation, wherever that leads

Invariant: nothing is asked here; labels are those of the claim set's verdicts, mapped one to one. Each different claim
that can be verified stands in the findings once, whether it is cited or not, with each source that it cites once; what
was left out is counted by the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from indexes.model import SourceStatus
from local_judge.claims.model import OURS, Claim, ClaimSet, Label, Quote, Source, Verdict
from local_judge.documents.model import Document
from local_judge.judge.failures import Failure
from local_judge.protocols.metric import MetricFindings
from serving.types import Frozen

Reason = Literal["recap", "own", "uncheckable"]


def left_out(claim: Claim) -> Reason | None:
    """Why a claim is none that can be verified; None if it is one."""
    if claim.type in ("D", "E"):
        return "recap" if claim.type == "D" else "own"
    return "uncheckable" if claim.checkable is False else None


def same_words(text: str) -> str:
    """What claims in the same words have in common, whatever their letter case, white space and full stop."""
    return " ".join(text.casefold().split()).rstrip(".。")


def verifiable(claims: Sequence[Claim]) -> list[Claim]:
    """The different claims that can be verified, each where it stands first; salient if it is so anywhere."""
    found: dict[str, Claim] = {}
    for claim in claims:
        if left_out(claim) is not None:
            continue
        before = found.setdefault(same_words(claim.text), claim)
        if claim.salient and not before.salient:
            found[same_words(claim.text)] = before.model_copy(update={"salient": True})
    return list(found.values())


def most_salient(claims: Sequence[Claim], n: int) -> list[Claim]:
    """At most `n` of them, in their order."""
    ranks: list[list[Claim]] = [[], [], []]
    for claim in claims:
        ranks[{True: 0, None: 1, False: 2}[claim.salient]].append(claim)
    chosen: set[str] = set()
    for rank in ranks:
        chosen |= {claim.id for claim in _spread(rank, n - len(chosen))}
    return [claim for claim in claims if claim.id in chosen]


def _spread(claims: Sequence[Claim], n: int) -> list[Claim]:
    """`n` of them at even distances: the middles of `n` equal stretches; all where they are no more."""
    if len(claims) <= n:
        return list(claims)
    return [claims[(2 * place + 1) * len(claims) // (2 * n)] for place in range(n)]


Unit = Literal["claim", "pair"]
Unsettled = Literal["neutral", "unverifiable"]

Outcome = Literal["supported", "partial", "neutral", "contradicted", "unverifiable", "failed"]
"""The paper's five labels, and none. `neutral`: the page is read and says nothing that settles the claim.
`unverifiable`: the source is dead, blocked or empty, or has no address. `failed`: the judge gave no verdict, or the
page could not be shown to it: nobody fetched it, or its type cannot be read."""

OUTCOMES: dict[Label, Outcome] = {
    "supported": "supported",
    "partial": "partial",
    "contradicted": "contradicted",
    "not_found": "neutral",
    "off_topic": "neutral",
}


class CitationSettings(Frozen):
    """What counts as cited, and what is counted."""

    unit: Unit = "claim"
    """What faithfulness counts: a claim by the best that its sources say of it, or each claim and source."""
    unsettled: Unsettled = "neutral"
    """How faithfulness counts a page that is read and does not settle the claim: as `neutral`, which is 0 and in the
    denominator, or as `unverifiable`, which is left out like a source without a text."""
    recovered: bool = False
    """Take a claim for cited also where its citation stands on an earlier sentence that it rests on."""


class CheckedSource(Frozen):
    """One source of a claim."""

    url: str | None
    """Normalised; None for citations that lead to no address."""
    status: SourceStatus | None
    outcome: Outcome
    label: Label | None = None
    """Of the claim set's verdict, where there is one."""
    quote: Quote | None = None
    quote_rejected: str | None = None
    """What the judge gave as a quotation that does not occur in the page."""
    rationale: str = ""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class CheckedClaim(Frozen):
    """One claim that can be verified, and what it cites; nothing where it is not cited."""

    id: str
    text: str
    repeats: tuple[str, ...] = ()
    """Ids of claims in the same words, whose sources stand here too."""
    sources: tuple[CheckedSource, ...] = ()


class CitationFindings(MetricFindings):
    """All claims of one report that can be verified; failures are counted with the claim set."""

    unit: Unit
    unsettled: Unsettled = "neutral"
    """How CF counts `neutral` (see the settings), like `unit`; the outcomes here are the same with either value."""
    recovered: bool
    """Whether recovered citations count (see the settings)."""
    claims: tuple[CheckedClaim, ...]
    """In reading order."""
    n_recaps: int = 0
    """Claims left out: they repeat, sum up or announce parts of the report."""
    n_own: int = 0
    """Claims left out: common knowledge, definitions, the author's own reasoning and advice."""
    n_uncheckable: int = 0
    """Claims left out: no source could prove them right or wrong."""
    lost_cited: int = 0
    """Sentences with citations whose claims could not be had."""
    lost_uncited: int = 0
    """Sentences without citations whose claims could not be had."""

    @property
    def cites(self) -> bool:
        """Whether anything is cited, as far as is known."""
        return any(claim.sources for claim in self.claims) or self.lost_cited > 0


def cited_claims(document: Document, claims: ClaimSet, settings: CitationSettings) -> CitationFindings:
    """The claims of a report and their sources."""
    reasons = [left_out(claim) for claim in claims.claims]
    lost = {label for failure in claims.extraction_failures for label in failure.sentences}
    cited = {sentence.label for sentence in document.sentences if sentence.citations}
    verdicts = {(verdict.claim, verdict.url): verdict for verdict in claims.verdicts}
    sources = {source.url: source for source in claims.sources}
    alike: dict[str, list[Claim]] = {}
    for claim, reason in zip(claims.claims, reasons, strict=True):
        if reason is None:
            alike.setdefault(same_words(claim.text), []).append(claim)
    return CitationFindings(
        unit=settings.unit,
        unsettled=settings.unsettled,
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
        lost_cited=len(lost & cited),
        lost_uncited=len(lost - cited),
    )


def _sources(
    group: list[Claim],
    document: Document,
    sources: dict[str, Source],
    verdicts: dict[tuple[str, str], Verdict],
    recovered: bool,
) -> tuple[CheckedSource, ...]:
    """The sources of equal claims, each once: of several verdicts on one, the first that has a label."""
    found: dict[str | None, CheckedSource] = {}
    for claim in group:
        for url in _urls(claim, document, recovered):
            source = _source(url, sources, verdicts.get((claim.id, url or "")))
            if url not in found or (found[url].outcome == "failed" and source.outcome != "failed"):
                found[url] = source
    return tuple(found.values())


def _urls(claim: Claim, document: Document, recovered: bool) -> Iterator[str | None]:
    """The addresses that a claim cites, each once; None once for all citations without one."""
    citations = (*claim.citations, *(claim.recovered if recovered else ()))
    yield from dict.fromkeys(document.citation(one).url for one in citations)


def _source(url: str | None, sources: dict[str, Source], verdict: Verdict | None) -> CheckedSource:
    status = sources[url].status if url is not None else None
    if status != "ok" or verdict is None:
        unknown = status == "ok" or status in OURS
        return CheckedSource(url=url, status=status, outcome="failed" if unknown else "unverifiable")
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
