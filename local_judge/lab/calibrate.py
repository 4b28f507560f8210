"""Calibrations of a judge from its answers about labelled claims.

Invariant: the same answers, settings and seed give the same calibrations and figures. A claim without an answer is
counted, widens the bounds of the accuracy, and is in no fit. Calibrations are stored in the ledger before they are
shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, get_args

from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.yes_no import QUESTIONS, SUPPORTED, question_digest
from local_judge.judge.judge import Judge
from local_judge.lab.labelled.answers import Answer, ask_log_odds, data_digest
from local_judge.lab.labelled.model import LabelledSet, Origin, refuse_duplicates
from local_judge.ledger.calibrations import POOLED, Calibration
from local_judge.stats.calibration.assess import (
    Assessment,
    Settings,
    assess,
    calibrated,
    part,
    uncalibrated,
)
from local_judge.stats.calibration.fitting import OutOfFold, Uncalibratable, folds_of
from local_judge.stats.calibration.measures import Judged
from local_judge.stats.units import united
from serving.types import EngineIdentity

LEAST_CLAIMS, LEAST_OF_A_KIND, LEAST_PAGES = 60, 20, 5
"""Minimum numbers for a calibration of a language: claims, true and other ones of them each, pages."""


class Bounds(Frozen):
    """Bounds of an accuracy for all possible missing answers."""

    low: float
    high: float


class LanguageReport(Frozen):
    """Figures of one language, of all pooled, or of the claims of one origin in all languages."""

    language: str
    origin: Origin | None = None
    """None for claims of both origins together."""
    n_expected: int
    """Number of claims on readable pages."""
    n_failed: int
    """Number of them without an answer."""
    before: Assessment | None
    """Figures of P(yes) with threshold 0.5; None if there is only one class."""
    after: Assessment | None
    """Figures out of fold, with the calibration that applies to this language."""
    bounds: Bounds | None = None
    """Bounds of the accuracy after calibration, over all `n_expected`; None if nothing failed."""
    calibration: str | None
    """Id of the calibration that applies to this language; None for claims by origin, in several languages."""
    own: bool
    """True if the language has its own calibration, and not the pooled one."""
    why_not: str = ""
    """Reason why it has no calibration of its own."""


class CalibrationReport(Frozen):
    """Fitted calibrations and their figures."""

    judge: EngineIdentity
    question: str
    prompt: str
    settings: Settings
    n_rows: int
    n_unread: int
    """Number of rows whose page the snapshot cannot show."""
    n_copies: int = 0
    """Number of rows that repeat the claim and the text of another; they are in no other number."""
    n_elsewhere: int = 0
    """Number of rows that runs ask about in another view: in no fit of this one."""
    failures: dict[str, int]
    """Number of rows without an answer, by kind of failure."""
    reports: tuple[LanguageReport, ...]
    """All languages pooled, then each by its code."""
    by_origin: tuple[LanguageReport, ...] = ()
    """Reports by origin if there are claims of both: each claim with the fit that applies to its page's language."""
    calibrations: tuple[Calibration, ...]
    """Fitted calibrations, the pooled one first."""


async def calibrate_judge(
    sets: Sequence[LabelledSet],
    judge: Judge,
    config: ClaimsConfig,
    settings: Settings,
    page_done: Callable[[], None] = lambda: None,
) -> CalibrationReport:
    """Ask the judge about labelled claims, fit its calibrations, and store them in its ledger.

    Args:
        sets: the claims.
        judge: the judge.
        config: selects the evidence that is shown.
        settings: of the fit.
        page_done: called after each page.

    Raises:
        InputError: a claim is in two sets.
        Uncalibratable: all claims together allow no fit; the stored calibrations are unchanged.
        LedgerError: a reply or a calibration could not be stored.
    """
    refuse_duplicates(one for known in sets for one in known.claims)
    answers = await ask_log_odds(sets, judge, config, page_done)
    different = _different(answers)
    asked = QUESTIONS[config.view].supported
    report = fits_of(different, await judge.engine.identity(), settings, asked).report
    report = report.model_copy(update={"n_copies": len(answers) - len(different)})
    await judge.ledger.put_calibrations(report.calibrations)
    return report


def _different(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers without those about a claim and a text that an earlier row has too."""
    first: dict[tuple[str, str], Answer] = {}
    return [
        one
        for one in answers
        if not one.is_read or first.setdefault((one.claim.claim, one.page.text_digest), one) is one
    ]


class HeldOut(NamedTuple):
    """A claim with the calibration that applies to its page's language, fitted without its page."""

    probability: float
    called: bool
    threshold: float


class Fits(NamedTuple):
    """Fitted calibrations, and every answered claim out of fold."""

    report: CalibrationReport
    held: dict[str, HeldOut]
    """Claims out of fold by the id of their row."""


def fits_of(
    answers: Sequence[Answer], judge: EngineIdentity, settings: Settings, question: str = SUPPORTED
) -> Fits:
    """Fit a calibration to all languages pooled, and to each that has enough claims.

    Args:
        answers: answers of one judge.
        judge: identity of the judge.
        settings: of the fit.
        question: name of the question.

    Raises:
        Uncalibratable: all claims together allow no fit.
    """
    # In order of their ids: sums of floats depend on the order.
    readable = sorted(
        (one for one in answers if one.is_read and not one.elsewhere), key=lambda one: one.claim.key
    )
    answered = [one for one in readable if one.log_odds is not None]
    pooled, pooled_held = calibration_of(answered, POOLED, judge, settings, question)
    by_claim = _by_claim(answered, pooled_held, settings)
    calibrations = [pooled]
    reports = [_report(POOLED, readable, pooled_held, pooled, settings)]
    for language in sorted({one.page.language for one in readable}):
        expected = [one for one in readable if one.page.language == language]
        here = _answered(expected)
        own, held, why_not = (
            pooled,
            part(pooled_held, [one.page.language == language for one in answered]),
            "",
        )
        try:
            _enough(here)
            own, held = calibration_of(here, language, judge, settings, question)
            calibrations.append(own)
            by_claim |= _by_claim(here, held, settings)
        except Uncalibratable as error:
            why_not = str(error)
        reports.append(_report(language, expected, held, own, settings, why_not))
    origins: tuple[Origin, ...] = get_args(Origin)
    by_origin: list[LanguageReport] = []
    if len({one.claim.origin for one in readable}) == len(origins):
        for origin in origins:
            expected = [one for one in readable if one.claim.origin == origin]
            held = _out_of_fold(_answered(expected), by_claim)
            by_origin.append(_report(POOLED, expected, held, None, settings, origin=origin))
    report = CalibrationReport(
        judge=judge,
        question=question,
        prompt=question_digest(question),
        settings=settings,
        n_rows=len(answers),
        n_unread=sum(not one.is_read for one in answers),
        n_elsewhere=sum(one.elsewhere for one in answers),
        failures=dict(sorted(Counter(one.failure.kind for one in readable if one.failure).items())),
        reports=tuple(reports),
        by_origin=tuple(by_origin),
        calibrations=tuple(calibrations),
    )
    return Fits(report, by_claim)


def _answered(answers: Sequence[Answer]) -> list[Answer]:
    return [one for one in answers if one.log_odds is not None]


def _out_of_fold(answers: Sequence[Answer], by_claim: Mapping[str, HeldOut]) -> OutOfFold:
    """Return the claims out of fold with the calibrations that runs apply."""
    found = [by_claim[one.claim.key] for one in answers]
    return OutOfFold(
        judged=[
            Judged(one.true, held.probability, one.page)
            for one, held in zip(_judged(answers), found, strict=True)
        ],
        called=[one.called for one in found],
        thresholds=sorted({one.threshold for one in found}),
        fits=[],
    )


def _by_claim(answers: Sequence[Answer], held: OutOfFold, settings: Settings) -> dict[str, HeldOut]:
    placed = folds_of([one.page for one in held.judged], settings.folds, settings.seed)
    return {
        one.claim.key: HeldOut(claim.value, called, held.thresholds[placed[claim.page]])
        for one, claim, called in zip(answers, held.judged, held.called, strict=True)
    }


def calibration_of(
    answers: Sequence[Answer], language: str, judge: EngineIdentity, settings: Settings, question: str
) -> tuple[Calibration, OutOfFold]:
    """Return the calibration that these answers give, and each of them out of fold.

    Raises:
        Uncalibratable: the answers allow no fit.
    """
    judged = _judged(answers)
    fitted, held = calibrated(judged, settings)
    after = assess(held, settings)
    calibration = Calibration(
        identity=judge,
        question=question,
        prompt=question_digest(question),
        language=language,
        method=settings.method,
        slope_yes=fitted.curve.slope_yes,
        slope_no=fitted.curve.slope_no,
        intercept=fitted.curve.intercept,
        threshold=fitted.threshold,
        objective=settings.objective,
        n=after.n,
        n_true=after.n_true,
        n_pages=after.n_pages,
        folds=len(held.thresholds),
        seed=settings.seed,
        data=data_digest(answers),
        before=assess(uncalibrated(judged), settings.model_copy(update={"draws": 0})).quality,
        after=after.quality,
    )
    return calibration, held


def _judged(answers: Sequence[Answer]) -> list[Judged]:
    """Return the answers by page. URLs with the same text, and pages of one document, are one: no fold divides it."""
    units = united([filter(None, (f"text {one.page.text_digest}", one.claim.document)) for one in answers])
    names: dict[int, str] = {}
    for unit, one in sorted(zip(units, answers, strict=True), key=lambda pair: pair[1].page.url):
        names.setdefault(unit, one.page.url)
    return [
        Judged(one.claim.true, one.log_odds, names[unit])
        for unit, one in zip(units, answers, strict=True)
        if one.log_odds is not None
    ]


def _enough(answers: Sequence[Answer]) -> None:
    """Raise Uncalibratable for too few answers for a fit of their own."""
    n, n_true = len(answers), sum(one.claim.true for one in answers)
    pages = len({one.page.text_digest for one in answers})
    if n < LEAST_CLAIMS or min(n_true, n - n_true) < LEAST_OF_A_KIND or pages < LEAST_PAGES:
        raise Uncalibratable(
            "few_pages",
            f"{n} claims ({n_true} true) on {pages} pages; a calibration of its own needs {LEAST_CLAIMS}, "
            f"{LEAST_OF_A_KIND} of either kind, on {LEAST_PAGES}",
        )


def _report(
    language: str,
    expected: Sequence[Answer],
    held: OutOfFold,
    applied: Calibration | None,
    settings: Settings,
    why_not: str = "",
    origin: Origin | None = None,
) -> LanguageReport:
    answered = _answered(expected)
    n_failed = len(expected) - len(answered)
    both = len({one.claim.true for one in answered}) == 2
    after = assess(held, settings) if both else None
    bounds = None
    if n_failed and after is not None and after.accuracy.value is not None:
        right = round(after.accuracy.value * after.n)
        bounds = Bounds(low=right / len(expected), high=(right + n_failed) / len(expected))
    return LanguageReport(
        language=language,
        origin=origin,
        n_expected=len(expected),
        n_failed=n_failed,
        before=assess(uncalibrated(_judged(answered)), settings) if both else None,
        after=after,
        bounds=bounds,
        calibration=None if applied is None else applied.id,
        own=applied is not None and not why_not,
        why_not=why_not,
    )
