"""A qualification carried out: each part asked once and kept, then figures.

    parts/NAME.json       items and cost of a part
    work/NAME/            its ledger, and the runs that it needed

Invariant: figures are computed from what is kept, so that a second start asks nothing that was answered and gives the
same figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from indexes.snapshot import Snapshot
from local_judge.judge.judge import Judge
from local_judge.judge.ledger import Ledger
from local_judge.planting.model import PlantedClaim
from local_judge.qualification.bench import Bench, Part
from local_judge.qualification.config import PARTS, QualifyConfig
from local_judge.qualification.figures import Draws, figure
from local_judge.qualification.model import Asked, Cost, Figure, PartName
from local_judge.qualification.parts.position import Position
from local_judge.qualification.parts.retest import Retest
from local_judge.qualification.parts.sensitivity import Sensitivity
from local_judge.qualification.parts.verification import Verification
from local_judge.runs.calibrations import Given
from local_judge.runs.inputs import RawReport
from local_judge.runs.seats import Seat
from local_judge.runs.session import judge_on, open_engines
from local_judge.runs.store import RunStore

MAKERS: Mapping[PartName, Callable[[QualifyConfig], Part]] = {
    "verification": lambda config: Verification(config.verification),
    "retest": lambda config: Retest(config.retest),
    "position": lambda config: Position(config.position),
    "sensitivity": lambda config: Sensitivity(config.sensitivity),
}


class Subject(NamedTuple):
    """What the judge is asked about."""

    snapshot: Snapshot
    claims: Sequence[PlantedClaim]
    reports: Sequence[RawReport]


async def ask_parts(
    seat: Seat,
    subject: Subject,
    config: QualifyConfig,
    out: Path,
    *,
    offline: bool = True,
    told: Callable[[PartName], None] = lambda name: None,
) -> list[Asked]:
    """Every part in turn, each on disk before the next begins.

    Args:
        seat: the judge.
        subject: pages, planted claims and reports.
        config: which parts, and how much.
        out: where all is kept.
        offline: refuse every connection but to the judge's server.
        told: is told of each part before it begins.

    Raises:
        EngineError: the judge cannot be reached at all.
        LedgerError: a reply could not be stored.
    """
    store = RunStore(out)
    asked: list[Asked] = []
    given: tuple[Given, ...] = ()
    async with open_engines([seat], offline) as engines:
        for name in PARTS:
            if name not in config.parts or name not in MAKERS:
                continue
            told(name)
            folder = out / "work" / name
            folder.mkdir(parents=True, exist_ok=True)
            with Ledger.open(folder / "replies.sqlite") as ledger:
                judge = await judge_on(seat, engines[seat.name], ledger, config.reasks, given)
                bench = Bench(
                    judge,
                    seat,
                    subject.snapshot,
                    subject.claims,
                    subject.reports,
                    folder,
                    config.seed,
                    given,
                )
                found = await MAKERS[name](config).ask(bench)
                given += found.calibrations
                asked.append(
                    Asked(part=name, items=found.items, cost=cost_of(judge, ledger), notes=found.notes)
                )
            store.write_json(f"parts/{name}.json", asked[-1])
    return asked


def cost_of(judge: Judge, ledger: Ledger) -> Cost:
    """What the judge has been asked, and what its ledger says that the answers took."""
    meter, stats = judge.meter, ledger.stats()
    return Cost(
        calls=meter.made + meter.replayed + meter.failed,
        reasked=meter.reasked,
        repaired=meter.repaired,
        failed=meter.failed,
        prompt_tokens=stats.prompt_tokens,
        cached_tokens=stats.cached_tokens,
        completion_tokens=stats.completion_tokens,
        seconds=stats.busy_seconds,
    )


def figures_of(asked: Sequence[Asked], config: QualifyConfig) -> list[Figure]:
    """All figures, in the order of the page."""
    found: list[Figure] = []
    for one in asked:
        part = MAKERS[one.part](config)
        found += [
            figure(measure, one.items, Draws(config.draws, config.seed))
            for measure in part.measures(one.items)
        ]
    return found
