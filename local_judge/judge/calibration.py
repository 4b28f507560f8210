"""What a judge's yes is worth: a fitted map from its log-odds to a probability, and the threshold that goes with it.

Invariant: a calibration belongs to one judge identity, one question as it is sent, and one language (or all of them
pooled); its id is a digest of all that it says, so that equal ids map equal log-odds to equal probabilities. Whatever
is not the same judge and the same question does not find it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field, model_validator

from local_judge.judge.requests import Identified, canonical, sha256
from serving.types import EngineIdentity, Frozen

POOLED = "all"
"""The language of a calibration that was fitted on all languages together."""

Method = Literal["beta", "platt", "temperature"]
"""`beta`: two slopes and an intercept. `platt`: one slope for both. `temperature`: that alone, 1 / T."""

Objective = Literal["accuracy", "balanced_accuracy"]
"""What the threshold makes greatest. `balanced_accuracy`: the mean of the share of true claims called true and the
share of altered ones that are not."""


class Quality(Frozen):
    """How well probabilities and a threshold do on claims of which it is known whether they are true."""

    accuracy: float = Field(ge=0, le=1)
    threshold: float
    """At which; the mean over the folds where each fold has its own."""
    auc: float = Field(ge=0, le=1)
    brier: float = Field(ge=0, le=1)
    ece: float = Field(ge=0, le=1)
    """Expected calibration error over bins of equal width."""


class Calibration(Frozen):
    """p = 1 / (1 + exp(-(slope_yes ln P(yes) - slope_no ln P(no) + intercept))); a yes from p >= threshold on."""

    version: Literal[1] = 1
    identity: EngineIdentity
    """The judge's."""
    question: str
    """By name."""
    prompt: str
    """SHA-256 of the question as it is sent, about a page and a claim that never change."""
    language: str = Field(min_length=1)
    """ISO 639-1 code of the pages, or `all`."""
    method: Method
    slope_yes: float = Field(ge=0)
    slope_no: float = Field(ge=0)
    """The same as `slope_yes` but for the method `beta`."""
    intercept: float
    threshold: float = Field(gt=0, lt=1)
    """On the calibrated probability."""
    objective: Objective
    n: int = Field(ge=1)
    """Claims that it was fitted on."""
    n_true: int = Field(ge=1)
    n_pages: int = Field(ge=1)
    folds: int = Field(ge=2)
    seed: int
    data: str
    """SHA-256 of those claims: ids, texts, URLs, what is true, and the digests of the pages' texts."""
    before: Quality
    """P(yes) as the judge gives it, at 0.5."""
    after: Quality
    """Calibrated, out of fold: each claim by what the pages of other folds say."""

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
        """The ledger's name of the judge: the digest of its identity."""
        return Identified.of(self.identity).digest

    def probability(self, log_odds: float) -> float:
        """The calibrated probability of a yes."""
        return mapped(log_odds, self.slope_yes, self.slope_no, self.intercept)


def mapped(log_odds: float, slope_yes: float, slope_no: float, intercept: float) -> float:
    """The probability that a calibration makes of log-odds x = ln P(yes) - ln P(no).

    ln P(yes) = -ln(1 + exp(-x)) and ln P(no) = -ln(1 + exp(x)), so that equal slopes give slope x + intercept.
    """
    if slope_yes == slope_no:
        return sigmoid(slope_yes * log_odds + intercept)
    return sigmoid(slope_no * softplus(log_odds) - slope_yes * softplus(-log_odds) + intercept)


def softplus(value: float) -> float:
    """ln(1 + exp(value)), without overflow."""
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


class CalibrationFile(Frozen):
    """Calibrations as a file that goes from one ledger to another."""

    format: Literal["local_judge calibrations"] = "local_judge calibrations"
    calibrations: tuple[Calibration, ...] = Field(min_length=1)


def applying(
    calibrations: Iterable[Calibration], question: str, prompt: str, language: str
) -> Calibration | None:
    """The calibration for a question about a page: that of its language, else the pooled one, else none."""
    found = {one.language: one for one in calibrations if (one.question, one.prompt) == (question, prompt)}
    return found.get(language) or found.get(POOLED)


def differing(calibrations: Sequence[Calibration], identity: EngineIdentity) -> tuple[str, ...]:
    """The fields in which the judge of the nearest calibration differs from `identity`, in order of their names."""
    return min((differing_fields(one.identity, identity) for one in calibrations), key=len)


def differing_fields(one: EngineIdentity, other: EngineIdentity) -> tuple[str, ...]:
    """The fields in which two identities differ, in order of their names."""
    theirs, ours = one.model_dump(mode="json"), other.model_dump(mode="json")
    return tuple(name for name in sorted(ours) if theirs[name] != ours[name])


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
