"""Benches, subjects and scripted judges of the qualification's tests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.lab.annotations.load import sample_folder
from local_judge.lab.labelled.model import planted_claims
from local_judge.lab.planting.claims import DrawSettings, draw_claims
from local_judge.lab.planting.commands import read_planted_claims
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.planting.pages import plant_pages, usable
from local_judge.lab.qualification.config import QualifyConfig, load_qualify_config
from local_judge.lab.qualification.figures import Draws, figure
from local_judge.lab.qualification.material import sample_reports, sample_snapshot
from local_judge.lab.qualification.model import Figure
from local_judge.lab.qualification.part import AnyPart, Found, PartContext
from local_judge.lab.qualification.qualify import Qualification, qualify
from local_judge.runs.execution import judges
from local_judge.runs.execution.judges import judge_specs_of
from local_judge.runs.planning.inputs import RawReport
from serving.engines.scripted import Call, Reply, ScriptedEngine

from ...scripted_judge import MakeJudge
from ...stub_thread import write_preset

Qualify = Callable[..., tuple[Qualification, ScriptedEngine]]


class Knowing:
    """A judge that knows which planted claims are true, and says so as it is told to.

    Args:
        out: where the claims are planted.
        says: P(yes) of a true claim and of an altered one.
    """

    def __init__(self, out: Path, says: Callable[[PlantedClaim], float]) -> None:
        self._out, self._says = out, says
        self._known: dict[str, PlantedClaim] = {}

    def __call__(self, call: Call) -> Reply:
        if not self._known:
            self._known = {one.claim: one for one in read_planted_claims(self._out / "planted")}
        if call.options is not None:
            claim = call.prompt.partition("Claim:\n```\n")[2].partition("\n```")[0]
            yes = self._says(self._known[claim])
            return {"Yes": yes, "No": 1 - yes}
        return self._labels(call.prompt)

    def _labels(self, prompt: str) -> Mapping[str, Any]:
        """What `grouped` asks: a label for each numbered claim."""
        listed = re.findall(r"^(\d+)\. (?:L\d+\.S\d+: )?(.+)$", prompt, re.MULTILINE)
        said: dict[str, Any] = {}
        for number, text in listed:
            claim = self._known.get(text)
            if claim is not None:
                label = "supported" if self._says(claim) >= 0.5 else "contradicted"
                said[number] = {"label": label, "quote": ""}
        return said


@pytest.fixture
def qualified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Qualify:
    """Qualifies a judge on a script, and gives its engine to look at what was asked."""

    def run(
        script: Callable[[Call], Reply], out: str = "q", config: QualifyConfig | None = None, **given: Any
    ) -> tuple[Qualification, ScriptedEngine]:
        engine = ScriptedEngine(script)

        def connect(*_: object, **__: object) -> ScriptedEngine:
            return engine

        monkeypatch.setattr(judges, "connect", connect)
        [judge_spec] = judge_specs_of([str(write_preset(tmp_path))], ["http://127.0.0.1:9/v1"])
        settings = config or load_qualify_config("quick", None, ("verification",))
        return asyncio.run(qualify(judge_spec, settings, "quick", tmp_path / out, **given)), engine

    return run


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
    return sample_snapshot(tmp_path_factory.mktemp("small"), workers=0)


@pytest.fixture
def ask_part(tmp_path: Path, make_judge: MakeJudge, small_pages: Snapshot) -> AskPart:
    """Asks a part with a judge on a script, about the small set unless told otherwise."""

    def ask(
        part: AnyPart,
        script: Callable[[Call], Reply],
        *,
        reports: Sequence[RawReport] | None = None,
        claims: Sequence[PlantedClaim] = (),
        folder: str = "part",
    ) -> Asked:
        judge, engine = make_judge(script)
        (judge_spec,) = judge_specs_of([str(write_preset(tmp_path))], ["http://127.0.0.1:9/v1"])
        context = PartContext(
            judge=judge,
            judge_spec=judge_spec,
            snapshot=small_pages,
            claims=planted_claims(claims),
            reports=sample_reports() if reports is None else reports,
            folder=tmp_path / folder,
            seed=0,
        )
        found = asyncio.run(part.ask(context))
        measures = part.measures(found.items)
        assert len({measure.id for measure in measures}) == len(measures)
        figures = {measure.id: figure(measure, found.items, Draws(20, 0)) for measure in measures}
        return Asked(found, figures, engine)

    return ask


@pytest.fixture(scope="session")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The pages of the annotated sample: English and Chinese."""
    out = tmp_path_factory.mktemp("annotated") / "snapshot"
    import_pages(sample_folder() / "pages", out, workers=0)
    return Snapshot.open(out)


@pytest.fixture(scope="session")
def planted(annotated: Snapshot) -> tuple[PlantedClaim, ...]:
    """Claims about these pages, as far as they admit 40."""
    pages = plant_pages(usable(annotated.pages()), seed=3)
    return draw_claims(pages, DrawSettings(n=40, seed=3)).claims
