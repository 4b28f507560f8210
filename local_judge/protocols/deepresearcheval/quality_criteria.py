"""Scores of a report by the criteria of its task's dimensions.

Invariants: each criterion of all dimensions has exactly one score, in their order, or a failure. Without dimensions
there is the failure of drafting them, and no score. All prompts about one report share the request and the
instructions, with the criteria last; weights are not shown, as in the published code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from indexes.text.language import detect_language
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.model import Quote
from local_judge.claims.quotes import QuoteFinder
from local_judge.documents.model import Document
from local_judge.judge.judge import Answer, Judge
from local_judge.prompts import fence, fill, load_prompt
from local_judge.protocols.asking import Requirement, ask_each, evaluated_on, look_up
from local_judge.protocols.metric import MetricFindings
from local_judge.tasks.drafting import language_name
from local_judge.tasks.model import Criterion, QualityDimension, QualityDimensions

TOP = 10.0
"""Highest score; the lowest is 0."""

Calls = Literal["dimension", "task"]
"""`dimension`: one call for each dimension, as in the published code. `task`: one call for all criteria, noted in the
findings."""

Origin = Literal["task", "judge"]
"""Origin of the dimensions. `task`: part of the task. `judge`: drafted by this judge in this run."""


class CriterionScore(Frozen):
    """Answer to one criterion."""

    criterion: str
    """Id of the criterion."""
    score: float | None = Field(default=None, ge=0, le=TOP, allow_inf_nan=False)
    """Score to two decimals; None if it failed."""
    analysis: str = ""
    """Reason given by the judge."""
    quote: Quote | None = None
    """Passage of the report that code has found; offsets into the report's text."""
    quote_rejected: str | None = None
    """Quotation of the judge that does not occur in the report."""
    failure: Failure | None = None
    """Reason why there is no score."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class QualityFindings(MetricFindings):
    """All criteria of one report."""

    dimensions: QualityDimensions | None
    """Dimensions as the judge saw them, with the weights of the scores; None if drafting failed."""
    origin: Origin
    drafted_by: tuple[str, ...] = ()
    """Ledger keys of the replies that drafted them."""
    calls: Calls = "dimension"
    """Setting of the run."""
    failure: Failure | None = None
    """Reason why there are no dimensions."""
    scores: tuple[CriterionScore, ...] = ()
    """Scores in the order of the criteria."""

    @property
    def n_failed(self) -> int:
        """Number of criteria without an answer, or 1 if there are no dimensions."""
        return sum(one.failure is not None for one in self.scores) + (self.failure is not None)

    @property
    def n_rejected(self) -> int:
        """Number of quotations that do not occur in the report."""
        return sum(one.quote_rejected is not None for one in self.scores)

    @property
    def by_criterion(self) -> dict[str, CriterionScore]:
        """Answers by the ids of their criteria."""
        return {one.criterion: one for one in self.scores}

    @model_validator(mode="after")
    def _complete(self) -> Self:
        dimensions = self.dimensions.dimensions if self.dimensions else ()
        wanted = [one.id for dimension in dimensions for one in dimension.criteria]
        found = [one.criterion for one in self.scores]
        if found != wanted or max(Counter(found).values(), default=1) > 1:
            raise ValueError(f"scores of {found}, not of {wanted}")
        if (self.failure is None) is (self.dimensions is None):
            raise ValueError("either dimensions, or the failure that there are none")
        if any((one.score is None) is (one.failure is None) for one in self.scores):
            raise ValueError("a criterion has a score, or a failure")
        return self


REPLY_TOKENS = 320
"""Limit of a reply, for each criterion: 900 characters and the JSON around them."""
DECIMALS = 2


class Scored(Frozen):
    """Answer of a judge to one criterion."""

    quote: Annotated[str, Field(max_length=400)]
    analysis: Annotated[str, Field(max_length=500)]
    score: Annotated[
        float,
        Field(ge=0, le=TOP, strict=True, allow_inf_nan=False),
        AfterValidator(lambda value: round(value, DECIMALS)),
    ]


class DimensionCriterion(NamedTuple):
    """Criterion with its dimension."""

    dimension: QualityDimension
    criterion: Criterion


async def score_criteria(
    document: Document,
    request: str,
    dimensions: QualityDimensions,
    judge: Judge,
    calls: Calls,
    today: date | None,
) -> tuple[CriterionScore, ...]:
    """Return the judge's answer to each criterion of all dimensions, in their order."""
    asked = {
        criterion.id: DimensionCriterion(dimension, criterion)
        for dimension in dimensions.dimensions
        for criterion in dimension.criteria
    }
    shared = {
        "today": evaluated_on(today),
        "request": fence(request, "Request:"),
        "language": language_name(detect_language(request)),
    }

    def wording(some: Sequence[Requirement]) -> str:
        return _wording(shared, [asked[one.id] for one in some])

    batches = [list(asked)]
    if calls == "dimension":
        batches = [[one.id for one in dimension.criteria] for dimension in dimensions.dimensions]
    replies = await ask_each(
        document,
        judge,
        wording,
        [[Requirement(id, asked[id].criterion.criterion) for id in batch] for batch in batches],
        Scored,
        reply_tokens=REPLY_TOKENS,
    )
    finder = QuoteFinder(document.text)
    return tuple(_score(id, answer, finder) for id, answer in zip(asked, replies, strict=True))


def _wording(shared: Mapping[str, str], asked: Sequence[DimensionCriterion]) -> str:
    """Return the question for some criteria, under their dimensions."""
    lines: list[str] = []
    above: str | None = None
    for dimension, criterion in asked:
        if dimension.id != above:
            lines.append(f"## {_line(dimension.name, dimension.definition)}")
            above = dimension.id
        lines.append(f"[{criterion.id}] {_line(criterion.criterion, criterion.explanation)}")
    criteria = fence("\n".join(lines), "Criteria, each with its id in brackets:")
    return fill(
        load_prompt("local_judge.protocols.deepresearcheval", "quality"), {**shared, "criteria": criteria}
    )


def _line(name: str, text: str) -> str:
    """Return a name and its definition, if given, in one line."""
    words = " ".join(text.split())
    return " ".join(name.split()) + (f": {words}" if words else "")


def _score(criterion: str, reply: Answer[Scored] | Failure, finder: QuoteFinder) -> CriterionScore:
    if isinstance(reply, Failure):
        return CriterionScore(criterion=criterion, failure=reply)
    answer = reply.value
    return CriterionScore(
        criterion=criterion,
        score=answer.score,
        analysis=answer.analysis,
        **look_up(answer.quote, finder),
        replies=reply.replies,
    )
