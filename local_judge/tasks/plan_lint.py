"""Rules of a good plan, as far as code can decide them.

Invariant: as in `checklist_lint`, a finding names its rule, its item and the fault; a rule that could not be applied is
named and does not count as kept.

Items of key information keep the rules of checklists, except those on what a checklist must not ask for, because such
an item does state what a report should say.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

from indexes.snapshot import Snapshot
from local_judge.claims.quotes import QuoteFinder
from local_judge.tasks.alike import firsts
from local_judge.tasks.checklist_lint import RULES as CHECKLIST_RULES
from local_judge.tasks.checklist_lint import Finding, Linted, RuleText
from local_judge.tasks.checklist_lint import lint as lint_checklist
from local_judge.tasks.model import Checklist, KeyInformation, KeySource, Plan
from local_judge.tasks.plans import PLAN_KIND

_WORDING = (
    "yes-or-no",
    "one-thing",
    "positive",
    "stands-alone",
    "no-double",
    "few-things",
    "decidable",
    "same-language",
)
"""Rules of checklists that apply to items of key information."""

FEWEST, MOST = 5, 20
"""Number of items of key information; the published example has 14."""

RULES: Mapping[str, RuleText] = {
    **{rule: CHECKLIST_RULES[rule] for rule in _WORDING},
    "sourced": RuleText(True, "rests on words of a page"),
    "quoted": RuleText(True, "the page has these words"),
    "in-time": RuleText(True, "the page was published by the plan's day"),
    "number": RuleText(False, f"{FEWEST} to {MOST} items of key information, and a reasoning question"),
}


def lint(plan: Plan, request: str | None, snapshot: Snapshot | None = None) -> Linted:
    """Apply all rules to a plan.

    Args:
        plan: the plan of a task.
        request: request of the task; None if it is unknown.
        snapshot: snapshot for looking up quotations; None skips that.
    """
    found: list[Finding] = []
    unchecked: dict[str, str] = {}
    if plan.key_information:
        wording = lint_checklist(Checklist.of(one.question for one in plan.key_information), request)
        ids = {f"q{number}": one.id for number, one in enumerate(plan.key_information, 1)}
        found += [
            _finding(one.rule, ids[one.item], one.reason)
            for one in wording.findings
            if one.rule in _WORDING and one.item is not None
        ]
        unchecked |= {rule: why for rule, why in wording.unchecked.items() if rule in _WORDING}
    for item in plan.key_information:
        found += _sourced(item, plan.as_of, snapshot)
    if snapshot is None:
        unchecked["quoted"] = "no snapshot was given"
    found += _doubles(plan)
    found += _number(plan)
    return Linted(findings=tuple(found), unchecked=unchecked)


def lint_file(path: Path, requests: Mapping[str, str], snapshot: Snapshot | None = None) -> dict[str, Linted]:
    """Return the findings in a file of plans by task id, without rejected plans.

    Args:
        path: a file of plans.
        requests: requests by task id, for rows without one.
        snapshot: as in `lint`.

    Raises:
        InputError: the file cannot be read or is invalid.
    """
    return {
        row.key: lint(plan, row.task or requests.get(row.key), snapshot)
        for _, row in PLAN_KIND.read(path)
        if (plan := row.content) is not None
    }


def _sourced(item: KeyInformation, day: date | None, snapshot: Snapshot | None) -> list[Finding]:
    source = item.source
    if source is None or not source.quote.strip():
        return [_finding("sourced", item.id, "names no page, or none of its words")]
    found: list[Finding] = []
    if snapshot is not None and (why := _not_there(source, day, snapshot)) is not None:
        found.append(_finding("quoted", item.id, why))
    if day is not None and source.published is not None and source.published[:10] > day.isoformat():
        found.append(_finding("in-time", item.id, f"{source.url} is of {source.published[:10]}, after {day}"))
    return found


def _not_there(source: KeySource, day: date | None, snapshot: Snapshot) -> str | None:
    page = snapshot.page(source.url, as_of=day)
    if page.status != "ok":
        return f"{source.url}: {page.status}"
    there = QuoteFinder(page.text, page.title).find(source.quote) is not None
    return None if there else f"{source.url} does not have these words"


def _doubles(plan: Plan) -> list[Finding]:
    same = firsts(one.question for one in plan.reasoning)
    return [
        _finding("no-double", one.id, f"says what {plan.reasoning[same[position]].id} says")
        for position, one in enumerate(plan.reasoning)
        if same[position] != position
    ]


def _number(plan: Plan) -> list[Finding]:
    n_items, n_questions = len(plan.key_information), len(plan.reasoning)
    found: list[Finding] = []
    if not FEWEST <= n_items <= MOST:
        why = f"has {n_items} items of key information, should have {FEWEST} to {MOST}"
        found.append(_finding("number", None, why))
    if not n_questions:
        found.append(_finding("number", None, "has no reasoning question"))
    return found


def _finding(rule: str, item: str | None, reason: str) -> Finding:
    return Finding(rule=rule, item=item, hard=RULES[rule].hard, reason=reason)
