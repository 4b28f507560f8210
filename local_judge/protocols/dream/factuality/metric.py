"""Factuality, 0 to 100: a report's most salient claims against a search (DREAM, section 3, appendix C).

    F             = 100 * (N_s + .5 N_p) / (N_s + N_p + N_c)        null if none was decided
    decided share = 100 * (N_s + N_p + N_c) / all labels

Unverifiable claims are in no denominator of F: one supported claim and 29 unverifiable ones make 100. So F has to be
read beside the decided share. The labels of all judges are counted together. A claim without a label is left out and
may be contradicted or supported. So may the claims of a sentence whose claims are unknown, and if there are then more
claims than are checked, others might have been chosen.

    batched   queries for many claims in one call -> one search -> one call for claims that share passages
    agent     one agent loop for each claim

A claim whose searches find no passage is unverifiable, and the judge is not asked.

Invariants: an undefined F is null and counted, never 0. The report's own citations are not used. Searches without a
result are recorded as evidence gaps.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from indexes.snapshot import Snapshot
from local_judge.agents.result import AgentResult, EvidenceGap, gaps_of, merged
from local_judge.agents.toolbox import Toolbox
from local_judge.base.output import count
from local_judge.claims.model import Claim
from local_judge.claims.unread import unread_of
from local_judge.protocols.base import Case, Decision, EvalContext
from local_judge.protocols.dream.claims import verifiable
from local_judge.protocols.dream.factuality.findings import (
    CheckedFact,
    Evidence,
    FactLabel,
    FactualityFindings,
    FactualitySettings,
)
from local_judge.protocols.dream.factuality.salience import choose
from local_judge.protocols.dream.factuality.searching import ClaimQueries, grouped, search, write_queries
from local_judge.protocols.dream.factuality.verdicts import check_by_agent, judge_claims
from local_judge.protocols.metric import Metric
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.algebra import Unseen, share
from local_judge.scoring.algebra import count as counted
from local_judge.scoring.coverage import read_in_part
from local_judge.scoring.node import COUNT, Profile, ScoreNode, node, noted
from local_judge.stats.sums import sum_in_order

SCALE = 100.0
VALUES: dict[FactLabel, float] = {"supported": 1.0, "partially": 0.5, "contradicted": 0.0}
"""Values of the labels that decide."""
LABELS: tuple[FactLabel, ...] = (*VALUES, "unverifiable")

NO_CLAIM = "the report has no claim that can be verified"
NOTHING_DECIDED = "0/0: no claim was decided"
NOTHING_FOUND = "the search found no passage"
SHOWN_REASONS = 3
"""Reasons of a refused query in a table; `--json` and the findings have all."""


class Factuality(Metric[FactualitySettings, FactualityFindings]):
    """Most salient claims against a search, 0 to 100."""

    id = "factuality"
    label = "Factuality"
    vertical = "sources"
    needs_task = False
    searches = True

    @property
    def needs_claims(self) -> bool:
        """Flag: always true, since it chooses among the report's claims."""
        return True

    async def examine(self, case: Case, context: EvalContext) -> FactualityFindings:
        """Check the most salient claims of one report.

        Raises:
            ConfigError: the run has no snapshot.
        """
        snapshot, claims = context.pages("dream"), await context.claims()
        unread = unread_of(claims, case.report)
        known = verifiable(claims.claims)
        # As the extraction, the choice is that of one judge, so that all label the same claims.
        chooser = context.extractor or context.judge
        choice = await choose(known, self.settings.n_claims, case.task, chooser, context.today)
        check = self._check_in_batches if self.settings.method == "batched" else self._by_agents
        facts, evidence_gaps = await check(choice.claims, context, snapshot)
        facts += [
            CheckedFact(id=claim.id, text=claim.text, salient=claim.salient, failure=choice.failure)
            for claim in choice.missing
        ]
        place = {claim.id: number for number, claim in enumerate(known)}
        return FactualityFindings(
            method=self.settings.method,
            n_wanted=self.settings.n_claims,
            n_verifiable=len(known),
            n_lost=len(unread.sentences),
            most_lost=unread.claims,
            known=unread.known_sentences,
            facts=tuple(sorted(facts, key=lambda fact: place[fact.id])),
            choice=choice.replies,
            evidence_gaps=evidence_gaps,
        )

    async def _by_agents(
        self, claims: Sequence[Claim], context: EvalContext, snapshot: Snapshot
    ) -> tuple[list[CheckedFact], tuple[EvidenceGap, ...]]:
        facts = await asyncio.gather(
            *(
                check_by_agent(claim, context.judge, snapshot, context.today, self.settings)
                for claim in claims
            )
        )
        return facts, merged(gap for fact in facts if fact.run is not None for gap in fact.run.evidence_gaps)

    async def _check_in_batches(
        self, claims: Sequence[Claim], context: EvalContext, snapshot: Snapshot
    ) -> tuple[list[CheckedFact], tuple[EvidenceGap, ...]]:
        asked = await write_queries(claims, context.judge, context.today, self.settings)
        toolbox = Toolbox(snapshot, self.settings.tools)
        found = [search(one.queries, toolbox, self.settings) if one.queries else None for one in asked]
        groups = grouped([one.passages if one else () for one in found], self.settings)
        required = self.settings.quotations == "required"
        verdicts = await asyncio.gather(
            *(judge_claims(group, claims, context.judge, context.today, required) for group in groups)
        )
        by_position = {
            position: one
            for group, some in zip(groups, verdicts, strict=True)
            for position, one in zip(group.claims, some, strict=True)
        }
        facts = [_fact(one, by_position.get(position)) for position, one in enumerate(asked)]
        return facts, gaps_of([request for one in found if one is not None for request in one.asked])

    def score(self, judges: Sequence[FactualityFindings], profile: Profile) -> ScoreNode:
        """Score F of one report, with the decided share and the number of claims with each label."""
        labels = Counter(fact.label for found in judges for fact in found.facts)
        n_failed, n_judges, known = labels[None], len(judges), judges[0].known
        more, others = (sum(column) for column in zip(*map(_unread, judges), strict=True))
        n_labels, n_decided = (sum(labels[label] for label in some) for some in (LABELS, VALUES))
        n_expected = n_labels + n_failed
        factuality = share(
            sum_in_order(labels[label] * value for label, value in VALUES.items()),
            n_decided,
            n_failed,
            top=SCALE,
            n_expected=n_expected,
            empty=NOTHING_DECIDED if n_labels else NO_CLAIM,
            unseen=Unseen(more + min(others, n_labels - n_decided), others, others),
        )
        decided = share(
            n_decided, n_labels, n_failed, top=SCALE, empty=NO_CLAIM, unseen=Unseen(more, others, others)
        )
        counts = {
            label: counted(
                labels[label] / n_judges,
                (n_failed + more + others) / n_judges,
                n_expected=n_expected,
                n_failed=n_failed,
            ).model_copy(update={"low": max(labels[label] - others, 0) / n_judges})
            for label in LABELS
        }
        factuality, decided = (read_in_part(score, known) for score in (factuality, decided))
        counts = {label: read_in_part(score, known) for label, score in counts.items()}
        return self.node(
            noted(factuality, *_notes(judges)),
            (
                node("decided", "Decided share", decided),
                *(node(label, label.capitalize(), score, aside=COUNT) for label, score in counts.items()),
            ),
        )

    def evidence_gaps(self, findings: FactualityFindings) -> Sequence[EvidenceGap]:
        """Return the searches without a result."""
        return findings.evidence_gaps

    def agent_runs(self, findings: FactualityFindings) -> Iterator[tuple[str, AgentResult[Any]]]:
        """Yield the run on each claim that an agent checked."""
        for fact in findings.facts:
            if fact.run is not None:
                yield fact.id, fact.run

    def decisions(self, findings: FactualityFindings) -> Iterator[Decision]:
        """Yield the label of each claim."""
        for fact in findings.facts:
            yield Decision(metric="factuality", item=fact.id, value=fact.label, scale="nominal")

    def items(self, findings: FactualityFindings) -> Iterator[ItemRow]:
        """Yield each claim with its label and the first quotation that decides it."""
        for fact in findings.facts:
            opposing_first = fact.label == "contradicted"
            evidence = (
                (*fact.opposing, *fact.supporting) if opposing_first else (*fact.supporting, *fact.opposing)
            )
            first = evidence[0] if evidence else None
            yield ItemRow(
                "factuality",
                fact.id,
                fact.text,
                fact.label,
                fact.rationale,
                first.quote if first else None,
                "; ".join(fact.rejected) or None,
                first.url if first else None,
                fact.failure,
                fact.replies,
                (*_queries(fact), *_evidence(fact)),
            )

    def lines(self, findings: FactualityFindings) -> Iterator[str]:
        """Yield the numbers of claims by label, and of refused queries."""
        labels = Counter(fact.label or "failed" for fact in findings.facts)
        listed = ", ".join(f"{n} {label}" for label, n in labels.most_common()) or "none"
        by_code = sum(query.by == "code" for fact in findings.facts for query in fact.queries)
        refused = sum(len(fact.refused) for fact in findings.facts)
        queries = (
            f"; {refused} queries refused, {by_code} made by code" if findings.method == "batched" else ""
        )
        checked = f"{len(findings.facts)} of {count(findings.n_verifiable, 'verifiable claim')} checked"
        gaps = count(len(findings.evidence_gaps), "evidence gap")
        yield f"factuality: {checked} ({listed}){queries}; {gaps}"


def _fact(asked: ClaimQueries, verdict: CheckedFact | None) -> CheckedFact:
    claim, queries = asked.claim, asked.queries
    fact = verdict or CheckedFact(id=claim.id, text=claim.text, salient=claim.salient)
    update: dict[str, object] = {
        "queries": queries,
        "refused": tuple(asked.refused),
        "replies": (*asked.replies, *fact.replies),
    }
    if not queries:
        update["failure"] = asked.why_none
    elif verdict is None:
        update |= {"label": "unverifiable", "by": "code", "rationale": NOTHING_FOUND}
    return fact.model_copy(update=update)


def _unread(found: FactualityFindings) -> tuple[int, int]:
    """Return how many claims of unread sentences might be checked too, and how many checked ones others might replace.

    The choice depends on all claims: if there are more than are wanted, any that was not chosen might be.
    """
    n_checked = len(found.facts)
    if not found.most_lost:
        return 0, 0
    n_surplus = max(found.n_verifiable + found.most_lost - found.n_wanted, 0)
    return min(found.most_lost, max(found.n_wanted - n_checked, 0)), min(n_checked, n_surplus)


def _notes(judges: Sequence[FactualityFindings]) -> Iterator[str]:
    facts = [fact for found in judges for fact in found.facts]
    if facts:
        yield f"{sum(fact.label in VALUES for fact in facts)} of {len(facts)} decided"
    counts = {
        "claims without a label": sum(fact.label is None for fact in facts),
        "sentences whose claims are not known, so that others might have been chosen": max(
            found.n_lost for found in judges
        ),
        "queries made by code": sum(query.by == "code" for fact in facts for query in fact.queries),
        "quotations that occur in no passage": sum(len(fact.rejected) for fact in facts),
    }
    yield from (f"{what}: {n}" for what, n in counts.items() if n)


def _queries(fact: CheckedFact) -> Iterator[str]:
    for query in fact.queries:
        yield query.text + (" (code)" if query.by == "code" else "")
    for query in fact.refused:
        more = len(query.why) - SHOWN_REASONS
        why = ", ".join(query.why[:SHOWN_REASONS]) + (f", and {more} more" if more > 0 else "")
        yield f"refused: {query.text} ({why})"
    if fact.run is not None:
        yield f"agent: {fact.run.outcome}, {count(fact.run.spent.turns, 'turn')}"


def _evidence(fact: CheckedFact) -> Iterator[str]:
    for side, given in (("for", fact.supporting), ("against", fact.opposing)):
        yield from (f"{side}: {_format_place(one)}" for one in given)


def _format_place(one: Evidence) -> str:
    where = f"{'title ' if one.quote.in_title else ''}{one.quote.start}-{one.quote.end}"
    return f'"{one.quote.text}" ({one.url}, {where})'
