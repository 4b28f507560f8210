"""The prompt of analysis depth, and what the judge must answer.

Invariant: a prompt opens with the first report as all other prompts about that report do. So with the report first the
other metrics' prefix is used again, and with the baseline first the reports of all systems stand behind one prefix.
Nothing in it tells which of the two is judged.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from local_judge.claims.report import shared_report
from local_judge.documents.model import Document
from local_judge.judge.layout import Prompt, fence, load_prompt
from local_judge.protocols.liveresearchbench.depth.findings import TOP

template = partial(load_prompt, "local_judge.protocols.liveresearchbench.depth")


def _number(value: object) -> object:
    """JSON's `true` is no 1, though Python's is."""
    if isinstance(value, bool):
        raise ValueError("true and false are no scores")
    return value


Points = Annotated[int, Field(ge=0, le=TOP), BeforeValidator(_number)]
Flaw = Annotated[str, Field(max_length=200)]


class Scores(BaseModel):
    """A judge's scores of one report; it is asked for no total."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    granularity: Points
    insight: Points
    critique: Points
    evidence: Points
    density: Points


class Compared(BaseModel):
    """A judge's answer about two reports in the order in which they were shown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    analysis: Annotated[str, Field(max_length=700)]
    first_flaws: Annotated[list[Flaw], Field(max_length=3)]
    second_flaws: Annotated[list[Flaw], Field(max_length=3)]
    first: Scores
    second: Scores
    winner: Literal["first", "second", "tie"]


def prompt(request: str, first: Document, second: Document) -> Prompt:
    """The question about two reports on one request."""
    shared, prefix_key = shared_report(first)
    own = (fence(request, "Request:"), fence(second.labelled(), "Second report:"), template("compare"))
    return Prompt(shared=shared, own="\n\n".join(own), prefix_key=prefix_key)
