"""A protocol from another package is qualified like a built-in one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint, EntryPoints, entry_points

import pytest

from local_judge.base.model import Frozen
from local_judge.lab.qualification.config import load_qualify_config
from local_judge.lab.qualification.parts.injection_reports import target_of
from local_judge.lab.qualification.parts.prompt_injection import PromptInjectionSettings
from local_judge.lab.qualification.parts.sensitivity import SensitivitySettings
from local_judge.lab.qualification.probes import scaled_scores, sensitivity_probes
from local_judge.lab.qualification.thresholds import check_figure, protocols_of
from local_judge.protocols import base
from local_judge.protocols.base import BaseProtocol, Case, EvalContext, Findings
from local_judge.protocols.probes import InjectionProbe, SensitivityProbe, expectations
from local_judge.scoring.node import TEN, Profile, Scale, Score, ScoreNode


class ToneFindings(Findings):
    """Nothing is asked here."""


class Tone(BaseProtocol[Frozen, ToneFindings]):
    """One score, from 0 to 10."""

    name = "tone"
    version = "1"
    settings_type = Frozen
    findings_type = ToneFindings
    sensitivity_probes = (SensitivityProbe("tone", {}, expectations("tone", ("contradiction",))),)
    injection_probes = (InjectionProbe("tone", "score", {}, "tone"),)

    async def examine(self, case: Case, context: EvalContext) -> ToneFindings:
        """Nothing."""
        return ToneFindings(case=case.id, document=case.report.id)

    def score(self, judges: Sequence[ToneFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """5 of 10."""
        return (ScoreNode(id="tone", label="Tone", score=Score(value=5), scale=TEN),)


@pytest.fixture
def tone(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_tone(group: str) -> EntryPoints:
        return EntryPoints([*entry_points(group=group), EntryPoint("tone", f"{__name__}:Tone", group)])

    monkeypatch.setattr(base, "registered", with_tone)


@pytest.mark.usefixtures("tone")
def test_its_probes_are_asked() -> None:
    assert "tone.tone" in SensitivitySettings().probes
    assert "tone.tone" in PromptInjectionSettings().probes
    assert target_of("tone.tone") == "score"
    rows = sensitivity_probes()["tone.tone"].probe.expectations
    assert [(row.flaw, row.truth) for row in rows] == [("contradiction", -1), ("padding", 0)]


@pytest.mark.usefixtures("tone")
def test_the_packaged_thresholds_count_for_it() -> None:
    check_figure("sensitivity/right/tone", "here")
    assert "tone" in protocols_of(["without_pages"], "here") and "tone" not in protocols_of(
        ["with_pages"], "here"
    )
    thresholds = load_qualify_config("full", None, None).thresholds
    counted = [name for name, one in thresholds.items() if one is not None and "tone" in one.protocols]
    assert {"answers_unanswered", "sensitivity_without_pages", "prompt_injection_refuses"} <= set(counted)
    assert "verification_auc" not in counted


def test_a_value_is_a_share_of_its_own_scale_or_of_the_scale_above() -> None:
    child = ScoreNode(id="errors", label="", score=Score(value=0.25), scale=Scale(high=1, better="lower"))
    bare = ScoreNode(id="part", label="", score=Score(value=5))
    root = ScoreNode(id="all", label="", score=Score(value=5), scale=TEN, children=(child, bare))
    found = scaled_scores([root])
    assert found["all/part"].share(5, "all/part") == 0.5
    assert found["all/errors"].share(0.25, "all/errors") == 0.75
    with pytest.raises(ValueError, match=r"no probe 'sound'; there are: "):
        SensitivitySettings(probes={"sound": None})
