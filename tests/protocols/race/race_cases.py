"""A small task of RACE with its criteria and reference, and judges that answer by a rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from local_judge.protocols.race.findings import Comparison, CriterionScore, RaceFindings, ShownArticle
from local_judge.tasks.criteria import CriteriaRow
from local_judge.tasks.model import Criteria, Reference, Task
from serving.engines.scripted import Call, Reply

ROW: dict[str, Any] = {
    "id": 900,
    "prompt": "What did the mill cost?",
    "dimension_weight": {
        "comprehensiveness": 0.3,
        "insight": 0.35,
        "instruction_following": 0.2,
        "readability": 0.15,
    },
    "criterions": {
        "comprehensiveness": [
            {"criterion": "Costs", "explanation": "Are all costs named?", "weight": 0.5},
            {"criterion": "Sources of money", "explanation": "Who paid?", "weight": 0.3},
            {"criterion": "Dates", "explanation": "When?", "weight": 0.2},
        ],
        "insight": [
            {"criterion": "Causes", "explanation": "Why that much?", "weight": 0.6},
            {"criterion": "Outlook", "explanation": "What will it cost?", "weight": 0.4},
        ],
        "instruction_following": [
            {"criterion": "Answer", "explanation": "Is there a figure?", "weight": 0.7},
            {"criterion": "Scope", "explanation": "Only the mill?", "weight": 0.3},
        ],
        "readability": [
            {"criterion": "Structure", "explanation": "Is it in order?", "weight": 0.55},
            {"criterion": "Language", "explanation": "Is it plain?", "weight": 0.45},
        ],
    },
}
"""A row of a criteria file, with weights as the published ones have."""

CRITERIA: Criteria = CriteriaRow.model_validate(ROW).as_content("given")
IDS = [criterion.id for dimension in CRITERIA.dimensions for criterion in dimension.criteria]
REFERENCE = (
    "# The mill\n\nIt cost 9 million [1]. The town paid.\n\n## References\n\n[1] https://a.example/mill"
)
TASK = Task(id="900", prompt=ROW["prompt"], criteria=CRITERIA, references=(Reference(text=REFERENCE),))

TARGET_SCORES = dict(zip(IDS, (7, 6.5, 8, 6, 5.5, 8, 9, 8, 7), strict=True))
REFERENCE_SCORES = dict(zip(IDS, (9, 8, 8.5, 9, 8, 9, 9, 9, 8), strict=True))

Rule = Callable[[str, str], float]
"""From an article's text and a criterion's id to its score."""


def articles(prompt: str) -> dict[str, str]:
    """What a prompt shows, by title."""
    found = re.findall(r"(Article(?: [12])?):\n(`{3,})\n(.*?)\n\2(?=\n|$)", prompt, re.DOTALL)
    return {title: text for title, _, text in found}


def judge_by(rule: Rule) -> Callable[[Call], Reply]:
    """A judge that knows articles by their text and not by their place."""

    def answer(call: Call) -> Reply:
        shown = articles(call.prompt)
        assert call.schema is not None
        reply: dict[str, Any] = {}
        for key in call.schema["properties"]:
            if "Article" in shown:
                reply[key] = {"analysis": "So.", "score": rule(shown["Article"], key)}
            else:
                first, second = (rule(shown[f"Article {number}"], key) for number in (1, 2))
                reply[key] = {"analysis": "So.", "article_1": first, "article_2": second}
        return reply

    return answer


def known(text: str, criterion: str) -> float:
    """The scores above: the reference is the article that cost 9 million."""
    return (REFERENCE_SCORES if "9 million" in text else TARGET_SCORES).get(criterion, 6)


def comparison(
    target: Mapping[str, float | None],
    against: Mapping[str, float | None] | None,
    **fields: Any,
) -> Comparison:
    """A comparison with these scores; None is a failure."""
    scores = tuple(
        CriterionScore.model_validate({"id": name, "failure": {"kind": "incomplete", "detail": "none"}})
        if score is None
        else CriterionScore(id=name, target=score, reference=against[name] if against else None)
        for name, score in target.items()
    )
    given: dict[str, Any] = {"reference": None if against is None else 0, "scores": scores}
    return Comparison(**(given | fields))


def findings(*comparisons: Comparison, **fields: Any) -> RaceFindings:
    """Findings with these comparisons."""
    given: dict[str, Any] = {
        "case": "a",
        "document": "d",
        "task": "900",
        "request": TASK.prompt,
        "criteria": CRITERIA,
        "report": ShownArticle(sha256="0", n_characters=1),
        "comparisons": comparisons,
    }
    return RaceFindings(**{**given, **fields})
