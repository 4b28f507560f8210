"""Sentences whose claims are unknown, with the most that they may add to a report.

Invariant: a sentence that was not read has no claim and every claim that the extraction admits. Scores count its claims
as unknown, up to the largest number, in their bounds; in their coverage it has as many as the sentences that were read.

    claim on a cited sentence       may have the URLs written on the sentence
    claim on another sentence       may have any URL of the report, by back-tracking
    claim that is `untraced`        likewise; its own claim is known
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.claims.build import cited_urls
from local_judge.claims.model import ClaimSet, ExtractionFailure
from local_judge.documents.model import Document, Sentence
from serving.types import Frozen


class UnreadSentence(Frozen):
    """One sentence whose claims are unknown."""

    label: str
    """Label of the sentence."""
    most: int
    """Largest number of claims that it may have."""
    cited: bool
    """The sentence has a citation, with a URL or without: each of its claims has it."""
    written: tuple[str, ...] = ()
    """URLs that its claims may have without back-tracking."""
    traced: bool = False
    """Its claims may have any URL of the report by back-tracking."""


class Unread(Frozen):
    """All sentences of a report whose claims are unknown; empty if all were read."""

    sentences: tuple[UnreadSentence, ...] = ()
    """Sentences in reading order."""
    n_untraced: int = 0
    """Number of known claims to which back-tracking might lead more citations."""
    urls: tuple[str, ...] = ()
    """All URLs that the report's sentences cite."""
    known_sentences: float = 1.0
    """Share of the sentences that were read."""
    known_places: float = 1.0
    """Share of the pairs of a sentence and a URL written on it whose sentence was read."""

    def __bool__(self) -> bool:
        return bool(self.sentences)

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
        found = sum(one.most for one in self.sentences if url in one.written or (traced and one.traced))
        return found + (self.n_untraced if traced else 0)


def unread_of(claims: ClaimSet, document: Document) -> Unread:
    """Return what the unread sentences of a claim set may add."""
    untraced = sum(claim.untraced for claim in claims.claims)
    lost = {label: failure for failure in claims.extraction_failures for label in failure.sentences}
    body = [sentence for sentence in document.sentences if document.blocks[sentence.block].role == "body"]
    return unread_among(body, lost, document, untraced)


def unread_among(
    asked: Sequence[Sentence], lost: dict[str, ExtractionFailure], document: Document, n_untraced: int = 0
) -> Unread:
    """Return what the lost ones of the sentences that were asked for may add.

    Args:
        asked: sentences, in reading order.
        lost: failures by the label of the sentence.
        document: the report.
        n_untraced: see `Unread`.
    """
    if not lost:
        return Unread()
    places = {one.label: tuple(cited_urls(one.citations, document)) for one in document.sentences}
    urls = tuple(dict.fromkeys(url for found in places.values() for url in found))
    labels = dict.fromkeys((*(one.label for one in asked), *lost))
    n_places = sum(len(places[label]) for label in labels)
    return Unread(
        sentences=tuple(
            UnreadSentence(
                label=one.label,
                most=lost[one.label].most,
                cited=bool(one.citations),
                written=urls if lost[one.label].any_citation else places[one.label],
                traced=not one.citations,
            )
            for one in document.sentences
            if one.label in lost
        ),
        n_untraced=n_untraced,
        urls=urls,
        known_sentences=1 - len(lost) / len(labels),
        known_places=1 - sum(len(places[label]) for label in lost) / n_places if n_places else 1.0,
    )
