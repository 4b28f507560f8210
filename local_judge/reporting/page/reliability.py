"""Probabilities of a judge beside people's labels of the same claims.

Invariants: a claim counts once, with what most of its annotators say; claims on which they are divided, and labels
without a verdict in the run, are counted and in no figure. Without labels, only the probabilities are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast, get_args

import numpy as np

from local_judge.base.model import Frozen
from local_judge.claims.model import Label
from local_judge.ledger.calibrations import Calibration
from local_judge.ledger.errors import LedgerError
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.requests import Identified
from local_judge.reporting.page.detail import Detail
from local_judge.runs.results.labels import ClaimLabel, Unit, agreement_of, labels_of
from local_judge.stats.calibration.measures import Bin, Judged, auc_of, bins, brier_of, columns, ece_of
from local_judge.stats.estimate import DRAWS, Estimate, Resamples, with_interval
from local_judge.stats.numeric import Floats
from local_judge.stats.rates import Rate, rate
from serving.types import EngineIdentity


class GivenVerdict(NamedTuple):
    """Verdict of a judge on one claim and page."""

    unit: Unit
    text: str
    """Text of the claim."""
    label: Label
    confidence: float | None
    """P(supported), if the method gives one."""


class FittedOn(Frozen):
    """Calibration of a judge, with its quality on the planted claims of its fit, cross-validated over pages."""

    language: str
    method: str
    n: int
    """Number of claims."""
    ece: float | None
    auc: float | None
    """None if the ledger is not at hand."""


class VerdictShare(Frozen):
    """Verdicts with one label."""

    label: Label
    n: int
    people: Rate
    """Share of the labelled ones that people call supported, with Wilson's interval of 95 %."""


class Reliability(Frozen):
    """Verdicts of one judge in one run, and what people say of the same claims."""

    run: int
    """Index of the run."""
    judge: str | None
    counts: tuple[int, ...]
    """Number of verdicts by P(supported), in bins of equal width over [0, 1]; empty without probabilities."""
    calibrations: tuple[FittedOn, ...]
    """Calibrations that the probabilities come from."""
    verdicts: tuple[VerdictShare, ...]
    n_labels: int = 0
    """Labels that were given, of claims of all runs."""
    n_unmatched: int = 0
    """Labels without a verdict of this judge in this run, or of claims with another text."""
    n_unclear: int = 0
    n_divided: int = 0
    """Claims that as many annotators call supported as not."""
    n_labelled: int = 0
    """Claims with a label that counts."""
    bins: tuple[Bin, ...] = ()
    """Labelled claims by P(supported), in bins of equal width."""
    ece: Estimate | None = None
    brier: Estimate | None = None
    auc: Estimate | None = None
    """Measures of the labelled claims with a probability; intervals are over reports."""
    agreement: Estimate | None = None
    """Krippendorff's alpha (nominal) of the annotators."""


def given_verdicts(report: str, detail: Detail) -> Iterator[GivenVerdict]:
    """Yield the verdicts on a report's claims that have a label."""
    for one in detail.verdicts:
        if one.outcome in get_args(Label):
            claim = detail.claims[one.claim]
            unit = (report, claim.id, one.url)
            yield GivenVerdict(unit, claim.text, cast("Label", one.outcome), one.confidence)


def reliability(
    run: int,
    judge: str | None,
    verdicts: Sequence[GivenVerdict],
    labels: Sequence[ClaimLabel],
    calibrations: Iterable[FittedOn] = (),
) -> Reliability | None:
    """Return what is known of a judge's probabilities; None if it gives none and there are no labels of its verdicts.

    Args:
        run: index of the run.
        judge: one of several judges; None for the only one.
        verdicts: all verdicts of the judge in the run.
        labels: people's labels, of claims of this and other runs.
        calibrations: those that the probabilities come from.
    """
    own = labels_of(labels, {one.unit: one.text for one in verdicts})
    p = [one.confidence for one in verdicts if one.confidence is not None]
    if not p and not own:
        return None
    said, n_divided = _said(own)
    judged = [
        Judged(true=said[one.unit], value=one.confidence, page=one.unit[0])
        for one in verdicts
        if one.unit in said and one.confidence is not None
    ]
    return Reliability(
        run=run,
        judge=judge,
        counts=_counts(p) if p else (),
        calibrations=tuple(calibrations),
        verdicts=tuple(_shares(verdicts, said)),
        n_labels=len(labels),
        n_unmatched=len(labels) - len(own),
        n_unclear=sum(label.label == "unclear" for label in own),
        n_divided=n_divided,
        n_labelled=len(said),
        bins=tuple(bins(judged)) if judged else (),
        ece=_measured(judged, ece_of),
        brier=_measured(judged, brier_of),
        auc=_measured(judged, auc_of),
        agreement=agreement_of(own) if own else None,
    )


def fitted_on(judge: Mapping[str, Any], ledger: Ledger | None) -> Iterator[FittedOn]:
    """Yield the calibrations of a judge of a run.

    Args:
        judge: its entry in the run's manifest.
        ledger: has their quality; None if it is not at hand.
    """
    stored: dict[str, Calibration] = {}
    if ledger is not None and judge.get("calibrations"):
        identity = Identified.of(EngineIdentity.model_validate(judge["identity"]))
        with suppress(LedgerError):
            stored = {one.id: one for one in ledger.calibrations(identity.digest)}
    for one in judge.get("calibrations", ()):
        own = stored.get(one["id"])
        yield FittedOn(
            language=one["language"],
            method=one["method"],
            n=one["n"],
            ece=own and own.after.ece,
            auc=own and own.after.auc,
        )


def _said(labels: Iterable[ClaimLabel]) -> tuple[dict[Unit, bool], int]:
    """Return whether most annotators call a claim supported, and the number of claims on which they are divided."""
    given: dict[Unit, list[bool]] = {}
    for label in labels:
        if label.label != "unclear":
            given.setdefault(label.unit, []).append(label.label == "supported")
    said = {unit: 2 * sum(own) > len(own) for unit, own in given.items() if 2 * sum(own) != len(own)}
    return said, len(given) - len(said)


def _counts(p: Sequence[float]) -> tuple[int, ...]:
    return tuple(one.true.of for one in bins([Judged(True, value, "") for value in p]))


def _shares(verdicts: Sequence[GivenVerdict], said: Mapping[Unit, bool]) -> list[VerdictShare]:
    found: list[VerdictShare] = []
    for label in get_args(Label):
        own = [one.unit for one in verdicts if one.label == label]
        labelled = [said[unit] for unit in own if unit in said]
        if own:
            found.append(VerdictShare(label=label, n=len(own), people=rate(sum(labelled), len(labelled))))
    return found


def _measured(judged: Sequence[Judged], measure: Callable[[Floats, Floats], float | None]) -> Estimate | None:
    """Return a measure with its bootstrap interval over reports; None without labelled claims."""
    if not judged:
        return None
    p, true = columns(judged)
    reports = sorted({one.page for one in judged})
    members = [
        np.array([place for place, one in enumerate(judged) if one.page == name], np.int64)
        for name in reports
    ]
    drawn = [np.concatenate([members[place] for place in draw]) for draw in Resamples(len(reports), DRAWS, 0)]
    value = measure(p, true)
    found = Estimate(value, len(judged), reason="" if value is not None else "claims of one kind only")
    return with_interval(found, [measure(p[places], true[places]) for places in drawn], len(reports))
