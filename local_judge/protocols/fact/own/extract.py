"""The statements of a report's cited sentences, each with its citations.

Invariants: the judge names citations by number, and code knows their URLs, so that no URL comes from a judge; a
sentence's reply names only citations that it has; a citation that no fact of its sentence names belongs to the sentence
as it stands; a sentence without answer gives pairs of unknown outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache, partial
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model

from local_judge.claims.extract import claim_on, without_marks
from local_judge.claims.model import Claim
from local_judge.claims.report import shared_report
from local_judge.claims.sources import cited_urls
from local_judge.documents.model import Citation, Document, Sentence
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill, load_prompt
from local_judge.protocols.fact.findings import Cited, Pair
from local_judge.protocols.fact.pairs import unread
from local_judge.protocols.fact.settings import FactSettings

template = partial(load_prompt, "local_judge.protocols.fact")

REPLY_TOKENS_PER_SENTENCE = 240


class ReadFact(BaseModel):
    """A fact and the numbers of its citations; `answer_type` bounds them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fact: Annotated[str, Field(min_length=1, max_length=400)]
    citations: list[int]


class ReadSentence(BaseModel):
    """The facts of one sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    facts: Annotated[list[ReadFact], Field(max_length=8)]


@cache
def answer_type(n_citations: int) -> type[ReadSentence]:
    """The type of the answer for a sentence with so many citations."""
    number = Annotated[int, Field(ge=1, le=n_citations)]
    numbers: Any = Annotated[list[number], Field(min_length=1, max_length=n_citations)]
    fact: Any = create_model("Fact", __base__=ReadFact, citations=(numbers, ...))
    facts: Any = Annotated[list[fact], Field(max_length=8)]
    return create_model("Facts", __base__=ReadSentence, facts=(facts, ...))


class Target(NamedTuple):
    """A sentence with the URLs that it cites, each with its first citation, in order."""

    sentence: Sentence
    urls: dict[str, Citation]


class Stated(Cited):
    """A statement on a URL, as the claim that is checked."""

    claim: Claim


class Extraction(NamedTuple):
    """The statements of a report, in reading order, and the pairs of the sentences that could not be read."""

    stated: tuple[Stated, ...]
    unread: tuple[Pair, ...]


def targets_of(document: Document) -> list[Target]:
    """The sentences of the body that cite a URL."""
    found = [
        Target(sentence, cited_urls(sentence.citations, document))
        for sentence in document.sentences
        if document.blocks[sentence.block].role == "body"
    ]
    return [target for target in found if target.urls]


async def extract(document: Document, judge: Judge, settings: FactSettings) -> Extraction:
    """All statements with citations, in batches that share the report."""
    targets = targets_of(document)
    size = settings.batch_sentences
    results = await asyncio.gather(
        *(_batch(document, targets[start : start + size], judge) for start in range(0, len(targets), size))
    )
    return Extraction(
        tuple(stated for result in results for stated in result.stated),
        tuple(pair for result in results for pair in result.unread),
    )


def extraction_prompt(document: Document, targets: Sequence[Target]) -> Prompt:
    """The report first, then the instructions, then the sentences."""
    report = shared_report(document)
    listed = fence("\n".join(map(_listed, range(1, len(targets) + 1), targets)), "Sentences:")
    return Prompt(
        shared=report.shared,
        own=fill(template("extract"), {"count": str(len(targets)), "targets": listed}),
        prefix_key=report.prefix_key,
    )


def _listed(number: int, target: Target) -> str:
    keys = "; ".join(f"{n} = {citation.key}" for n, citation in enumerate(target.urls.values(), 1))
    return f"{number}. ({keys}) {target.sentence.label}: {target.sentence.text}"


async def _batch(document: Document, batch: Sequence[Target], judge: Judge) -> Extraction:
    answers = await judge.ask_items(
        lambda indices: extraction_prompt(document, [batch[index] for index in indices]),
        [answer_type(len(target.urls)) for target in batch],
        len(batch),
        max_tokens=REPLY_TOKENS_PER_SENTENCE * len(batch),
    )
    stated: list[Stated] = []
    lost: list[Pair] = []
    for target, answer in zip(batch, answers, strict=True):
        if isinstance(answer, Failure):
            lost += unread(target.sentence, document, answer)
        else:
            stated += _stated(document, target, answer.value)
    return Extraction(tuple(stated), tuple(lost))


def _stated(document: Document, target: Target, read: ReadSentence) -> list[Stated]:
    sentence, urls = target
    places = list(urls.items())
    given = [
        (text, [places[number - 1] for number in sorted(set(fact.citations))])
        for fact in read.facts
        if (text := without_marks(document, sentence, fact.fact))
    ]
    named = {url for _, chosen in given for url, _ in chosen}
    forgotten = [place for place in places if place[0] not in named]
    if given and forgotten:
        given.append((without_marks(document, sentence, sentence.text), forgotten))
    return [
        Stated(
            statement=text,
            url=url,
            sentence=sentence.label,
            key=citation.key,
            claim=claim_on(sentence, number, text, "A"),
        )
        for number, (text, chosen) in enumerate(given, 1)
        for url, citation in chosen
    ]
