"""DEER's rubric with the published prompts: five calls, each for all items of its dimensions.

Invariants: the messages and the number of attempts are those of the published `run_report_evaluation.py`; a reply is
read as its models read it: all items of the call, or none. A score off the scale of 1 to 10 is a failure of its item.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any, Literal, cast

from pydantic import TypeAdapter, ValidationError

from local_judge.base.failures import Failure
from local_judge.documents.model import Document
from local_judge.judge.judge import Answer, Judge
from local_judge.protocols.asking import require_input
from local_judge.protocols.deer.original_prompts import RUBRIC_CALLS
from local_judge.protocols.deer.rubric.judging import GUIDED_UPSTREAM, Question, calls_for
from local_judge.protocols.deer.rubric.model import HIGHEST, LOWEST, Grade, Rubric, RubricFindings
from local_judge.protocols.deer.settings import DeerSettings
from local_judge.protocols.originals import (
    Original,
    asked_as_published,
    message,
    read_json,
    with_line_feeds,
)
from local_judge.tasks.model import Task

ATTEMPTS = 5


async def judge_rubric(
    document: Document, task: Task, judge: Judge, rubric: Rubric, prompts: Original
) -> RubricFindings:
    """Return all grades of one report, in the rubric's order."""
    guidance = require_input(task.guidance)
    calls = calls_for(rubric, DeerSettings(guidance="upstream"), guidance=True)
    asked = asked_as_published(judge, attempts=ATTEMPTS)
    report = with_line_feeds(document.text)

    async def grades_of(name: str, questions: Sequence[Question]) -> list[Grade]:
        system, user = (
            template.fill(query=task.prompt, doc=report, core_criteria=guidance.text)
            for template in prompts.texts[name]
        )
        answer = await asked.ask_text(
            message(user, system), lambda reply: read_grades(reply, questions), schema=_schema(questions)
        )
        return [_grade(question, answer) for question in questions]

    found = await asyncio.gather(
        *(grades_of(name, call.questions) for name, call in zip(RUBRIC_CALLS, calls, strict=True))
    )
    grades = {grade.path: grade for some in found for grade in some}
    return RubricFindings(
        guidance=guidance,
        guided=tuple(dimension.id for dimension in rubric.dimensions if dimension.id in GUIDED_UPSTREAM),
        grades=tuple(grades[path] for path, _ in rubric.items()),
    )


Given = tuple[str, int | None]
"""Description and score of an item; None for N/A."""

_SCORE: TypeAdapter[int | Literal["N/A"]] = TypeAdapter(int | Literal["N/A"])
"""Type of a published score, which also takes `7.0` and `"7"`."""

_BLOCK = re.compile(r"```json\s*(\{.*?\})\s*```", re.DOTALL)


def read_grades(reply: str, questions: Sequence[Question]) -> dict[tuple[str, ...], Given]:
    """Return the description and score of each item, by its path. Raises ValueError: an item is missing."""
    block = _BLOCK.search(reply)
    found = read_json(block[1] if block else reply.strip())
    return {question.path: _item(found, question.path) for question in questions}


def _item(found: object, path: Sequence[str]) -> Given:
    below = found
    for step in ("scores", *path):
        if not isinstance(below, dict) or step not in below:
            raise ValueError(f"no {'.'.join(path)}")
        below = cast("dict[str, object]", below)[step]
    item = cast("dict[str, object]", below) if isinstance(below, dict) else {}
    description = item.get("description")
    try:
        score = _SCORE.validate_python(item.get("score"))
    except ValidationError:
        raise ValueError(f"{'.'.join(path)}: no score") from None
    if not isinstance(description, str):
        raise ValueError(f"{'.'.join(path)}: no description")
    return description, None if score == "N/A" else score


def _grade(question: Question, answer: Answer[dict[tuple[str, ...], Given]] | Failure) -> Grade:
    if isinstance(answer, Failure):
        return Grade(path=question.path, text=question.text, status="failed", failure=answer)
    description, score = answer.value[question.path]
    if score is not None and not LOWEST <= score <= HIGHEST:
        failure = Failure(
            kind="invalid_reply", detail=f"reply {answer.replies[-1][:12]}: score {score} is off the scale"
        )
        return Grade(path=question.path, text=question.text, status="failed", failure=failure)
    return Grade(
        path=question.path,
        text=question.text,
        status="not_applicable" if score is None else "scored",
        score=score,
        judged=score,
        rationale=description,
        replies=answer.replies,
    )


def _schema(questions: Sequence[Question]) -> str:
    """Return the published schema of a reply, with the scores of the scale."""
    item = _object(
        {"description": {"type": "string"}, "score": {"enum": [*range(int(LOWEST), int(HIGHEST) + 1), "N/A"]}}
    )
    tree: dict[str, Any] = {}
    for question in questions:
        below = tree
        for step in question.path[:-1]:
            below = below.setdefault(step, {})
        below[question.path[-1]] = item

    def nest(part: dict[str, Any]) -> dict[str, Any]:
        return part if part is item else _object({name: nest(below) for name, below in part.items()})

    return json.dumps(_object({"scores": nest(tree)}))


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
