"""Active fact-checking: the statements of a report, each checked against what a search finds.

Invariants: what a page says changes no label but by words of it that a judge quotes; the report itself is no evidence,
though the snapshot may hold it; a segment, a statement or a run that failed stands in the findings as a failure.


Terminal tables of active fact-checking: statements with their labels, evidence, and the way to it.

Invariant: every quotation is shown with what code found, and a label that its evidence does not bear out with the label
that it replaces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from local_judge.agents.result import AgentResult, EvidenceGap, Step
from local_judge.agents.toolbox import Toolbox, corpus_of
from local_judge.protocols.base import Case, Decision, EvalContext
from local_judge.protocols.deepresearcheval.facts.asking import Subject
from local_judge.protocols.deepresearcheval.facts.checking import check_by_agent, check_by_search
from local_judge.protocols.deepresearcheval.facts.copies import own_texts
from local_judge.protocols.deepresearcheval.facts.findings import (
    Evidence,
    FactsFindings,
    FactsSettings,
    Ruling,
)
from local_judge.protocols.deepresearcheval.facts.scores import ROOT, aggregate_facts, label_of, score_facts
from local_judge.protocols.deepresearcheval.facts.segments import Cut, cut
from local_judge.protocols.deepresearcheval.facts.statements import (
    MOST_OF_CLAIMS,
    choose,
    find_statements,
    shared_statements,
)
from local_judge.protocols.metric import Metric
from local_judge.scoring.node import Profile, ScoreNode
from local_judge.terminal import NONE, count, item_table, safe


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


_MARKS = {"found": "", "not_in_page": " NOT IN THE PAGE", "not_shown": " NOT A PAGE THAT WAS READ"}


def facts_lines(found: FactsFindings) -> Iterator[str]:
    """What was found and checked, and how far the snapshot could answer."""
    yield f"facts: {_statements(found)}"
    labels = Counter(ruling.label or ruling.given or "failed" for ruling in found.rulings)
    by = "" if found.method is None else f" by {found.method}"
    yield f"checked{by}: {', '.join(f'{n} {safe(label)}' for label, n in sorted(labels.items())) or 'none'}"
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
        said = ", ".join(f"{n} {why}" for why, n in sorted(reasons.items()))
        parts.append(f"{len(found.rejected)} rejected ({said})")
    if found.n_unread:
        parts.append(f"{count(found.n_unread, 'sentence')} unread")
    return "; ".join(parts)


def facts_table(found: FactsFindings) -> Table:
    """Each statement that was checked, in the report's order."""
    table = item_table("statement", "stated", "label", "evidence, or why not", "way to it")
    statements = {one.id: one for one in found.statements}
    ways = _ways(found)
    for ruling in found.rulings:
        stated = statements[ruling.statement]
        cited = "" if stated.cited is None else "cited" if stated.cited else "not cited"
        table.add_row(
            "\n".join(part for part in (safe(stated.id), cited) if part),
            safe(stated.text),
            _label(ruling),
            "\n".join(_why(ruling)),
            ways.get(ruling.statement, NONE),
        )
    return table


def _label(ruling: Ruling) -> str:
    label = ruling.label or ruling.given or NONE
    if ruling.given is None or ruling.label is None or ruling.given == ruling.label:
        return safe(label)
    return f"{safe(label)} (judge: {safe(ruling.given)})"


def _why(ruling: Ruling) -> Iterator[str]:
    for one in ruling.evidence:
        yield _evidence(one)
    if ruling.reasoning:
        yield safe(ruling.reasoning)
    if ruling.failure is not None:
        yield safe(f"{ruling.failure.kind}: {ruling.failure.detail}")


def _evidence(one: Evidence) -> str:
    mark = " not looked up" if one.checked is None else _MARKS[one.checked.status]
    stance = f"{one.stance}: " if one.stance else ""
    return f'{stance}"{safe(one.quote)}" {safe(one.url)}{mark}'


def _ways(found: FactsFindings) -> Mapping[str, str]:
    """By statement, what was done to check it."""
    ways: dict[str, list[str]] = {}
    for run in found.runs:
        steps = [_step(step) for step in run.result.transcript.steps]
        for statement in run.statements:
            ways.setdefault(statement, []).extend([*steps, f"({run.result.outcome})"])
    for lookup in found.lookups:
        asked = [f"search {safe(one.what, 60)}" for one in lookup.observation.asked]
        ways[lookup.statement] = [*asked, f"({count(len(lookup.observation.shown), 'passage')})"]
    return {statement: "\n".join(way) for statement, way in ways.items()}


def _step(step: Step) -> str:
    """A tool with what it was asked for; a run's end names none."""
    tool, url, queries = (step.action.get(name) for name in ("tool", "url", "queries"))
    asked = [*([url] if url else []), *(queries if isinstance(queries, list) else [])]
    words = "" if tool == "finish" else "; ".join(map(str, asked))
    error = step.observation.error if step.observation else None
    return safe(f"{tool} {words}".strip(), 80) + (f" ({error})" if error else "")
