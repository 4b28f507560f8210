"""RACE with the prompts of DeepResearch Bench: article cleaned by the judge, one call for all criteria.

Invariants: the messages, their order and the number of attempts are those of the published `deepresearch_bench_race.py`
and `utils/clean_article.py`; a reply is read as `utils/json_extractor.py` reads it. An entry counts for the criterion
that the published calculator takes it for; a criterion without an entry, or with a score off the scale, is a failure.
The reply's own JSON is kept where all its scores are on the scale, so that the published arithmetic is exact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from local_judge.base.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.protocols.originals import (
    Checkout,
    Original,
    Published,
    asked_as_published,
    message,
    read_json,
)
from local_judge.protocols.race.findings import TOP, CriterionScore
from local_judge.protocols.race.upstream import Item, items_of, name_of
from local_judge.tasks.criteria import DIMENSIONS
from local_judge.tasks.model import Criteria

ATTEMPTS = 10
CHUNK_ATTEMPTS = 3
LEAST_CLEANED = 100
"""Minimum length of a cleaned article, in characters."""
_ENDS = ".?!。？！\n"


def _read(checkout: Checkout) -> Mapping[str, Any]:
    clean = checkout.source("prompt/clean_prompt.py")
    return {
        **{
            f"score_{language}": checkout.source(f"prompt/score_prompt_{language}.py").template(
                "generate_merged_score_prompt"
            )
            for language in ("en", "zh")
        },
        **{
            f"clean_{language}": clean.template(f"clean_article_prompt_{language}")
            for language in ("en", "zh")
        },
    }


RACE = Published(
    "DeepResearch Bench",
    "prompt/score_prompt_en.py",
    _read,
    {
        "6056173b97eec57ef66c126877135c1ded95af36ff8aa5bffd20bfe1fc515563": "214741e474a5347ea7f869ab79d27e7c8734ede7"
    },
)


def language_of(code: str) -> str:
    """Return the language of the prompts for a request: Chinese or English."""
    return "zh" if code == "zh" else "en"


async def clean_article(
    article: str, judge: Judge, prompts: Original, language: str
) -> tuple[str, tuple[str, ...]] | Failure:
    """Return an article without citations as the judge writes it, and the ledger keys of its replies.

    An article that could not be cleaned as a whole is cleaned in two halves.
    """
    template = prompts.template(f"clean_{language}")

    async def clean(text: str, attempts: int) -> tuple[str, tuple[str, ...]] | Failure:
        asked = asked_as_published(judge, attempts=attempts)
        answer = await asked.ask_text(message(template.fill(article=text)), _long_enough)
        return answer if isinstance(answer, Failure) else (answer.value, answer.replies)

    whole = await clean(article, ATTEMPTS)
    if not isinstance(whole, Failure):
        return whole
    parts: list[tuple[str, tuple[str, ...]]] = []
    for half in _halves(article):
        part = await clean(half, CHUNK_ATTEMPTS)
        if isinstance(part, Failure):
            return part
        parts.append(part)
    return "".join(text for text, _ in parts), tuple(key for _, keys in parts for key in keys)


def _long_enough(reply: str) -> str:
    if len(reply.strip()) < LEAST_CLEANED:
        raise ValueError(f"the cleaned article has fewer than {LEAST_CLEANED} characters")
    return reply


def _halves(article: str) -> Iterator[str]:
    """Yield the first half up to the end of a sentence, and the second half from the middle on, as published."""
    middle = len(article) // 2
    end = middle
    for place in range(middle, max(0, middle - 200), -1):
        if place < len(article) and article[place] in _ENDS:
            end = place + 1
            break
    yield article[:end]
    yield article[middle:]


def criteria_text(criteria: Criteria) -> str:
    """Return the criteria as the prompt shows them, without weights."""
    listed = {
        dimension.id: [
            {"criterion": criterion.criterion, "explanation": criterion.explanation}
            for criterion in dimension.criteria
        ]
        for dimension in criteria.dimensions
    }
    return json.dumps(listed, ensure_ascii=False, indent=2)


async def compare_articles(
    request: str,
    articles: tuple[str, str],
    criteria: Criteria,
    judge: Judge,
    prompts: Original,
    *,
    language: str,
    target_first: bool,
    draw: int,
) -> tuple[tuple[CriterionScore, ...], str | None]:
    """Return the scores of all criteria, and the reply's JSON for the published arithmetic.

    There is none for a failure, for a score off the scale, and for exchanged articles, which the published code does
    not have: its arithmetic takes article 1 for the report.

    Args:
        request: the task's request.
        articles: the articles in the order in which they are shown.
        criteria: criteria of the task.
        judge: the judge that answers.
        prompts: the published prompts.
        language: language of the prompt.
        target_first: the report is the first article.
        draw: number of the draw.
    """
    text = prompts.template(f"score_{language}").fill(
        task_prompt=request,
        article_1=articles[0],
        article_2=articles[1],
        criteria_list=criteria_text(criteria),
    )
    answer = await asked_as_published(judge, attempts=ATTEMPTS).ask_text(
        message(text), read_scores, draw=draw
    )
    if isinstance(answer, Failure):
        return fail_all(criteria, answer), None
    scores = tuple(_scores(answer.value, criteria, target_first, answer.replies))
    exact = target_first and on_scale(answer.value)
    return scores, json.dumps(answer.value, ensure_ascii=False) if exact else None


def fail_all(criteria: Criteria, failure: Failure) -> tuple[CriterionScore, ...]:
    """Return a failure for each criterion."""
    return tuple(
        CriterionScore(id=criterion.id, failure=failure)
        for dimension in criteria.dimensions
        for criterion in dimension.criteria
    )


def read_scores(reply: str) -> dict[str, Any]:
    """Return the JSON of a reply, which has all four dimensions. Raises ValueError."""
    found = read_json(extract_json(reply))
    if not isinstance(found, dict):
        raise ValueError("the reply is not a JSON object")
    missing = [name for name in DIMENSIONS if name not in found]
    if missing:
        raise ValueError(f"no {', '.join(missing)}")
    return cast("dict[str, Any]", found)


def _scores(
    judged: Mapping[str, Any], criteria: Criteria, target_first: bool, replies: tuple[str, ...]
) -> Iterator[CriterionScore]:
    for dimension in criteria.dimensions:
        names = {criterion.criterion: 1.0 for criterion in dimension.criteria}
        found = judged.get(dimension.id)
        entries = cast("list[object]", found) if isinstance(found, list) else []
        by_name: dict[str, tuple[Item, object]] = {}
        for entry in entries:
            for item in items_of([entry]):
                known = name_of(item.name, names)
                if known is not None:
                    by_name.setdefault(known, (item, entry))
        for one in dimension.criteria:
            item, entry = by_name.get(one.criterion, (None, None))
            if item is None or item.reference is None:
                why = "no entry with two scores for this criterion"
            elif not _scored_on_scale(item):
                why = "a score off the scale of 0 to 10"
            else:
                scores = (item.target, item.reference)
                analysis = cast("dict[str, object]", entry).get("analysis")
                yield CriterionScore(
                    id=one.id,
                    target=scores[0 if target_first else 1],
                    reference=scores[1 if target_first else 0],
                    rationale=analysis if isinstance(analysis, str) else "",
                    replies=replies,
                )
                continue
            yield CriterionScore(
                id=one.id,
                failure=Failure(kind="incomplete", detail=f"reply {replies[-1][:12]}: {why}"),
            )


def on_scale(judged: Mapping[str, Any]) -> bool:
    """Check whether all scores of a reply that has all four dimensions are on the scale."""
    lists = [cast("list[object]", judged[name]) for name in DIMENSIONS if isinstance(judged[name], list)]
    return all(_scored_on_scale(item) for entries in lists for item in items_of(entries))


def _scored_on_scale(item: Item) -> bool:
    return all(0 <= score <= TOP for score in (item.target, item.reference) if score is not None)


_BLOCK = re.compile(r"```json\s*([\s\S]*?)\s*```")


def extract_json(reply: str) -> str:
    """Return the text of the JSON in a reply, by the published order of attempts. Raises ValueError: there is none."""
    for candidate in _candidates(reply):
        if _is_json(candidate):
            return candidate
    if all(word in reply for word in ("comprehensiveness", "article_1_score", "article_2_score")):
        found = {name: _by_pattern(reply, name) for name in DIMENSIONS if name in reply}
        if any(found.values()):
            return json.dumps(found)
    raise ValueError("no JSON in the reply")


def _candidates(reply: str) -> Iterator[str]:
    text = reply.strip()
    if text.startswith("{") and text.endswith("}"):
        yield text
    mark = reply.find("```json")
    if mark >= 0:
        end = reply.find("```", mark + 7)
        if end > mark + 7:
            yield reply[mark + 7 : end].strip()
        if block := _BLOCK.search(reply):
            yield block[1].strip()
    yield text
    start = reply.find("{")
    if start < 0:
        return
    level = 0
    for place, one in enumerate(reply[start:], start):
        level += (one == "{") - (one == "}")
        if one == "}" and level == 0:
            yield reply[start : place + 1]
            break
    end = reply.rfind("}")
    if end > start:
        yield reply[start : end + 1]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _by_pattern(reply: str, dimension: str) -> list[dict[str, Any]]:
    """Return the entries of a dimension in a reply that is not JSON, from the text up to the next dimension."""
    start = _place(reply, dimension, 0, 0)
    others = [_place(reply, name, start, start + len(dimension)) for name in DIMENSIONS if name != dimension]
    text = reply[start : min((place for place in others if place >= 0), default=len(reply))]
    names = re.findall(r'"criterion"\s*:\s*"([^"]+)"', text)
    firsts, seconds = (
        [float(number) for number in re.findall(rf'"article_{n}_score"\s*:\s*(\d+\.?\d*)', text)]
        for n in (1, 2)
    )
    return [
        {"criterion": name, "article_1_score": first, "article_2_score": second}
        for name, first, second in zip(names, firsts, seconds, strict=False)
    ]


def _place(reply: str, name: str, after: int, bare_after: int) -> int:
    """Return the first place of a name in double quotation marks, else in single ones, else without; -1 if none."""
    for mark in ('"', "'"):
        if (place := reply.find(f"{mark}{name}{mark}", after)) >= 0:
            return place
    return reply.find(name, bare_after)
