"""Claims with the prompts of DEER: extracted from labelled sentences, and back-tracked.

Invariants: the messages and the number of attempts are those of the published `info_verification`; replies are read as
they read them, all claims of a call or none. Sentences are cut by this package, and numbers of sources that the report
does not cite are left out.
"""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ValidationError

from indexes.snapshot import Snapshot
from local_judge.base.failures import Failure
from local_judge.claims.backtrack import trace
from local_judge.claims.build import gather_sources
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import VERIFIABLE, Claim, ClaimSet, ClaimType, ExtractionFailure
from local_judge.documents.model import Document, Sentence
from local_judge.documents.sentences import split_sentences
from local_judge.judge.judge import Judge
from local_judge.protocols.originals import (
    Original,
    asked_as_published,
    message,
    read_json,
    with_line_feeds,
)
from serving.types import ReasoningEffort

M = TypeVar("M", bound=BaseModel)

BATCH = 20
"""Sentences in one call."""
EXTRACTION_TOKENS = 16_384
MOST_CLAIMS = EXTRACTION_TOKENS // 16
"""Claims that fit in one reply: the keys of a claim alone have 16 tokens."""
EFFORT: ReasoningEffort = "low"
"""Effort of all calls, for models that distinguish several."""


class Labelled(NamedTuple):
    """A report as the published code shows it."""

    text: str
    """Headings, and sentences with their labels."""
    sentences: dict[str, str]
    """Texts of the sentences, by label."""


def label_sentences(document: Document, headings: Sequence[str]) -> Labelled:
    """Return the report before its references, its sentences labelled by the blocks between empty lines.

    Args:
        document: the report.
        headings: texts of which the first that occurs begins the references.
    """
    text = with_line_feeds(document.text)
    found = next((heading for heading in headings if heading in text), None)
    body = (text if found is None else text.partition(found)[0]).strip()
    lines: list[str] = []
    sentences: dict[str, str] = {}
    for number, block in enumerate(map(str.strip, body.split("\n\n")), 1):
        if not block:
            continue
        if block.startswith("#"):
            heading, _, block = block.partition("\n")
            lines.append(heading.strip())
            block = block.strip()
            if not block:
                continue
        ranges = split_sentences(block, (), document.language)
        for place, (start, end) in enumerate(ranges, 1):
            label, sentence = f"L{number}.S{place}", block[start:end]
            sentences[label] = sentence
            lines.append(f"{label}: {sentence}")
        lines.append("")
    return Labelled("\n".join(lines), sentences)


class StatedClaim(BaseModel):
    """Claim of a reply; other keys are left out."""

    position: str
    claim: str
    claim_type: ClaimType
    rationale: str
    numeric: bool
    citations: list[str] | None = None
    implicit_citations: list[str] | None = None
    cross_references: list[str] | None = None


class StatedClaims(BaseModel):
    """Reply of an extraction; other keys are left out."""

    claims: list[StatedClaim]


def read_claims(reply: str, labels: Mapping[str, str]) -> list[StatedClaim]:
    """Return the claims of a reply, which name sentences by their labels. Raises ValueError."""
    if not reply.strip():
        return []
    claims = validated(StatedClaims, reply).claims
    unknown = [claim.position for claim in claims if claim.position not in labels]
    if unknown:
        raise ValueError(f"no sentence has the label {unknown[0][:20]!r}")
    return claims


async def extract(
    document: Document, snapshot: Snapshot, judge: Judge, config: ClaimsConfig, *, prompts: Original
) -> ClaimSet:
    """Return the claims of a document with their sources, and no verdict yet."""
    if not document.sentences:
        return ClaimSet(document=document.id, n_sentences=0, claims=(), sources=(), verdicts=())
    shown = label_sentences(document, prompts.texts["reference_headings"])
    listed = [f"{label}: {text}" for label, text in shown.sentences.items()]
    system = prompts.template("extraction_system").fill(
        prompt_content=prompts.texts["extraction_instructions"]
    )
    user = prompts.template("extraction_user")
    targets = next(name for _, name in reversed(user.parts) if name is not None)
    asked = asked_as_published(judge, attempts=1, max_tokens=EXTRACTION_TOKENS, reasoning_effort=EFFORT)
    batches = [range(start, min(start + BATCH, len(listed))) for start in range(0, len(listed), BATCH)]
    replies = await asyncio.gather(
        *(
            asked.ask_text(
                message(
                    user.fill(
                        report_text=shown.text,
                        **{targets: "\n".join(listed[number] for number in batch)},
                    ),
                    system,
                ),
                lambda reply: read_claims(reply, shown.sentences),
                schema=_EXTRACTION,
            )
            for batch in batches
        )
    )
    places = _places(document, shown)
    labels = list(shown.sentences)
    lost = [
        ([labels[number] for number in batch], reply)
        for batch, reply in zip(batches, replies, strict=True)
        if isinstance(reply, Failure)
    ]
    stated = [one for reply in replies if not isinstance(reply, Failure) for one in reply.value]
    claims = _trace_citations(stated, document, places, {label for batch, _ in lost for label in batch})
    return ClaimSet(
        document=document.id,
        n_sentences=len(document.sentences),
        claims=claims,
        sources=gather_sources(claims, document, snapshot, upstream=True),
        verdicts=(),
        extraction_failures=tuple(
            ExtractionFailure(
                sentences=tuple(dict.fromkeys(places[label].label for label in batch)),
                failure=failure,
                most=MOST_CLAIMS,
                any_citation=True,
            )
            for batch, failure in lost
        ),
    )


def _places(document: Document, shown: Labelled) -> dict[str, Sentence]:
    """Return the sentence of the document in which the first line of each labelled sentence ends."""
    starts = [sentence.span.start for sentence in document.sentences]
    places: dict[str, Sentence] = {}
    after = 0
    for label, text in shown.sentences.items():
        line = text.partition("\n")[0]
        start = document.text.find(line, after)
        end = (after if start < 0 else start) + len(line)
        places[label] = document.sentences[max(bisect_right(starts, end - 1) - 1, 0)]
        if start >= 0:
            after = end
    return places


def _trace_citations(
    stated: Sequence[StatedClaim], document: Document, places: Mapping[str, Sentence], unread: Collection[str]
) -> tuple[Claim, ...]:
    """Return the claims with the citations that they state, and those that back-tracking recovers.

    Back-tracking knows the published labels only: the citations of a sentence are those of its claims. `unread`:
    positions whose claims are unknown.
    """
    by_key = {citation.key: citation.id for citation in reversed(document.citations)}
    numbers = Counter[str]()
    claims: list[Claim] = []
    implicit: dict[str, list[str]] = {}
    written: dict[str, list[str]] = {label: [] for label in places}
    for one in stated:
        sentence = places[one.position]
        numbers[sentence.label] += 1
        claim = Claim(
            id=f"{sentence.label}.{numbers[sentence.label]}",
            text=one.claim,
            sentence=one.position,
            span=sentence.span,
            type=one.claim_type,
            numeric=one.numeric,
            evidence_positions=tuple(one.cross_references or ()),
        )
        if claim.type in VERIFIABLE:
            citations = dict.fromkeys(_cited_ids(one.citations, by_key))
            claim = claim.model_copy(update={"citations": tuple(citations)})
            implicit[claim.id] = _cited_ids(one.implicit_citations, by_key)
            written[one.position] += citations
        claims.append(claim)
    found = trace(claims, written, unread=unread, implicit=implicit).claims
    return tuple(
        claim.model_copy(
            update={
                "sentence": places[claim.sentence].label,
                "recovered_from": tuple(dict.fromkeys(places[at].label for at in claim.recovered_from)),
            }
        )
        for claim in found
    )


def _cited_ids(given: Sequence[str] | None, by_key: Mapping[str, str]) -> list[str]:
    """Return the ids of citations that a reply gives by number."""
    keys = (one.strip().strip("[]").strip() for one in given or ())
    return [by_key[key] for key in keys if key in by_key]


def validated(kind: type[M], reply: str) -> M:
    """Return a reply that is JSON of a type. Raises ValueError."""
    try:
        return kind.model_validate(read_json(reply))
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise ValueError(f"the reply has no valid {place or 'object'}") from None


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_schema(items: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a list."""
    return {"type": "array", "items": items}


TEXT, FLAG = cast("tuple[dict[str, Any], dict[str, Any]]", ({"type": "string"}, {"type": "boolean"}))

_EXTRACTION = json.dumps(
    object_schema(
        claims=list_schema(
            object_schema(
                position=TEXT,
                claim=TEXT,
                claim_type={"enum": ["A", "B", "C", "D", "E", "F"]},
                rationale=TEXT,
                numeric=FLAG,
                citations=list_schema(TEXT),
                implicit_citations=list_schema(TEXT),
                cross_references=list_schema(TEXT),
            )
        )
    )
)
"""Schema of the published type of a reply."""
