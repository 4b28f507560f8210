"""Several judges of which it is known what they are worth, qualified on the same claims."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.config import QualifyConfig
from local_judge.lab.qualification.parts.verification import VerificationSettings
from local_judge.lab.qualification.qualify import qualify
from local_judge.runs.execution import judges
from local_judge.runs.execution.judges import judge_specs_of
from serving.engines.scripted import ScriptedEngine

from ....stub_thread import write_preset
from ..conftest import Knowing

SMALL = QualifyConfig(
    parts=("verification",), verification=VerificationSettings(claims=40, grouped=False), draws=100
)

Examine = Callable[..., Path]


@pytest.fixture
def examine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Examine:
    """Qualifies a judge of some name that says P(yes) of a claim by a function; gives the folder."""

    def run(
        name: str, says: Callable[[PlantedClaim], float], config: QualifyConfig = SMALL, **given: Any
    ) -> Path:
        out = tmp_path / name
        engine = ScriptedEngine(Knowing(out, says), model=name)

        def connect(*_: object, **__: object) -> ScriptedEngine:
            return engine

        monkeypatch.setattr(judges, "connect", connect)
        preset = write_preset(tmp_path).rename(tmp_path / f"{name}.yaml")
        [judge_spec] = judge_specs_of([str(preset)], ["http://127.0.0.1:9/v1"])
        asyncio.run(qualify(judge_spec, config, "quick", out, **given))
        return out

    return run
