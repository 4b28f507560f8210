"""What a judge must answer about a statement.

Invariant: an answer names each statement exactly once, with a label of the menu and at most `MOST` quotations, all of
bounded length: evidence first, label last, so that a judge that writes in order has its reasons before its verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import Field, create_model

from local_judge.agents.citations import CheckedCitation
from local_judge.protocols.deepresearcheval.facts.findings import (
    Evidence,
    Label,
    Ruling,
    Stance,
    borne_out,
)
from serving.types import Frozen

MOST = 3
"""Quotations for one statement."""

Quotation = Annotated[str, Field(max_length=300)]
Reasoning = Annotated[str, Field(max_length=400)]


class QuotedPage(Frozen):
    """Words of a page, by its address."""

    url: Annotated[str, Field(min_length=1, max_length=500)]
    quote: Quotation
    stance: Stance


class QuotedPassage(Frozen):
    """Words of a passage, by its number; `by_passages` bounds it."""

    passage: int
    quote: Quotation
    stance: Stance


class ByPages(Frozen):
    """An agent's answer to one statement."""

    evidence: Annotated[tuple[QuotedPage, ...], Field(max_length=MOST)]
    reasoning: Reasoning
    label: Label


class ByPassages(Frozen):
    """A judge's answer by passages that it was given."""

    evidence: tuple[QuotedPassage, ...]
    reasoning: Reasoning
    label: Label


@cache
def by_passages(n: int) -> type[ByPassages]:
    """The type of an answer by `n` passages."""
    number: Any = Annotated[int, Field(ge=1, le=n)]
    passage: Any = create_model("QuotedPassage", __base__=QuotedPassage, passage=(number, ...))
    evidence: Any = Annotated[tuple[passage, ...], Field(max_length=MOST)]
    return create_model("ByPassages", __base__=ByPassages, evidence=(evidence, ...))


@cache
def by_pages(n: int) -> type[Frozen]:
    """The type of an answer to `n` statements, under `s1`, `s2` and so on."""
    fields: Any = {f"s{number}": (ByPages, ...) for number in range(1, n + 1)}
    return create_model("Statements", __base__=Frozen, **fields)


def ruling_of(
    statement: str, answer: ByPages | ByPassages, checked: Sequence[CheckedCitation], replies: tuple[str, ...]
) -> Ruling:
    """What an answer comes to; `checked`: its quotations after code has looked them up."""
    evidence = tuple(
        Evidence(url=found.url, quote=found.quote, stance=quoted.stance, checked=found)
        for found, quoted in zip(checked, answer.evidence, strict=True)
    )
    return Ruling(
        statement=statement,
        label=borne_out(answer.label, evidence),
        given=answer.label,
        evidence=evidence,
        reasoning=answer.reasoning,
        replies=replies,
    )
