"""FACT's own flow: extract statements with their citations, take repeats out, judge support page by page.

Invariants: pairs are in reading order, whatever order replies arrive in. The judge names citations by number, and code
knows their URLs, so that no URL comes from a judge. A citation that no statement of its sentence names belongs to the
sentence as it stands; a sentence without an answer gives pairs of unknown outcome. Each statement gets exactly one
label, or a failure. A quotation that does not occur in the page is kept apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache, partial
from itertools import chain
from typing import Annotated, Any, NamedTuple

from pydantic import Field, create_model

from indexes.snapshot import Snapshot
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims import grouped
from local_judge.claims.build import cited_urls
from local_judge.claims.evidence import PageEvidence, evidence_groups, shared_report
from local_judge.claims.extract import claim_on, without_marks
from local_judge.claims.grouped import Found, ask_grouped
from local_judge.claims.model import Claim, ExtractionFailure
from local_judge.claims.unread import Unread, unread_among, unread_citations
from local_judge.documents.model import Citation, Document, Sentence
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, fence, fill, load_prompt
from local_judge.protocols.fact.findings import Cited, Judged, Outcome, Pair
from local_judge.protocols.fact.pairs import Examined, Pairs, distinct, on_page, unread
from local_judge.protocols.fact.repeats import failures_in, find_repeats, group_repeats, repeats_in
from local_judge.protocols.fact.settings import FactSettings

template = partial(load_prompt, "local_judge.protocols.fact")

REPLY_TOKENS_PER_SENTENCE = 240
MOST_FACTS = 8
"""Facts of one sentence, each with any of its citations."""


class ReadFact(Frozen):
    """A fact and the numbers of its citations; `facts_type` bounds them."""

    fact: Annotated[str, Field(min_length=1, max_length=400)]
    citations: list[int]


class ReadSentence(Frozen):
    """The facts of one sentence."""

    facts: Annotated[list[ReadFact], Field(max_length=MOST_FACTS)]


@cache
def facts_type(n_citations: int) -> type[ReadSentence]:
    """Return the type of the answer for a sentence with `n_citations` citations."""
    number = Annotated[int, Field(ge=1, le=n_citations)]
    numbers: Any = Annotated[list[number], Field(min_length=1, max_length=n_citations)]
    fact: Any = create_model("Fact", __base__=ReadFact, citations=(numbers, ...))
    facts: Any = Annotated[list[fact], Field(max_length=MOST_FACTS)]
    return create_model("Facts", __base__=ReadSentence, facts=(facts, ...))


class Target(NamedTuple):
    """A sentence with the URLs that it cites, each with its first citation, in order."""

    sentence: Sentence
    urls: dict[str, Citation]


class Stated(Cited):
    """A statement on a URL, as the claim that is checked."""

    claim: Claim


class Extraction(NamedTuple):
    """The statements of a report, in reading order, and the sentences that could not be read."""

    stated: tuple[Stated, ...]
    unread: tuple[ExtractionFailure, ...]


def targets_of(document: Document) -> list[Target]:
    """Return the sentences of the body that cite a URL."""
    found = [
        Target(sentence, cited_urls(sentence.citations, document))
        for sentence in document.sentences
        if document.blocks[sentence.block].role == "body"
    ]
    return [target for target in found if target.urls]


async def extract(document: Document, judge: Judge, settings: FactSettings) -> Extraction:
    """Return all statements with citations, in batches that share the report."""
    targets = targets_of(document)
    size = settings.batch_sentences
    results = await asyncio.gather(
        *(_batch(document, targets[start : start + size], judge) for start in range(0, len(targets), size))
    )
    return Extraction(
        tuple(stated for result in results for stated in result.stated),
        tuple(lost for result in results for lost in result.unread),
    )


def extraction_prompt(document: Document, targets: Sequence[Target]) -> Prompt:
    """Build the extraction prompt: the report, the instructions, the sentences."""
    report = shared_report(document)
    listed = fence("\n".join(map(_format_target, range(1, len(targets) + 1), targets)), "Sentences:")
    return Prompt(
        shared=report.shared,
        own=fill(template("extract"), {"count": str(len(targets)), "targets": listed}),
        prefix_key=report.prefix_key,
    )


def _format_target(number: int, target: Target) -> str:
    keys = "; ".join(f"{n} = {citation.key}" for n, citation in enumerate(target.urls.values(), 1))
    return f"{number}. ({keys}) {target.sentence.label}: {target.sentence.text}"


async def _batch(document: Document, batch: Sequence[Target], judge: Judge) -> Extraction:
    answers = await judge.ask_items(
        lambda indices: extraction_prompt(document, [batch[index] for index in indices]),
        [facts_type(len(target.urls)) for target in batch],
        len(batch),
        max_tokens=REPLY_TOKENS_PER_SENTENCE * len(batch),
    )
    stated: list[Stated] = []
    lost: list[ExtractionFailure] = []
    for target, answer in zip(batch, answers, strict=True):
        if isinstance(answer, Failure):
            lost.append(
                ExtractionFailure(sentences=(target.sentence.label,), failure=answer, most=MOST_FACTS)
            )
        else:
            stated += _read_statements(document, target, answer.value)
    return Extraction(tuple(stated), tuple(lost))


def _read_statements(document: Document, target: Target, read: ReadSentence) -> list[Stated]:
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


class Finding(grouped.Finding):
    """The judge's answer about one statement: evidence before the label."""

    quote: Annotated[str, Field(max_length=600)]
    rationale: Annotated[str, Field(max_length=400)]
    label: Outcome


def support_prompt(page_evidence: PageEvidence, claims: Sequence[Claim]) -> Prompt:
    """Page first, then the instructions, then the statements."""
    listed = "\n".join(f"{number}. {claim.text}" for number, claim in enumerate(claims, 1))
    values = {"count": str(len(claims)), "statements": fence(listed, "Statements:")}
    return Prompt(
        shared=page_evidence.shared,
        own=fill(template("support"), values),
        prefix_key=page_evidence.prefix_key,
    )


async def judge_support(
    stated: Sequence[Stated], snapshot: Snapshot, judge: Judge, settings: FactSettings
) -> list[Pair]:
    """Return one pair for each statement on one URL, in order."""
    page = snapshot.page(stated[0].url)
    if page.status != "ok":
        return [_pair(one)(outcome="unknown", reason=page.status) for one in stated]
    groups = evidence_groups(page, [one.claim for one in stated], snapshot, settings.evidence)
    found = await asyncio.gather(
        *(
            ask_grouped(evidence, claims, judge, partial(support_prompt, evidence), Finding)
            for evidence, claims in groups
        )
    )
    answers = chain.from_iterable(found)
    return [on_page(_judge_pair(one, answer), page) for one, answer in zip(stated, answers, strict=True)]


def _judge_pair(one: Stated, found: Found[Finding] | Failure) -> Pair:
    if isinstance(found, Failure):
        return _pair(one)(outcome="unknown", reason="judge_failed", failure=found)
    label = found.finding.label
    return _pair(one)(
        outcome=label,
        reason="judged_unknown" if label == "unknown" else None,
        judged=Judged(
            label=label,
            quote=found.checked.quote,
            quote_rejected=found.checked.rejected,
            rationale=found.finding.rationale,
            replies=found.replies,
        ),
    )


def _pair(one: Stated) -> partial[Pair]:
    return partial(Pair, statement=one.statement, url=one.url, sentence=one.sentence, key=one.key)


async def examine(document: Document, snapshot: Snapshot, judge: Judge, settings: FactSettings) -> Examined:
    """Return the pairs of a report."""
    extraction = await extract(document, judge, settings)
    by_url: dict[str, list[Stated]] = {}
    for stated in extraction.stated:
        by_url.setdefault(stated.url, []).append(stated)
    results = await asyncio.gather(
        *(_of_url(stated, snapshot, judge, settings) for stated in by_url.values())
    )
    order = {sentence.label: position for position, sentence in enumerate(document.sentences)}

    def place(one: Cited) -> int:
        return order[one.sentence]

    pairs = [pair for found, _ in results for pair in found.pairs]
    lost, missed = unread_pairs(document, extraction.unread)
    return Examined(
        Pairs(
            tuple(sorted((*pairs, *lost.pairs), key=place)),
            tuple(
                sorted((*(one for found, _ in results for one in found.repeats), *lost.repeats), key=place)
            ),
        ),
        missed,
        tuple(failure for _, failures in results for failure in failures),
    )


def unread_pairs(document: Document, failures: Sequence[ExtractionFailure]) -> tuple[Pairs, Unread]:
    """Return the pairs of sentences whose statements are unknown, and what these may add among all that cite a URL."""
    lost = {label: failure for failure in failures for label in failure.sentences}
    asked = [target.sentence for target in targets_of(document)]
    pairs = [
        pair
        for sentence in asked
        if sentence.label in lost
        for pair in unread(sentence, document, lost[sentence.label].failure)
    ]
    citations = unread_citations(document, {one.label: MOST_FACTS for one in document.sentences})
    return distinct(pairs), unread_among(asked, lost, document, citations=citations)


async def _of_url(
    stated: Sequence[Stated], snapshot: Snapshot, judge: Judge, settings: FactSettings
) -> tuple[Pairs, tuple[Failure, ...]]:
    """Judge the statements on one URL without those that repeat another."""
    same = await find_repeats(stated, judge)
    groups = group_repeats(stated, same)
    judged = await judge_support([group[0] for group in groups.values()], snapshot, judge, settings)
    pairs = tuple(
        pair if same[first].failure is None else pair.model_copy(update={"may_repeat": True})
        for first, pair in zip(groups, judged, strict=True)
    )
    return Pairs(pairs, tuple(repeats_in(stated, groups, same))), failures_in(same)
