"""Claims of a document.

Invariants: the whole report precedes every batch, so that all batches share one prefix; a batch's reply
names each of its sentences exactly once; a claim's position and citations come from the document, never from the
judge; code decides whether a claim is numeric. A sentence whose claims are unknown is an `ExtractionFailure`.

The judge names the type of each claim, and code never changes it: of the two claims of "Most are unstable [1], but ours
is stable." the second needs another source, or none (DEER, Figure 9). `claims.marks` says which citations of its
sentence a claim has; each protocol says which of its claims it counts.

A sentence with a citation claims something: if the judge finds no claim in it, the sentence itself is the claim, so
that every citation is verified.

`extraction: sentences` makes no model calls. A claim then depends on its own sentence alone, so that the same sentence
in two reports makes the same claim and the same questions.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import chain, groupby
from typing import Annotated, NamedTuple

from pydantic import Field

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import shared_report
from local_judge.claims.marks import cite_claims
from local_judge.claims.model import Claim, ClaimType, ExtractionFailure
from local_judge.documents.model import Document, Sentence
from local_judge.judge.fitting import Part, fitting_parts
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, fence, fill, load_prompt

_WORDS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion dozen "
    "half halved third quarter twice double doubled triple tripled"
)
NUMBER_WORDS: tuple[str, ...] = tuple(_WORDS.split())
"""English words that say how many; with an "s" too."""
_NUMBER = re.compile(
    r"\d|[〇零二两三四五六七八九十百千万亿]+(?=[年月日个倍成%％元人次家项种级])|\b(?:"
    + "|".join(f"{word}s?" for word in NUMBER_WORDS)
    + r")\b",
    re.IGNORECASE,
)


def is_numeric(statement: str) -> bool:
    """True if `statement` holds digits, an English number word, or Chinese numerals before a measure word."""
    return _NUMBER.search(statement) is not None


template = partial(load_prompt, "local_judge.claims")

MIN_REPLY_TOKENS_PER_SENTENCE = 60
"""A prompt fits if it leaves at least this much room for each of its sentences."""
REPLY_TOKENS_PER_SENTENCE = {"full": 240, "terse": 120}

Position = Annotated[str, Field(max_length=12)]
"""Sentence label by the judge; `claims.backtrack` reports labels that do not exist."""


_LABEL = re.compile(r"^\s*L\d+\.S\d+:")


MOST_CLAIMS = 8
"""Claims of one sentence in a reply of the full form; the terse form has one."""


class ReadClaim(Frozen):
    """One claim with its flags."""

    claim: Annotated[str, Field(min_length=1, max_length=400)]
    type: ClaimType
    support: Annotated[list[Position], Field(max_length=4)]
    checkable: bool
    salient: bool


class FullSentence(Frozen):
    """The claims of one sentence."""

    claims: Annotated[list[ReadClaim], Field(max_length=MOST_CLAIMS)]


class TerseSentence(Frozen):
    """The one claim of one sentence; empty if it makes none. Small judges lose their place in nested lists."""

    claim: Annotated[str, Field(max_length=400)]
    type: ClaimType
    support: Position


class Extraction(NamedTuple):
    """The claims of one report."""

    claims: tuple[Claim, ...]
    failures: tuple[ExtractionFailure, ...]


def extraction_prompt(
    document: Document, shown: frozenset[int] | None, batch: Sequence[Sentence], form: str
) -> Prompt:
    """Return the prompt for one batch. `shown`: indexes of the blocks whose sentences are shown; None for all."""
    targets = "\n".join(
        f"{number}. {sentence.label}: {sentence.text}" for number, sentence in enumerate(batch, 1)
    )
    name = "extract" if form == "full" else "extract_terse"
    report = shared_report(document, shown)
    return Prompt(
        shared=report.shared,
        own=fill(template(name), {"count": str(len(batch)), "targets": fence(targets, "Sentences:")}),
        prefix_key=report.prefix_key,
    )


async def extract_claims(document: Document, judge: Judge, config: ClaimsConfig) -> Extraction:
    """Return all claims of `document`, in reading order."""
    body = [sentence for sentence in document.sentences if document.blocks[sentence.block].role == "body"]
    if config.extraction == "sentences":
        written = (_as_written(document, sentence) for sentence in body)
        return Extraction(claims=tuple(claim for claim in written if claim.text), failures=())
    if not body:
        return Extraction(claims=(), failures=())
    parts = await _parts(document, body, judge, config)
    whole = len(parts) == 1
    return _joined(
        await asyncio.gather(*(_extract_part(document, part, whole, judge, config) for part in parts))
    )


def _joined(results: Sequence[Extraction]) -> Extraction:
    return Extraction(
        claims=tuple(claim for result in results for claim in result.claims),
        failures=tuple(failure for result in results for failure in result.failures),
    )


def _as_written(document: Document, sentence: Sentence) -> Claim:
    """Return a sentence as its claim: class A with a citation, else F, since no judge named possible support."""
    text = without_marks(document, sentence, sentence.text)
    return claim_on(sentence, 1, text, "A" if sentence.citations else "F")


def claim_on(sentence: Sentence, number: int, text: str, type: ClaimType) -> Claim:
    """Return a claim of a sentence; `number`: among the sentence's claims, from 1."""
    return Claim(
        id=f"{sentence.label}.{number}",
        text=text,
        sentence=sentence.label,
        span=sentence.span,
        type=type,
        numeric=is_numeric(text),
        citations=sentence.citations,
    )


async def _parts(
    document: Document, sentences: Sequence[Sentence], judge: Judge, config: ClaimsConfig
) -> list[Part[list[Sentence]]]:
    """Return the sentences of the blocks in one part if the report fits, else halved until every part fits."""
    blocks = [list(block) for _, block in groupby(sentences, key=lambda sentence: sentence.block)]
    units = blocks if config.long_reports == "sections" else [list(sentences)]

    def longest(some: Sequence[list[Sentence]]) -> Sequence[Sentence]:
        batches = _batches(list(chain(*some)), config.batch_sentences)
        return max(batches, key=lambda batch: sum(len(sentence.text) for sentence in batch))

    return await fitting_parts(
        judge,
        units,
        lambda some: extraction_prompt(
            document, _shown(some, whole=len(some) == len(units)), longest(some), config.form
        ),
        lambda some: MIN_REPLY_TOKENS_PER_SENTENCE * len(longest(some)),
    )


def _shown(blocks: Sequence[list[Sentence]], *, whole: bool) -> frozenset[int] | None:
    """Return the indexes of the blocks whose sentences are shown; None for the whole report."""
    return None if whole else frozenset(block[0].block for block in blocks)


def _batches(sentences: Sequence[Sentence], size: int) -> list[Sequence[Sentence]]:
    return [sentences[start : start + size] for start in range(0, len(sentences), size)]


async def _extract_part(
    document: Document, part: Part[list[Sentence]], whole: bool, judge: Judge, config: ClaimsConfig
) -> Extraction:
    sentences = list(chain(*part.items))
    if part.failure is not None:
        return Extraction(claims=(), failures=(_unread(sentences, part.failure, config),))
    shown = _shown(part.items, whole=whole)
    return _joined(
        await asyncio.gather(
            *(
                _extract_batch(document, shown, batch, judge, config)
                for batch in _batches(sentences, config.batch_sentences)
            )
        )
    )


async def _extract_batch(
    document: Document,
    shown: frozenset[int] | None,
    batch: Sequence[Sentence],
    judge: Judge,
    config: ClaimsConfig,
) -> Extraction:
    def prompt_for(indices: Sequence[int]) -> Prompt:
        return extraction_prompt(document, shown, [batch[index] for index in indices], config.form)

    item = FullSentence if config.form == "full" else TerseSentence
    answers = await judge.ask_items(
        prompt_for, item, len(batch), max_tokens=REPLY_TOKENS_PER_SENTENCE[config.form] * len(batch)
    )
    claims: list[Claim] = []
    failures: list[ExtractionFailure] = []
    for sentence, answer in zip(batch, answers, strict=True):
        if isinstance(answer, Failure):
            failures.append(_unread([sentence], answer, config))
        else:
            claims.extend(_claims_of(document, sentence, answer.value))
    return Extraction(claims=tuple(claims), failures=tuple(failures))


def _unread(sentences: Sequence[Sentence], failure: Failure, config: ClaimsConfig) -> ExtractionFailure:
    labels = tuple(sentence.label for sentence in sentences)
    most = MOST_CLAIMS if config.form == "full" else 1
    return ExtractionFailure(sentences=labels, failure=failure, most=most)


def _claims_of(document: Document, sentence: Sentence, read: FullSentence | TerseSentence) -> list[Claim]:
    given: list[tuple[str, ClaimType, list[str], bool | None, bool | None]]
    if isinstance(read, TerseSentence):
        given = [(read.claim, read.type, [read.support], None, None)]
    else:
        given = [(item.claim, item.type, item.support, item.checkable, item.salient) for item in read.claims]
    if sentence.citations and not any(statement.strip() for statement, *_ in given):
        given = [(sentence.text, "A", [], None, None)]
    claims: list[Claim] = []
    seen = {""}
    for statement, judged, named, checkable, salient in given:
        support = tuple(dict.fromkeys(label.strip() for label in named if label.strip()))
        text = without_marks(document, sentence, statement)
        if text in seen:
            continue
        seen.add(text)
        claims.append(
            claim_on(sentence, len(claims) + 1, text, judged).model_copy(
                update={
                    "checkable": checkable,
                    "salient": salient,
                    "evidence_positions": support,
                }
            )
        )
    return cite_claims(document, sentence, claims)


def without_marks(document: Document, sentence: Sentence, statement: str) -> str:
    """Return `statement` on one line, without the label and citation marks of its sentence, which judges often copy.

    Only marks are removed: a link's words stay, and so do "Kim and Lee (2023)", which are part of
    the statement, and a sign that the sentence also uses otherwise ("40 m²" beside a note "²").
    """
    statement = _LABEL.sub("", statement)
    citations = [document.citation(citation_id) for citation_id in sentence.citations]
    marks = Counter(
        document.text[start:end] for start, end in {(cited.span.start, cited.span.end) for cited in citations}
    )
    for cited in citations:
        mark = document.text[cited.span.start : cited.span.end]
        if cited.style == "link":
            statement = statement.replace(mark, _words_of(mark))
        elif cited.style == "author_year" and mark[:1] not in "([（":
            continue
        else:
            written = re.compile(rf"(?<!\d){re.escape(mark)}(?!\d)")  # "1" is no part of "11 percent.1"
            if len(written.findall(sentence.text)) <= marks[mark]:
                statement = written.sub("", statement)
    statement = re.sub(r"\(\s*\)|（\s*）", "", statement)
    return re.sub(r"\s+([.,;:!?])", r"\1", " ".join(statement.split()))


def _words_of(link: str) -> str:
    """Return the words that a reader sees of `[words](url)`; empty where they are a number, which is a mark."""
    words = link[link.find("[") + 1 : max(link.rfind("]("), 0)]
    return "" if re.fullmatch(r"[\[(]?\d*[\])]?", words.strip()) else words
