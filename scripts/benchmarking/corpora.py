"""Chunks and queries to measure search on, made of real texts.

Invariant: the same data, sizes and seed give the same chunks and queries, in the same order.

Chunks are those of the encyclopedia leads and of the hand-made texts of the fetched pages. Where more are needed than
there are, they are recombined: runs of one to three neighbouring sentences of random texts, joined until a chunk has
`CHUNK_CHARACTERS`. So words keep their frequencies and their neighbours, and only the vocabulary grows no further.

A query with a known answer is a sentence of a text, not its first one (which says what the title says), without the
words of the title, of which at least `MIN_WORDS` are left; the page that it was taken from is the relevant one. As it
stands it favours exact words; a harder one is a few words of such a sentence, of four letters or more, drawn at random.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import sentencex

from indexes.search.model import ChunkText
from indexes.search.quality import JudgedQuery
from indexes.text.chunk import chunk_spans
from indexes.text.tokens import tokenise
from indexes.urls import normalise_url

CHUNK_CHARACTERS = 900
MIN_WORDS = 8
MAX_CHARACTERS = 400
"""Maximum length of a sentence; longer ones are lists."""


class Text(NamedTuple):
    """A page as far as search is concerned."""

    url: str
    title: str
    text: str


class PageChunk(NamedTuple):
    """A chunk and its page."""

    chunk: ChunkText
    url: str


def leads(data: Path) -> list[Text]:
    """Encyclopedia leads."""
    with gzip.open(data / "wiki" / "summaries_en.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [Text(normalise_url(row["url"]), row["title"], row["text"]) for row in rows]


def pages(data: Path) -> list[Text]:
    """Main texts of fetched pages, whose titles are not given."""
    lines = (data / "pages" / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Text(normalise_url(row["url"]), "", row["text"]) for row in rows]


def chunked(texts: Sequence[Text]) -> Iterator[PageChunk]:
    """Yield all chunks of some texts."""
    for number, one in enumerate(texts):
        for start, end in chunk_spans(one.text):
            yield PageChunk(ChunkText(f"{number:06d}:{start}-{end}", "en", one.text[start:end]), one.url)


def recombined(texts: Sequence[Text], n: int, seed: int) -> Iterator[ChunkText]:
    """`n` chunks of runs of sentences."""
    rng = Random(seed)
    split = [sentencex.segment("en", one.text) for one in texts]
    for number in range(n):
        parts: list[str] = []
        length = 0
        while length < CHUNK_CHARACTERS:
            sentences = rng.choice(split)
            begin = rng.randrange(len(sentences))
            run = "".join(sentences[begin : begin + rng.randint(1, 3)]).strip()
            parts.append(run[:CHUNK_CHARACTERS])
            length += len(parts[-1]) + 1
        yield ChunkText(f"{number:08d}", "en", " ".join(parts))


def judged_queries(
    texts: Sequence[Text], n: int, seed: int, words: int | None = None
) -> tuple[JudgedQuery, ...]:
    """Return one query of each of `n` texts drawn at random; of fewer, if so few are good for one.

    Args:
        texts: a page each.
        n: how many queries.
        seed: of all draws.
        words: of a query, in their order; default: all of a sentence.
    """
    rng = Random(seed)
    found: list[JudgedQuery] = []
    for one in rng.sample(texts, len(texts)):
        if len(found) == n:
            break
        candidates = [query for query in map(_without(one.title), _later_sentences(one.text)) if query]
        if words is not None:
            candidates = [query for query in candidates if len(_long_words(query)) >= words]
        if not candidates:
            continue
        query = rng.choice(candidates)
        if words is not None:
            long = _long_words(query)
            query = " ".join(long[i] for i in sorted(rng.sample(range(len(long)), words)))
        found.append(JudgedQuery(query=query, relevant=(one.url,), id=str(len(found) + 1)))
    return tuple(found)


def _later_sentences(text: str) -> list[str]:
    sentences = [sentence.strip() for sentence in sentencex.segment("en", text)]
    return [sentence for sentence in sentences[1:] if len(sentence) <= MAX_CHARACTERS]


def _long_words(query: str) -> list[str]:
    words = [word.strip(".,;:!?()[]\"'“”") for word in query.split()]
    return [word for word in words if len(word) >= 4 and word.isalpha()]


class _without:
    """Takes a title's words out of a sentence; empty if too few are left."""

    def __init__(self, title: str) -> None:
        self._title = set(tokenise(title))

    def __call__(self, sentence: str) -> str:
        kept = [word for word in sentence.split() if not self._title.intersection(tokenise(word))]
        return " ".join(kept) if len(kept) >= MIN_WORDS else ""
