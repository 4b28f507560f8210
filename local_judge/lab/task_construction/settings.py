"""What is built, and by which limits.

Invariants: unknown keys are errors that name the file and the key; every count and limit of a build is a setting, and
none stands in a prompt by itself.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from fractions import Fraction
from importlib.resources import files
from math import floor
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, model_validator

from local_judge.errors import ConfigError, brief
from local_judge.tasks.alike import SAME
from local_judge.tasks.languages import OWN, language_name
from serving.strict_yaml import load_yaml
from serving.types import Frozen

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
"""Least cosine of two tasks that are one, unless a config says another."""


class Domain(Frozen):
    """What persons and their tasks are made for."""

    name: str = Field(min_length=1, max_length=80)
    about: str = Field(default="", max_length=400)

    @property
    def slug(self) -> str:
        """The name as it stands in ids; empty where it has no letter of a to z and no digit."""
        return "-".join(re.findall(r"[a-z0-9]+", self.name.lower()))


class PersonaSettings(Frozen):
    """How much is made from domains, and under which conditions. The defaults are those of DeepResearchEval.

    Conditions are asked for; how many texts meet them is counted (`outcome.Condition`), and none is dropped for it.
    """

    domains: int | None = Field(default=None, strict=True, ge=1)
    """Only the first so many of the list; default: all."""
    personas: int = Field(default=5, strict=True, ge=1, le=50)
    """Of each domain."""
    tasks: int = Field(default=4, strict=True, ge=1, le=50)
    """Of each persona."""
    background_words: Words = (100, 150)
    """Of a persona."""
    request_words: Words = (10, 50)
    """Of a task."""
    time_bound: Share = 0.7
    """Share of the tasks of a domain that state the period or the day that they are about."""

    def timed(self, place: int) -> int:
        """How many tasks of a persona state a time; over the first n of a domain round(time_bound * n * tasks).

        Args:
            place: of the persona among those of its domain, from 0.
        """
        share = Fraction(str(self.time_bound)) * self.tasks
        return floor(share * (place + 1) + Fraction(1, 2)) - floor(share * place + Fraction(1, 2))


class ClarifySettings(Frozen):
    """How raw questions are clarified."""

    questions: int = Field(default=4, strict=True, ge=1, le=12)
    """The most that are asked back."""


class ReformulateSettings(Frozen):
    """How question-and-answer items become report tasks."""

    least: int = Field(default=3, strict=True, ge=1)
    points: int = Field(default=8, strict=True, ge=1, le=30)
    """Points of guidance: fewest and most."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.least > self.points:
            raise ValueError(f"least ({self.least}) is above points ({self.points})")
        return self


class NecessitySettings(Frozen):
    """Which tasks a judge cannot answer from memory (DeepResearchEval)."""

    score: Share = 0.7
    """A task is kept if the answer without search scores at most this."""
    qualities: tuple[Quality, ...] = Field(default=("low", "medium"), min_length=1)
    """And is of one of these qualities."""
    answer_words: int = Field(default=600, strict=True, ge=20, le=4_000)
    """The most words of the answer without search."""


class DuplicateSettings(Frozen):
    """Which tasks are the same."""

    method: Literal["embedding", "lexical", "off"] = "embedding"
    """Cosine of embeddings; overlap of runs of three characters; or not looked for."""
    threshold: Share | None = None
    """Least similarity of two that are the same; default: that of the method."""
    model: str | None = None
    """Folder of an embedding model; default: the packaged one."""

    @property
    def at_least(self) -> float:
        """The threshold."""
        if self.threshold is not None:
            return self.threshold
        return SIMILAR if self.method == "embedding" else SAME


def default_domains() -> tuple[Domain, ...]:
    """The ten published domains, in `domains.yaml`."""
    text = files("local_judge.lab.task_construction").joinpath("domains.yaml").read_text(encoding="utf-8")
    return TypeAdapter(tuple[Domain, ...]).validate_python(load_yaml(text))


class BuildConfig(Frozen):
    """All that decides what a build makes and keeps, but its judge and its input."""

    profile: Profile = "paper"
    """`paper`: confidence above the threshold; `upstream`: at or above it, as the published code has it."""
    confidence: Share = 0.7
    language: str = Field(default="en", min_length=2, max_length=8)
    """ISO 639-1 code of what is made for personas; other tasks keep the language of what they are made from."""
    date: dt.date | None = None
    """The day that judges are told it is; default: that on which the build was begun."""
    seed: int = Field(default=0, strict=True)
    """Of the judge's replies, and of the order in which people see tasks."""
    reasks: int = Field(default=2, strict=True, ge=0, le=5)
    """How often what is missing is asked for again."""
    domain_list: tuple[Domain, ...] = Field(default_factory=default_domains, min_length=1)
    make: PersonaSettings = PersonaSettings()
    clarify: ClarifySettings = ClarifySettings()
    reformulate: ReformulateSettings = ReformulateSettings()
    necessity: NecessitySettings = NecessitySettings()
    duplicates: DuplicateSettings = DuplicateSettings()
    keep: int | None = Field(default=None, strict=True, ge=1)
    """The most tasks that are kept once people have ranked them; default: all that pass."""

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
                    f"domain {domain.name!r} has neither a letter of a to z nor a digit for its ids"
                )
            if domain.slug in seen:
                raise ValueError(f"domains {seen[domain.slug]!r} and {domain.name!r} would share their ids")
            seen[domain.slug] = domain.name
        if self.make.domains is not None and self.make.domains > len(self.domain_list):
            raise ValueError(f"{self.make.domains} domains asked for; the list has {len(self.domain_list)}")
        return self

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Those that tasks are made for."""
        return self.domain_list[: self.make.domains]

    @property
    def today(self) -> str:
        """The day, as prompts say it. A config without one is none that a build runs by."""
        assert self.date is not None
        return self.date.isoformat()


def load_build_config(path: Path | None, changes: Mapping[str, Any]) -> BuildConfig:
    """The config of a YAML file, with `changes` of the command line laid over it.

    Args:
        path: the file; None for the defaults.
        changes: by key, `section.key` for those of a section; None values say nothing.

    Raises:
        ConfigError: the file cannot be read, is no mapping, or has an unknown key or a value out of range.
    """
    data: dict[str, Any] = {}
    if path is not None:
        try:
            loaded: object = load_yaml(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: {' '.join(str(error).split())}") from None
        if loaded is not None and not isinstance(loaded, dict):
            raise ConfigError(f"{path}: expected a mapping of settings")
        data = cast("dict[str, Any]", loaded or {})
    for key, value in changes.items():
        if value is None:
            continue
        section, _, name = key.rpartition(".")
        if not section:
            data[name] = value
        elif isinstance(data.get(section) or {}, dict):
            data[section] = {**(data.get(section) or {}), name: value}
    try:
        return BuildConfig.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = path or "options"
        key = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            raise ConfigError(f"{place}: unknown key {key!r}") from None
        got = f" (got {brief(first['input'])})" if key else ""
        says = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{place}: {key}: {says}{got}" if key else f"{place}: {says}") from None
