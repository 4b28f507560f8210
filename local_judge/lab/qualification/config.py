"""How a judge is qualified.

Invariant: whatever changes a page is a field here; a part that is not chosen is not asked, and is named on the page.
The packaged settings are files that a user can read: `configs/qualification/full.yaml`, and `quick.yaml` laid over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import Field, model_validator

from local_judge.errors import ConfigError
from local_judge.judge.qualification_record import Scale
from local_judge.lab.annotations.load import annotation_path
from local_judge.lab.qualification.model import PartName
from local_judge.lab.qualification.parts.extraction import ExtractionSettings
from local_judge.lab.qualification.parts.labels import LabelsSettings
from local_judge.lab.qualification.parts.position import PositionSettings
from local_judge.lab.qualification.parts.prompt_injection.settings import PromptInjectionSettings
from local_judge.lab.qualification.parts.retest import RetestSettings
from local_judge.lab.qualification.parts.sensitivity import SensitivitySettings
from local_judge.lab.qualification.parts.verification import VerificationSettings
from local_judge.lab.qualification.thresholds import Threshold
from local_judge.lab.qualification.vocabulary import check_figure, protocols_of
from local_judge.runs.config import laid_over, validated
from serving.strict_yaml import load_yaml
from serving.types import Frozen

PARTS: tuple[PartName, ...] = get_args(PartName)


class QualifyConfig(Frozen):
    """All settings of a qualification."""

    parts: tuple[PartName, ...] = PARTS
    verification: VerificationSettings = VerificationSettings()
    prompt_injection: PromptInjectionSettings = Field(default_factory=PromptInjectionSettings)
    extraction: ExtractionSettings = ExtractionSettings()
    retest: RetestSettings = RetestSettings()
    position: PositionSettings = PositionSettings()
    sensitivity: SensitivitySettings = Field(default_factory=SensitivitySettings)
    labels: LabelsSettings = LabelsSettings()
    reasks: int = Field(default=2, ge=0, le=5)
    seed: int = 0
    draws: int = Field(default=1000, ge=0, le=100_000)
    """Of each interval's bootstrap."""
    thresholds: dict[str, Threshold | None] = Field(default_factory=dict[str, Threshold | None])
    """By name; None takes one away."""

    @model_validator(mode="after")
    def _labels_are_not_fitted_on(self) -> QualifyConfig:
        """What the calibrations were fitted on says nothing of how they do: such a file is in one of the two."""
        if "labels" in self.asked and "verification" in self.asked:
            for given in self.labels.reports:
                for other in self.verification.annotated:
                    one, two = (annotation_path(path).resolve() for path in (given, other))
                    if one == two or one in two.parents or two in one.parents:
                        raise ValueError(
                            f"labels.reports: verification.annotated has {other} too, and a judge is not compared with "
                            "labels that its calibration was fitted on; leave it out of one of them"
                        )
        return self

    @property
    def asked(self) -> tuple[PartName, ...]:
        """The parts that are asked: without annotated reports there is nothing to ask in `labels`."""
        return tuple(
            name for name in PARTS if name in self.parts and (name != "labels" or self.labels.reports)
        )


def config_folder() -> Path:
    """Where the packaged settings are: beside this module in a wheel, else in the repository."""
    here = Path(__file__).parent
    packaged = here / "configs"
    return packaged if packaged.is_dir() else here.parents[2] / "configs" / "qualification"


def load_qualify_config(scale: Scale, path: Path | None, parts: tuple[str, ...] | None) -> QualifyConfig:
    """The packaged settings with a user's file and the command line laid over them.

    Args:
        scale: which of the packaged ones.
        path: a YAML file that says only what it changes.
        parts: of the command line; None leaves what the files say.

    Raises:
        ConfigError: a file cannot be read, has an unknown key or a value out of range, or names a part or a
            figure or a protocol that is none.
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
    return config.model_copy(
        update={"thresholds": {name: _resolved(one, name, place) for name, one in config.thresholds.items()}}
    )


def _resolved(threshold: Threshold | None, name: str, place: str) -> Threshold | None:
    """A threshold with the protocols that it counts for by name, each with a figure that there is."""
    if threshold is None:
        return None
    protocols = protocols_of(threshold.protocols, f"{place}: thresholds.{name}.protocols")
    for protocol in protocols:
        check_figure(threshold.of(protocol), f"{place}: thresholds.{name}.figure")
    return threshold.model_copy(update={"protocols": protocols})


def _check_names(own: Mapping[str, Any], packaged: Mapping[str, Any], place: str) -> None:
    """A threshold that is changed or taken away is one of the packaged ones, or was misspelt."""
    thresholds = own.get("thresholds")
    named = cast("dict[str, Any]", thresholds) if isinstance(thresholds, dict) else {}
    for name, given in named.items():
        if name not in packaged and (given is None or (isinstance(given, dict) and "figure" not in given)):
            raise ConfigError(
                f"{place}: thresholds.{name}: no packaged threshold has this name; there are: {', '.join(packaged)}; "
                "one of your own needs a figure"
            )


def _read(path: Path) -> dict[str, Any]:
    try:
        loaded = load_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from None
    if not isinstance(loaded, dict | None):
        raise ConfigError(f"{path}: expected a mapping of settings")
    return cast("dict[str, Any]", loaded or {})
