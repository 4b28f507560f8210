"""Runs the parts of a qualification, and computes the figures.

    parts/NAME.json       items and cost of a part
    work/NAME/            its ledgers and runs

Invariant: figures are computed from the stored items, so that a second start repeats no answered question and gives the
same figures.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from local_judge.judge.judge import Judge
from local_judge.lab.labelled.model import planted_claims
from local_judge.lab.qualification.config import QualifyConfig
from local_judge.lab.qualification.figures import Draws, figure
from local_judge.lab.qualification.material import Subject
from local_judge.lab.qualification.model import Cost, Figure, Item, PartName, PartRecord
from local_judge.lab.qualification.part import PartContext, cost_of
from local_judge.lab.qualification.thresholds import ALL
from local_judge.ledger.ledger import Ledger
from local_judge.runs.execution.judges import JudgeSpec, judge_on, open_engines
from local_judge.runs.planning.calibrations import GivenCalibrations
from local_judge.runs.storage.store import RunStore
from local_judge.stats.rates import rate
from serving.engines import PERSISTENT, Persistence
from serving.types import EngineIdentity

Watch = Callable[[PartName, Mapping[str, Judge]], contextlib.AbstractContextManager[object]]
"""Display of a part, opened with its judges by ledger name; the part may add judges later."""


async def ask_parts(
    judge_spec: JudgeSpec,
    subject: Subject,
    config: QualifyConfig,
    out: Path,
    *,
    offline: bool = True,
    persistence: Persistence = PERSISTENT,
    begun: Callable[[EngineIdentity], None] = lambda identity: None,
    watch: Watch = lambda name, judges: contextlib.nullcontext(),
) -> list[PartRecord]:
    """Run the parts one after another, and store each before the next begins.

    Args:
        judge_spec: the judge.
        subject: pages, planted claims and reports.
        config: which parts to run, and their sizes.
        out: directory of the qualification.
        offline: refuse every connection except to the judge's server.
        persistence: retries of a call, waiting time in an outage, and failed calls that stop a part.
        begun: called with the judge's identity before the first question; may raise to stop.
        watch: displays each part while it runs.

    Raises:
        EngineError: the judge cannot be reached at all.
        LedgerError: a reply could not be stored.
    """
    store = RunStore(out)
    records: list[PartRecord] = []
    given: tuple[GivenCalibrations, ...] = ()
    async with open_engines([judge_spec], offline, persistence) as engines:
        engine = engines[judge_spec.name]
        begun(await engine.identity())
        for part in config.chosen_parts():
            folder = out / "work" / part.name
            folder.mkdir(parents=True, exist_ok=True)
            with Ledger.open(folder / "replies.sqlite") as ledger:
                judge = await judge_on(
                    judge_spec, engine, ledger, config.reasks, given, persistence.fail_after
                )
                shown = {str(part.name): judge}
                context = PartContext(
                    judge=judge,
                    judge_spec=judge_spec,
                    snapshot=subject.snapshot,
                    claims=planted_claims(subject.claims),
                    reports=subject.reports,
                    folder=folder,
                    seed=config.seed,
                    given=given,
                    shown=shown,
                )
                with watch(part.name, shown):
                    found = await part.ask(context)
                given += found.calibrations
                record = PartRecord(
                    part=part.name,
                    items=found.items,
                    cost=sum(found.costs.values(), cost_of(judge)),
                    costs=dict(found.costs),
                    unmeasured=found.unmeasured,
                    notes=found.notes,
                )
            records.append(record)
            store.write_json(f"parts/{part.name}.json", record)
    return records


def figures_of(records: Sequence[PartRecord], config: QualifyConfig) -> list[Figure]:
    """Compute all figures in the order of the page: each part's own, its answer rates, and the rates over all parts."""
    draws = Draws(config.draws, config.seed)
    found: list[Figure] = []
    for one in records:
        measures = config.part(one.part).measures(one.items)
        found += [figure(measure, one.items, draws, one.unmeasured) for measure in measures]
        found += _answer_rates(one.part, one.items, one.cost)
    items = [item for one in records for item in one.items]
    return found + _answer_rates(ALL, items, sum((one.cost for one in records), Cost()))


def _answer_rates(part: str, items: Sequence[Item], cost: Cost) -> list[Figure]:
    """Return the share of items without an answer, and the shares of calls that were repeated or repaired."""
    unanswered = sum(item.failure is not None for item in items)
    return [
        _rate(f"{part}/unanswered", unanswered, len(items)),
        _rate(f"{part}/reasked", cost.reasked, cost.calls),
        _rate(f"{part}/repaired", cost.repaired, cost.calls),
    ]


def _rate(id: str, hits: int, of: int) -> Figure:
    if not of:
        return Figure(id=id, value=None, n=0, reason="nothing was asked")
    found = rate(hits, of)
    return Figure(id=id, value=hits / of, low=found.low, high=found.high, n=of)
