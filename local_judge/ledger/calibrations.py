"""Calibrations of P(yes): fitted maps from log-odds to a probability, with a threshold, and their rows in a ledger.

Invariants: a calibration applies to one judge identity, one question's prompt, and one language (or all pooled), and to
no other; its id is a digest of its content, so that equal ids map equal log-odds to equal probabilities.

A row is never changed. Calibrations inserted together were fitted together; for one judge, question and prompt only the
last such set is current, so that no language keeps a calibration of an older fit. The whole table is checked at every
read: a lost or altered calibration would change every probability, and no single row shows that another is missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from local_judge.base.model import Frozen
from local_judge.ledger.database import COLUMNS, Database
from local_judge.ledger.requests import Identified, canonical, now, row_digest, sha256
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


_ALL = f"SELECT {COLUMNS['calibrations']} FROM calibrations ORDER BY rowid"

_Key = tuple[str, str, str]
"""Judge, question, prompt."""


class DamagedCalibrations(ValueError):
    """Rows of `calibrations` are altered or missing."""


class Fit(NamedTuple):
    """Calibrations of one judge, question and prompt that were fitted together."""

    digest: str
    calibrations: tuple[Calibration, ...]
    """Calibrations, in order of languages."""
    created: str
    """Time of the last insertion; UTC, ISO 8601."""


def insert_calibrations(connection: Database, calibrations: Sequence[Calibration]) -> None:
    """Make these calibrations current for their judges, questions and prompts, unless they are already.

    Raises:
        DamagedCalibrations: The table is damaged.
    """
    for key in dict.fromkeys(_key(one) for one in calibrations):
        own = sorted((one for one in calibrations if _key(one) == key), key=lambda one: one.language)
        insert_fit(connection, Fit(_fit(own), tuple(own), now()))


def insert_fit(connection: Database, fit: Fit) -> None:
    """Make a set of calibrations current, unless it is already.

    Raises:
        DamagedCalibrations: The table is damaged.
    """
    rows = _rows(connection)
    key = _key(fit.calibrations[0])
    if [fit.digest] == [row[1] for row in rows if row[2:5] == key][-1:]:
        return
    identified = Identified.of(fit.calibrations[0].identity)
    connection.insert("judges", [(identified.digest, identified.json)])
    added = [(one.id, fit.digest, *key, one.language, one.body, fit.created) for one in fit.calibrations]
    numbered = enumerate(added, len(rows) + 1)
    connection.insert("calibrations", [(*row, row_digest([place, *row])) for place, row in numbered])


def select_calibrations(connection: Database, judge: str) -> tuple[Calibration, ...]:
    """Return the current calibrations of a judge, sorted by question, prompt and language.

    Raises:
        DamagedCalibrations: The table is damaged.
    """
    fits = sorted(current_fits(connection).items())
    return tuple(one for key, fit in fits if key[0] == judge for one in fit.calibrations)


def current_fits(connection: Database) -> dict[_Key, Fit]:
    """Return the current calibrations of each judge, question and prompt.

    Raises:
        DamagedCalibrations: The table is damaged.
    """
    sets: dict[_Key, dict[str, dict[str, tuple[str, str]]]] = {}
    for _, digest, judge, question, prompt, language, body, created in _rows(connection):
        fits = sets.setdefault((judge, question, prompt), {})
        kept = fits.pop(digest, {})  # inserted again: now it is the last
        fits[digest] = kept | {language: (body, created)}
    found: dict[_Key, Fit] = {}
    for key, fits in sets.items():
        digest, by_language = list(fits.items())[-1]
        last = [Calibration.model_validate_json(body) for _, (body, _) in sorted(by_language.items())]
        if _fit(last) != digest:
            raise DamagedCalibrations("calibrations: one of those fitted together is missing")
        found[key] = Fit(digest, tuple(last), max(created for _, created in by_language.values()))
    return found


def find_damaged_calibrations(connection: Database) -> Iterator[str]:
    """Yield a line for each damaged row of the table."""
    for problem in connection.problems("calibrations"):
        yield f"calibrations: {problem}"
    rows = connection.execute(_ALL)
    for place, row in enumerate(rows, 1):
        if row_digest([place, *row[:-1]]) != row[-1]:
            yield f"calibration {str(row[0])[:12]}: does not match its digest"


def _rows(connection: Database) -> list[tuple[Any, ...]]:
    """Return all rows without their digests, in order of insertion."""
    for problem in find_damaged_calibrations(connection):
        raise DamagedCalibrations(problem)
    return [row[:-1] for row in connection.execute(_ALL)]


def _key(one: Calibration) -> _Key:
    return (one.judge, one.question, one.prompt)


def _fit(own: Sequence[Calibration]) -> str:
    """Return the digest of a set that was fitted together, in order of languages."""
    return sha256(canonical([one.id for one in own]))
