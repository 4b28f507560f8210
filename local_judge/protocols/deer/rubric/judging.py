"""A judge's grades for the rubric's questions about one report.

Invariants: every item of the rubric is asked in exactly one call and gets exactly one grade; a criterion is never split
between calls. An unanswered question is a failure. A quotation is kept only if it occurs in the report; a score that
guidance capped keeps the judge's own score. A prompt shows report, references, request and guidance first, then what
differs between calls. The score follows the quotation and the rationale that it rests on; a score off the scale, or N/A
for an item that does not allow it, is no answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import BeforeValidator, Field

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.quotes import QuoteFinder
from local_judge.documents.model import Document
from local_judge.judge.judge import Answer as Told
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, fence, fill, load_prompt
from local_judge.protocols.asking import no_boolean
from local_judge.protocols.deer.names import JUDGED, RUBRIC
from local_judge.protocols.deer.rubric.load import bands_for
from local_judge.protocols.deer.rubric.model import (
    Criterion,
    Dimension,
    Grade,
    Item,
    Kind,
    Path,
    Rubric,
    RubricFindings,
    Subdimension,
)
from local_judge.protocols.deer.settings import DeerSettings
from local_judge.rubric.asking import ask_groups, reasons_of, report_prompt
from local_judge.tasks.model import Task

CALLS: tuple[tuple[str, ...], ...] = (*((name,) for name in RUBRIC[:4]), RUBRIC[4:])
"""Dimensions that are asked about together: five calls, as in the published code."""

GUIDED_UPSTREAM = frozenset(RUBRIC[:3])


class Question(NamedTuple):
    """One thing to be scored."""

    path: Path
    id: str
    """Its key in the reply."""
    item: Item | None = None
    """None where a dimension or the report is scored as a whole."""
    subdimension: Subdimension | None = None
    criterion: Criterion | None = None

    @property
    def text(self) -> str:
        """Wording of the question in the rubric; empty if it has none."""
        return self.item.text if self.item else ""


Group = tuple[Question, ...]
"""Questions that stay together: a criterion's, or a single one."""


class Call(NamedTuple):
    """Questions that are asked in one call."""

    groups: tuple[Group, ...]
    subject: str
    """Description of what is scored, for a call without items."""
    guided: bool
    """The guidance is shown."""

    @property
    def questions(self) -> list[Question]:
        """All of them, in order."""
        return [question for group in self.groups for question in group]


def calls_for(rubric: Rubric, settings: DeerSettings, guidance: bool) -> list[Call]:
    """Return the calls about one report.

    Args:
        rubric: the texts.
        settings: mode, guided dimensions, size of a call.
        guidance: whether the task has guidance.
    """
    if settings.mode == "vanilla":
        subject = "how good an answer to the request it is."
        return [Call(((Question((), "report"),),), subject, guidance and settings.guidance == "paper")]
    by_id = {dimension.id: dimension for dimension in rubric.dimensions}
    calls: list[Call] = []
    for names in CALLS:
        dimensions = [by_id[name] for name in names]
        guided = guidance and is_guided(names[0], settings)
        if settings.mode == "dimensions":
            calls += [_whole(dimension, guided) for dimension in dimensions if dimension.id in JUDGED]
        else:
            groups = [group for dimension in dimensions for group in _groups(dimension)]
            calls += [Call(part, "", guided) for part in pack_groups(groups, settings.items_per_call)]
    return calls


def is_guided(dimension: str, settings: DeerSettings) -> bool:
    """Check whether questions of this dimension are asked with the guidance, if there is one."""
    if settings.guidance == "upstream":
        return dimension in GUIDED_UPSTREAM
    return settings.guidance == "paper"


def dimensions_of(call: Call) -> tuple[str, ...]:
    """Return the dimensions that a call asks about; none where the report is scored as a whole."""
    return tuple(dict.fromkeys(question.path[0] for question in call.questions if question.path))


def pack_groups(groups: Sequence[Group], limit: int) -> list[tuple[Group, ...]]:
    """Join consecutive groups of at most `limit` questions together; a longer group is alone."""
    parts: list[list[Group]] = []
    n = 0
    for group in groups:
        if not parts or n + len(group) > limit:
            parts.append([])
            n = 0
        parts[-1].append(group)
        n += len(group)
    return [tuple(part) for part in parts]


def _whole(dimension: Dimension, guided: bool) -> Call:
    subject = f"one dimension, {dimension.label}: {dimension.description}"
    return Call(((Question((dimension.id,), dimension.id),),), subject, guided)


def _groups(dimension: Dimension) -> Iterator[Group]:
    for part in dimension.subdimensions:
        for criterion in part.criteria:
            yield tuple(
                Question(
                    (dimension.id, part.id, criterion.id, item.id),
                    f"{part.id}.{criterion.id}.{item.id}",
                    item,
                    part,
                    criterion,
                )
                for item in criterion.items
            )


MIN_REPLY_TOKENS_PER_ITEM = 100
"""A prompt fits if it leaves at least this much room for each of its questions."""
REPLY_TOKENS_PER_ITEM: Mapping[str, int] = {"short": 260, "paper": 560}
"""Limit of a reply, for each of its questions: 700 or 1,700 characters and the JSON around them."""
ONE_GAP, MORE_GAPS = 6, 4
"""Highest scores of a coverage item with one core gap, and with several (DEER, Figure 8)."""
RATIONALE: Mapping[str, int] = {"short": 400, "paper": 1400}
"""Largest number of characters of a rationale."""

template = partial(load_prompt, "local_judge.protocols.deer.rubric")

S = TypeVar("S")
R = TypeVar("R", bound=str)


class Answered(Frozen, Generic[R, S]):
    """A judge's answer to one question."""

    quote: Annotated[str, Field(max_length=300)]
    rationale: R
    score: S


class GuidedAnswer(Frozen, Generic[R, S]):
    """A judge's answer to one question that was asked with guidance."""

    quote: Annotated[str, Field(max_length=300)]
    rationale: R
    unmet: bool
    score: S


Answer = Answered[Any, Any] | GuidedAnswer[Any, Any]


async def judge_rubric(
    document: Document, task: Task, judge: Judge, rubric: Rubric, settings: DeerSettings
) -> RubricFindings:
    """Return all grades of one report, in the rubric's order."""
    guidance = task.guidance if settings.guidance != "none" else None
    calls = calls_for(rubric, settings, guidance is not None)
    finder = QuoteFinder(document.text)

    async def grades_of(call: Call) -> list[Grade]:
        answers = await ask_groups(
            judge,
            lambda questions: prompt(document, task, rubric, call, settings, questions),
            call.groups,
            lambda question: answer_type(question, call.guided, settings),
            reply_tokens=REPLY_TOKENS_PER_ITEM[settings.evidence],
            min_reply_tokens=MIN_REPLY_TOKENS_PER_ITEM,
        )
        return [
            _grade(question, one, settings, finder)
            for question, one in zip(call.questions, answers, strict=True)
        ]

    async with asyncio.TaskGroup() as group:  # a defect in one call stops the others
        asked = [group.create_task(grades_of(call)) for call in calls]
    grades = {grade.path: grade for one in asked for grade in one.result()}
    order: Sequence[Path] = [path for path, _ in rubric.items()] if settings.mode == "items" else list(grades)
    return RubricFindings(
        mode=settings.mode,
        scale=settings.scale,
        guidance=guidance if any(call.guided for call in calls) else None,
        guided=tuple(dict.fromkeys(name for call in calls if call.guided for name in dimensions_of(call))),
        grades=tuple(grades[path] for path in order),
    )


def answer_type(question: Question, guided: bool, settings: DeerSettings) -> type[Answer]:
    """Return the type of the answer to a question."""
    return _answer_type(
        settings.scale,
        guided,
        bool(question.item and question.item.not_applicable is not None),
        RATIONALE[settings.evidence],
    )


@cache
def _answer_type(scale: int, guided: bool, may_not_apply: bool, rationale: int) -> type[Answer]:
    scores = (*range(1, scale + 1), *(("N/A",) if may_not_apply else ()))
    score: Any = Annotated[Literal[scores], BeforeValidator(no_boolean)]  # type: ignore[valid-type]
    text: Any = Annotated[str, Field(max_length=rationale)]
    return (GuidedAnswer if guided else Answered)[text, score]


def _grade(
    question: Question, reply: Told[Answer] | Failure, settings: DeerSettings, finder: QuoteFinder
) -> Grade:
    if isinstance(reply, Failure):
        return Grade(path=question.path, text=question.text, status="failed", failure=reply)
    answer = reply.value
    judged = None if answer.score == "N/A" else int(answer.score)
    score = judged
    if judged is not None and isinstance(answer, GuidedAnswer) and answer.unmet:
        score = min(judged, settings.cap)
    return Grade(
        path=question.path,
        text=question.text,
        status="not_applicable" if judged is None else "scored",
        score=score,
        judged=judged,
        **reasons_of(reply, finder),
    )


def prompt(
    document: Document,
    task: Task,
    rubric: Rubric,
    call: Call,
    settings: DeerSettings,
    questions: Sequence[Question],
) -> Prompt:
    """Return the prompt that asks some of a call's questions."""
    own = [*context(document, task, call.guided), instructions(rubric, call, settings, questions)]
    return report_prompt(document, own)


def context(document: Document, task: Task, guided: bool) -> list[str]:
    """Return the blocks that a judge needs beside the report: its references, the request, and the guidance."""
    references = "\n".join(" ".join(reference.text.split()) for reference in document.references)
    blocks = [fence(references, "References of the report:")] if document.references else []
    blocks.append(fence(task.prompt, "Request that the report answers:"))
    if guided and task.guidance is not None:
        blocks.append(fence(task.guidance.text, "Expert guidance on this request:"))
    return blocks


def instructions(rubric: Rubric, call: Call, settings: DeerSettings, questions: Sequence[Question]) -> str:
    """Return the instructions of a call: what is asked, and the form of the answer."""
    values = {
        "unmet": template("unmet") + "\n" if call.guided else "",
        "scale": f"a whole number from 1 to {settings.scale}",
        "anchors": _anchors(rubric, call, settings),
        "date": f"The report is judged as of {settings.as_of.isoformat()}.\n\n" if settings.as_of else "",
        "ids": ", ".join(f'"{question.id}"' for question in questions),
    }
    if call.subject:
        return fill(template("whole"), {**values, "subject": call.subject})
    gaps = {"one_gap": str(settings.scaled(ONE_GAP)), "more_gaps": str(settings.scaled(MORE_GAPS))}
    texts = {
        "method": fill(template(f"method_{settings.evidence}"), gaps if settings.evidence == "paper" else {}),
        "rationale": template(f"rationale_{settings.evidence}"),
    }
    return fill(template("items"), {**values, **texts, "items": _list_items(questions)})


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
    """Return a line for each band, best first."""
    return "\n".join(
        f"{band.low if band.low == band.high else f'{band.low}-{band.high}'}: {band.meaning}"
        for band in bands_for(rubric, kind, settings.scale)
    )


def _list_items(questions: Sequence[Question]) -> str:
    """Return the items that are asked, under their sub-dimensions and criteria."""
    lines: list[str] = []
    above: Path = ()
    for question in questions:
        item, part, criterion = question.item, question.subdimension, question.criterion
        if item is None or part is None or criterion is None:
            continue
        if question.path[:2] != above[:2]:
            lines.append(f"## {part.label}")
        if question.path[:3] != above[:3]:
            lines.append(f"{criterion.id}. {criterion.title}")
        above = question.path
        condition = f' "N/A" if {item.not_applicable}.' if item.not_applicable else ""
        lines.append(f"[{question.id}] ({item.kind}) {item.text}{condition}")
    return "\n".join(lines)
