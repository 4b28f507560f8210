"""Calibration of P(yes): a fitted map from log-odds to a probability, with a threshold.

Invariant: a calibration applies to one judge identity, one question's prompt, and one language (or all pooled), and
to no other. Its id is a digest of its content, so that equal ids map equal log-odds to equal probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field, model_validator

from local_judge.base.model import Frozen
from local_judge.ledger.requests import Identified, canonical, sha256
from serving.types import EngineIdentity

POOLED = "all"
"""Language of a calibration that was fitted on all languages together."""

Method = Literal["beta", "platt", "temperature"]
"""Method of calibration. `beta`: two slopes and an intercept. `platt`: one slope and an intercept. `temperature`: one
slope, 1 / T."""

Objective = Literal["accuracy", "balanced_accuracy"]
"""Measure that the threshold maximises. `balanced_accuracy`: the mean of the share of true claims called true and the
share of altered claims not called true."""


class Quality(Frozen):
    """Quality of probabilities and a threshold on labelled claims."""

    accuracy: float = Field(ge=0, le=1)
    threshold: float
    """Threshold of the accuracy; the mean over the folds if each fold has its own."""
    auc: float = Field(ge=0, le=1)
    brier: float = Field(ge=0, le=1)
    ece: float = Field(ge=0, le=1)
    """Expected calibration error over bins of equal width."""


class Calibration(Frozen):
    """Calibration p = 1 / (1 + exp(-(slope_yes ln P(yes) - slope_no ln P(no) + intercept))); yes if p >= threshold."""

    version: Literal[1] = 1
    identity: EngineIdentity
    """Identity of the judge."""
    question: str
    """Name of the question."""
    prompt: str
    """SHA-256 of the question's prompt for a fixed page and claim."""
    language: str = Field(min_length=1)
    """ISO 639-1 code of the pages, or `all`."""
    method: Method
    slope_yes: float = Field(ge=0)
    slope_no: float = Field(ge=0)
    """Slope of ln P(no); equal to `slope_yes` for all methods but `beta`."""
    intercept: float
    threshold: float = Field(gt=0, lt=1)
    """Minimum calibrated probability of a yes."""
    objective: Objective
    n: int = Field(ge=1)
    """Number of claims in the fit."""
    n_true: int = Field(ge=1)
    n_pages: int = Field(ge=1)
    folds: int = Field(ge=2)
    seed: int
    data: str
    """SHA-256 of the claims: ids, texts, URLs, labels, and the digests of the pages' texts."""
    before: Quality
    """Quality of the uncalibrated P(yes) at 0.5."""
    after: Quality
    """Quality of the calibrated probabilities, cross-validated over pages."""

    @model_validator(mode="after")
    def _both_kinds(self) -> Calibration:
        if self.n_true >= self.n:
            raise ValueError(f"n_true={self.n_true} of n={self.n}: no claim is untrue")
        if not self.slope_yes + self.slope_no:
            raise ValueError("both slopes are 0: it would give every claim the same probability")
        return self

    @property
    def id(self) -> str:
        """SHA-256 of all fields as canonical JSON."""
        return sha256(self.body)

    @property
    def body(self) -> str:
        """Canonical JSON of all fields."""
        return canonical(self.model_dump(mode="json"))

    @property
    def judge(self) -> str:
        """Digest of the judge's identity, its name in the ledger."""
        return Identified.of(self.identity).digest

    def probability(self, log_odds: float) -> float:
        """Return the calibrated probability of a yes."""
        return mapped(log_odds, self.slope_yes, self.slope_no, self.intercept)


def mapped(log_odds: float, slope_yes: float, slope_no: float, intercept: float) -> float:
    """Return the calibrated probability for log-odds x = ln P(yes) - ln P(no).

    ln P(yes) = -ln(1 + exp(-x)) and ln P(no) = -ln(1 + exp(x)), so that equal slopes give slope x + intercept.
    """
    if slope_yes == slope_no:
        return sigmoid(slope_yes * log_odds + intercept)
    return sigmoid(slope_no * softplus(log_odds) - slope_yes * softplus(-log_odds) + intercept)


def softplus(value: float) -> float:
    """Return ln(1 + exp(value)), without overflow."""
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


class CalibrationFile(Frozen):
    """File format that transfers calibrations between ledgers."""

    format: Literal["local_judge calibrations"] = "local_judge calibrations"
    calibrations: tuple[Calibration, ...] = Field(min_length=1)


def applying(
    calibrations: Iterable[Calibration], question: str, prompt: str, language: str
) -> Calibration | None:
    """Return the calibration for a question about a page: that of its language, else the pooled one, else None."""
    found = {one.language: one for one in calibrations if (one.question, one.prompt) == (question, prompt)}
    return found.get(language) or found.get(POOLED)


def differing(calibrations: Sequence[Calibration], identity: EngineIdentity) -> tuple[str, ...]:
    """Return the sorted fields in which the judge of the most similar calibration differs from `identity`."""
    return min((differing_fields(one.identity, identity) for one in calibrations), key=len)


def differing_fields(one: EngineIdentity, other: EngineIdentity) -> tuple[str, ...]:
    """Return the sorted fields in which two identities differ."""
    theirs, ours = one.model_dump(mode="json"), other.model_dump(mode="json")
    return tuple(name for name in sorted(ours) if theirs[name] != ours[name])


def sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(-x)), without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
