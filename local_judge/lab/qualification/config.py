"""Settings of a qualification.

Invariant: whatever changes a page is a field here. A part that is not chosen is not run, and is named on the page.
The packaged settings are files for users to read: `configs/qualification/full.yaml`, and `quick.yaml` merged over it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import Field, model_validator

from local_judge.base.errors import ConfigError
from local_judge.base.files import MOST_YAML, read_utf8
from local_judge.base.model import Frozen
from local_judge.base.strict_yaml import load_yaml
from local_judge.judge.qualification_record import Scale
from local_judge.lab.annotations.load import annotation_path
from local_judge.lab.qualification.model import PartName
from local_judge.lab.qualification.part import AnyPart
from local_judge.lab.qualification.parts import PARTS
from local_judge.lab.qualification.parts.extraction import ExtractionSettings
from local_judge.lab.qualification.parts.injection_trials import PromptInjectionSettings
from local_judge.lab.qualification.parts.labels import LabelsSettings
from local_judge.lab.qualification.parts.position import PositionSettings
from local_judge.lab.qualification.parts.retest import RetestSettings
from local_judge.lab.qualification.parts.sensitivity import SensitivitySettings
from local_judge.lab.qualification.parts.verification import VerificationSettings
from local_judge.lab.qualification.thresholds import Threshold, check_figure, protocols_of
from local_judge.runs.planning.config import laid_over, validated


class QualifyConfig(Frozen):
    """All settings of a qualification."""

    parts: tuple[PartName, ...] = tuple(PARTS)
    """Parts to run."""
    verification: VerificationSettings = VerificationSettings()
    prompt_injection: PromptInjectionSettings = Field(default_factory=PromptInjectionSettings)
    extraction: ExtractionSettings = ExtractionSettings()
    retest: RetestSettings = RetestSettings()
    position: PositionSettings = PositionSettings()
    sensitivity: SensitivitySettings = Field(default_factory=SensitivitySettings)
    labels: LabelsSettings = LabelsSettings()
    reasks: int = Field(default=2, ge=0, le=5)
    """Number of times that an unanswered item is asked again."""
    seed: int = 0
    """Random seed."""
    draws: int = Field(default=1000, ge=0, le=100_000)
    """Number of bootstrap draws for each interval."""
    thresholds: dict[str, Threshold | None] = Field(default_factory=dict[str, Threshold | None])
    """Thresholds by name; None removes one."""

    @model_validator(mode="after")
    def _labels_are_not_fitted_on(self) -> QualifyConfig:
        """Refuse an annotation file that is both fitted on and compared with."""
        if "labels" in self.asked and "verification" in self.asked:
            for given in self.labels.reports:
                for other in self.verification.annotated:
                    one, two = (annotation_path(path).resolve() for path in (given, other))
                    if one == two or one in two.parents or two in one.parents:
                        raise ValueError(
                            f"labels.reports: verification.annotated also has {other}, and a judge cannot be compared "
                            "with labels that its calibration is fitted on; remove it from one of them"
                        )
        return self

    @property
    def asked(self) -> tuple[PartName, ...]:
        """Names of the parts to run; `labels` has no questions without labelled claims."""
        return tuple(
            name
            for name in PARTS
            if name in self.parts and (name != "labels" or self.labels.reports or self.labels.claims)
        )

    def part(self, name: PartName) -> AnyPart:
        """Return a part with its settings."""
        return PARTS[name](getattr(self, name))

    def chosen_parts(self) -> list[AnyPart]:
        """Return the parts to run, with their settings, in the order of the page."""
        return [self.part(name) for name in self.asked]


def config_folder() -> Path:
    """Return the folder of the packaged settings: beside this module in a wheel, else in the repository."""
    here = Path(__file__).parent
    packaged = here / "configs"
    return packaged if packaged.is_dir() else here.parents[2] / "configs" / "qualification"


def load_qualify_config(
    scale: Scale, path: Path | None, parts: tuple[str, ...] | None, labels: Sequence[Path] = ()
) -> QualifyConfig:
    """Merge a user's file and the command line over the packaged settings.

    Args:
        scale: the packaged settings to start from.
        path: a YAML file with the settings to change.
        parts: parts from the command line; None keeps those of the files.
        labels: files of labelled claims from the command line, in place of those of the files.

    Raises:
        ConfigError: a file cannot be read, has an unknown key or a value out of range, or names an unknown part,
            figure or protocol.
    """
    data, place = _read(config_folder() / "full.yaml"), f"{scale}.yaml"
    if scale == "quick":
        data = laid_over(data, _read(config_folder() / place))
    if path is not None:
        own, place = _read(path), str(path)
        _check_names(own, data["thresholds"], place)
        data = laid_over(data, own, nulls=True)
    config = validated(QualifyConfig, data, place)
    if parts is not None:
        chosen = validated(QualifyConfig, {"parts": parts}, "--parts").parts
        config = config.model_copy(update={"parts": tuple(name for name in PARTS if name in chosen)})
    if labels:
        own_labels = config.labels.model_copy(update={"claims": tuple(map(str, labels))})
        asked = tuple(name for name in PARTS if name in config.parts or name == "labels")
        config = config.model_copy(update={"labels": own_labels, "parts": asked})
    resolved = {
        name: _resolved(one, name, place, config.thresholds) for name, one in config.thresholds.items()
    }
    return config.model_copy(update={"thresholds": resolved})


def _resolved(threshold: Threshold | None, name: str, place: str, names: Collection[str]) -> Threshold | None:
    """Return a threshold with groups replaced by protocol names, and check its figures."""
    if threshold is None:
        return None
    protocols = protocols_of(threshold.protocols, f"{place}: thresholds.{name}.protocols")
    if threshold.outranks and threshold.outranks not in names:
        raise ConfigError(f"{place}: thresholds.{name}.outranks: no threshold {threshold.outranks!r}")
    for protocol in protocols:
        check_figure(threshold.of(protocol), f"{place}: thresholds.{name}.figure")
    return threshold.model_copy(update={"protocols": protocols})


def _check_names(own: Mapping[str, Any], packaged: Mapping[str, Any], place: str) -> None:
    """Refuse a change to a threshold that does not exist, which is probably misspelt."""
    thresholds = own.get("thresholds")
    named = cast("dict[str, Any]", thresholds) if isinstance(thresholds, dict) else {}
    for name, given in named.items():
        if name not in packaged and (given is None or (isinstance(given, dict) and "figure" not in given)):
            raise ConfigError(
                f"{place}: thresholds.{name}: no packaged threshold has this name; there are: {', '.join(packaged)}; "
                "a new threshold needs a figure"
            )


def _read(path: Path) -> dict[str, Any]:
    try:
        loaded = load_yaml(read_utf8(path, MOST_YAML))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from None
    if not isinstance(loaded, dict | None):
        raise ConfigError(f"{path}: expected a mapping of settings")
    return cast("dict[str, Any]", loaded or {})
