"""Copies of the evaluated report among the pages of a snapshot.

A report is no evidence for itself. A page counts as a copy of it if both share most of their text:

    shared runs of five words / those of the report >= 0.6      and      / those of the page >= 0.5

A page that the report was written from has more text than the report took; one that quotes the report has other text.

Invariant: depends on the report and the snapshot alone.
"""

from __future__ import annotations

import re
from datetime import date

from indexes.corpus import Corpus, Filters
from indexes.snapshot import Snapshot
from indexes.text.tokens import tokenise
from local_judge.documents.model import Document
from local_judge.protocols.deepresearcheval.facts.segments import body_sentences

RUN = 5
OF_REPORT, OF_PAGE = 0.6, 0.5
PROBES = 5
"""Number of sentences that are searched for."""
HITS = 5

_NO_WORDS = re.compile(r"\]\([^)\s]*\)|\[\^?\d[\d,\s–-]*\]|https?://\S+")
"""Citation marks and URLs, which a page may show differently."""


def own_texts(
    document: Document, snapshot: Snapshot, corpus: Corpus, as_of: date | None = None
) -> tuple[str, ...]:
    """Return the digests of a snapshot's texts, known by the end of `as_of`, that are this report.

    Raises:
        IndexesError: the snapshot is damaged, or lacks an index.
    """
    sentences = [_words(one.text) for one in body_sentences(document)]
    whole = [word for words in sentences for word in words]
    long = [words for words in sentences if len(words) >= RUN] or [
        whole
    ]  # if all are short, they count as one
    if len(whole) < RUN:
        return ()
    step = max(1, len(long) // PROBES)
    probes = [" ".join(words[:40]) for words in long[::step][:PROBES]]
    report = _runs(whole)
    found: dict[str, bool] = {}
    for hits in corpus.search(probes, HITS, filters=Filters(as_of=as_of)):
        for hit in hits:
            if hit.text_digest not in found:
                found[hit.text_digest] = _same(
                    report, _runs(_words(snapshot.page(hit.url, as_of=as_of).text))
                )
    return tuple(sorted(digest for digest, same in found.items() if same))


def _words(text: str) -> list[str]:
    return tokenise(_NO_WORDS.sub(" ", text))


def _runs(words: list[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1))


def _same(report: frozenset[tuple[str, ...]], page: frozenset[tuple[str, ...]]) -> bool:
    shared = len(report & page)
    return bool(shared) and shared >= OF_REPORT * len(report) and shared >= OF_PAGE * len(page)
