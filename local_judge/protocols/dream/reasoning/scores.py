"""Reasoning quality, 0 to 100 (DREAM, section 3 and appendix C).

    R_q  = max(0, 10 - sum of the points of the deductions that count)        0 where the report says nothing on q
    RQ_t = 100 * mean over the questions q of R_q / 10                        over tasks the mean of RQ_t

The paper has one R_t per task and says neither how questions are put together nor what a deduction takes: here the
questions are averaged, and a table by severity (`ReasoningSettings.points`) gives the points. Of several judges, R_q is
the mean of those that assessed the question.

Invariant: a plan without questions leaves the score undefined; a question that failed is left out and opens the bounds
with 0 and 100; a list of deductions that is full may be longer, which opens the lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.base import Rated
from local_judge.protocols.dream.plans import plan_note
from local_judge.protocols.dream.reasoning.findings import QuestionFindings, ReasoningFindings
from local_judge.protocols.scores import Score, ScoreNode, mean_of

TOP = 100.0
NO_QUESTIONS = "the plan has no reasoning question"


def score_reasoning(judges: Sequence[ReasoningFindings]) -> ScoreNode:
    """RQ of one report, with each question; one judge at least."""
    by_question = list(zip(*(found.questions for found in judges), strict=True))
    limit = judges[0].limit
    nodes = tuple(
        ScoreNode(id=same[0].question.id, label=same[0].question.question, score=_question(same, limit))
        for same in by_question
    )
    if not nodes:
        whole = Score(value=None, n_undefined=1, note=NO_QUESTIONS)
    else:
        whole = mean_of([node.score for node in nodes])
    every = [one for same in by_question for one in same]
    notes = [*_notes(every), plan_note(judges[0].status)]
    counts = {
        "n_expected": len(every),
        "n_failed": sum(one.status == "failed" for one in every),
        "note": "; ".join(filter(None, [whole.note if not nodes else "", *notes])),
    }
    return ScoreNode(
        id="reasoning", label="Reasoning quality", score=whole.model_copy(update=counts), children=nodes
    )


def _question(same: Sequence[QuestionFindings], limit: int) -> Score:
    """One question by all judges."""
    points = [one.points for one in same if one.points is not None]
    n_failed = len(same) - len(points)
    lows = [0.0 if one.points is None or len(one.deductions) >= limit else one.points for one in same]
    highs = [10.0 if one.points is None else one.points for one in same]
    value = sum(points) / len(points) if points else None
    return Score(
        value=None if value is None else TOP * value / 10.0,
        numerator=value,
        denominator=None if value is None else 10.0,
        n_expected=len(same),
        n_failed=n_failed,
        low=TOP * sum(lows) / len(lows) / 10.0,
        high=TOP * sum(highs) / len(highs) / 10.0,
        note=_question_note(same, limit),
    )


def _question_note(same: Sequence[QuestionFindings], limit: int) -> str:
    notes = ["the report says nothing on it"] if all(one.status == "unanswered" for one in same) else []
    runs = [one.run.outcome for one in same if one.run is not None and one.run.outcome != "answered"]
    if runs:
        notes.append(f"the agent ended {', '.join(dict.fromkeys(runs))}")
    if any(len(one.deductions) >= limit for one in same):
        notes.append(f"the list is full at {limit}: there may be more deductions")
    return "; ".join(notes)


def _notes(questions: Sequence[QuestionFindings]) -> list[str]:
    n_failed = sum(one.status == "failed" for one in questions)
    n_unanswered = sum(one.status == "unanswered" for one in questions)
    n_given = sum(len(one.deductions) for one in questions)
    n_out = n_given - sum(one.count("counted") for one in questions)
    notes = [f"{n_failed} of {len(questions)} questions failed"] if n_failed else []
    notes += [f"on {n_unanswered} of {len(questions)} the report says nothing"] if n_unanswered else []
    return notes + ([f"{n_out} of {n_given} deductions do not count"] if n_out else [])


def rated_reasoning(found: ReasoningFindings) -> tuple[Rated, ...]:
    """The points of each question, 0 to 10."""
    return tuple(
        Rated(metric="reasoning", item=one.question.id, value=one.points, scale="interval")
        for one in found.questions
    )
