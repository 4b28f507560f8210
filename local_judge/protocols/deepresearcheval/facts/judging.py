"""Report + snapshot -> statements, each checked against what a search finds.

Invariants: what a page says changes no label but by words of it that a judge quotes; the report itself is no evidence,
though the snapshot may hold it; a segment, a statement or a run that failed stands in the findings as a failure.
"""

from __future__ import annotations

from functools import lru_cache

from indexes.corpus import Corpus
from indexes.snapshot import Snapshot
from local_judge.agents.toolbox import Toolbox
from local_judge.errors import ConfigError
from local_judge.protocols.base import Bench, Case
from local_judge.protocols.deepresearcheval.facts.by_agent import check_by_agent
from local_judge.protocols.deepresearcheval.facts.by_search import check_by_search
from local_judge.protocols.deepresearcheval.facts.choosing import choose
from local_judge.protocols.deepresearcheval.facts.copies import own_texts
from local_judge.protocols.deepresearcheval.facts.cutting import Cut, cut
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings
from local_judge.protocols.deepresearcheval.facts.material import Subject
from local_judge.protocols.deepresearcheval.facts.settings import FactsSettings
from local_judge.protocols.deepresearcheval.facts.statements import (
    MOST_OF_CLAIMS,
    find_statements,
    shared_statements,
)


async def judge_facts(case: Case, bench: Bench, settings: FactsSettings) -> FactsFindings:
    """All that is found of one report's statements.

    Raises:
        ConfigError: there is no snapshot.
        IndexesError: the snapshot is damaged, or lacks an index.
    """
    if bench.snapshot is None:
        raise ConfigError("deepresearcheval: checking facts needs a snapshot; give --snapshot")
    found = await _stated(case, bench, settings)
    chosen = choose(found.statements, case.report.id, settings)
    corpus = _corpus(bench.snapshot)
    own = own_texts(case.report, bench.snapshot, corpus, settings.tools.as_of)
    hidden = tuple(sorted({*settings.tools.hidden, *own}))
    toolbox = Toolbox(bench.snapshot, settings.tools.model_copy(update={"hidden": hidden}), corpus=corpus)
    found = found.model_copy(
        update={"own_texts": own, "limit": settings.max_statements, "choose": settings.choose}
    )
    request = case.task.prompt if case.task else None
    if settings.method == "agent":
        subject = Subject(case.report, request, bench.today, found.segments)
        worked = await check_by_agent(chosen, subject, bench.judge, toolbox, settings)
        return found.model_copy(update={"rulings": worked.rulings, "runs": worked.runs})
    subject = Subject(case.report, request, bench.today)
    looked = await check_by_search(chosen, subject, bench.judge, toolbox, settings)
    return found.model_copy(update={"rulings": looked.rulings, "lookups": looked.lookups})


@lru_cache(maxsize=2)
def _corpus(snapshot: Snapshot) -> Corpus:
    """One search for all reports of a run: it reads the snapshot's page records once."""
    return snapshot.corpus()


async def _stated(case: Case, bench: Bench, settings: FactsSettings) -> FactsFindings:
    """What the report states."""
    if settings.statements == "shared":
        found = shared_statements(await bench.claims())
        # Nobody but an agent is shown segments.
        made = (
            await cut(case.report, bench.judge, settings.segments) if settings.method == "agent" else Cut(())
        )
        return FactsFindings(
            source="shared",
            method=settings.method,
            segments=made.segments,
            uncut=made.failure,
            statements=found.statements,
            unread=found.unread,
            most=MOST_OF_CLAIMS,
        )
    made = await cut(case.report, bench.judge, settings.segments)
    found = await find_statements(case.report, made.segments, bench.judge, settings)
    return FactsFindings(
        source="own",
        method=settings.method,
        segments=made.segments,
        uncut=made.failure,
        statements=found.statements,
        rejected=found.rejected,
        unread=found.unread,
        most=settings.statements_per_sentence,
    )
