"""The prompts of RACE, and what the judge must answer.

Invariants: request, criteria and articles are fenced, each under a title that does not reveal its origin, and are byte
for byte the same in all calls that share them; the scores follow the analysis that they rest on; an article is known by
its place alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field

from local_judge.base.model import Frozen
from local_judge.prompts import Prompt, fence, fill, load_prompt, shared_prompt
from local_judge.protocols.asking import no_boolean
from local_judge.protocols.race.findings import TOP, Order
from local_judge.tasks.model import Criteria, Criterion

template = partial(load_prompt, "local_judge.protocols.race")


Points = Annotated[float, Field(ge=0, le=TOP, allow_inf_nan=False), BeforeValidator(no_boolean)]
Analysis = Annotated[str, Field(max_length=500)]


class Compared(Frozen):
    """A judge's answer to one criterion about two articles, in the order in which they were shown."""

    analysis: Analysis
    article_1: Points
    article_2: Points


class Scored(Frozen):
    """A judge's answer about one article."""

    analysis: Analysis
    score: Points


Answer = Compared | Scored


class Articles(NamedTuple):
    """The articles of a prompt, by place."""

    first: str
    second: str | None
    first_is_shared: bool
    """`first` is the reference, which the reports of other systems are compared with too."""


class Question(NamedTuple):
    """All that a comparison's prompts have in common."""

    request: str
    criteria: Criteria | None
    """None asks for one score of the whole."""
    articles: Articles
    order: Order
    language: str
    """Name of the language."""


def prompt(question: Question, asked: Sequence[Criterion]) -> Prompt:
    """Return the prompt that asks for some of the criteria; what other prompts have too comes first."""
    return _laid_out(question, _instructions(question, asked))


def number_prompt(question: Question, criterion: Criterion | None, analysis: str) -> Prompt:
    """Return the prompt that asks for one number on a scale.

    Args:
        question: about one article.
        criterion: the criterion; None for the article as a whole.
        analysis: what the judge has found on it; empty where it has not been asked.
    """
    blocks = [] if criterion is None else [fence(_line(criterion), "Criterion:")]
    if analysis.strip():
        blocks.append(fence(analysis, "What was found:"))
    if criterion is None:
        blocks.append(fill(template("number_whole"), {"scale": _scale("request")}))
    else:
        blocks.append(template("number"))
    return _laid_out(question, "\n\n".join(blocks))


def _laid_out(question: Question, instructions: str) -> Prompt:
    blocks = [fence(question.request, "Request:")]
    articles = question.articles
    listed = [] if question.criteria is None else [_format_criteria(question.criteria)]
    criteria_last = question.order == "paper" and articles.second is not None
    if not criteria_last:
        blocks += listed
    if articles.second is None:
        shown = [fence(articles.first, "Article:")]
    else:
        shown = [fence(articles.first, "Article 1:"), fence(articles.second, "Article 2:")]
    # Where all reports on a task are read behind the same reference, that is the prefix to wait for.
    n_shared = len(blocks) + (1 if articles.first_is_shared else len(shown))
    blocks += shown
    own = [*blocks[n_shared:], *(listed if criteria_last else [])]
    return shared_prompt("race", "\n\n".join(blocks[:n_shared]), *own, instructions)


def _format_criteria(criteria: Criteria) -> str:
    """Return all criteria under their dimensions, and what the scores mean.

    As in the published code, no weights are shown.
    """
    lines: list[str] = []
    for dimension in criteria.dimensions:
        lines.append(f"## {label(dimension.id)}")
        lines += [_line(criterion) for criterion in dimension.criteria]
    return fence("\n".join(lines), "Criteria, each with its id in brackets:") + "\n\n" + _scale("criterion")


def _line(criterion: Criterion) -> str:
    explanation = f": {' '.join(criterion.explanation.split())}" if criterion.explanation.strip() else ""
    return f"[{criterion.id}] {' '.join(criterion.criterion.split())}{explanation}"


def label(dimension: str) -> str:
    """Return a dimension's name for people."""
    return dimension.replace("_", " ").title()


def _instructions(question: Question, asked: Sequence[Criterion]) -> str:
    if question.criteria is None:
        return fill(template("vanilla"), {"language": question.language, "scale": _scale("request")})
    n_all = sum(len(dimension.criteria) for dimension in question.criteria.dimensions)
    if len(asked) == n_all:
        ids = "all criteria, each exactly once, in the order of the list"
    else:
        ids = f"these criteria and of no others, each exactly once, in this order: {', '.join(one.id for one in asked)}"
    name = "alone" if question.articles.second is None else "compare"
    return fill(template(name), {"language": question.language, "ids": ids})


def _scale(measure: str) -> str:
    return fill(template("scale"), {"measure": measure})
