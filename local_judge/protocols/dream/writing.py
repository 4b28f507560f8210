"""Writing quality, 0 to 100: ten sub-dimensions in three dimensions (DREAM, section 3 and Table 3).

    S_d = sum over the sub-dimensions of d of weight * score            weights of a dimension sum to 1
    WQ  = (S_ideas + S_organization + S_fluency) / 3

A sub-dimension's score is the mean over the judges that gave one. A sub-dimension without a score is left out of its
dimension, whose other weights are scaled up, and opens the bounds with 0 and with 100.

Invariants: with all ten scores, WQ is the formula's and its bounds are WQ. The report opens the prompt as in all
protocols, so that its prefill is shared; the prompt has the requirements, without weights or totals. The requirements
are in our own words; names and weights are the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Annotated, Literal, Self, get_args

from pydantic import BeforeValidator, Field, model_validator

from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.prompts import fill, load_prompt
from local_judge.protocols.asking import Requirement, no_boolean, rate
from local_judge.protocols.base import Case, Decision, EvalContext
from local_judge.protocols.metric import Metric, MetricFindings
from local_judge.rubric.answers import ItemRow, Rating
from local_judge.scoring.algebra import answers, failures_of, mean_of_answers, weighted
from local_judge.scoring.node import Profile, ScoreNode, node, noted

MOST = 100.0

DimensionId = Literal["ideas", "organization", "fluency"]

DIMENSIONS: tuple[DimensionId, ...] = get_args(DimensionId)

LABELS: dict[DimensionId, str] = {
    "ideas": "Ideas and content",
    "organization": "Organization",
    "fluency": "Sentence fluency",
}


class Subdimension(Frozen):
    """Sub-dimension with its weight."""

    id: str
    dimension: DimensionId
    label: str
    weight: float
    text: str
    """Question for the judge."""


SUBDIMENSIONS = tuple(
    Subdimension.model_validate_json(row)
    for row in files("local_judge.protocols.dream")
    .joinpath("prompts", "writing_subdimensions.jsonl")
    .read_text("utf-8")
    .splitlines()
)

IDS: tuple[str, ...] = tuple(one.id for one in SUBDIMENSIONS)


def of_dimension(dimension: DimensionId) -> tuple[Subdimension, ...]:
    """Return the sub-dimensions of one dimension, in order."""
    return tuple(one for one in SUBDIMENSIONS if one.dimension == dimension)


class WritingSettings(Frozen):
    """Settings of writing quality."""

    calls: Literal["one", "dimension", "subdimension"] = "one"
    """Sub-dimensions per call: all ten, those of a dimension, or one. All calls share the report. The paper's words
    suggest one; with fewer calls each sub-dimension is judged less independently."""


class WritingFindings(MetricFindings):
    """Ten sub-dimensions of one report, in their order, each with a score or a failure."""

    subdimensions: tuple[Rating, ...]

    @property
    def n_failed(self) -> int:
        """Number of sub-dimensions without an answer."""
        return sum(one.score is None for one in self.subdimensions)

    @model_validator(mode="after")
    def _all_ten(self) -> Self:
        ids = tuple(one.id for one in self.subdimensions)
        if ids != IDS:
            raise ValueError(f"sub-dimensions {list(ids)}, not {list(IDS)}")
        return self


class Mark(Frozen):
    """Answer of a judge about one sub-dimension; the evidence comes first."""

    quote: Annotated[str, Field(max_length=400)]
    rationale: Annotated[str, Field(max_length=400)]
    score: Annotated[int, Field(ge=0, le=100), BeforeValidator(no_boolean)]


class Writing(Metric[WritingSettings, WritingFindings]):
    """Ten sub-dimensions in three dimensions, 0 to 100."""

    id = "writing"
    label = "Writing quality"
    vertical = "presentation"
    needs_task = False

    async def examine(self, case: Case, context: EvalContext) -> WritingFindings:
        """Score all ten sub-dimensions of one report."""

        def wording(asked: Sequence[Requirement]) -> str:
            question = load_prompt("local_judge.protocols.dream", "writing")
            return fill(question, {"aspects": "\n".join(one.line for one in asked)})

        groups = {
            "one": [SUBDIMENSIONS],
            "dimension": [of_dimension(dimension) for dimension in DIMENSIONS],
            "subdimension": [(one,) for one in SUBDIMENSIONS],
        }[self.settings.calls]
        calls = [[Requirement(one.id, one.text) for one in group] for group in groups]
        return WritingFindings(subdimensions=await rate(case.report, context.judge, wording, calls, Mark))

    def score(self, judges: Sequence[WritingFindings], profile: Profile) -> ScoreNode:
        """Score WQ of one report, with its dimensions and their sub-dimensions."""
        merged = zip(SUBDIMENSIONS, *(found.subdimensions for found in judges), strict=True)
        nodes = {
            asked.id: node(asked.id, asked.label, answers([one.score for one in same], 0.0, MOST))
            for asked, *same in merged
        }
        dimensions = tuple(_dimension(dimension, nodes) for dimension in DIMENSIONS)
        whole = mean_of_answers([node.score for node in dimensions])
        return self.node(noted(whole, failures_of(whole), _note_unquoted(judges)), dimensions)

    def decisions(self, findings: WritingFindings) -> Iterator[Decision]:
        """Yield the score of each sub-dimension."""
        for asked, one in zip(SUBDIMENSIONS, findings.subdimensions, strict=True):
            yield Decision(
                metric=f"writing.{asked.dimension}", item=asked.id, value=one.score, scale="interval"
            )

    def items(self, findings: WritingFindings) -> Iterator[ItemRow]:
        """Yield each sub-dimension with its score, 0 to 100."""
        for asked, one in zip(SUBDIMENSIONS, findings.subdimensions, strict=True):
            yield one.row(f"writing.{asked.dimension}", one.id, one.score, asked.text)

    def lines(self, findings: WritingFindings) -> Iterator[str]:
        """Yield the numbers of scored sub-dimensions and of rejected quotations."""
        n, n_failed = len(findings.subdimensions), findings.n_failed
        rejected = sum(one.quote_rejected is not None for one in findings.subdimensions)
        yield f"writing: {n - n_failed} of {n} sub-dimensions scored; {count(rejected, 'quotation')} rejected"


def _dimension(dimension: DimensionId, nodes: dict[str, ScoreNode]) -> ScoreNode:
    parts = [(one.weight, nodes[one.id]) for one in of_dimension(dimension)]
    return node(
        dimension,
        LABELS[dimension],
        weighted([(weight, node.score) for weight, node in parts]),
        (node for _, node in parts),
    )


def _note_unquoted(judges: Sequence[WritingFindings]) -> str:
    """Return a note on scores without a quotation."""
    scored = [one for found in judges for one in found.subdimensions if one.score is not None]
    n = sum(one.quote is None for one in scored)
    return f"{n} of {len(scored)} scores without a quotation that occurs in the report" if n else ""
