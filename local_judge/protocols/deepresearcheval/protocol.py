"""DeepResearchEval: adaptive point-wise quality, and active fact-checking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast

from local_judge.base.errors import ConfigError
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings
from local_judge.protocols.deepresearcheval.facts.metric import Facts
from local_judge.protocols.deepresearcheval.original_prompts import prompts_from
from local_judge.protocols.deepresearcheval.quality import Quality, QualitySettings
from local_judge.protocols.deepresearcheval.quality_criteria import QualityFindings
from local_judge.protocols.deepresearcheval.quality_scores import QUALITY
from local_judge.protocols.file_formats import FileFormat
from local_judge.protocols.metric import MetricProtocol, PartFindings
from local_judge.protocols.originals import Original, PromptSource
from local_judge.protocols.probes import InjectionProbe, SensitivityProbe, expectations
from local_judge.scoring.node import DIFFERENCE, TEN, WHOLE, Place


class DreFindings(PartFindings):
    """Findings of each part."""

    quality: QualityFindings | None = None
    facts: FactsFindings | None = None


class DeepResearchEval(MetricProtocol[DreFindings]):
    """Adaptive point-wise quality, and active fact-checking."""

    name = "deepresearcheval"
    version = "3"
    profiles = ("paper", "upstream")
    findings_type = DreFindings
    metrics = (Quality, Facts)
    places: ClassVar[Mapping[str, Place]] = {
        "quality": Place(scale=TEN, aside=WHOLE),
        "quality/general/coverage": Place(vertical="compliance", scale=TEN),
        "quality/general/insight": Place(vertical="depth", scale=TEN),
        "quality/general/instruction_following": Place(vertical="compliance", scale=TEN),
        "quality/general/clarity": Place(vertical="presentation", scale=TEN),
        "quality/specific": Place(vertical="compliance", scale=TEN),
        "general_gap": Place(scale=None, aside=DIFFERENCE),
    }
    sensitivity_probes = (
        SensitivityProbe(
            "quality",
            {"parts": ["quality"]},
            expectations("quality", ("dropped", "contradiction", "reasoning")),
        ),
    )
    injection_probes = (InjectionProbe("quality", "score", {"parts": ["quality"]}, "quality"),)

    def original_prompts(self, source: PromptSource) -> Original:
        """Return the prompts of quality as published."""
        if self.settings.parts != (QUALITY,):
            raise ConfigError(
                "deepresearcheval.parts: with published prompts only quality can be judged; "
                f"give --set deepresearcheval.parts=[{QUALITY}]"
            )
        quality = cast("QualitySettings", getattr(self.settings, QUALITY))
        if quality.calls != "dimension":
            raise ConfigError(
                f"deepresearcheval.quality.calls={quality.calls}: not in the published code; with its prompts, give "
                "--set deepresearcheval.quality.calls=dimension"
            )
        return prompts_from(source)

    def file_format(self) -> FileFormat[DreFindings]:
        """Return the published project's files: see `export`."""
        from local_judge.protocols.deepresearcheval.export import DreFiles

        return DreFiles()
