"""Settings of RACE.

Invariant: whatever changes an answer or its meaning is a field here, and is recorded in the run's manifest.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from local_judge.base.model import Frozen
from local_judge.protocols.base import PathSetting
from local_judge.protocols.race.findings import Cleaning, Mode, Order, Scoring, Source

Positions = Literal["own", "swapped", "both"]
"""`own`: the articles as `order` has them. `swapped`: the other way round. `both`: once each."""


class RaceSettings(Frozen):
    """Settings of a comparison."""

    mode: Mode = "reference"
    """Comparison with the reference. `pointwise`: the report alone. `vanilla`: the report alone, one score, no
    criteria."""
    criteria: Source = "adaptive"
    """`adaptive`: the task's own criteria. `static`: the same 15 for all tasks."""
    criteria_file: Annotated[str | None, PathSetting()] = Field(default=None, min_length=1)
    """A YAML file of static criteria, in the form of this package's `data/static.yaml`; None for that one."""
    order: Order = "paper"
    """Order of a comparison's prompt. `paper`: request, report, reference, criteria. `shared`: request, criteria,
    reference, report, so that other systems' prompts begin alike; the reference is first, the ablation "Reverse
    Position" of DeepResearch Bench, Table 2."""
    positions: Positions = "own"
    """Places of the articles: as `order` has them, the other way round, or once each."""
    draws: int = Field(default=1, ge=1, le=64)
    """Number of times that each comparison is made; needs a judge that samples."""
    calls: Literal["task", "dimension"] = "task"
    """One call for all criteria, as in the published code, or one for each dimension: shorter replies, more of them."""
    criterion_weights: bool = True
    """The weights of criteria count; else all criteria of a dimension count alike."""
    dimension_weights: bool = True
    """The weights of dimensions count; else all dimensions count alike."""
    scoring: Scoring = "sampled"
    """Score of an article alone: as the judge writes it, or the expected value over its probabilities of 0 to
    10, without or after its analysis."""
    cleaning: Cleaning = "code"
    """Removal of citations: by code, by marks of a judge, or none."""
    language: str | None = Field(default=None, min_length=1, max_length=40, pattern=r"^[^\n{}`]+$")
    """Name of the language in which the judge writes its analyses; None for that of the request."""

    @field_validator("criteria_file", mode="before")
    @classmethod
    def _one_file(cls, given: object) -> object:
        if isinstance(given, list | tuple):
            raise ValueError("one file holds the criteria of all tasks; join the files and give that one")
        return given

    @model_validator(mode="after")
    def _fit_together(self) -> RaceSettings:
        if self.positions != "own" and self.mode != "reference":
            raise ValueError(f"positions={self.positions} needs a reference; mode={self.mode} shows none")
        if self.scoring != "sampled" and self.mode == "reference":
            raise ValueError(f"scoring={self.scoring} scores one article; add mode=pointwise or mode=vanilla")
        if self.scoring == "expected" and self.draws > 1:
            raise ValueError(
                f"scoring=expected samples nothing, so that draws={self.draws} would all be the same"
            )
        if self.criteria_file is not None and self.criteria != "static":
            raise ValueError("criteria_file holds static criteria; add criteria=static")
        return self
