"""Assessment of a report's reasoning on the questions of a plan, by agents or without tools.

Invariants: all questions about one report share their bytes up to the end of the report. The schema limits lists and
texts, so that no report causes an endless reply. Text of a plan or a report stands in a fence. The judge lists faults
and quotes; code decides which count, and their points. A judge that cannot answer, or whose quotations do not occur in
the report, is a failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import partial

from local_judge.agents.citations import CheckedCitation, Citation, check_citations
from local_judge.agents.loop import run_agent
from local_judge.agents.result import AgentResult, no_answer
from local_judge.agents.toolbox import Toolbox
from local_judge.base.failures import Failure
from local_judge.claims.evidence import shared_report
from local_judge.claims.quotes import QuoteFinder, find_labelled
from local_judge.documents.model import Document
from local_judge.judge.fitting import room_for
from local_judge.prompts import Prompt, fence, fill, load_prompt
from local_judge.protocols.asking import at_most, evaluated_on
from local_judge.protocols.base import Case, EvalContext
from local_judge.protocols.dream.reasoning_findings import (
    Assessment,
    AssessmentAlone,
    Deduction,
    Extract,
    FromPages,
    FromReport,
    QuestionFindings,
    ReasoningSettings,
)
from local_judge.rubric.asking import report_prompt
from local_judge.tasks.model import ReasoningQuestion

template = partial(load_prompt, "local_judge.protocols.dream")

EXTRACTS = 3
"""Maximum number of passages of the report that a judge may extract."""


def agent_task(today: date | None, limit: int) -> str:
    """Return the instructions of all agents."""
    return _instructions(today, limit, template("reasoning_search"), template("reasoning_page") + "\n")


def agent_material(document: Document, question: ReasoningQuestion) -> str:
    """Return the report, then the question with its plan."""
    return f"{shared_report(document).shared}\n\n{_format_plan(question)}"


def prompt_alone(document: Document, question: ReasoningQuestion, today: date | None, limit: int) -> Prompt:
    """Return the prompt for a judge without tools."""
    instructions = _instructions(today, limit, template("reasoning_alone"), "")
    return report_prompt(document, [instructions, template("reasoning_answer"), _format_plan(question)])


def _instructions(today: date | None, limit: int, verify: str, page: str) -> str:
    values = {
        "today": evaluated_on(today),
        "verify": verify,
        "page": page,
        "extracts": str(EXTRACTS),
        "limit": str(limit),
    }
    return fill(template("reasoning"), values)


def _format_plan(question: ReasoningQuestion) -> str:
    lines = [
        f"question: {_line(question.question)}",
        f"extract: {_line(question.extract)}",
        f"verify: {_line(question.verify)}",
        f"compare: {_line(question.compare)}",
    ]
    return fence("\n".join(lines), "Question and plan:")


def _line(text: str) -> str:
    return " ".join(text.split())


MIN_REPLY_TOKENS = 500
"""Minimum room for a reply, in tokens, that a prompt without tools has to leave."""


async def assess(
    case: Case,
    context: EvalContext,
    settings: ReasoningSettings,
    toolbox: Toolbox | None,
    question: ReasoningQuestion,
) -> QuestionFindings:
    """Assess one question by an agent, or without tools if there is no toolbox. Raises as `run_agent` does."""
    if toolbox is None:
        return await _alone(case, context, settings, question)
    run: AgentResult[Assessment] = await run_agent(
        context.judge,
        toolbox,
        agent_task(context.today, settings.deductions),
        at_most(Assessment, extracted=EXTRACTS, deductions=settings.deductions),
        material=agent_material(case.report, question),
        limits=settings.limits,
    )
    found = QuestionFindings(question=question, run=run, replies=run.transcript.replies)
    if run.answer is None:
        return found.model_copy(update={"failure": no_answer(run)})
    given = run.answer.deductions
    checked = check_citations(
        [Citation(url=one.url.strip(), quote=one.page_quote) for one in given if one.url.strip()],
        run.transcript,
        toolbox.snapshot,
    )
    pages = iter(checked)
    evidence = [next(pages) if one.url.strip() else _of_no_page(one.page_quote) for one in given]
    return _assess(found, case, settings, run.answer.extracted, given, evidence)


def _of_no_page(words: str) -> CheckedCitation | None:
    """Return an unproven citation for words without a URL; None without words."""
    return CheckedCitation(url="", status="not_shown", quote=words) if words.strip() else None


async def _alone(
    case: Case, context: EvalContext, settings: ReasoningSettings, question: ReasoningQuestion
) -> QuestionFindings:
    """Assess one question without tools."""
    found = QuestionFindings(question=question)
    prompt = prompt_alone(case.report, question, context.today, settings.deductions)
    lacking = await room_for(context.judge, prompt, MIN_REPLY_TOKENS)
    if lacking is not None:
        return found.model_copy(update={"failure": lacking})
    answer = await context.judge.ask(
        prompt,
        at_most(AssessmentAlone, extracted=EXTRACTS, deductions=settings.deductions),
        max_tokens=settings.limits.reply_tokens,
    )
    if isinstance(answer, Failure):
        return found.model_copy(update={"failure": answer})
    found = found.model_copy(update={"replies": answer.replies})
    given = answer.value.deductions
    return _assess(found, case, settings, answer.value.extracted, given, [None] * len(given))


def _assess(
    found: QuestionFindings,
    case: Case,
    settings: ReasoningSettings,
    extracted: Sequence[str],
    given: Sequence[FromPages | FromReport],
    evidence: Sequence[CheckedCitation | None],
) -> QuestionFindings:
    """Return the question with its checked extracts and deductions."""
    finder = QuoteFinder(case.report.text)
    extracts = tuple(
        Extract(quoted=words, quote=find_labelled(finder, words)) for words in extracted if words.strip()
    )
    deductions: list[Deduction] = []
    for one, page in zip(given, evidence, strict=True):
        deduction = Deduction(
            kind=one.kind,
            severity=one.severity,
            points=settings.points.of(one.severity),
            reason=one.reason,
            quoted=one.quote,
            quote=find_labelled(finder, one.quote),
            evidence=page,
            fate="counted",
        )
        deductions.append(_with_fate(deduction, deductions))
    n_quoted = len(extracts) + len(deductions)
    n_found = sum(one.quote is not None for one in (*extracts, *deductions))
    update: dict[str, object] = {"extracted": extracts, "deductions": tuple(deductions)}
    if n_quoted and not n_found:
        detail = f"the report has none of the {n_quoted} quotations that the judge gave of it"
        update["failure"] = Failure(kind="incomplete", detail=detail)
    return found.model_copy(update=update)


def _with_fate(deduction: Deduction, before: Sequence[Deduction]) -> Deduction:
    quote = deduction.quote
    if quote is None:
        return deduction.model_copy(update={"fate": "rejected"})
    if deduction.evidence is not None and deduction.evidence.status != "found":
        return deduction.model_copy(update={"fate": "unproven"})
    for index, other in enumerate(before):
        if other.quote is None or (other.fate, other.kind) != ("counted", deduction.kind):
            continue
        if other.quote.start < quote.end and quote.start < other.quote.end:
            return deduction.model_copy(update={"fate": "repeated", "of": index})
    return deduction
