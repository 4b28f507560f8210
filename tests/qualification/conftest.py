"""Judges of which it is known what they are worth, qualified."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from local_judge.planting.model import PlantedClaim
from local_judge.qualification.config import QualifyConfig, load_qualify_config
from local_judge.qualification.qualify import Qualification, qualify
from local_judge.runs import session
from local_judge.runs.planting import read_planted_claims
from local_judge.runs.seats import seats_of
from serving.engines.scripted import Call, Reply, ScriptedEngine

from ..stub_thread import write_preset

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

        monkeypatch.setattr(session, "connect", connect)
        [seat] = seats_of([str(write_preset(tmp_path))], ["http://127.0.0.1:9/v1"])
        settings = config or load_qualify_config("quick", None, ("verification",))
        return asyncio.run(qualify(seat, settings, "quick", tmp_path / out, **given)), engine

    return run
