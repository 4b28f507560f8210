"""The paper's own test of key-information coverage: it falls as reports know less of the world (appendix).

A plan is drafted from a whole snapshot. Reports are what a writer copies from the pages that were known by a day, and
the judge says yes exactly where a report has the words of the page that an item rests on.
"""

from __future__ import annotations

import re
from datetime import date

from indexes.snapshot import Snapshot
from local_judge.documents import parse_report
from local_judge.protocols.base import Case
from local_judge.protocols.dream.key_information import KeyInformation
from local_judge.tasks.model import Task
from local_judge.tasks.plan_asking import PlanSettings
from local_judge.tasks.plan_draft import plan_drafts
from local_judge.tasks.plans import PlanRow
from serving.engines.scripted import Call, Reply

from ...scripted_judge import MakeJudge
from ...tasks.plan_pages import COST, COST_WORDS, VOTE, VOTE_WORDS, act, dated_web, finish, reasoning
from .dream_cases import context

__all__ = ["dated_web"]

TASK = Task(id="mill", prompt="What of the mill?")


def report_as_of(web: Snapshot, day: date) -> str:
    """All that the pages known by a day say."""
    pages = (web.page(url, as_of=day) for url in (VOTE, COST))
    return "# The mill\n\nThis is what is known of it.\n\n" + "\n\n".join(page.text for page in pages)


def says(call: Call) -> Reply:
    """Yes where the report has the words after `say that` of the question."""
    report, _, asked = call.prompt.rpartition("Questions, each with its id in brackets:")
    listed = re.findall(r"^\[(k\d+)\] Does the report say that (.+)\?$", asked, re.MULTILINE)
    return {key: {"quote": words, "rationale": "Looked up.", "met": words in report} for key, words in listed}


async def test_coverage_falls_with_what_a_report_could_know(
    make_judge: MakeJudge, dated_web: Snapshot
) -> None:
    items = [
        (url, words, f"Does the report say that {words}?")
        for url, words in ((VOTE, VOTE_WORDS), (COST, COST_WORDS))
    ]
    drafter, _ = make_judge(
        [act("search", queries=["mill"], k=10), finish(*items), reasoning("Was it worth it?")]
    )
    drafts = plan_drafts(dated_web, PlanSettings(items=2))
    row = await drafts.write(TASK, drafter)
    assert isinstance(row, PlanRow)
    task = TASK.model_copy(update={"plan": row.content})
    judge, _ = make_judge(says)
    values: list[float | None] = []
    for day in (date(2025, 1, 1), date(2022, 1, 1), date(2020, 1, 1)):
        case = Case(id=str(day), report=parse_report(report_as_of(dated_web, day)), task=task)
        found = await KeyInformation().examine(case, context(judge))
        values.append(KeyInformation().score([found], "paper").score.value)
    # The vote was known from 2021 on, the cost from 2024 on.
    assert values == [100.0, 50.0, 0.0]
