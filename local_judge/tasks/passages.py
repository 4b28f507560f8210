"""What a judge is shown of the snapshot when it drafts guidance.

Invariant: the passages depend on the request and the snapshot alone; what is shown fits the limit, and each passage
stands in a fence of its own with its address.
"""

from __future__ import annotations

from collections.abc import Sequence

from indexes.corpus import Corpus, Hit
from local_judge.claims.evidence import estimate_tokens
from local_judge.documents.sentences import split_sentences
from local_judge.judge.layout import fence

MAX_QUERIES = 16
"""A request is searched for whole and sentence by sentence, up to this many queries."""
HITS_PER_QUERY = 8


def queries(prompt: str, language: str) -> list[str]:
    """The request, and each of its sentences if there are several."""
    sentences = [prompt[start:end].strip() for start, end in split_sentences(prompt, (), language)]
    asked = [prompt.strip(), *filter(None, sentences)]
    return list(dict.fromkeys(asked))[:MAX_QUERIES]


def select(corpus: Corpus, prompt: str, language: str, tokens: int) -> list[Hit]:
    """The best passages of each query in turn, up to `tokens` (as `estimate_tokens` counts them).

    Taking turns gives each sentence of the request its best passage before any gets its second.

    Raises:
        IndexesError: the snapshot has no index by words, or is damaged.
    """
    found = corpus.search(queries(prompt, language), HITS_PER_QUERY)
    chosen: dict[str, Hit] = {}
    spent = 0
    for rank in range(HITS_PER_QUERY):
        for hits in found:
            if rank >= len(hits) or hits[rank].chunk.id in chosen:
                continue
            cost = estimate_tokens(shown(hits[rank], len(chosen) + 1))
            if spent + cost <= tokens:
                chosen[hits[rank].chunk.id] = hits[rank]
                spent += cost
    return list(chosen.values())


def shown(hit: Hit, number: int) -> str:
    """One passage as the judge reads it."""
    parts = (f"Address: {hit.url}", hit.title, hit.chunk.text.strip())
    return fence("\n\n".join(filter(None, parts)), f"Passage {number}:")


def exhibit(prompt: str, passages: Sequence[Hit]) -> str:
    """The request and the passages, each in its fence."""
    parts = [fence(prompt.strip(), "Request:")]
    parts += [shown(hit, number) for number, hit in enumerate(passages, 1)]
    return "\n\n".join(parts)
