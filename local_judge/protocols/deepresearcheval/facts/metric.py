"""Active fact-checking: the statements of a report, each checked against a search.

Invariants: a page changes a label only through words that a judge quotes from it. The report itself is no evidence,
although the snapshot may contain it. A failed segment, statement or run is stored as a failure. Tables show every
quotation with the result of looking it up, and a label that its evidence does not support with the label in its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from local_judge.agents.citations import quote_of
from local_judge.agents.result import AgentResult, EvidenceGap
from local_judge.agents.toolbox import Toolbox, corpus_of
from local_judge.base.output import count
from local_judge.protocols.base import Case, Decision, EvalContext
from local_judge.protocols.deepresearcheval.facts.asking import Subject
from local_judge.protocols.deepresearcheval.facts.checking import check_by_agent, check_by_search
from local_judge.protocols.deepresearcheval.facts.copies import own_texts
from local_judge.protocols.deepresearcheval.facts.findings import (
    FactsFindings,
    FactsSettings,
    Lookup,
    Ruling,
)
from local_judge.protocols.deepresearcheval.facts.scores import ROOT, aggregate_facts, label_of, score_facts
from local_judge.protocols.deepresearcheval.facts.segments import Cut, cut_report
from local_judge.protocols.deepresearcheval.facts.statements import (
    choose,
    find_statements,
    shared_statements,
)
from local_judge.protocols.metric import Metric
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.node import Profile, ScoreNode


class Facts(Metric[FactsSettings, FactsFindings]):
    """Share of a report's statements that are right, 0 to 100."""

    id = ROOT
    label = "Active fact-checking"
    vertical = "sources"
    needs_task = False
    searches = True

    @property
    def needs_claims(self) -> bool:
        """Flag: statements come from the claim set."""
        return self.settings.statements == "shared"

    @property
    def needs_snapshot(self) -> bool:
        """Flag: always true, since facts are checked against pages."""
        return True

    async def examine(self, case: Case, context: EvalContext) -> FactsFindings:
        """Label the statements of one report.

        Raises:
            ConfigError: the run has no snapshot.
            IndexesError: the snapshot is damaged, or lacks an index.
        """
        settings, snapshot = self.settings, context.pages("deepresearcheval")
        found = await self._extract_statements(case, context)
        chosen = choose(found.statements, case.report.id, settings)
        own = own_texts(case.report, snapshot, corpus_of(snapshot), settings.tools.as_of)
        hidden = tuple(sorted({*settings.tools.hidden, *own}))
        toolbox = Toolbox(snapshot, settings.tools.model_copy(update={"hidden": hidden}))
        found = found.model_copy(
            update={"own_texts": own, "limit": settings.max_statements, "choose": settings.choose}
        )
        subject = Subject(case.report, case.task.prompt if case.task else None, context.today)
        if settings.method == "agent":
            subject, check = subject._replace(segments=found.segments), check_by_agent
        else:
            check = check_by_search
        checked = await check(chosen, subject, context.judge, toolbox, settings)
        return found.model_copy(update=checked._asdict())

    async def _extract_statements(self, case: Case, context: EvalContext) -> FactsFindings:
        """Return the statements of the report."""
        settings = self.settings
        shared = settings.statements == "shared"
        claims = await context.claims() if shared else None
        # Only an agent is shown the segments of shared statements.
        wanted = settings.method == "agent" or not shared
        made = await cut_report(case.report, context.judge, settings.segments) if wanted else Cut(())
        found = (
            await find_statements(case.report, made.segments, context.judge, settings)
            if claims is None
            else shared_statements(claims)
        )
        return FactsFindings(
            source="shared" if shared else "own",
            method=settings.method,
            segments=made.segments,
            uncut=made.failure,
            statements=found.statements,
            rejected=found.rejected,
            unread=found.unread,
        )

    def score(self, judges: Sequence[FactsFindings], profile: Profile) -> ScoreNode:
        """Score the ratio, with the numbers of statements by label."""
        return score_facts(judges, profile)

    def aggregate(
        self, reports: Sequence[Sequence[FactsFindings]], profile: Profile, n_missing: int
    ) -> ScoreNode:
        """Score the pooled ratio, with the means of the reports' ratios and numbers."""
        return aggregate_facts(reports, profile, n_missing)

    def decisions(self, findings: FactsFindings) -> Iterator[Decision]:
        """Yield the label of each statement that its evidence supports."""
        texts = {statement.id: f"{statement.sentence} {statement.text}" for statement in findings.statements}
        for ruling in findings.rulings:
            value = label_of(ruling, "paper")
            yield Decision(metric=self.id, item=texts[ruling.statement], value=value, scale="nominal")

    def items(self, findings: FactsFindings) -> Iterator[ItemRow]:
        """Yield each statement that was checked, with its label and the first quotation that a page has."""
        texts = {statement.id: statement.text for statement in findings.statements}
        lookups = {lookup.statement: lookup for lookup in findings.lookups}
        for ruling in findings.rulings:
            found = [one for one in ruling.evidence if one.found]
            checked = found[0].checked if found else None
            lost = "; ".join(
                one.quote for one in ruling.evidence if not one.found and one.checked is not None
            )
            yield ItemRow(
                self.id,
                ruling.statement,
                texts[ruling.statement],
                label_of(ruling, "paper"),
                ruling.reasoning,
                quote_of(checked) if checked else None,
                lost or None,
                checked.url if checked else None,
                ruling.failure,
                ruling.replies,
                tuple(_details(ruling, lookups)),
            )

    def evidence_gaps(self, findings: FactsFindings) -> Iterable[EvidenceGap]:
        """Return the evidence gaps of one report."""
        return findings.evidence_gaps

    def agent_runs(self, findings: FactsFindings) -> Iterator[tuple[str, AgentResult[Any]]]:
        """Yield the agents' runs on one report, by the ids of their statements."""
        for run in findings.runs:
            yield ", ".join(run.statements), run.result

    def lines(self, findings: FactsFindings) -> Iterator[str]:
        """Yield the numbers of statements and labels, and how much the snapshot could answer."""
        return facts_lines(findings)


_MARKS = {"found": "", "not_in_page": " NOT IN THE PAGE", "not_shown": " NOT A PAGE THAT WAS READ"}


def facts_lines(found: FactsFindings) -> Iterator[str]:
    """Yield the numbers of statements and labels, and how much the snapshot could answer."""
    yield f"facts: {_statements(found)}"
    labels = Counter(ruling.label or ruling.given or "failed" for ruling in found.rulings)
    by = "" if found.method is None else f" by {found.method}"
    yield f"checked{by}: {', '.join(f'{n} {label}' for label, n in sorted(labels.items())) or 'none'}"
    if found.runs:
        turns = sum(run.result.spent.turns for run in found.runs)
        ends = ", ".join(f"{n} {outcome}" for outcome, n in found.outcomes.items())
        yield f"{count(len(found.runs), 'run')} of {count(turns, 'turn')}: {ends}"
    for kind, tally in found.coverage.items():
        yield f"asked by {kind}: {tally.asked}, of which the snapshot could answer {tally.answered}"
    if found.own_texts:
        yield f"the snapshot has the report itself: {count(len(found.own_texts), 'text')} not shown"


def _statements(found: FactsFindings) -> str:
    parts = [count(len(found.statements), "statement")]
    if found.segments:
        parts[0] += f" in {count(len(found.segments), 'segment')}"
    if found.uncut is not None:
        parts.append(f"cut by code, since the judge failed ({found.uncut.kind})")
    if found.source == "shared":
        parts[0] += " of the claim set"
    if len(found.rulings) < len(found.statements):
        parts.append(f"{len(found.rulings)} to be checked (limit {found.limit})")
    if found.rejected:
        reasons = Counter(one.why.replace("_", " ") for one in found.rejected)
        summary = ", ".join(f"{n} {why}" for why, n in sorted(reasons.items()))
        parts.append(f"{len(found.rejected)} rejected ({summary})")
    if found.n_unread:
        parts.append(f"{count(found.n_unread, 'sentence')} unread")
    return "; ".join(parts)


def _details(ruling: Ruling, lookups: Mapping[str, Lookup]) -> Iterator[str]:
    """Yield the judge's own label where the rule changes it, the evidence, and the search that found it."""
    if ruling.given is not None and ruling.given != ruling.label:
        yield f"judge: {ruling.given}"
    for one in ruling.evidence:
        mark = " not looked up" if one.checked is None else _MARKS[one.checked.status]
        stance = f"{one.stance}: " if one.stance else ""
        yield f'{stance}"{one.quote}" {one.url}{mark}'
    if ruling.statement in lookups:
        found = lookups[ruling.statement].observation
        yield f"searched: {'; '.join(one.what for one in found.asked)} ({count(len(found.shown), 'passage')})"
