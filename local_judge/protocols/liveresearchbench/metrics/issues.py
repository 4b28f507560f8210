"""Consistency and citation association: the judge lists issues, and their number gives a score from 0 to 100.

    paper      table(issues that count)
    upstream   table(issues that the judge listed): the published code checks no quotation and merges nothing

An issue of citation association is a statement whose citation is missing or misplaced (LiveResearchBench, section 4.2
and Figure 11). `upstream` counts both too: the published prompt asks for statements without a proper citation, and
whether citations support their statements (`criteria/citation.py`).

In the published code the judge chooses a score from the same table (`graders/pointwise_grader.py`); here code does. The
score is the mean over judges.

Invariants: the judge lists and quotes issues, at most as many as the schema allows. Code counts an issue only if every
quotation occurs in the report, no earlier issue names the same place, and the statement has the citation that is called
misplaced, or none that covers it. A missing list gives no score, with the table's extremes as bounds, and is never
counted as a report without issues. A full list may be incomplete, which opens the lower bound.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, Field

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.claims.model import Quote
from local_judge.claims.quotes import QuoteFinder, find_labelled
from local_judge.documents.model import Document
from local_judge.judge.fitting import room_for
from local_judge.protocols.base import Case, Decision, EvalContext
from local_judge.protocols.liveresearchbench import original_prompts
from local_judge.protocols.liveresearchbench.covering import covering, named_beside
from local_judge.protocols.liveresearchbench.issue_prompts import (
    Contradiction,
    Kind,
    Unlinked,
    answer_type,
    issues_prompt,
)
from local_judge.protocols.metric import Metric, MetricFindings, mean_over_judges_of
from local_judge.protocols.originals import PromptSource
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.algebra import Answer, answers_between, unknown
from local_judge.scoring.algebra import count as counted
from local_judge.scoring.node import Profile, Score, ScoreNode, node

MIN_REPLY_TOKENS = 1000
"""Minimum room for the list, in tokens, that a prompt has to leave."""
REPLY_TOKENS = 200
"""Limit of a reply, for each issue that may be listed; a truncated list is asked for again with twice the limit."""
NOT_CHOSEN = "from all issues listed; the published code takes the score that the judge chooses"
NOT_CHECKED = "the published prompt asks for no quotations, so that no issue was checked"
NO_LIST = "the judge gave no list"


class Step(NamedTuple):
    """Minimum number of issues, and the score from that number on."""

    issues: Annotated[int, Field(ge=0)]
    score: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


def _falling(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    if not steps or steps[0].issues != 0:
        raise ValueError("the first step must be for 0 issues")
    for before, step in pairwise(steps):
        if step.issues <= before.issues:
            raise ValueError(f"the numbers of issues must rise: {step.issues} follows {before.issues}")
        if step.score > before.score:
            raise ValueError(
                f"scores must not rise: {step.issues} issues score {step.score:g}, more than {before.issues} issues"
            )
    return steps


Table = Annotated[tuple[Step, ...], AfterValidator(_falling)]

PUBLISHED: tuple[Step, ...] = tuple(
    Step(n, 100 - 10 * step) for step, n in enumerate((0, 1, 3, 5, 7, 9, 11, 13, 15, 18))
)
"""Rubric of the published `criteria/consistency.py` and `criteria/citation.py`: 18 issues and more score 10."""


def score_of(n_issues: int, table: tuple[Step, ...]) -> float:
    """Return the score of the last step that `n_issues` reaches."""
    return table[bisect_right(table, n_issues, key=lambda step: step.issues) - 1].score


Fate = Literal["counted", "rejected", "covered", "repeated"]
"""Result of checking an issue. `rejected`: a quotation does not occur in the report; for citations also: it is in no
sentence, or the citation called misplaced does not belong to the statement, which another one covers. `covered`: a
citation covers a statement that is said to have none. `repeated`: an earlier issue names the same places."""


class Issue(Frozen):
    """One issue as listed."""

    quoted: tuple[str, ...]
    """Quotations of the judge: one, or the two sides of a contradiction; none by the published prompt."""
    cited: str = ""
    """Citation that the judge calls misplaced, in its own words; empty if it is missing."""
    reason: str
    """Reason given by the judge."""
    fate: Fate
    """Result of the checks."""
    quotes: tuple[Quote, ...] = ()
    """Their places in the report; empty unless all were found."""
    of: int | None = None
    """Index of the issue that it repeats."""
    covered_by: tuple[str, ...] = ()
    """Ids of the citations that cover it."""
    misplaced: tuple[str, ...] = ()
    """Ids of the misplaced citation if it belongs to the statement; empty for a missing citation."""


class IssueFindings(MetricFindings):
    """All issues of one kind in one report."""

    metric: Kind
    issues: tuple[Issue, ...] = ()
    """Issues in the judge's order."""
    limit: int
    """Maximum number of issues."""
    table: tuple[Step, ...]
    """Score table."""
    checked: bool = True
    """Code checked the quotations; False for issues by the published prompt, which have none and no limit."""
    chosen: float | None = None
    """Score that the judge chose, 0 to 100; None if it was not asked for one."""
    failure: Failure | None = None
    """Reason why there is no list."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""

    @property
    def full(self) -> bool:
        """Flag: the list has the maximum length, so there may be more issues."""
        return self.checked and len(self.issues) >= self.limit

    @property
    def n_failed(self) -> int:
        """1 if the list is missing, otherwise 0."""
        return int(self.failure is not None)

    def count(self, fate: Fate) -> int:
        """Count the issues with this fate."""
        return sum(issue.fate == fate for issue in self.issues)

    @property
    def n_misplaced(self) -> int:
        """Number of misplaced citations among the issues that count; the others are missing citations."""
        return sum(issue.fate == "counted" and bool(issue.misplaced) for issue in self.issues)


class IssueSettings(Frozen):
    """Settings of the list of issues and of its penalties."""

    limit: int = Field(default=25, ge=1, le=60)
    """Maximum number of issues."""
    penalties: Table = PUBLISHED
    """Steps of `[issues, score]`, from 0 issues, with scores that do not rise."""


def decide_issues(
    metric: Kind, document: Document, listed: Sequence[Contradiction | Unlinked]
) -> tuple[Issue, ...]:
    """Decide the fate of each issue, in the order of the list."""
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
    metric: Kind, document: Document, issue: Issue, quotes: Sequence[Quote], before: Sequence[Issue]
) -> dict[str, object]:
    misplaced: tuple[str, ...] = ()
    if metric == "citation":
        (quote,) = quotes
        citations = covering(document, quote)
        if citations is None:
            return {"fate": "rejected"}
        misplaced = named_beside(document, quote, issue.cited) if issue.cited else ()
        if citations and not misplaced:
            # The judge names a citation that does not exist, or calls a covered statement uncited.
            return {"fate": "rejected"} if issue.cited else {"fate": "covered", "covered_by": citations}
    for index, earlier in enumerate(before):
        if earlier.fate == "counted" and _same(earlier.quotes, quotes):
            return {"fate": "repeated", "of": index, "misplaced": misplaced}
    return {"fate": "counted", "misplaced": misplaced}


def _same(some: Sequence[Quote], others: Sequence[Quote]) -> bool:
    """Check whether two issues name the same places, in either order."""
    if len(some) != len(others):
        return False
    orders = (others, others[::-1])
    return any(
        all(one.start < other.end and other.start < one.end for one, other in zip(some, order, strict=True))
        for order in orders
    )


_FATES: dict[Fate, str] = {
    "counted": "Issues that count",
    "rejected": "Quoting nothing that the report says",
    "repeated": "Named before",
    "covered": "Covered by a citation",
}


class Issues(Metric[IssueSettings, IssueFindings]):
    """Score of the issues of one kind in one report."""

    kind: ClassVar[Kind]
    settings_key = "issues"
    needs_task = False

    async def examine(self, case: Case, context: EvalContext) -> IssueFindings:
        """Ask for all issues of one kind."""
        if context.prompts is not None:
            return await self._as_published(case, context, context.prompts)
        limit = self.settings.limit
        prompt = issues_prompt(self.kind, case, context.today, limit)
        found = IssueFindings(metric=self.kind, limit=limit, table=self.settings.penalties)
        lacking = await room_for(context.judge, prompt, MIN_REPLY_TOKENS)
        if lacking is not None:
            return found.model_copy(update={"failure": lacking})
        answer = await context.judge.ask(
            prompt, answer_type(self.kind, limit), max_tokens=REPLY_TOKENS * limit
        )
        if isinstance(answer, Failure):
            return found.model_copy(update={"failure": answer})
        issues = decide_issues(self.kind, case.report, answer.value.issues)
        return found.model_copy(update={"issues": issues, "replies": answer.replies})

    async def _as_published(self, case: Case, context: EvalContext, source: PromptSource) -> IssueFindings:
        """Ask by the published prompt; its issues have no quotations and are not checked."""
        answer = await original_prompts.issues(
            self.kind, case, context, original_prompts.prompts_from(source)
        )
        found = IssueFindings(
            metric=self.kind, limit=self.settings.limit, table=self.settings.penalties, checked=False
        )
        if isinstance(answer, Failure):
            return found.model_copy(update={"failure": answer})
        issues = tuple(Issue(quoted=(), reason=text, fate="counted") for text in answer.value.issues)
        return found.model_copy(
            update={"issues": issues, "chosen": answer.value.score, "replies": answer.replies}
        )

    def score(self, judges: Sequence[IssueFindings], profile: Profile) -> ScoreNode:
        """Score the issues, with their number by fate."""
        return mean_over_judges_of(lambda one: self._of_one(one, profile), judges)

    def _of_one(self, found: IssueFindings, profile: Profile) -> ScoreNode:
        kinds = {"missing": found.count("counted") - found.n_misplaced, "misplaced": found.n_misplaced}
        below = [_number(found, id, f"{id.capitalize()} citations", n) for id, n in kinds.items()]
        citation = self.kind == "citation"
        return self.node(
            _score(found, profile),
            tuple(
                _number(
                    found, fate, label, found.count(fate), below if citation and fate == "counted" else ()
                )
                for fate, label in _FATES.items()
                if citation or fate != "covered"
            ),
        )

    def decisions(self, findings: IssueFindings) -> Sequence[Decision]:
        """Return the number of issues that count."""
        value = None if findings.failure is not None else float(findings.count("counted"))
        return (Decision(metric=findings.metric, item="issues", value=value, scale="interval"),)

    def items(self, findings: IssueFindings) -> Iterator[ItemRow]:
        """Yield each issue with its fate; without a list, one row with the failure."""
        if findings.failure is not None:
            yield ItemRow(self.id, "issues", failure=findings.failure, replies=findings.replies)
        for number, one in enumerate(findings.issues, 1):
            yield ItemRow(
                self.id,
                str(number),
                " / ".join(one.quoted),
                one.fate,
                one.reason,
                one.quotes[0] if one.quotes else None,
                None if one.quotes else " / ".join(one.quoted),
                replies=findings.replies,
                details=tuple(_details(one)),
            )

    def lines(self, findings: IssueFindings) -> Iterator[str]:
        """Yield the numbers of issues by fate."""
        yield f"{findings.metric}: {_summary(findings)}"


class Consistency(Issues):
    """Factual and logical contradictions within the report."""

    id = kind = "consistency"
    label = "Factual and logical consistency"
    vertical = "sources"


class CitationAssociation(Issues):
    """Statements whose citation is missing or misplaced."""

    id = kind = "citation"
    label = "Citation association"
    vertical = "sources"


def _score(findings: IssueFindings, profile: Profile) -> Score:
    table = findings.table
    worst, best = table[-1].score, table[0].score
    if findings.failure is not None:
        return unknown(worst, best, NO_LIST)
    n_issues = len(findings.issues) if profile == "upstream" else findings.count("counted")
    value = score_of(n_issues, table)
    notes = [NOT_CHOSEN] if profile == "upstream" else []
    if not findings.checked:
        notes = [NOT_CHECKED]
        if profile == "upstream" and findings.chosen is not None:
            value, notes = findings.chosen, []
    if findings.full:
        notes.append(f"the list is full at {findings.limit}: there may be more issues")
    if profile == "paper" and findings.count("rejected"):
        notes.append(
            f"{findings.count('rejected')} of {len(findings.issues)} issues rejected: the report does not say so"
        )
    score = answers_between([Answer(value, worst if findings.full else value, value)], "; ".join(notes))
    return score.model_copy(update={"numerator": float(n_issues)})


def _number(
    found: IssueFindings, id: str, label: str, n: int, children: Sequence[ScoreNode] = ()
) -> ScoreNode:
    score = counted(n, n_expected=1) if found.failure is None else unknown(None, None, NO_LIST)
    return node(id, label, score, children)


def _summary(found: IssueFindings) -> str:
    if found.failure is not None:
        return f"failed: {found.failure.kind}"
    fates = [f"{found.count(fate)} {fate}" for fate in ("counted", "rejected", "covered", "repeated")]
    misplaced = f"; {count(found.n_misplaced, 'misplaced citation')}" if found.n_misplaced else ""
    full = f"; the list is full at {found.limit}" if found.full else ""
    return f"{count(len(found.issues), 'issue')} listed ({', '.join(fates)}){misplaced}{full}"


def _details(issue: Issue) -> Iterator[str]:
    """Yield the issue that it repeats, what covers it, and the misplaced citation."""
    if issue.of is not None:
        yield f"as {issue.of + 1}"
    if issue.covered_by:
        yield f"covered by {', '.join(issue.covered_by)}"
    if issue.cited:
        yield f"misplaced: {issue.cited}"
