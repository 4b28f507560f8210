"""DeepResearchEval's two filters of tasks: whom the published code keeps, by the judges' replies, and whom ours does.

Invariant: a function here computes nothing by itself. Lists of replies are told by what the replies hold, whatever
their name; the outputs are lists of as many decisions in the same order, the name of the error where one is raised.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from local_judge.golden.cases import Case, Comparison
from local_judge.tasks.building.upstream import passes_necessity, passes_qualification

NAME = "dre_task_filters"

Filter = Callable[[Mapping[str, Any]], bool]
FILTERS: Mapping[str, Filter] = {
    "needs_deep_research": passes_qualification,
    "confidence_score": passes_qualification,
    "overall_quality": passes_necessity,
    "quality_score": passes_necessity,
    "requires_search": passes_necessity,
}
"""By a key that a reply to its question has."""


def is_case(case: Case) -> bool:
    """Whether a case is one of these, in the form that is read here."""
    if case.get("name") != NAME or not {"input", "upstream_output"} <= case.keys():
        return False
    given, expected = _lists(case["input"]), _lists(case["upstream_output"])
    return (
        bool(given)
        and list(map(len, given)) == list(map(len, expected))
        and all(_filter(replies) is not None for replies in given)
    )


def run_filters(case: Case) -> Comparison:
    """Both filters on their replies."""
    decided = [_decisions(replies) for replies in _lists(case["input"])]
    return Comparison(_lists(case["upstream_output"]), decided)


def _lists(value: object) -> list[list[Any]]:
    """The lists among the values of an object, or the list itself."""
    values = cast("dict[str, object]", value).values() if isinstance(value, dict) else [value]
    return [cast("list[Any]", item) for item in values if isinstance(item, list)]


def _filter(replies: list[Any]) -> Filter | None:
    for reply in map(_reply, replies):
        for key, found in FILTERS.items():
            if key in reply:
                return found
    return None


def _reply(given: object) -> dict[str, Any]:
    try:
        data: object = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return {}
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def _decisions(replies: list[Any]) -> list[object]:
    keep = _filter(replies)
    assert keep is not None
    found: list[object] = []
    for reply in replies:
        try:
            found.append(keep(_reply(reply)))
        except (TypeError, AttributeError) as error:
            found.append(type(error).__name__)
    return found
