"""Drafting of quality dimensions by a judge (DeepResearchEval, section 4.1).

Invariants: a draft has one to three specific dimensions, a weight for every dimension and one to ten criteria of each,
or is a failure; it depends on the request alone, so that the same task and judge give the same draft for every system.
Dimensions of the judge that are general or named before are left out.

The specific dimensions are asked for first, then concurrently the weights of all dimensions and the criteria of each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, NamedTuple

from pydantic import Field, model_validator

from local_judge.base.failures import Failure
from local_judge.prompts import Prompt, fence, fill, shared_prompt
from local_judge.tasks.dimensions import (
    DIMENSIONS_KIND,
    GENERAL,
    LEAST_SPECIFIC,
    MOST_CRITERIA,
    MOST_SPECIFIC,
    CriterionEntry,
    DimensionEntry,
    DimensionsRow,
    key_of,
)
from local_judge.tasks.drafting import (
    Criterion,
    CriterionList,
    Draft,
    NoDraft,
    Reply,
    language_of,
    limited,
    one_line,
    request_block,
    template,
)
from local_judge.tasks.model import DimensionKind, Task

LEAST_CRITERIA = 1
DIMENSIONS_TOKENS = MOST_SPECIFIC * 200
WEIGHT_TOKENS = 120
"""Tokens of one dimension's weight with its reason."""
CRITERIA_TOKENS = MOST_CRITERIA * 200


Share = Annotated[float, Field(ge=0, le=1, strict=True, allow_inf_nan=False)]


class DraftedDimension(Reply):
    """One specific dimension in a reply."""

    name: Annotated[str, Field(min_length=2, max_length=80)]
    definition: Annotated[str, Field(min_length=8, max_length=400)]


class DimensionsReply(Reply):
    """The specific dimensions."""

    dimensions: Annotated[list[DraftedDimension], Field(min_length=LEAST_SPECIFIC, max_length=MOST_SPECIFIC)]

    @property
    def new(self) -> tuple[DraftedDimension, ...]:
        """Dimensions with a new name, neither general nor named before."""
        named: dict[str, DraftedDimension] = {}
        for one in self.dimensions:
            if (key := key_of(one.name)) not in GENERAL:
                named.setdefault(key, one)
        return tuple(named.values())

    @model_validator(mode="after")
    def _some_are_new(self) -> DimensionsReply:
        if not all(key_of(one.name) for one in self.dimensions) or not self.new:
            raise ValueError("no dimension has a name of its own")
        return self


class Weighed(Reply):
    """The weight of one dimension."""

    reason: Annotated[str, Field(max_length=300)]
    weight: Share


class DraftedCriterion(Criterion):
    """One criterion in a reply."""

    explanation: Annotated[str, Field(min_length=8, max_length=400)]
    weight: Share


CriteriaReply = limited(CriterionList, DraftedCriterion, MOST_CRITERIA, LEAST_CRITERIA)


class _Named(NamedTuple):
    """Dimension without weight and criteria."""

    id: str
    name: str
    definition: str
    kind: DimensionKind

    @property
    def line(self) -> str:
        """Line of the list that the judge is shown."""
        return f"[{self.id}] {self.name}: {self.definition}"


_GENERAL = tuple(_Named(name, *shown, "general") for name, shown in GENERAL.items())


async def draft_dimensions(draft: Draft) -> DimensionsRow:
    """Draft all dimensions; all prompts share the request as prefix. Raises NoDraft."""
    task, judge = draft.task, draft.judge
    reply = await judge.ask(dimensions_prompt(task), DimensionsReply, max_tokens=DIMENSIONS_TOKENS)
    named = [*_GENERAL, *map(_specific, draft.take(reply, "specific dimensions").new)]

    def weights_for(indices: Sequence[int]) -> Prompt:
        return weights_prompt(task, named, [named[index].id for index in indices])

    weights, lists = await asyncio.gather(
        judge.ask_items(
            weights_for,
            Weighed,
            len(named),
            names=[one.id for one in named],
            max_tokens=WEIGHT_TOKENS * len(named),
        ),
        asyncio.gather(
            *(
                judge.ask(criteria_prompt(task, named, one), CriteriaReply, max_tokens=CRITERIA_TOKENS)
                for one in named
            )
        ),
    )
    entries: list[DimensionEntry] = []
    for one, weighed, criteria in zip(named, weights, lists, strict=True):
        weight = draft.take(weighed, f"weight of {one.id}").weight
        entries.append(_entry(one, weight, draft.take(criteria, f"criteria of {one.id}").criteria))
    if not sum(entry.weight for entry in entries):
        detail = "the judge gives every dimension the weight 0"
        raise NoDraft(Failure(kind="invalid_reply", detail=detail))
    return DimensionsRow(
        task_id=task.id,
        task=task.prompt,
        dimensions=tuple(entries),
        status="drafted",
        **await draft.origin(),
    )


DIMENSIONS_DRAFTS = DIMENSIONS_KIND.drafts(draft_dimensions, at_once=8)
"""Drafts of six to nine calls each."""


def _specific(drafted: DraftedDimension) -> _Named:
    name, definition = map(one_line, (drafted.name, drafted.definition))
    return _Named(key_of(name), name, definition, "specific")


def _entry(named: _Named, weight: float, criteria: Sequence[Criterion]) -> DimensionEntry:
    return DimensionEntry(
        name=named.name,
        definition=named.definition,
        kind=named.kind,
        weight=weight,
        criteria=tuple(
            CriterionEntry(
                criterion=one_line(one.criterion),
                explanation=one_line(one.explanation),
                weight=one.weight,
            )
            for one in criteria
        ),
    )


def dimensions_prompt(task: Task) -> Prompt:
    """Return the prompt that asks for the specific dimensions."""
    values = {
        "general": "; ".join(one.definition for one in _GENERAL),
        "language": language_of(task),
        "least": str(LEAST_SPECIFIC),
        "most": str(MOST_SPECIFIC),
    }
    return shared_prompt("dimensions", request_block(task), fill(template("dimensions"), values))


def weights_prompt(task: Task, named: Sequence[_Named], asked: Sequence[str]) -> Prompt:
    """Return the prompt that asks for the weights of some dimensions, behind all of them."""
    own = fill(template("dimension_weights"), {"language": language_of(task)})
    if len(asked) < len(named):
        own += f"\nOf these dimensions only: {', '.join(asked)}."
    return shared_prompt("dimensions", request_block(task), _listed(named), own)


def criteria_prompt(task: Task, named: Sequence[_Named], asked: _Named) -> Prompt:
    """Return the prompt that asks for the criteria of one dimension, behind all of them."""
    values = {
        "dimension": asked.id,
        "language": language_of(task),
        "least": str(LEAST_CRITERIA),
        "most": str(MOST_CRITERIA),
    }
    own = fill(template("dimension_criteria"), values)
    return shared_prompt("dimensions", request_block(task), _listed(named), own)


def _listed(named: Sequence[_Named]) -> str:
    """Return the list of dimensions in a fence, because a judge wrote some of them after reading a request."""
    return fence("\n".join(one.line for one in named), "Dimensions, each with its id in brackets:")
