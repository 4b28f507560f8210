"""A report divided by the judge.

Invariant: the judge names sentences by their labels and never writes their text; what it names is a partition or no
answer: labels of the report, each once, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from local_judge.claims.report import shared_report
from local_judge.documents.model import Document
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, load_prompt
from local_judge.protocols.deepresearcheval.facts.segments import Segment, body_sentences, cut_segments
from local_judge.protocols.deepresearcheval.facts.settings import SegmentSettings

template = partial(load_prompt, "local_judge.protocols.deepresearcheval.facts")

REPLY_TOKENS = 12
"""Limit of a reply, for each label that may be named."""
MOST = 100
"""Most segments that a judge may name."""


class Begins(BaseModel):
    """Labels of the sentences that begin a segment; `answer_type` bounds them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    begins: list[str]


class Cut(NamedTuple):
    """The segments, and why they are code's where the judge was to make them."""

    segments: tuple[Segment, ...]
    failure: Failure | None = None


def answer_type(labels: Sequence[str]) -> type[Begins]:
    """The type of a partition of these sentences."""
    label = Annotated[str, Field(max_length=12)]
    most = min(len(labels), MOST)
    begins: Any = Annotated[list[label], Field(max_length=most), AfterValidator(_in_order(labels))]
    return create_model("Begins", __base__=Begins, begins=(begins, ...))


def _in_order(labels: Sequence[str]) -> Callable[[list[str]], list[str]]:
    places = {label: place for place, label in enumerate(labels)}

    def check(begins: list[str]) -> list[str]:
        unknown = [label for label in begins if label not in places]
        if unknown:
            raise ValueError(f"{len(unknown)} labels of no sentence")
        named = [places[label] for label in begins]
        if named != sorted(set(named)):
            raise ValueError("labels twice or out of order")
        return begins

    return check


def cutting_prompt(document: Document) -> Prompt:
    """The question for all beginnings."""
    opening = shared_report(document)
    return Prompt(shared=opening.shared, own=template("segments"), prefix_key=opening.prefix_key)


async def cut(document: Document, judge: Judge, sizes: SegmentSettings) -> Cut:
    """The segments of a report, by whom the settings say; by code too where the judge fails."""
    labels = [sentence.label for sentence in body_sentences(document)]
    if sizes.by == "code" or not labels:
        return Cut(cut_segments(document, sizes))
    told = await judge.ask(
        cutting_prompt(document), answer_type(labels), max_tokens=REPLY_TOKENS * min(len(labels), MOST)
    )
    if isinstance(told, Failure):
        return Cut(cut_segments(document, sizes), told)
    return Cut(cut_segments(document, sizes, {labels[0], *told.value.begins}))
