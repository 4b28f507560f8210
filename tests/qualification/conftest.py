"""A bench on the small set of reports, with a scripted judge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from indexes.snapshot import Snapshot
from local_judge.planting.model import PlantedClaim
from local_judge.qualification.bench import Bench, Found, Part
from local_judge.qualification.figures import Draws, figure
from local_judge.qualification.model import Figure
from local_judge.qualification.small.load import small_reports, small_snapshot
from local_judge.runs.inputs import RawReport
from local_judge.runs.seats import seats_of
from serving.engines.scripted import Call, Reply, ScriptedEngine

from ..scripted_judge import MakeJudge
from ..stub_thread import write_preset


class Asked(NamedTuple):
    """What a part found, as figures too."""

    found: Found
    figures: dict[str, Figure]
    engine: ScriptedEngine

    def value(self, id: str) -> float | None:
        """Of one figure."""
        return self.figures[id].value


AskPart = Callable[..., Asked]


@pytest.fixture(scope="session")
def small_pages(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The pages of the small set."""
    return small_snapshot(tmp_path_factory.mktemp("small"), workers=0)


@pytest.fixture
def ask_part(tmp_path: Path, make_judge: MakeJudge, small_pages: Snapshot) -> AskPart:
    """Asks a part with a judge on a script, about the small set unless told otherwise."""

    def ask(
        part: Part,
        script: Callable[[Call], Reply],
        *,
        reports: Sequence[RawReport] | None = None,
        claims: Sequence[PlantedClaim] = (),
        folder: str = "part",
    ) -> Asked:
        judge, engine = make_judge(script)
        (seat,) = seats_of([str(write_preset(tmp_path))], ["http://127.0.0.1:9/v1"])
        bench = Bench(
            judge=judge,
            seat=seat,
            snapshot=small_pages,
            claims=claims,
            reports=small_reports() if reports is None else reports,
            folder=tmp_path / folder,
            seed=0,
        )
        found = asyncio.run(part.ask(bench))
        measures = part.measures(found.items)
        assert len({measure.id for measure in measures}) == len(measures)
        figures = {measure.id: figure(measure, found.items, Draws(20, 0)) for measure in measures}
        return Asked(found, figures, engine)

    return ask
