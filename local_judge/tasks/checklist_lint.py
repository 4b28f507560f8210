"""Whether a checklist is a good one, as far as code can decide (LiveResearchBench, appendix J).

Invariant: a finding names its rule, its item and the words at fault; a rule that could not be applied, because the
request or the language is not known, is named and does not pass for kept.

    hard    what breaks it cannot be judged, or would be judged for something else
    soft    what breaks it may be judged differently by different readers
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from indexes.text.language import detect_language
from local_judge.tasks import checklist_rules as wording
from local_judge.tasks.alike import firsts
from local_judge.tasks.checklists import CHECKLIST_KIND
from local_judge.tasks.load import bare, load_tasks
from local_judge.tasks.model import Checklist, ChecklistItem
from serving.types import Frozen

FEWEST, MOST = 3, 20
"""Items of a checklist; the published ones have 6.8 on average."""

LONGEST = 600
"""Characters of an item: whatever is longer asks for more than one thing."""


class RuleText(NamedTuple):
    """A rule in words."""

    hard: bool
    says: str


RULES: Mapping[str, RuleText] = {
    "yes-or-no": RuleText(True, "is answered by yes or no"),
    "one-thing": RuleText(True, "asks for one thing"),
    "positive": RuleText(True, "yes means that the report delivers"),
    "in-scope": RuleText(True, "no matter of style, length, presentation, consistency or citations"),
    "no-answer": RuleText(True, "no figure that the request does not have"),
    "no-double": RuleText(True, "says what no other item says"),
    "stands-alone": RuleText(True, "says by itself what it is about"),
    "open-dates": RuleText(True, "a day that is not fixed is a placeholder"),
    "few-things": RuleText(False, "no list of which a report may deliver a part"),
    "decidable": RuleText(False, "no matter of degree"),
    "same-language": RuleText(False, "in the language of the request"),
    "number": RuleText(False, f"{FEWEST} to {MOST} items"),
}

_BY_WORDING: Mapping[str, wording.Rule] = {
    "yes-or-no": wording.yes_or_no,
    "one-thing": wording.one_thing,
    "positive": wording.positive,
    "in-scope": wording.in_scope,
    "stands-alone": wording.stands_alone,
    "open-dates": wording.open_dates,
    "few-things": wording.few_things,
    "decidable": wording.decidable,
}
"""Decided by words of English and Chinese."""

_CHINESE = re.compile("[\u4e00-\u9fff]")


class Finding(Frozen):
    """A breach of a rule, of a checklist or a plan."""

    rule: str
    item: str | None
    """Its id; None for the whole."""
    hard: bool
    reason: str


class Linted(Frozen):
    """What was found in one checklist or plan."""

    findings: tuple[Finding, ...]
    unchecked: dict[str, str]
    """Rules that could not be applied, with the reason."""

    def of(self, item: str) -> tuple[Finding, ...]:
        """The findings of one item."""
        return tuple(finding for finding in self.findings if finding.item == item)


def lint(checklist: Checklist, request: str | None) -> Linted:
    """Apply all rules to a checklist.

    Args:
        checklist: of a task.
        request: the task's, with dates left open as the items leave them; None where it is not known.
    """
    items, asked = checklist.items, request or ""
    unchecked: dict[str, str] = {}
    if not asked:
        unchecked |= {rule: "the request is not known" for rule in ("no-answer", "same-language")}
    words = _by_wording(items)
    if not words:
        unchecked |= {rule: "the items are neither English nor Chinese" for rule in _BY_WORDING}
    same = firsts(item.text for item in items)
    found: list[Finding] = []
    for position, item in enumerate(items):
        reasons = _by_text(item.text, asked, words)
        if same[position] != position:
            reasons["no-double"] = f"says what {items[same[position]].id} says"
        if asked and _is_chinese(asked) != _is_chinese(item.text):
            reasons["same-language"] = "is not in the language of the request"
        found += [_finding(rule, item.id, why) for rule in RULES if (why := reasons.get(rule)) is not None]
    if not FEWEST <= len(items) <= MOST:
        found.append(_finding("number", None, f"has {len(items)} items, should have {FEWEST} to {MOST}"))
    return Linted(findings=tuple(found), unchecked=unchecked)


def _by_text(text: str, asked: str, words: Mapping[str, wording.Rule]) -> dict[str, str | None]:
    """What is wrong with an item taken by itself."""
    if len(text) > LONGEST:
        return {"one-thing": f"is longer than {LONGEST} characters"}
    found: dict[str, str | None] = {rule: check(text, asked) for rule, check in words.items()}
    return {**found, "no-answer": wording.no_answer(text, asked)}


def lint_file(path: Path, tasks: Path | None = None) -> dict[str, Linted]:
    """The findings in a file of checklists by task id; a checklist that was rejected is passed over.

    Args:
        path: as `CHECKLIST_KIND.load` reads it; of the dataset, the form that leaves dates open.
        tasks: their tasks, for the requests of those that come without.

    Raises:
        InputError: a file cannot be read or is malformed.
    """
    rows = CHECKLIST_KIND.load(path, open_dates=True)
    given = {} if tasks is None else load_tasks(tasks, open_dates=True)
    known = {bare(identity): task for identity, task in given.items()}
    found: dict[str, Linted] = {}
    for row in (entry.value for entry in rows.rows):
        task = known.get(bare(row.key))
        request = row.task or (task.prompt if task else None)
        if row.content is not None:
            found[row.key] = lint(row.content, request)
    return found


def _by_wording(items: Sequence[ChecklistItem]) -> Mapping[str, wording.Rule]:
    language = detect_language("\n".join(item.text for item in items))
    return _BY_WORDING if language in ("en", "zh", "und") else {}


def _is_chinese(text: str) -> bool:
    """Whether a text has Chinese characters at all: English requests and items have none, whatever they name."""
    return _CHINESE.search(text) is not None


def _finding(rule: str, item: str | None, reason: str) -> Finding:
    return Finding(rule=rule, item=item, hard=RULES[rule].hard, reason=reason)
