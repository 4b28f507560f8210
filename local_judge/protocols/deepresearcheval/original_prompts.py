"""Quality with the prompts of DeepResearchEval: dimensions, weights and criteria of a task, one call per dimension.

Invariants: the messages, their sampling and the number of attempts are those of the published
`point_quality/deepresearcharena/evaluator`; replies are read as they read them. Where that code goes on with defaults
(equal weights, a placeholder criterion) because a reply of a draft cannot be read, the draft is a failure here.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from local_judge.base.failures import Failure
from local_judge.documents.model import Document
from local_judge.judge.judge import Answer, Judge
from local_judge.protocols.deepresearcheval.findings import TOP
from local_judge.protocols.deepresearcheval.upstream import dimension_key
from local_judge.protocols.originals import (
    Checkout,
    Original,
    PromptSource,
    Published,
    asked_as_published,
    message,
    original,
    read_json,
)
from local_judge.rubric.answers import Rating
from local_judge.tasks.dimensions import GENERAL, key_of
from local_judge.tasks.drafting import Draft
from local_judge.tasks.model import Criterion, QualityDimension, QualityDimensions

T = TypeVar("T")

ATTEMPTS = 3
"""Number of times that scores are asked for; each part of a draft is asked for once."""
TEMPERATURE = 0.1
REPLY_TOKENS = 8192
_FOLDER = "point_quality/deepresearcharena"
_SCORE = "report_score_0_to_10"


def _read(checkout: Checkout) -> Mapping[str, Any]:
    prompts = checkout.source(f"{_FOLDER}/prompts/pointwise_prompts.py")
    evaluator = checkout.source(f"{_FOLDER}/evaluator/pointwise_evaluator.py")
    return {
        "dimensions": prompts.template("DIMENSION_GENERATION_PROMPT"),
        "weights": prompts.template("WEIGHT_GENERATION_PROMPT"),
        "criteria": prompts.template("CRITERIA_GENERATION_PROMPT"),
        "scores": prompts.template("SCORING_PROMPT"),
        "general": evaluator.attribute("__init__", "fixed_dims"),
    }


QUALITY = Published(
    "DeepResearchEval",
    f"{_FOLDER}/prompts/pointwise_prompts.py",
    _read,
    {
        "241067c214eff0cb04e1818893a16e8f4e1cb0a6252cb005036b0fc4c8eaf9e0": "121d4c34050d0e3b0ee441c52c4467cf58ab941e"
    },
)


def prompts_from(source: PromptSource) -> Original:
    """Return the prompts of DeepResearchEval. Raises ConfigError: see `originals.original`."""
    return original("deepresearcheval", source, QUALITY)


async def _ask(
    judge: Judge, prompts: Original, name: str, attempts: int, read: Callable[[str], T], **values: str
) -> Answer[T] | Failure:
    asked = asked_as_published(judge, attempts=attempts, temperature=TEMPERATURE, max_tokens=REPLY_TOKENS)
    return await asked.ask_text(message(prompts.template(name).fill(**values)), read)


async def draft_dimensions(draft: Draft, prompts: Original) -> QualityDimensions:
    """Return the dimensions that a judge drafts for a task. Raises NoDraft."""
    task, judge = draft.task, draft.judge
    told = draft.take(
        await _ask(judge, prompts, "dimensions", 1, read_dimensions, task_prompt=task.prompt),
        "specific dimensions",
    )
    defined = {**prompts.texts["general"], **dict(_format_dimensions(told))}
    listed = "\n".join(f"- **{key}**: {definition}" for key, definition in defined.items())
    weights, criteria = await asyncio.gather(
        _ask(
            judge,
            prompts,
            "weights",
            1,
            lambda reply: read_weights(reply, list(defined)),
            task_prompt=task.prompt,
            additional_dimensions_json=_json(told),
        ),
        asyncio.gather(
            *(
                _ask(
                    judge,
                    prompts,
                    "criteria",
                    1,
                    read_criteria,
                    task_prompt=task.prompt,
                    num_dimensions=str(len(defined)),
                    meta_dimensions=listed,
                    dimension_name=key,
                )
                for key in defined
            )
        ),
    )
    weight_of = draft.take(weights, "weights of dimensions")
    names = {dimension_key(one["meta_dimension_name"]): one["meta_dimension_name"] for one in told}
    dimensions: list[QualityDimension] = []
    for key, found in zip(defined, criteria, strict=True):
        own_criteria = draft.take(found, f"criteria of {key}")
        general = key in GENERAL
        dimensions.append(
            QualityDimension(
                id=key_of(key),
                name=GENERAL[key][0] if general else names[key],
                definition=defined[key],
                kind="general" if general else "specific",
                weight=weight_of[key],
                criteria=tuple(
                    one.model_copy(update={"id": f"{key_of(key)}.{number}"})
                    for number, one in enumerate(own_criteria, 1)
                ),
            )
        )
    return QualityDimensions(dimensions=tuple(dimensions), status="drafted")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _format_dimensions(dimensions: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for one in dimensions:
        yield dimension_key(one["meta_dimension_name"]), one["definition"]


def read_dimensions(reply: str) -> list[dict[str, Any]]:
    """Return the specific dimensions of a reply, in the published form. Raises ValueError."""
    found = _rows(extract_json(reply), "meta_dimension_name", "definition")
    keys = [key for key in dict(_format_dimensions(found)) if key not in GENERAL]
    ids = {key_of(key) for key in keys}
    if "" in ids or len(ids | GENERAL.keys()) != len(keys) + len(GENERAL):
        raise ValueError("two dimensions have one name, or one has none")
    return found


def read_weights(reply: str, keys: Sequence[str]) -> dict[str, float]:
    """Return the weights of the dimensions, divided by the sum of all weights of a reply. Raises ValueError."""
    found = extract_tagged(reply)
    if not isinstance(found, dict):
        raise ValueError("the reply is not an object of weights")
    given = {name: _number(weight) for name, weight in cast("dict[str, object]", found).items()}
    shares = _shares(list(given.values()))
    by_key = {dimension_key(name): share for name, share in zip(given, shares, strict=True)}
    missing = [key for key in keys if key not in by_key]
    if missing:
        raise ValueError(f"no weight of {missing[0]}")
    return {key: by_key[key] for key in keys}


def read_criteria(reply: str) -> list[Criterion]:
    """Return the criteria of a dimension, with weights that sum to 1. Raises ValueError."""
    rows = _rows(extract_tagged(reply), "criterion", "explanation")
    shares = _shares([_number(row.get("weight", 0)) for row in rows])
    return [
        Criterion(id="", criterion=row["criterion"], explanation=row["explanation"], weight=share)
        for row, share in zip(rows, shares, strict=True)
    ]


def _rows(found: object, *names: str) -> list[dict[str, Any]]:
    """Return a list of objects that have texts under some names. Raises ValueError."""
    if not isinstance(found, list) or not found:
        raise ValueError("the reply is not a list, or is empty")
    rows = cast("list[object]", found)
    for row in rows:
        texts = cast("dict[str, object]", row) if isinstance(row, dict) else {}
        if any(not isinstance(texts.get(name), str) for name in names):
            raise ValueError(f"an entry has no {' or no '.join(names)}")
    return cast("list[dict[str, Any]]", rows)


def _number(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError("a weight is not a number")
    return given


def _shares(weights: Sequence[float]) -> list[float]:
    """Return weights divided by their sum, in the published order of operations. Raises ValueError."""
    try:
        total = sum(weights)
        if total > 0 and math.isfinite(total) and min(weights) >= 0:
            return [weight / total for weight in weights]
    except OverflowError:
        pass
    raise ValueError("the weights are all 0, or one is negative or too large")


async def score_criteria(
    document: Document, request: str, dimensions: QualityDimensions, judge: Judge, prompts: Original
) -> tuple[Rating, ...]:
    """Return the judge's answer to each criterion of all dimensions, in their order."""

    async def rate_dimension(dimension: QualityDimension) -> list[Rating]:
        shown = [
            {"criterion": criterion.criterion, "explanation": criterion.explanation}
            for criterion in dimension.criteria
        ]
        answer = await _ask(
            judge,
            prompts,
            "scores",
            ATTEMPTS,
            lambda reply: read_scores(reply, dimension.criteria),
            task_prompt=request,
            report=document.text,
            criteria_of_one_dimension_json=_json(shown),
        )
        return [_score(one, answer) for one in dimension.criteria]

    found = await asyncio.gather(*(rate_dimension(dimension) for dimension in dimensions.dimensions))
    return tuple(score for some in found for score in some)


def read_scores(reply: str, criteria: Sequence[Criterion]) -> dict[str, tuple[float, str]]:
    """Return the score and the analysis of each criterion, by its text. Raises ValueError: one is missing."""
    by_text = {row["criterion"]: row for row in _rows(extract_tagged(reply), "criterion")}
    found: dict[str, tuple[float, str]] = {}
    for one in criteria:
        row = by_text.get(one.criterion, {})
        if "analysis" not in row or _SCORE not in row:
            raise ValueError(f"no score or no analysis of {one.criterion[:80]!r}")
        analysis = row["analysis"]
        try:
            found[one.criterion] = float(row[_SCORE]), analysis if isinstance(analysis, str) else ""
        except (TypeError, OverflowError):
            raise ValueError(f"the score of {one.criterion[:80]!r} is not a number") from None
    return found


def _score(criterion: Criterion, answer: Answer[dict[str, tuple[float, str]]] | Failure) -> Rating:
    if isinstance(answer, Failure):
        return Rating(id=criterion.id, failure=answer)
    score, analysis = answer.value[criterion.criterion]
    if not 0 <= score <= TOP:
        detail = f"reply {answer.replies[-1][:12]}: score {score:g} is off the scale of 0 to 10"
        return Rating(
            id=criterion.id, failure=Failure(kind="invalid_reply", detail=detail), replies=answer.replies
        )
    return Rating(id=criterion.id, score=score, rationale=analysis, replies=answer.replies)


_TAGS = ("<json_output>", "</json_output>")
_MARKS = (("```json", "```"), ("```", "```"), _TAGS, ("[", "]"), ("{", "}"))
"""Marks around JSON in a reply, in the published order."""


def extract_json(reply: str) -> Any:
    """Return the first JSON between published marks in a reply. Raises ValueError: there is none."""
    for opening, closing in _MARKS:
        for inside in _between(reply, opening, closing):
            text = f"{opening}{inside}{closing}" if closing in "]}" else inside.strip()
            if _is_json(text):
                return read_json(text)
    raise ValueError("no JSON in the reply")


def extract_tagged(reply: str) -> Any:
    """Return the JSON in the first pair of tags of a reply, else the first that is marked. Raises ValueError."""
    first = next(_between(reply, *_TAGS), None)
    if first is not None and _is_json(first.strip()):
        return read_json(first.strip())
    return extract_json(reply)


def _between(reply: str, opening: str, closing: str) -> Iterator[str]:
    """Yield the texts between marks, each up to the nearest closing mark."""
    start = reply.find(opening)
    while start >= 0:
        end = reply.find(closing, start + len(opening))
        if end < 0:
            return
        yield reply[start + len(opening) : end]
        start = reply.find(opening, end + len(closing))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
