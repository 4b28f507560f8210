"""Report -> issues, each with its fate.

Invariants: the judge lists and quotes; code decides which issues count. A judge that cannot answer is a failure, and
never a report without issues.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.claims.model import Quote
from local_judge.claims.quotes import QuoteFinder, find_labelled
from local_judge.documents.model import Document
from local_judge.judge.failures import Failure
from local_judge.protocols.asking import room_for
from local_judge.protocols.base import Bench, Case
from local_judge.protocols.liveresearchbench.issues.asking import (
    Contradiction,
    Uncited,
    answer_type,
    issues_prompt,
)
from local_judge.protocols.liveresearchbench.issues.covering import covering
from local_judge.protocols.liveresearchbench.issues.findings import Issue, IssueFindings, Metric
from local_judge.protocols.liveresearchbench.issues.settings import IssueSettings

MIN_REPLY_TOKENS = 1000
"""A prompt fits if it leaves at least this much room for the list."""
REPLY_TOKENS = 200
"""Limit of a reply, for each issue that may be listed; a list that runs into it is asked for again with twice that."""


async def judge_issues(metric: Metric, case: Case, bench: Bench, settings: IssueSettings) -> IssueFindings:
    """All issues of one kind."""
    prompt = issues_prompt(metric, case.report, bench.today, settings.limit)
    found = IssueFindings(metric=metric, limit=settings.limit, table=settings.penalties)
    lacking = await room_for(bench.judge, prompt, MIN_REPLY_TOKENS)
    if lacking is not None:
        return found.model_copy(update={"failure": lacking})
    told = await bench.judge.ask(
        prompt, answer_type(metric, settings.limit), max_tokens=REPLY_TOKENS * settings.limit
    )
    if isinstance(told, Failure):
        return found.model_copy(update={"failure": told})
    issues = examined(metric, case.report, told.value.issues)
    return found.model_copy(update={"issues": issues, "replies": told.replies})


def examined(
    metric: Metric, document: Document, listed: Sequence[Contradiction | Uncited]
) -> tuple[Issue, ...]:
    """What becomes of each issue, in the order of the list."""
    finder = QuoteFinder(document.text)
    issues: list[Issue] = []
    for one in listed:
        found = [find_labelled(finder, words) for words in one.quoted]
        quotes = tuple(quote for quote in found if quote is not None)
        issue = Issue(quoted=one.quoted, reason=one.reason, fate="rejected")
        if len(quotes) == len(one.quoted):
            issue = issue.model_copy(update={"quotes": quotes, **_fate(metric, document, quotes, issues)})
        issues.append(issue)
    return tuple(issues)


def _fate(
    metric: Metric, document: Document, quotes: Sequence[Quote], before: Sequence[Issue]
) -> dict[str, object]:
    if metric == "citation":
        citations = [covering(document, quote) for quote in quotes]
        if None in citations:
            return {"fate": "rejected"}
        if all(citations):
            return {"fate": "covered", "covered_by": tuple(one for some in citations for one in some or ())}
    for index, issue in enumerate(before):
        if issue.fate == "counted" and _same(issue.quotes, quotes):
            return {"fate": "repeated", "of": index}
    return {"fate": "counted"}


def _same(some: Sequence[Quote], others: Sequence[Quote]) -> bool:
    """Whether two issues name the same places, in whichever order."""
    if len(some) != len(others):
        return False
    orders = (others, others[::-1])
    return any(
        all(one.start < other.end and other.start < one.end for one, other in zip(some, order, strict=True))
        for order in orders
    )
