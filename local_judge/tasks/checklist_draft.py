"""Drafting of checklists by a judge (LiveResearchBench, section 3.3).

Invariants: a draft has at least `LEAST` different items, or is a failure; an item that breaks a hard rule is asked for
again, with the reason, and is in the draft only if that did not help; the same task and judge give the same draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from pydantic import Field

from indexes.text.language import detect_language
from local_judge.prompts import Prompt, fence, fill, shared_prompt
from local_judge.tasks.alike import distinct
from local_judge.tasks.checklist_lint import lint
from local_judge.tasks.checklists import CHECKLIST_KIND, ChecklistRow
from local_judge.tasks.dates import leaves_open
from local_judge.tasks.drafting import (
    UNREADABLE,
    Draft,
    NoDraft,
    Reply,
    language_name,
    limited,
    one_line,
    request_block,
    template,
)
from local_judge.tasks.model import Checklist, Task

LEAST, MOST = 3, 15
"""Number of items of a draft."""
REPLY_TOKENS_PER_ITEM = 90

_OPENINGS = {"en": 'with "Does the report"', "zh": "with “报告是否”"}


Text = Annotated[str, Field(min_length=6, max_length=300)]


class Items(Reply):
    """Reply of the judge, of any length."""

    items: Sequence[Text]


class Broken(NamedTuple):
    """Item that breaks a hard rule."""

    text: str
    reasons: tuple[str, ...]


async def draft_checklist(draft: Draft) -> ChecklistRow:
    """Draft a checklist, with items that break a hard rule last.

    All prompts share the request. Items that break hard rules, or missing ones, are asked for again, up to the judge's
    `reasks`.

    Raises:
        NoDraft: there are too few different items, or a question has no answer.
    """
    task = draft.task
    kept: list[str] = []
    broken: list[Broken] = []
    given_up: list[str] = []
    for draw in range(draft.judge.settings.reasks + 1):
        prompt = mend_prompt(task, kept, broken) if draw else checklist_prompt(task)
        most = MOST - len(kept)
        wanted = limited(Items, Text, most, LEAST if not draw else _least(kept))
        try:
            answer = await draft.ask(prompt, wanted, most * REPLY_TOKENS_PER_ITEM, draw=draw)
        except NoDraft as error:
            if draw and error.failure.kind in UNREADABLE:
                break
            raise
        given_up += [item.text for item in broken]
        kept, broken = sorted_out(task, [*kept, *answer.items])
        if len(kept) == MOST or (not broken and len(kept) >= LEAST):
            break
    items = [*kept, *(item.text for item in broken)][:MOST]
    if len(items) < LEAST:  # an item that breaks a rule, and is marked, is better than no checklist
        items = distinct([*items, *given_up], str)[:LEAST]
    if len(items) < LEAST:
        raise draft.incomplete(f"{len(items)} different items, needs {LEAST}")
    return ChecklistRow(
        task_id=task.id,
        task=task.prompt,
        items=tuple(items),
        language=detect_language(task.prompt),
        status="drafted",
        **await draft.origin(),
    )


CHECKLIST_DRAFTS = CHECKLIST_KIND.drafts(draft_checklist)


def sorted_out(task: Task, texts: Sequence[str]) -> tuple[list[str], list[Broken]]:
    """Return the items that keep all hard rules, and those that break one, without near-duplicates."""
    texts = [text for text in map(one_line, texts) if any(map(str.isalnum, text))]
    different = distinct(texts, str)
    if not different:
        return [], []
    checklist = Checklist.of(different)
    linted = lint(checklist, task.prompt)
    kept: list[str] = []
    broken: list[Broken] = []
    for item in checklist.items:
        reasons = tuple(finding.reason for finding in linted.of(item.id) if finding.hard)
        if reasons:
            broken.append(Broken(item.text, reasons))
        else:
            kept.append(item.text)
    return kept, broken


def checklist_prompt(task: Task) -> Prompt:
    """Return the prompt that asks for a checklist."""
    values = {**_common(task), "least": str(LEAST), "most": str(MOST)}
    return shared_prompt("checklist", request_block(task), fill(template("checklist"), values))


def mend_prompt(task: Task, kept: Sequence[str], broken: Sequence[Broken]) -> Prompt:
    """Return the prompt that asks for more items, in place of those that break rules."""
    listed = "\n".join(kept)
    faulty = "\n".join(f"{item.text}\n   {'; '.join(item.reasons)}" for item in broken)
    values = {
        **_common(task),
        "standing": f"\n{fence(listed, 'These items stand:')}\n" if kept else "",
        "broken": f"\n{fence(faulty, 'These items break rules, which are named below each:')}\n"
        if broken
        else "",
        "instead": ", in the place of those that break rules" if broken else "",
        "least": str(_least(kept)),
        "most": str(MOST - len(kept)),
    }
    return shared_prompt("checklist", request_block(task), fill(template("checklist_mend"), values))


def _least(kept: Sequence[str]) -> int:
    return max(1, LEAST - len(kept))


def _common(task: Task) -> dict[str, str]:
    language = detect_language(task.prompt)
    opening = _OPENINGS.get(language, 'like "Does the report"')
    dates = template("checklist_dates") if leaves_open(task.prompt) else ""
    rules = fill(template("checklist_rules"), {"opening": opening, "dates": dates})
    return {"rules": rules, "language": language_name(language)}
