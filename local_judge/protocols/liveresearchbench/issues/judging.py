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
    Unlinked,
    answer_type,
    issues_prompt,
)
from local_judge.protocols.liveresearchbench.issues.covering import covering, named_beside
from local_judge.protocols.liveresearchbench.issues.findings import Issue, IssueFindings, Metric
from local_judge.protocols.liveresearchbench.issues.settings import IssueSettings

MIN_REPLY_TOKENS = 1000
"""A prompt fits if it leaves at least this much room for the list."""
REPLY_TOKENS = 200
"""Limit of a reply, for each issue that may be listed; a list that runs into it is asked for again with twice that."""


async def judge_issues(metric: Metric, case: Case, bench: Bench, settings: IssueSettings) -> IssueFindings:
    """All issues of one kind."""
    prompt = issues_prompt(metric, case, bench.today, settings.limit)
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
    metric: Metric, document: Document, listed: Sequence[Contradiction | Unlinked]
) -> tuple[Issue, ...]:
    """What becomes of each issue, in the order of the list."""
    finder = QuoteFinder(document.text)
    issues: list[Issue] = []
    for one in listed:
        found = [find_labelled(finder, words) for words in one.quoted]
        quotes = tuple(quote for quote in found if quote is not None)
        cited = one.citation.strip() if isinstance(one, Unlinked) else ""
        issue = Issue(quoted=one.quoted, cited=cited, reason=one.reason, fate="rejected")
        if len(quotes) == len(one.quoted):
            issue = issue.model_copy(
                update={"quotes": quotes, **_fate(metric, document, issue, quotes, issues)}
            )
        issues.append(issue)
    return tuple(issues)


def _fate(
    metric: Metric, document: Document, issue: Issue, quotes: Sequence[Quote], before: Sequence[Issue]
) -> dict[str, object]:
    misplaced: tuple[str, ...] = ()
    if metric == "citation":
        (quote,) = quotes
        citations = covering(document, quote)
        if citations is None:
            return {"fate": "rejected"}
        misplaced = named_beside(document, quote, issue.cited) if issue.cited else ()
        if citations and not misplaced:
            # The judge names a citation that is not there, or says of a covered statement that it has none.
            return {"fate": "rejected"} if issue.cited else {"fate": "covered", "covered_by": citations}
    for index, earlier in enumerate(before):
        if earlier.fate == "counted" and _same(earlier.quotes, quotes):
            return {"fate": "repeated", "of": index, "misplaced": misplaced}
    return {"fate": "counted", "misplaced": misplaced}


def _same(some: Sequence[Quote], others: Sequence[Quote]) -> bool:
    """Whether two issues name the same places, in whichever order."""
    if len(some) != len(others):
        return False
    orders = (others, others[::-1])
    return any(
        all(one.start < other.end and other.start < one.end for one, other in zip(some, order, strict=True))
        for order in orders
    )
