"""LiveResearchBench with the published prompts: one call for each metric, and two for each pair of analysis depth.

Invariants: the messages are those that the published graders send through their OpenAI client, under their schemas
(`graders/`, `criteria/`, `common/model_clients.py`), as often as they repeat them; replies are read as they read them.
Of a checklist, an item without a score of 0 or 1 is a failure. Issues have no quotations, so that code cannot check
them; the score is the one that the judge chooses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import ValidationError

from local_judge.base.failures import Failure
from local_judge.documents.model import Document
from local_judge.judge.judge import Answer, Judge
from local_judge.protocols.asking import Requirement, require_input, task_of
from local_judge.protocols.base import Case, EvalContext
from local_judge.protocols.checklist import Item
from local_judge.protocols.liveresearchbench.depth.games import DIMENSIONS, Marks, Order, Outcome
from local_judge.protocols.originals import (
    Checkout,
    Original,
    PromptSource,
    Published,
    asked_as_published,
    message,
    original,
    read_json,
    with_line_feeds,
)

T = TypeVar("T")

ATTEMPTS = 10
PARTS = ("presentation", "coverage", "consistency", "citation", "depth")
"""Metrics with published prompts."""


def _read(checkout: Checkout) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for part in PARTS[:-1]:
        source = checkout.source(f"liveresearchbench/criteria/{part}.py")
        found[part] = source.returned(f"create_{part}_prompt")
        found[f"{part}_schema"] = source.literal(f"{part.upper()}_EVALUATION_SCHEMA")
        if part == "presentation":
            found["checks"] = list(source.literal("PRESENTATION_QUESTIONS").items())
    depth = checkout.source("liveresearchbench/criteria/depth.py")
    found["depth"] = (
        *depth.returned("create_depth_comparison_prompt"),
        *depth.returned("create_depth_user_prompt"),
    )
    found["depth_schema"] = depth.literal("DEPTH_COMPARISON_SCHEMA")
    return found


LRB = Published(
    "LiveResearchBench",
    "liveresearchbench/criteria/depth.py",
    _read,
    {
        "5099577137f8f8b8a52d5b44a45ed2882073e2e34d46e73f60ffd4e43f977c53": "79a19d7cb9404a7be8c03e35fb4bc7c1146cd8a9"
    },
)


def prompts_from(source: PromptSource) -> Original:
    """Return the prompts of LiveResearchBench. Raises ConfigError: see `originals.original`."""
    return original("liveresearchbench", source, LRB)


def _today(today: date | None) -> str:
    return require_input(today).strftime("%B %d, %Y")


async def _ask(
    judge: Judge,
    prompts: Original,
    part: str,
    values: Mapping[str, str],
    read: Callable[[dict[str, Any]], T],
    schema: Mapping[str, Any],
) -> Answer[T] | Failure:
    system, user = (template.fill(**values) for template in prompts.texts[part])

    def object_of(reply: str) -> T:
        found = read_json(reply)
        if not isinstance(found, dict):
            raise ValueError("the reply is not a JSON object")
        return read(cast("dict[str, Any]", found))

    asked = asked_as_published(judge, attempts=ATTEMPTS)
    return await asked.ask_text(message(user, system), object_of, schema=json.dumps(schema))


async def checklist(
    part: str, case: Case, context: EvalContext, prompts: Original, asked: Sequence[Requirement]
) -> tuple[Item, ...]:
    """Return the items of a checklist; their ids in the prompt are those of `asked`.

    Raises:
        ConfigError: the report has no task, or the run no date.
    """
    values = {
        "query": task_of(case).prompt,
        "report_content": with_line_feeds(case.report.text),
        "current_date": _today(context.today),
        "checklist_section": "\n".join(f"- {one.id}: {one.text}" for one in asked),
    }
    schema = _of_items(prompts.texts[f"{part}_schema"], [one.id for one in asked])
    answer = await _ask(context.judge, prompts, part, values, _evaluations, schema)
    return tuple(_item(one, answer) for one in asked)


def _of_items(schema: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    """Return the published schema with the items by name instead of by a pattern, which few decoders know."""
    [item] = schema["properties"]["evaluations"]["patternProperties"].values()
    evaluations = {
        "type": "object",
        "properties": dict.fromkeys(ids, item),
        "required": list(ids),
        "additionalProperties": False,
    }
    return {**schema, "properties": {"evaluations": evaluations}}


def _evaluations(reply: dict[str, Any]) -> dict[str, Any]:
    found: object = reply.get("evaluations", {})
    if not isinstance(found, dict):
        raise ValueError("evaluations are not an object")
    return cast("dict[str, Any]", found)


def _item(asked: Requirement, answer: Answer[dict[str, Any]] | Failure) -> Item:
    if isinstance(answer, Failure):
        return Item(id=asked.id, text=asked.text, status="failed", failure=answer)
    return item_of(asked, answer.value, answer.replies)


def item_of(asked: Requirement, evaluations: Mapping[str, object], replies: tuple[str, ...] = ()) -> Item:
    """Return one item of the published `evaluations`; it failed if it has no score of 0 or 1."""
    given = evaluations.get(asked.id)
    found = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    score, why = found.get("score"), found.get("justification")
    if type(score) is int and score in (0, 1):
        return Item(
            id=asked.id,
            text=asked.text,
            status="met" if score else "unmet",
            rationale=why if isinstance(why, str) else "",
            replies=replies,
        )
    source = f"reply {replies[-1][:12]}" if replies else "published file"
    failure = Failure(kind="incomplete", detail=f"{source}: no score of 0 or 1 for {asked.id}")
    return Item(id=asked.id, text=asked.text, status="failed", failure=failure)


def checks(prompts: Original) -> list[Requirement]:
    """Return the checks of presentation as published."""
    return [Requirement(id, text) for id, text in prompts.texts["checks"]]


class Listed(NamedTuple):
    """Issues as the judge lists them, and the score that it chooses."""

    issues: tuple[str, ...]
    score: float


async def issues(part: str, case: Case, context: EvalContext, prompts: Original) -> Answer[Listed] | Failure:
    """Return the issues of one kind, and the judge's score.

    Raises:
        ConfigError: the report has no task, or the run no date.
    """
    values = {
        "query": task_of(case).prompt,
        "report_content": with_line_feeds(case.report.text),
        "current_date": _today(context.today),
    }
    return await _ask(context.judge, prompts, part, values, listed_of, prompts.texts[f"{part}_schema"])


def listed_of(reply: Mapping[str, Any]) -> Listed:
    """Return the issues of a reply. Raises ValueError: it has no list of texts, or no score from 0 to 100."""
    found, score = reply.get("specific_issues", []), reply.get("score")
    if not isinstance(found, list) or not all(isinstance(one, str) for one in cast("list[object]", found)):
        raise ValueError("specific_issues is not a list of texts")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 100:
        raise ValueError("no score from 0 to 100")
    return Listed(tuple(cast("list[str]", found)), float(score))


async def order(
    request: str, report: Document, other: Document, report_first: bool, judge: Judge, prompts: Original
) -> Order:
    """Return the comparison of two reports in one order."""
    first, second = (report, other) if report_first else (other, report)
    values = {
        "query": request,
        "report_a": with_line_feeds(first.text),
        "report_b": with_line_feeds(second.text),
    }
    answer = await _ask(
        judge,
        prompts,
        "depth",
        values,
        lambda reply: order_of(reply, report_first),
        prompts.texts["depth_schema"],
    )
    if isinstance(answer, Failure):
        return Order(report_first=report_first, failure=answer)
    return answer.value.model_copy(update={"replies": answer.replies})


def order_of(reply: Mapping[str, Any], report_first: bool) -> Order:
    """Return the reply by report; its totals are left out. Raises ValueError: it has not all scores."""
    own, other = ("A", "B") if report_first else ("B", "A")
    outcomes: dict[object, Outcome] = {own: "report", other: "other"}
    try:
        marks = {
            place: Marks.model_validate(
                {name: reply["scores"][place][name] for name in DIMENSIONS}, strict=True
            )
            for place in (own, other)
        }
    except (KeyError, TypeError, ValidationError):
        raise ValueError("the scores of a report are incomplete or off the scale") from None
    winner, why, flaws = reply.get("winner", "tie"), reply.get("justification"), reply.get("major_flaws")
    return Order(
        report_first=report_first,
        report=marks[own],
        other=marks[other],
        said=outcomes.get(winner, "tie") if isinstance(winner, str) else "tie",
        analysis=why if isinstance(why, str) else "",
        report_flaws=_texts(flaws, own),
        other_flaws=_texts(flaws, other),
    )


def _texts(flaws: object, place: str) -> tuple[str, ...]:
    found = cast("dict[str, object]", flaws).get(place) if isinstance(flaws, dict) else None
    entries = cast("list[object]", found) if isinstance(found, list) else []
    return tuple(entry for entry in entries if isinstance(entry, str))
