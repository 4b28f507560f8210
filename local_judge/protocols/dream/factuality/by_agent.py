"""One claim by an agent that searches and reads by itself.

Invariant: an agent's searches are held to the same rule as a judge's queries: one that gives something of the claim
away is not carried out, and the agent is told so; it counts as an error of the run.
"""

from __future__ import annotations

from datetime import date
from functools import partial

from indexes.snapshot import Snapshot
from local_judge.agents.actions import Refusal, Request, Search
from local_judge.agents.citations import CheckedCitation, check_citations
from local_judge.agents.loop import run_agent
from local_judge.agents.observations import Observation
from local_judge.agents.result import no_answer
from local_judge.agents.toolbox import Toolbox, refused
from local_judge.claims.model import Claim, Quote
from local_judge.judge.judge import Judge
from local_judge.judge.layout import fence, load_prompt
from local_judge.protocols.asking import evaluated_on
from local_judge.protocols.dream.factuality.findings import (
    AgentVerdict,
    CheckedFact,
    Evidence,
    FactualitySettings,
    passages_of,
)
from local_judge.protocols.dream.factuality.query_leakage import given_away
from local_judge.protocols.dream.factuality.verdicts import FactVerdict, lacks_quotation, unquoted

template = partial(load_prompt, "local_judge.protocols.dream")

LEAKS = "A query gives away a number, a value, a direction or the wording of the claim. Leave it out"


class GuardedToolbox(Toolbox):
    """The tools for one claim."""

    def __init__(self, snapshot: Snapshot, settings: FactualitySettings, claim: Claim) -> None:
        super().__init__(snapshot, settings.tools)
        self._claim = claim

    def run(self, request: Request, calls: int | None = None) -> Observation:
        """The answer to a request; a search that gives the claim away is refused. Raises as `Toolbox.run` does."""
        if isinstance(request, Search) and any(
            given_away(query, self._claim.text) for query in request.queries
        ):
            return refused(Refusal(request.tool, "bad_arguments", LEAKS))
        return super().run(request, calls)


async def check_by_agent(
    claim: Claim,
    judge: Judge,
    snapshot: Snapshot,
    today: date | None,
    settings: FactualitySettings,
) -> CheckedFact:
    """One claim. Raises as `run_agent` does."""
    result = await run_agent(
        judge,
        GuardedToolbox(snapshot, settings, claim),
        template("facts_agent").strip() + evaluated_on(today),
        AgentVerdict,
        material=fence(claim.text, "Claim:"),
        limits=settings.limits,
    )
    transcript, answer = result.transcript, result.answer
    verdict = FactVerdict(
        None,
        passages_of(one for observation in transcript.observations for one in observation.shown),
        failure=no_answer(result),
        replies=transcript.replies,
    )
    if answer is not None:
        supporting = check_citations(answer.supporting, transcript, snapshot)
        opposing = check_citations(answer.opposing, transcript, snapshot)
        verdict = verdict._replace(
            label=answer.label,
            failure=None,
            supporting=tuple(_evidence(one) for one in supporting if one.status == "found"),
            opposing=tuple(_evidence(one) for one in opposing if one.status == "found"),
            rejected=tuple(one.quote for one in (*supporting, *opposing) if one.status != "found"),
            rationale=answer.rationale,
        )
    if settings.quotations == "required" and lacks_quotation(verdict):
        verdict = unquoted(verdict)
    return CheckedFact(id=claim.id, text=claim.text, salient=claim.salient, run=result, **verdict._asdict())


def _evidence(one: CheckedCitation) -> Evidence:
    assert one.start is not None and one.end is not None
    quote = Quote(text=one.quote, start=one.start, end=one.end, in_title=one.in_title)
    return Evidence(url=one.url, title=one.title, text_digest=one.text_digest, quote=quote)
