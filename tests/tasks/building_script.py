"""A judge that builds tasks: what it writes and decides is known beforehand.

Tasks are numbered `<domain 0-9><person 1-5><task 1-4>` in their text, and what becomes of them follows from that:

    person 1, task 1    needs no deep research                                  dropped in qualify
    person 1, task 2    confidence 0.7                                          dropped by `paper`, kept by `upstream`
    person 2, task 1    answered from memory: high, 0.9, no search              dropped in necessity
    person 2, task 2    low, 0.2, but no search required                        dropped in necessity
    person 2, task 3    low, 0.8                                                dropped in necessity
    person 2, task 4    medium, 0.7: at the limit                               kept
    person 4, task 1    has the text of person 3, task 1                        dropped in duplicates
    domain 9, person 5, task 4    no confidence in any reply                    failed in qualify
    all others          confidence 0.9; low, 0.3, search required               kept
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from local_judge.lab.task_construction.settings import default_domains
from serving.engines.scripted import Call

DOMAINS = [domain.name for domain in default_domains()]
FEWER = DOMAINS[0]
"""Here the first reply has three persons, whatever was asked for."""


def matter(number: str) -> str:
    """The request of a task by its number."""
    domain = DOMAINS[int(number[0])]
    return f"Compare what sources of 2024 say on matter {number} in {domain}, and explain why they differ."


def fenced(text: str, title: str) -> str:
    return text.partition(f"{title}\n```\n")[2].partition("\n```")[0]


def build_reply(text: str, keys: set[str]) -> Mapping[str, Any]:
    """The reply to a prompt that asks for an object with these keys."""
    if "personas" in keys:
        return {"personas": _personas(text)}
    if "tasks" in keys:
        return {"tasks": _tasks(text)}
    number = re.search(r"matter (\d+)", text)
    assert number is not None, text
    domain, person, task = number[1]
    if "needs_deep_research" in keys:
        if (domain, person, task) == ("9", "5", "4"):
            return {"rationale": "Unsure.", "needs_deep_research": True}
        sure = 0.7 if (person, task) == ("1", "2") else 0.9
        return {
            "rationale": "It seems so.",
            "needs_deep_research": (person, task) != ("1", "1"),
            "confidence": sure,
        }
    if "answer" in keys:
        return {"answer": f"Of matter {number[1]} little is known to me."}
    quality, score, search = {
        ("2", "1"): ("high", 0.9, False),
        ("2", "2"): ("low", 0.2, False),
        ("2", "3"): ("low", 0.8, True),
        ("2", "4"): ("medium", 0.7, True),
    }.get((person, task), ("low", 0.3, True))
    return {
        "rationale": "It is vague.",
        "overall_quality": quality,
        "quality_score": score,
        "requires_search": search,
    }


def _personas(text: str) -> list[dict[str, str]]:
    domain = fenced(text, "Domain:").partition(":")[0]
    wanted = re.search(r"invent (\d+) person", text)
    assert wanted is not None
    standing = len(fenced(text, "These stand:").splitlines())
    many = min(int(wanted[1]), 3) if domain == FEWER else int(wanted[1])
    return [
        {
            "name": f"Person {number}",
            "role": f"Number {number} in {domain}",
            "affiliation": "",
            "background": "Has to decide much, and knows some of it.",
            "subdomain": "All of it",
        }
        for number in range(standing + 1, standing + many + 1)
    ]


def _tasks(text: str) -> list[dict[str, str]]:
    person = re.search(r"Number (\d+) in (.+)", fenced(text, "Person:"))
    wanted = re.search(r"write (\d+) research request", text)
    assert person is not None and wanted is not None
    domain = DOMAINS.index(person[2])
    numbers = [f"{domain}{person[1]}{number}" for number in range(1, int(wanted[1]) + 1)]
    numbers = [f"{domain}31" if number[1:] == "41" else number for number in numbers]
    return [
        {"request": matter(number), "challenges": "Sources differ.", "period": "2024"} for number in numbers
    ]


def scripted(call: Call) -> Mapping[str, Any]:
    """For an engine on a script."""
    assert call.schema is not None
    schema: Any = call.schema
    return build_reply(call.messages[-1].content, set(schema["properties"]))


def served(asked: Mapping[str, Any]) -> str:
    """For a server."""
    schema = asked["response_format"]["json_schema"]["schema"]
    return json.dumps(build_reply(asked["messages"][-1]["content"], set(schema["properties"])))
