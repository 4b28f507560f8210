"""A qualification: each part is asked once and kept, then figures follow.

    parts/NAME.json       items and cost of a part
    work/NAME/            its ledger, and the runs that it needed

Invariant: figures are computed from what is kept, so that a second start asks nothing that was answered and gives the
same figures.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from indexes.snapshot import Snapshot
from local_judge.judge.judge import Judge
from local_judge.judge.ledger import Ledger
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.config import PARTS, QualifyConfig
from local_judge.lab.qualification.figures import Draws, figure
from local_judge.lab.qualification.model import Asked, Cost, Figure, Item, PartName
from local_judge.lab.qualification.part_context import Part, PartContext, cost_of
from local_judge.lab.qualification.parts.extraction import ExtractionPart
from local_judge.lab.qualification.parts.labels import Labels
from local_judge.lab.qualification.parts.position import Position
from local_judge.lab.qualification.parts.prompt_injection import PromptInjection
from local_judge.lab.qualification.parts.retest import Retest
from local_judge.lab.qualification.parts.sensitivity import Sensitivity
from local_judge.lab.qualification.parts.verification import Verification
from local_judge.lab.qualification.vocabulary import ALL
from local_judge.runs.calibrations import GivenCalibrations
from local_judge.runs.inputs import RawReport
from local_judge.runs.judge_specs import JudgeSpec
from local_judge.runs.session import judge_on, open_engines
from local_judge.runs.store import RunStore
from local_judge.stats.rates import rate
from serving.connect import PERSISTENT, Persistence
from serving.types import EngineIdentity

MAKERS: Mapping[PartName, Callable[[QualifyConfig], Part]] = {
    "verification": lambda config: Verification(config.verification),
    "prompt_injection": lambda config: PromptInjection(config.prompt_injection),
    "extraction": lambda config: ExtractionPart(config.extraction),
    "retest": lambda config: Retest(config.retest),
    "position": lambda config: Position(config.position),
    "sensitivity": lambda config: Sensitivity(config.sensitivity),
    "labels": lambda config: Labels(config.labels),
}


Watch = Callable[[PartName, Mapping[str, Judge]], contextlib.AbstractContextManager[object]]
"""Opened with a part and its judges by the name of their ledgers, of which more may come."""


class Subject(NamedTuple):
    """What the judge is asked about."""

    snapshot: Snapshot
    claims: Sequence[PlantedClaim]
    reports: Sequence[RawReport]


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
) -> list[Asked]:
    """Every part in turn, each on disk before the next begins.

    Args:
        judge_spec: the judge.
        subject: pages, planted claims and reports.
        config: which parts, and how much.
        out: where all is kept.
        offline: refuse every connection but to the judge's server.
        persistence: how often a call is sent, how long an outage is waited for, how many calls of a part may fail.
        begun: is told who the judge is before it is asked anything; may refuse to go on.
        watch: shows each part while it is asked.

    Raises:
        EngineError: the judge cannot be reached at all.
        LedgerError: a reply could not be stored.
    """
    store = RunStore(out)
    asked: list[Asked] = []
    given: tuple[GivenCalibrations, ...] = ()
    async with open_engines([judge_spec], offline, persistence) as engines:
        begun(await engines[judge_spec.name].identity())
        for name in PARTS:
            if name not in config.asked:
                continue
            folder = out / "work" / name
            folder.mkdir(parents=True, exist_ok=True)
            with Ledger.open(folder / "replies.sqlite") as ledger:
                judge = await judge_on(
                    judge_spec, engines[judge_spec.name], ledger, config.reasks, given, persistence.fail_after
                )
                context = PartContext(
                    judge,
                    judge_spec,
                    subject.snapshot,
                    subject.claims,
                    subject.reports,
                    folder,
                    config.seed,
                    given,
                    {name: judge},
                )
                with watch(name, context.shown):
                    found = await MAKERS[name](config).ask(context)
                given += found.calibrations
                asked.append(
                    Asked(
                        part=name,
                        items=found.items,
                        cost=sum(found.costs.values(), cost_of(judge)),
                        costs=dict(found.costs),
                        unmeasured=found.unmeasured,
                        notes=found.notes,
                    )
                )
            store.write_json(f"parts/{name}.json", asked[-1])
    return asked


def figures_of(asked: Sequence[Asked], config: QualifyConfig) -> list[Figure]:
    """All figures, in the order of the page: each part's own, how it was answered, and so over all parts."""
    found: list[Figure] = []
    for one in asked:
        part = MAKERS[one.part](config)
        found += [
            figure(measure, one.items, Draws(config.draws, config.seed), one.unmeasured)
            for measure in part.measures(one.items)
        ]
        found += _answering(one.part, one.items, one.cost)
    items = [item for one in asked for item in one.items]
    return found + _answering(ALL, items, sum((one.cost for one in asked), Cost()))


def _answering(of: str, items: Sequence[Item], cost: Cost) -> list[Figure]:
    """How a judge answers, whatever it says: shares of the items, and of the calls."""
    unanswered = sum(item.failure is not None for item in items)
    return [
        _rate(f"{of}/unanswered", unanswered, len(items)),
        _rate(f"{of}/reasked", cost.reasked, cost.calls),
        _rate(f"{of}/repaired", cost.repaired, cost.calls),
    ]


def _rate(id: str, hits: int, of: int) -> Figure:
    if not of:
        return Figure(id=id, value=None, n=0, reason="nothing was asked")
    found = rate(hits, of)
    return Figure(id=id, value=hits / of, low=found.low, high=found.high, n=of)
