"""The prompts of the rubric, and what the judge must answer.

Invariants: report first, then references, request and guidance, then what differs between calls; the score stands after
the quotation and the rationale that it rests on; a score off the scale, or N/A where it is not admitted, is no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from local_judge.claims.report import shared_report
from local_judge.documents.model import Document
from local_judge.judge.layout import Prompt, fence, fill, load_prompt
from local_judge.protocols.deer.rubric.load import bands_for
from local_judge.protocols.deer.rubric.model import Kind, Rubric, Subdimension
from local_judge.protocols.deer.rubric.questions import Call, Group, Question
from local_judge.protocols.deer.settings import DeerSettings
from local_judge.tasks.model import Task

template = partial(load_prompt, "local_judge.protocols.deer.rubric")

S = TypeVar("S")


class Answered(BaseModel, Generic[S]):
    """A judge's answer to one question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Annotated[str, Field(max_length=300)]
    rationale: Annotated[str, Field(max_length=400)]
    score: S


class GuidedAnswer(BaseModel, Generic[S]):
    """A judge's answer to one question that was asked with guidance."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Annotated[str, Field(max_length=300)]
    rationale: Annotated[str, Field(max_length=400)]
    unmet: bool
    score: S


def _number(value: object) -> object:
    """JSON's `true` is no 1, though Python's is."""
    if isinstance(value, bool):
        raise ValueError("true and false are no scores")
    return value


_Number = BeforeValidator(_number)
Five = Annotated[Literal[1, 2, 3, 4, 5], _Number]
FiveOrNot = Annotated[Literal[1, 2, 3, 4, 5, "N/A"], _Number]
Ten = Annotated[Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], _Number]
TenOrNot = Annotated[Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "N/A"], _Number]

Answer = Answered[Any] | GuidedAnswer[Any]

_TYPES: dict[tuple[int, bool, bool], Any] = {
    (5, False, False): Answered[Five],
    (5, False, True): Answered[FiveOrNot],
    (5, True, False): GuidedAnswer[Five],
    (5, True, True): GuidedAnswer[FiveOrNot],
    (10, False, False): Answered[Ten],
    (10, False, True): Answered[TenOrNot],
    (10, True, False): GuidedAnswer[Ten],
    (10, True, True): GuidedAnswer[TenOrNot],
}
"""By scale, whether guidance is shown, and whether the item admits N/A."""


def answer_type(question: Question, guided: bool, settings: DeerSettings) -> type[Answer]:
    """What may be answered to this question."""
    may_not_apply = question.item is not None and question.item.not_applicable is not None
    return cast("type[Answer]", _TYPES[settings.scale, guided, may_not_apply])


def prompt(
    document: Document,
    task: Task,
    rubric: Rubric,
    call: Call,
    settings: DeerSettings,
    questions: Sequence[Question],
) -> Prompt:
    """The prompt that asks some of a call's questions."""
    report = shared_report(document)
    own = [*context(document, task, call.guided), instructions(rubric, call, settings, questions)]
    return Prompt(shared=report.shared, own="\n\n".join(own), prefix_key=report.prefix_key)


def context(document: Document, task: Task, guided: bool) -> list[str]:
    """What a judge has to know beside the report: its references, the request, and the guidance."""
    blocks = [fence(_references(document), "References of the report:")] if document.references else []
    blocks.append(fence(task.prompt, "Request that the report answers:"))
    if guided and task.guidance is not None:
        blocks.append(fence(task.guidance.text, "Expert guidance on this request:"))
    return blocks


def instructions(rubric: Rubric, call: Call, settings: DeerSettings, questions: Sequence[Question]) -> str:
    """What is asked, and how it is to be answered."""
    values = {
        "unmet": template("unmet") + "\n" if call.guided else "",
        "scale": f"a whole number from 1 to {settings.scale}",
        "anchors": _anchors(rubric, call, settings),
        "date": f"The report is judged as of {settings.as_of.isoformat()}.\n\n" if settings.as_of else "",
        "ids": ", ".join(f'"{question.name}"' for question in questions),
    }
    if call.subject:
        return fill(template("whole"), {**values, "subject": call.subject})
    return fill(template("items"), {**values, "items": _listed(call.groups, questions)})


def _references(document: Document) -> str:
    return "\n".join(" ".join(reference.text.split()) for reference in document.references)


def _anchors(rubric: Rubric, call: Call, settings: DeerSettings) -> str:
    if not settings.anchors:
        return f"1 is the worst and {settings.scale} the best.\n\n"
    if call.subject:
        return f"What the scores mean:\n{_bands(rubric, 'quality', settings)}\n\n"
    return (
        f"What the scores of a coverage item mean:\n{_bands(rubric, 'coverage', settings)}\n\n"
        f"What the scores of a quality item mean:\n{_bands(rubric, 'quality', settings)}\n\n"
    )


def _bands(rubric: Rubric, kind: Kind, settings: DeerSettings) -> str:
    """A line for each band, best first."""
    return "\n".join(
        f"{band.low if band.low == band.high else f'{band.low}-{band.high}'}: {band.meaning}"
        for band in bands_for(rubric, kind, settings.scale)
    )


def _listed(groups: Sequence[Group], questions: Sequence[Question]) -> str:
    """The items that are asked, under their sub-dimensions and criteria."""
    asked = {question.path for question in questions}
    lines: list[str] = []
    above: Subdimension | None = None
    for group in groups:
        wanted = [question for question in group.questions if question.path in asked]
        if not wanted or group.subdimension is None or group.criterion is None:
            continue
        if group.subdimension != above:
            above = group.subdimension
            lines.append(f"## {above.label}")
        lines.append(f"{group.criterion.id}. {group.criterion.title}")
        lines += [_line(question) for question in wanted]
    return "\n".join(lines)


def _line(question: Question) -> str:
    item = question.item
    if item is None:
        return f"[{question.name}]"
    condition = f' "N/A" if {item.not_applicable}.' if item.not_applicable else ""
    return f"[{question.name}] ({item.kind}) {item.text}{condition}"
