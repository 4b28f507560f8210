"""Settings of a build.

Invariants: unknown keys are errors that name the file and the key; every count and limit of a build is a setting, and
no prompt contains one of its own.
"""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction
from importlib.resources import files
from math import floor
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, TypeAdapter, model_validator

from local_judge.base.model import Frozen
from local_judge.base.strict_yaml import load_yaml
from local_judge.runs.planning.config import laid_over, read_mapping, validated
from local_judge.tasks.alike import SAME
from local_judge.tasks.drafting import OWN, language_name

Profile = Literal["paper", "upstream"]
Quality = Literal["high", "medium", "low"]
Share = Annotated[float, Field(ge=0, le=1, strict=True, allow_inf_nan=False)]


def _ordered(words: tuple[int, int]) -> tuple[int, int]:
    if words[0] > words[1]:
        raise ValueError(f"the fewest words ({words[0]}) are above the most ({words[1]})")
    return words


_Count = Annotated[int, Field(strict=True, ge=1, le=1_000)]
Words = Annotated[tuple[_Count, _Count], AfterValidator(_ordered)]
"""Fewest and most words of a text."""

SIMILAR = 0.9
"""Default minimum cosine similarity of two duplicate tasks."""


class Domain(Frozen):
    """Domain of personas and their tasks."""

    name: str = Field(min_length=1, max_length=80)
    """Name of the domain."""
    about: str = Field(default="", max_length=400)
    """Description for the judge."""

    @property
    def slug(self) -> str:
        """Name as used in ids; empty if it has no letter a to z and no digit."""
        return "-".join(re.findall(r"[a-z0-9]+", self.name.lower()))


class PersonaSettings(Frozen):
    """Numbers and conditions of personas and tasks made from domains. The defaults are those of DeepResearchEval.

    Conditions are part of the prompt. Texts that meet them are counted (`outcome.Condition`); the others are kept too.
    """

    domains: int | None = Field(default=None, strict=True, ge=1)
    """Number of domains used, from the start of the list; default: all."""
    personas: int = Field(default=5, strict=True, ge=1, le=50)
    """Number of personas for each domain."""
    tasks: int = Field(default=4, strict=True, ge=1, le=50)
    """Number of tasks for each persona."""
    background_words: Words = (100, 150)
    """Words in a persona's background."""
    request_words: Words = (10, 50)
    """Words in a task's request."""
    time_bound: Share = 0.7
    """Share of the tasks of a domain that state a period or a day."""

    def timed(self, place: int) -> int:
        """Return how many tasks of a persona state a time: over the first n personas, round(time_bound * n * tasks).

        Args:
            place: Position of the persona among those of its domain, from 0.
        """
        share = Fraction(str(self.time_bound)) * self.tasks
        return floor(share * (place + 1) + Fraction(1, 2)) - floor(share * place + Fraction(1, 2))


class ClarifySettings(Frozen):
    """Settings for clarifying users' questions."""

    questions: int = Field(default=4, strict=True, ge=1, le=12)
    """Maximum number of clarifying questions."""


class ReformulateSettings(Frozen):
    """Settings for report tasks from questions with answers."""

    least: int = Field(default=3, strict=True, ge=1)
    """Minimum number of points."""
    points: int = Field(default=8, strict=True, ge=1, le=30)
    """Maximum number of points of guidance; `least` is the minimum."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.least > self.points:
            raise ValueError(f"least ({self.least}) is above points ({self.points})")
        return self


class NecessitySettings(Frozen):
    """Limits for tasks that a judge cannot answer from memory (DeepResearchEval)."""

    score: Share = 0.7
    """Maximum score of the answer without search."""
    qualities: tuple[Quality, ...] = Field(default=("low", "medium"), min_length=1)
    """Accepted qualities of that answer."""
    answer_words: int | None = Field(default=None, strict=True, ge=20, le=4_000)
    """Maximum length of that answer in words; default: as complete as the judge can, as published."""


class DuplicateSettings(Frozen):
    """Settings for duplicates."""

    method: Literal["embedding", "lexical", "off"] = "embedding"
    """Cosine of embeddings, overlap of character trigrams, or no removal of duplicates."""
    threshold: Share | None = None
    """Minimum similarity of two duplicates; default: that of the method."""
    model: str | None = None
    """Folder of an embedding model; default: the packaged model."""

    @property
    def at_least(self) -> float:
        """Threshold of the method."""
        if self.threshold is not None:
            return self.threshold
        return SIMILAR if self.method == "embedding" else SAME


def default_domains() -> tuple[Domain, ...]:
    """Return the ten published domains from `domains.yaml`."""
    text = files("local_judge.lab.task_construction").joinpath("domains.yaml").read_text(encoding="utf-8")
    return TypeAdapter(tuple[Domain, ...]).validate_python(load_yaml(text))


class BuildConfig(Frozen):
    """Everything that determines a build, except its judge and its input."""

    profile: Profile = "paper"
    """`paper`: confidence above the threshold; `upstream`: at or above it, as in the published code."""
    confidence: Share = 0.7
    """Minimum confidence that a task needs deep research."""
    language: str = Field(default="en", min_length=2, max_length=8)
    """ISO 639-1 code of personas and their tasks; other tasks keep the language of their source."""
    date: dt.date | None = None
    """Date given to the judge; default: the day on which the build was started."""
    seed: int = Field(default=0, strict=True)
    """Random seed for the judge's replies and for the order of tasks on ballot papers."""
    reasks: int = Field(default=2, strict=True, ge=0, le=5)
    """Number of times that missing items are asked for again."""
    domain_list: tuple[Domain, ...] = Field(default_factory=default_domains, min_length=1)
    """Domains to use instead of the packaged ones."""
    make: PersonaSettings = PersonaSettings()
    clarify: ClarifySettings = ClarifySettings()
    reformulate: ReformulateSettings = ReformulateSettings()
    necessity: NecessitySettings = NecessitySettings()
    duplicates: DuplicateSettings = DuplicateSettings()
    keep: int | None = Field(default=None, strict=True, ge=1)
    """Maximum number of tasks kept after a ranking; default: all that pass."""

    @model_validator(mode="after")
    def _nameable(self) -> Self:
        if language_name(self.language) == OWN:
            raise ValueError(
                f"no prompt can name language {self.language!r}; give an ISO 639-1 code such as en"
            )
        seen: dict[str, str] = {}
        for domain in self.domain_list:
            if not domain.slug:
                raise ValueError(
                    f"domain {domain.name!r} needs a letter a to z or a digit, from which its ids are made"
                )
            if domain.slug in seen:
                raise ValueError(f"domains {seen[domain.slug]!r} and {domain.name!r} would share their ids")
            seen[domain.slug] = domain.name
        if self.make.domains is not None and self.make.domains > len(self.domain_list):
            raise ValueError(f"{self.make.domains} domains asked for; the list has {len(self.domain_list)}")
        return self

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Domains that tasks are made for."""
        return self.domain_list[: self.make.domains]

    @property
    def today(self) -> str:
        """Date as written in prompts; a build runs only with a dated config."""
        assert self.date is not None
        return self.date.isoformat()


def load_build_config(path: Path | None, changes: dict[str, Any]) -> BuildConfig:
    """Return the config of a YAML file, overridden by options of the command line.

    Args:
        path: The file; None for the defaults.
        changes: Nested overrides; None values are ignored.

    Raises:
        ConfigError: The file cannot be read, is not a mapping, or has an unknown key or a value out of range.
    """
    data = {} if path is None else read_mapping(path)
    return validated(BuildConfig, laid_over(data, changes), str(path or "options"))
