"""Sentences and citations that were not read, with the most that they may add to a report.

Invariant: a sentence that was not read has no claim and every claim that the extraction admits. Scores count its claims
as unknown, up to the largest number, in their bounds; in their coverage it has as many as the sentences that were read.
A citation that was not read (`documents.health`) leads to a source of its own, which supports its claims or does not.

    claim of an unread sentence     may have the URLs written on the sentence, and any other by back-tracking
    claim that is `untraced`        likewise; its own claim is known
    citation without an address     is one of the claims that have it, written or by back-tracking
    mark of an unknown style        is one of as many claims as one sentence has, or by back-tracking of any claim
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from local_judge.base.model import Frozen
from local_judge.claims.backtrack import Rule
from local_judge.claims.build import cited_urls, further
from local_judge.claims.marks import most_uncited
from local_judge.claims.model import Claim, ClaimSet, ExtractionFailure, Traced
from local_judge.documents.health import check_health, n_unread_citations
from local_judge.documents.model import Document, Sentence


class UnreadSentence(Frozen):
    """One sentence whose claims are unknown."""

    label: str
    """Label of the sentence."""
    most: int
    """Largest number of claims that it may have."""
    cited: bool
    """The sentence has a citation, with a URL or without."""
    uncited: int = 0
    """Largest number of its claims that may be without a citation."""
    written: tuple[str, ...] = ()
    """URLs that its claims may have without back-tracking."""


class UnreadCitations(Frozen):
    """Citations of a report whose sources are unknown."""

    n: int = 0
    """Number of citations, each of which has a source of its own."""
    n_entries: int = 0
    """Number of list entries among them that were read as statements: what those cite is no citation of the report."""
    written: int = 0
    """Largest number of their pairs with a claim, without back-tracking."""
    recovered: int = 0
    """Largest number of further pairs that back-tracking may recover."""

    def pairs(self, *, traced: bool) -> int:
        """Return the largest number of pairs; `traced`: also those that back-tracking may recover."""
        return self.written + (self.recovered if traced else 0)


class Unread(Frozen):
    """All sentences of a report whose claims are unknown, and all citations whose sources are."""

    sentences: tuple[UnreadSentence, ...] = ()
    """Sentences in reading order."""
    n_untraced: int = 0
    """Number of known claims to which back-tracking might lead more citations."""
    citations: UnreadCitations = UnreadCitations()
    urls: tuple[str, ...] = ()
    """All URLs that the report's sentences cite."""
    known_sentences: float = 1.0
    """Share of the sentences that were read."""
    known_places: float = 1.0
    """Share of the pairs of a sentence and a URL written on it of which both were read."""

    def __bool__(self) -> bool:
        return bool(self.sentences or self.citations.n)

    @property
    def known(self) -> float:
        """The lower of both shares."""
        return min(self.known_sentences, self.known_places)

    @property
    def claims(self) -> int:
        """Largest number of claims."""
        return sum(one.most for one in self.sentences)

    def pairs(self, url: str, *, traced: bool) -> int:
        """Return the largest number of pairs with a URL; `traced`: also those that back-tracking may recover."""
        found = sum(one.most for one in self.sentences if traced or url in one.written)
        return found + (self.n_untraced if traced else 0)


def unread_of(claims: ClaimSet, document: Document, rule: Rule = "paper") -> Unread:
    """Return what the unread sentences and citations of a claim set may add; `rule`: the back-tracking's."""
    found = [_traced(claim, rule) for claim in claims.claims]
    untraced = sum(traced.untraced for traced in found)
    lost = {label: failure for failure in claims.extraction_failures for label in failure.sentences}
    body = [sentence for sentence in document.sentences if document.blocks[sentence.block].role == "body"]
    of_sentence = Counter(claim.sentence for claim in claims.claims)
    of_sentence |= Counter({label: failure.most for label, failure in lost.items()})
    citations = unread_citations(document, of_sentence, [traced.citations for traced in found])
    return unread_among(body, lost, document, untraced, citations)


def _traced(claim: Claim, rule: Rule) -> Traced:
    """Return the citations that back-tracking recovers for a claim."""
    if rule == "paper":
        return Traced(citations=claim.recovered, untraced=claim.untraced)
    traced = claim.upstream or Traced()
    return traced.model_copy(update={"citations": further(traced.citations, claim.citations)})


def unread_citations(
    document: Document, of_sentence: Mapping[str, int], recovered: Sequence[Sequence[str]] = ()
) -> UnreadCitations:
    """Return the citations of a report whose sources are unknown.

    Args:
        document: the report.
        of_sentence: largest number of claims by the label of a sentence that has any.
        recovered: citations that back-tracking recovered for each claim.
    """
    health = check_health(document)
    n = n_unread_citations(health.problems)
    without = {citation.id for citation in document.citations if citation.url is None}
    elsewhere = n - len(without)  # on sentences that are not known, of which each may have one
    most, n_claims = max(of_sentence.values(), default=1), sum(of_sentence.values())
    return UnreadCitations(
        n=n,
        n_entries=health.n_entries_in_text,
        written=sum(
            of_sentence.get(one.label, 0) * len(without.intersection(one.citations))
            for one in document.sentences
        )
        + (max(elsewhere * most, n_claims) if elsewhere else 0),
        recovered=sum(len(without.intersection(found)) + elsewhere for found in recovered),
    )


def unread_among(
    asked: Sequence[Sentence],
    lost: dict[str, ExtractionFailure],
    document: Document,
    n_untraced: int = 0,
    citations: UnreadCitations | None = None,
) -> Unread:
    """Return what the lost ones of the sentences that were asked for may add.

    Args:
        asked: sentences, in reading order.
        lost: failures by the label of the sentence.
        document: the report.
        n_untraced: see `Unread`.
        citations: citations whose sources are unknown.
    """
    citations = citations or UnreadCitations()
    if not (lost or citations.n):
        return Unread()
    places = {one.label: tuple(cited_urls(one.citations, document)) for one in document.sentences}
    urls = tuple(dict.fromkeys(url for found in places.values() for url in found))
    labels = dict.fromkeys((*(one.label for one in asked), *lost))
    n_places = sum(len(places[label]) for label in labels) + citations.n
    n_lost = sum(len(places[label]) for label in lost) + citations.n + citations.n_entries
    return Unread(
        sentences=tuple(
            UnreadSentence(
                label=one.label,
                most=lost[one.label].most,
                cited=bool(one.citations),
                uncited=most_uncited(document, one, lost[one.label].most),
                written=urls if lost[one.label].any_citation else places[one.label],
            )
            for one in document.sentences
            if one.label in lost
        ),
        n_untraced=n_untraced,
        citations=citations,
        urls=urls,
        known_sentences=1 - len(lost) / len(labels) if labels else 1.0,
        known_places=1 - min(n_lost / n_places, 1.0) if n_places else 1.0,
    )
