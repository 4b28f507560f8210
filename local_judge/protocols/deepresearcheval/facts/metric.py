"""Active fact-checking: the statements of a report, each checked against what a search finds.

Invariants: what a page says changes no label but by words of it that a judge quotes; the report itself is no evidence,
though the snapshot may hold it; a segment, a statement or a run that failed stands in the findings as a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from rich.table import Table

from indexes.corpus import Corpus
from indexes.snapshot import Snapshot
from local_judge.agents.result import AgentResult, EvidenceGap
from local_judge.agents.toolbox import Toolbox
from local_judge.protocols.base import Case, Decision, EvalContext
from local_judge.protocols.deepresearcheval.facts.checking import check_by_agent, check_by_search
from local_judge.protocols.deepresearcheval.facts.copies import own_texts
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings
from local_judge.protocols.deepresearcheval.facts.material import Subject
from local_judge.protocols.deepresearcheval.facts.scores import ROOT, aggregate_facts, label_of, score_facts
from local_judge.protocols.deepresearcheval.facts.segments import Cut, cut
from local_judge.protocols.deepresearcheval.facts.settings import FactsSettings
from local_judge.protocols.deepresearcheval.facts.statements import (
    MOST_OF_CLAIMS,
    choose,
    find_statements,
    shared_statements,
)
from local_judge.protocols.deepresearcheval.facts.tables import facts_lines, facts_table
from local_judge.protocols.metric import Metric
from local_judge.scoring.node import Profile, ScoreNode


class Facts(Metric[FactsSettings, FactsFindings]):
    """The share of a report's statements that are right, 0 to 100."""

    id = ROOT
    label = "Active fact-checking"
    vertical = "sources"
    settings_type = FactsSettings
    findings_type = FactsFindings
    needs_task = False
    searches = True

    @property
    def needs_claims(self) -> bool:
        """Where statements are taken from the claim set."""
        return self.settings.statements == "shared"

    @property
    def needs_snapshot(self) -> bool:
        """Facts are checked against one."""
        return True

    async def examine(self, case: Case, context: EvalContext) -> FactsFindings:
        """The statements of one report with their labels.

        Raises:
            ConfigError: there is no snapshot.
            IndexesError: the snapshot is damaged, or lacks an index.
        """
        settings, snapshot = self.settings, context.pages("deepresearcheval")
        found = await self._stated(case, context)
        chosen = choose(found.statements, case.report.id, settings)
        corpus = _corpus(snapshot)
        own = own_texts(case.report, snapshot, corpus, settings.tools.as_of)
        hidden = tuple(sorted({*settings.tools.hidden, *own}))
        toolbox = Toolbox(snapshot, settings.tools.model_copy(update={"hidden": hidden}), corpus=corpus)
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

    async def _stated(self, case: Case, context: EvalContext) -> FactsFindings:
        """What the report states."""
        settings = self.settings
        shared = settings.statements == "shared"
        claims = await context.claims() if shared else None
        # Nobody but an agent is shown the segments of shared statements.
        wanted = settings.method == "agent" or not shared
        made = await cut(case.report, context.judge, settings.segments) if wanted else Cut(())
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
            most=MOST_OF_CLAIMS if shared else settings.statements_per_sentence,
        )

    def score(self, judges: Sequence[FactsFindings], profile: Profile) -> ScoreNode:
        """The ratio, with the numbers of statements by label."""
        return score_facts(judges, profile)

    def aggregate(
        self, reports: Sequence[Sequence[FactsFindings]], profile: Profile, n_missing: int
    ) -> ScoreNode:
        """The pooled ratio, with the means of the reports' ratios and numbers."""
        return aggregate_facts(reports, profile, n_missing)

    def decisions(self, findings: FactsFindings) -> Iterator[Decision]:
        """The label of each statement, as its evidence bears out."""
        texts = {one.id: f"{one.sentence} {one.text}" for one in findings.statements}
        for ruling in findings.rulings:
            value = label_of(ruling, "paper")
            yield Decision(metric=self.id, item=texts[ruling.statement], value=value, scale="nominal")

    def evidence_gaps(self, findings: FactsFindings) -> Iterable[EvidenceGap]:
        """What checking the facts of one report missed in the snapshot."""
        return findings.evidence_gaps

    def agent_runs(self, findings: FactsFindings) -> Iterator[tuple[str, AgentResult[Any]]]:
        """The agents' runs on the statements of one report, by the statements' ids."""
        for run in findings.runs:
            yield ", ".join(run.statements), run.result

    def lines(self, findings: FactsFindings) -> Iterator[str]:
        """What was found and checked, and how far the snapshot could answer."""
        return facts_lines(findings)

    def tables(self, findings: FactsFindings) -> Iterator[Table]:
        """Each statement that was checked, with its evidence and the way to it."""
        if findings.rulings:
            yield facts_table(findings)


@lru_cache(maxsize=2)
def _corpus(snapshot: Snapshot) -> Corpus:
    """One search for all reports of a run: it reads the snapshot's page records once."""
    return snapshot.corpus()
