"""Reasoning quality, 0 to 100 (DREAM, section 3 and appendix C).

    R_q  = max(0, 10 - sum of the points of the deductions that count)        0 if the report says nothing on q
    RQ_t = 100 * mean over the questions q of R_q / 10                        over tasks the mean of RQ_t

The paper has one R_t per task and defines neither how questions are combined nor the points of a deduction: here the
questions are averaged, and a table by severity (`ReasoningSettings.points`) gives the points. R_q is the mean over the
judges that assessed the question.

Invariant: a plan without questions leaves the score undefined. A failed question is left out and opens the bounds with
0 and 100. A full list of deductions may be incomplete, which opens the lower bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from local_judge.agents.result import AgentResult
from local_judge.agents.toolbox import Toolbox
from local_judge.base.errors import ConfigError
from local_judge.base.output import count
from local_judge.protocols.base import Case, Decision, EvalContext
from local_judge.protocols.dream.key_information import missing_plan, plan_note, plan_of
from local_judge.protocols.dream.reasoning_findings import (
    FATES,
    Deduction,
    QuestionFindings,
    ReasoningFindings,
    ReasoningSettings,
)
from local_judge.protocols.dream.reasoning_judging import assess
from local_judge.protocols.metric import Metric
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.algebra import Answer, answers_between, failures_of, mean_of_answers, undefined
from local_judge.scoring.node import Profile, Score, ScoreNode, node, noted
from local_judge.tasks.model import Task

NO_QUESTIONS = "the plan has no reasoning question"
_POINT = 10.0
"""Factor from R_q, 0 to 10, to the metric's scale."""
_MOST = 100.0
_STATUSES = {
    "found": "",
    "not_in_page": " (the page does not have it)",
    "not_shown": " (not a page that was read)",
}


class Reasoning(Metric[ReasoningSettings, ReasoningFindings]):
    """Deductions from a report's answers to the plan's questions, 0 to 100."""

    id = "reasoning"
    label = "Reasoning quality"
    vertical = "depth"
    searches = True

    @property
    def needs_snapshot(self) -> bool:
        """Flag: agents search."""
        return self.settings.search

    def missing_inputs(self, task: Task) -> str | None:
        """Name the plan if the task has none."""
        return missing_plan(task)

    async def examine(self, case: Case, context: EvalContext) -> ReasoningFindings:
        """Assess each reasoning question of the task's plan, all concurrently.

        Raises:
            ConfigError: agents search and the run has no snapshot.
            IndexesError: the snapshot is damaged, or lacks an index.
        """
        plan, toolbox = plan_of(case), None
        if self.settings.search:
            if context.snapshot is None:
                raise ConfigError(
                    "dream: reasoning searches a snapshot; give --snapshot, or --set dream.reasoning.search=false"
                )
            toolbox = Toolbox(context.snapshot, self.settings.tools)
        questions = await asyncio.gather(
            *(assess(case, context, self.settings, toolbox, question) for question in plan.reasoning)
        )
        return ReasoningFindings(
            questions=tuple(questions),
            limit=self.settings.deductions,
            searched=self.settings.search,
            status=plan.status,
            joined=plan.joined,
        )

    def score(self, judges: Sequence[ReasoningFindings], profile: Profile) -> ScoreNode:
        """Score RQ of one report, with each question."""
        nodes = tuple(
            node(
                same[0].question.id,
                same[0].question.question,
                _question(same, judges[0].limit),
                of_task=True,
            )
            for same in zip(*(found.questions for found in judges), strict=True)
        )
        whole = undefined(NO_QUESTIONS)
        if nodes:
            whole = mean_of_answers([node.score for node in nodes])
        notes = (failures_of(whole, "questions"), *_notes(judges), plan_note(judges[0].status))
        return self.node(noted(whole, *notes), nodes)

    def agent_runs(self, findings: ReasoningFindings) -> Iterator[tuple[str, AgentResult[Any]]]:
        """Yield the run on each question."""
        for one in findings.questions:
            if one.run is not None:
                yield one.question.id, one.run

    def decisions(self, findings: ReasoningFindings) -> Iterator[Decision]:
        """Yield the points of each question, 0 to 10."""
        for one in findings.questions:
            yield Decision(metric="reasoning", item=one.question.id, value=one.points, scale="interval")

    def items(self, findings: ReasoningFindings) -> Iterator[ItemRow]:
        """Yield each question with its points, 0 to 10, and each deduction with its fate."""
        for one in findings.questions:
            id, text = one.question.id, one.question.question
            yield ItemRow(
                "reasoning",
                id,
                text,
                one.points,
                failure=one.failure,
                replies=one.replies,
                details=tuple(_details(one)),
            )
            for number, found in enumerate(one.deductions, 1):
                lost = None if found.quote is not None else found.quoted
                yield ItemRow(
                    "deduction",
                    f"{id}.{number}",
                    f"{found.severity} {found.kind}",
                    found.fate,
                    found.reason,
                    found.quote,
                    lost or None,
                    replies=one.replies,
                    details=tuple(_effect(found)),
                )

    def lines(self, findings: ReasoningFindings) -> Iterator[str]:
        """Yield the numbers of questions by status, and of deductions by fate."""
        statuses = [question.status for question in findings.questions]
        parts = [f"{statuses.count(status)} {status}" for status in dict.fromkeys(statuses)]
        fates = [f"{n} {fate}" for fate in FATES if (n := sum(one.count(fate) for one in findings.questions))]
        how = "by agents" if findings.searched else "without tools"
        given = sum(len(one.deductions) for one in findings.questions)
        line = (
            f"reasoning: {', '.join(parts) or 'no question in the plan'}, {how}; {count(given, 'deduction')}"
        )
        line += f" ({', '.join(fates)})" if fates else ""
        missed = len(list(self.evidence_gaps(findings)))
        yield line + (
            f"; {count(missed, 'thing')} asked for that the snapshot does not have" if missed else ""
        )


def _question(same: Sequence[QuestionFindings], limit: int) -> Score:
    """Merge all judges' scores of one question."""
    given = [_answer(one.points, len(one.deductions) >= limit) for one in same]
    notes = ["the report says nothing on it"] if all(one.status == "unanswered" for one in same) else []
    outcomes = [one.run.outcome for one in same if one.run is not None and one.run.outcome != "answered"]
    if outcomes:
        notes.append(f"the agent ended {', '.join(dict.fromkeys(outcomes))}")
    if any(len(one.deductions) >= limit for one in same):
        notes.append(f"the list is full at {limit}: there may be more deductions")
    return answers_between(given, "; ".join(notes))


def _answer(points: float | None, full: bool) -> Answer:
    if points is None:
        return Answer(None, 0.0, _MOST)
    value = _POINT * points
    return Answer(value, 0.0 if full else value, value)


def _notes(judges: Sequence[ReasoningFindings]) -> list[str]:
    questions = [question for found in judges for question in found.questions]
    n_unanswered = sum(one.status == "unanswered" for one in questions)
    n_given = sum(len(one.deductions) for one in questions)
    n_out = n_given - sum(one.count("counted") for one in questions)
    notes = [f"on {n_unanswered} of {len(questions)} the report says nothing"] if n_unanswered else []
    return notes + ([f"{n_out} of {n_given} deductions do not count"] if n_out else [])


def _details(one: QuestionFindings) -> Iterator[str]:
    """Yield what the report says on a question."""
    if one.status == "unanswered":
        yield "the report says nothing on it"
    for extract in one.extracted:
        words = extract.quoted if extract.quote is None else extract.quote.text
        yield f'extracted: "{words}"' + ("" if extract.quote else " (not in the report)")


def _effect(one: Deduction) -> Iterator[str]:
    """Yield the points that a deduction takes, the one that it repeats, and its evidence."""
    if one.fate == "counted":
        yield f"-{one.points:g}"
    if one.of is not None:
        yield f"as {one.of + 1}"
    if one.evidence is not None:
        yield f'page: "{one.evidence.quote}" {one.evidence.url}{_STATUSES[one.evidence.status]}'
